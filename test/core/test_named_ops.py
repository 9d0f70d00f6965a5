"""Named ops of linalg: what stands for the functions of the bindings builds what they build."""
import subprocess
import sys

from bench import light
from legato.core import fills
from legato.core.mlir import func, ir, linalg

PROGRAM = """
import sys
import legato

legato.compile(legato.from_onnx(MODEL), cache=False)
print(*(name for name in sys.modules if name.endswith(WANTED)))
"""


def built(build) -> str:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [ir.Type.parse(text) for text in ("tensor<3x4xf32>", "tensor<3x4xf32>", "memref<3x4xf32>", "memref<3x4xf32>", "f32")]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", (types, []))
            with ir.InsertionPoint(function.add_entry_block()):
                build(*function.arguments)
                func.ReturnOp([])
        assert module.operation.verify()
        return str(module)


def test_fills_and_copies_are_those_of_the_bindings():
    ours = built(lambda a, b, c, d, s: (fills.fill(s, a), fills.copy(a, b), fills.fill(s, c), fills.copy(c, d)))
    theirs = built(lambda a, b, c, d, s: (linalg.fill(s, outs=[a]), linalg.copy(a, outs=[b]), linalg.fill(s, outs=[c]),
                                          linalg.copy(c, outs=[d])))
    assert ours == theirs and ours.count("linalg.fill") == ours.count("linalg.copy") == 2


def test_all_functions_of_the_bindings_are_there():
    """As by an import of them without the stand-in."""
    provider = linalg.GenericOp.__module__.split(".")[0]
    names = (f"from {provider}.dialects import linalg; from {provider}.dialects.linalg.opdsl.lang.dsl import DefinedOpCallable; "
             "print(*sorted(n for n, v in vars(linalg).items() if isinstance(v, DefinedOpCallable)))")
    theirs = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True).stdout.split()
    assert len(theirs) > 70 and all(callable(getattr(linalg, name)) for name in theirs)
    stands = sys.modules[f"{provider}.dialects.linalg"].exp
    assert built(lambda a, b, c, d, s: stands(a, outs=[b])).count("linalg.exp") == 1


def test_a_compile_imports_only_what_it_needs(tmp_path):
    """Neither descriptions of linalg's ops, nor schedules and kernels of GPUs, nor what raises loops."""
    wanted = ("opdsl.lang", "targets.gpu.schedules", "raising.kernel", "schedule.primitives", "threads.serial", "codegen.ptx",
              "vulkan.device", "targets.cpu.schedules")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("WANTED", str(wanted)).replace("MODEL", repr(str(light.DIRECTORY / "light_squeezenet.onnx"))))
    found = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout.split()
    assert found == ["legato.targets.cpu.schedules"]
