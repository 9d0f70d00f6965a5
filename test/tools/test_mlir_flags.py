"""mlir-opt's options by its names, in legato-opt and legato-compile; bytecode and weights in text, from tool to tool; reproducers."""
import io
import sys

import numpy as np
import pytest

import legato
from legato.core.weights import WeightStore
from legato.tools import legato_compile, legato_opt, legato_run

SUMS = """
func.func @f(%x: i32) -> (i32, i32, tensor<8xi32>, tensor<6xi8>) {
  %zero = arith.constant 0 : i32
  %c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
  %r = arith.constant dense_resource<blob> : tensor<6xi8>
  %y = arith.addi %x, %zero : i32
  %0 = arith.addi %y, %x : i32 loc("Add_0")
  %1 = arith.addi %x, %y : i32
  %2 = arith.addi %x, %x : i32
  %3 = arith.muli %1, %2 : i32
  return %0, %3, %c, %r : i32, i32, tensor<8xi32>, tensor<6xi8>
}
module @npu attributes {relax.codegen = "npu"} {
  func.func @g() { return }
}
{-#
  dialect_resources: { builtin: { blob: "0x04000000010203040506" } }
#-}
"""
WEIGHTS = {"w": np.arange(8, dtype=np.float32).reshape(2, 4), "big w": np.arange(300, dtype=np.float16), "b": np.array([True, False])}
PASSES = """
import legato
from dataclasses import dataclass
from legato.mlir import ir

@dataclass(frozen=True)
class Break(legato.ModulePass):
    '''Removes what the first function returns.'''
    name = "toy-break"

    def run(self, module, context):
        function = module.functions()[0]
        *_, last = function.body.blocks[0].operations
        with ir.InsertionPoint(last), last.location:
            ir.Operation.create("func.return")
        last.operation.erase()
"""


class Piped:
    """A standard stream that holds bytes."""

    def __init__(self, data=b""):
        self.buffer = io.BytesIO(data)

    def isatty(self):
        return False

    def write(self, text):
        self.buffer.write(text.encode())

    def flush(self):
        pass


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with sums.mlir, weights.mlir and its weights, and breaks.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.mlir").write_text(SUMS)
    (tmp_path / "breaks.py").write_text(PASSES)
    store = WeightStore()
    for name, array in WEIGHTS.items():
        store.add(name, array)
    types = {"w": "tensor<2x4xf32>", "big w": "tensor<300xf16>", "b": "tensor<2xi1>"}
    lines = [f'  %{i} = "relax.constant"() {{weight = "{name}"}} : () -> {type_}\n' for i, (name, type_) in enumerate(types.items())]
    returned = f"  return {', '.join(f'%{i}' for i in range(3))} : {', '.join(types.values())}\n"
    legato.Module.parse(f"func.func @main() -> ({', '.join(types.values())}) {{\n{''.join(lines)}{returned}}}", store).save("weights.mlir")
    return tmp_path


def opt(capsys, *words, code=0):
    """Standard output and standard error of legato-opt."""
    assert legato_opt.main([*words]) == code
    return capsys.readouterr()


def dumps(text):
    """The headlines of the IR that was printed."""
    return [line[len("// -----// IR Dump "):-len(" //----- //")] for line in text.splitlines() if line.startswith("// -----// IR Dump")]


def test_print_after_change(folder, capsys):
    passes = ["sums.mlir", "--canonicalize", "--cse", "--cse"]
    assert dumps(opt(capsys, *passes, "--mlir-print-ir-after-change").err) == ["After canonicalize", "After cse"]
    assert dumps(opt(capsys, *passes, "--mlir-print-ir-after=cse", "--mlir-print-ir-after-change").err) == ["After cse"]
    assert len(dumps(opt(capsys, *passes, "--mlir-print-ir-after-all").err)) == 3


def test_print_after_failure(folder, capsys):
    passes = ["--cse", "--llvm-target-to-data-layout", "--reproducer=none"]
    said = opt(capsys, "sums.mlir", *passes, "--mlir-print-ir-after-failure", code=1).err
    assert dumps(said) == ["After llvm-target-to-data-layout Failed"] and "func.func @f" in said


def test_print_to_a_tree_of_files(folder, capsys):
    said = opt(capsys, "sums.mlir", "--pass-pipeline=cse,external(cse),canonicalize", "--mlir-print-ir-after-all",
               "--mlir-print-ir-tree-dir=tree").err
    assert not dumps(said)
    found = {str(path.relative_to("tree")): path.read_text() for path in folder.glob("tree/*/*") for path in [path.relative_to(folder)]}
    assert sorted(found) == ["builtin_module_no-symbol-name/0_cse.mlir", "builtin_module_no-symbol-name/1_canonicalize.mlir",
                             "builtin_module_npu/0_cse.mlir"]
    last = found["builtin_module_no-symbol-name/1_canonicalize.mlir"]
    assert dumps(last) == ["After canonicalize"] and "func.func @f" in last


@pytest.mark.parametrize(("flag", "there", "left_out"), [
    ("--mlir-elide-elementsattrs-if-larger=7", "dense_resource<__elided__> : tensor<8xi32>", "dense<[1, 2"),
    ("--mlir-elide-elementsattrs-if-larger=8", "dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>", "__elided__"),
    ("--mlir-elide-resource-strings-if-larger=4", "dense_resource<blob>", "0x04000000010203040506"),
    ("--mlir-elide-resource-strings-if-larger=99", "0x04000000010203040506", "__elided__"),
])
def test_elided_constants(flag, there, left_out, folder, capsys):
    said = opt(capsys, "sums.mlir", flag).out
    assert there in said and left_out not in said
    assert "__elided__" in opt(capsys, "sums.mlir", "--cse", "--mlir-print-ir-after-all", "--mlir-elide-elementsattrs-if-larger=7").err


def test_local_scope(folder, capsys):
    assert '#loc' in opt(capsys, "sums.mlir", "--mlir-print-debuginfo").out
    said = opt(capsys, "sums.mlir", "--mlir-print-debuginfo", "--mlir-print-local-scope").out
    assert 'loc("Add_0"' in said and "#loc" not in said


def test_a_limit_is_a_number(folder, capsys):
    assert 'a number, not "many"' in opt(capsys, "sums.mlir", "--mlir-elide-elementsattrs-if-larger=many", code=2).err


def test_split_at_a_mark(folder, capsys):
    (folder / "two.mlir").write_text("func.func @a() { return }\n// here\nfunc.func @a() { return }\n")
    said = opt(capsys, "two.mlir", "--split-input-file=// here").out
    assert said.count("func.func @a") == 2 and said.count("\n// here\n") == 1


def test_show_dialects(capsys):
    lines = opt(capsys, "--show-dialects").out.splitlines()
    assert lines[0] == "Available dialects:" and {"  acc", "  func", "  relax", "  tir", "  xevm"} <= set(lines)
    assert lines[1:] == sorted(lines[1:])


def test_dump_pass_pipeline(folder, capsys):
    assert "Pipeline of 2 passes:\ncse,canonicalize\n" in opt(capsys, "sums.mlir", "--cse", "--canonicalize", "--dump-pass-pipeline").err


def test_bytecode(folder, capsys, monkeypatch):
    opt(capsys, "sums.mlir", "--emit-bytecode", "-o", "sums.mlirbc")
    assert (folder / "sums.mlirbc").read_bytes().startswith(b"ML\xefR")
    assert 'loc("Add_0"' in (text := opt(capsys, "sums.mlirbc", "--mlir-print-debuginfo").out)
    piped = Piped()
    monkeypatch.setattr(sys, "stdout", piped)
    assert legato_opt.main(["sums.mlir", "--emit-bytecode"]) == 0
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stdin", Piped(piped.buffer.getvalue()))
    assert opt(capsys, "-", "--mlir-print-debuginfo").out == text


@pytest.mark.parametrize(("words", "message"), [
    (("sums.mlir", "--emit-bytecode", "--split-input-file"), "--emit-bytecode writes one module"),
    (("sums.mlirbc", "--split-input-file"), "splits text, and the input is bytecode"),
])
def test_bytecode_is_not_text(words, message, folder, capsys):
    opt(capsys, "sums.mlir", "--emit-bytecode", "-o", "sums.mlirbc")
    assert message in opt(capsys, *words, code=2).err


def same_weights(path):
    """Whether a file of IR has the weights that weights.mlir has."""
    found = legato.Module.load(path).weights
    return sorted(found) == sorted(WEIGHTS) and all(np.array_equal(found[key], WEIGHTS[key]) for key in WEIGHTS)


def test_weights_in_the_text_leave_it_where_it_is_read(folder, capsys, monkeypatch):
    text = opt(capsys, "weights.mlir", "--inline-weights").out
    assert "relax.inline_weights = {" in text
    assert "inline_weights" not in opt(capsys, "weights.mlir").out
    monkeypatch.setattr(sys, "stdin", Piped(text.encode()))
    opt(capsys, "-", "-o", "out.mlir")
    assert "inline_weights" not in (folder / "out.mlir").read_text() and same_weights("out.mlir")


def test_weights_in_the_text_at_any_stage(folder, capsys, monkeypatch):
    assert legato_compile.main(["weights.mlir", "--emit", "bufferized", "--inline-weights", "-q"]) == 0
    monkeypatch.setattr(sys, "stdin", Piped(capsys.readouterr().out.encode()))
    assert legato_compile.main(["-", "--from-stage", "bufferized", "--emit", "llvm", "--inline-weights", "-q", "-o", "llvm.mlir"]) == 0
    assert not (folder / "llvm.mlir.safetensors").exists()
    assert legato_compile.main(["llvm.mlir", "--from-stage", "llvm", "-q", "-o", "m.legato"]) == 0
    for got, wanted in zip(legato.load("m.legato")(), WEIGHTS.values(), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_compile_takes_them_too(folder, capsys):
    flags = ["--mlir-print-ir-after=relax-legalize", "--print-ir-before=tir-fuse", "--emit-bytecode"]
    assert legato_compile.main(["weights.mlir", "--emit", "fused", "-q", *flags, "-o", "x.mlirbc"]) == 0
    assert dumps(capsys.readouterr().err) == ["After relax-legalize", "Before tir-fuse"]
    assert (folder / "x.mlirbc").read_bytes().startswith(b"ML\xefR") and same_weights("x.mlirbc")
    assert legato_run.main(["weights.mlir", "-q"]) == 0


def test_run_takes_them_too(folder, capsys):
    words = ["weights.mlir", "-q", "--verify-each", "--print-ir-after=tir-fuse", "--mlir-print-ir-tree-dir=dumps"]
    assert legato_run.main(words) == 0
    assert [path.name for path in (folder / "dumps").rglob("*.mlir")] == ["0_tir-fuse.mlir"]


@pytest.mark.parametrize("tool", [legato_compile, legato_run])
def test_a_pass_that_does_not_run_is_no_place_to_print(tool, folder, capsys):
    assert tool.main(["weights.mlir", *(["--emit", "fused"] if tool is legato_compile else []), "--print-ir-after=tir-fus"]) == 2
    assert "no pass of that name runs; did you mean tir-fuse?" in capsys.readouterr().err


def test_compile_writes_a_reproducer(folder, capsys):
    (folder / "target.py").write_text(PASSES.replace("toy-break", "toy-spoil") + """
from legato import Target
TOY = Target("toy", parents=("llvm",), passes=(Break,), stages=(("relax", "relax-infer-shapes,toy-spoil,cse"),))
""")
    words = ["weights.mlir", "--load", "target.py", "--target", "toy", "--emit", "relax", "-q", "--reproducer", "r.mlir"]
    assert legato_compile.main(words) == 1
    assert "toy-spoil failed: it left IR that is not valid" in capsys.readouterr().err
    text = (folder / "r.mlir").read_text()
    assert "// pipeline: toy-spoil\n" in text and "// command: legato-compile weights.mlir" in text


def test_compile_tells_how_to_get_a_reproducer(folder, capsys):
    (folder / "target.py").write_text(PASSES.replace("toy-break", "toy-spoils") + """
from legato import Target
TOY = Target("toy-too", parents=("llvm",), passes=(Break,), stages=(("relax", "relax-infer-shapes,toy-spoils,cse"),))
""")
    assert legato_compile.main(["weights.mlir", "--load", "target.py", "--target", "toy-too", "--emit", "relax", "-q"]) == 1
    assert "note: --reproducer=FILE writes the IR before the pass" in capsys.readouterr().err


def test_the_final_verifier_has_a_reproducer(folder, capsys):
    """It names the pass after which the IR is invalid."""
    said = opt(capsys, "weights.mlir", "--load", "breaks.py", "--cse", "--toy-break", "--canonicalize", code=1).err
    assert "toy-break failed: it left IR that is not valid: 'func.return' op" in said and "verify_each" not in said
    assert "the IR before the failing pass is in weights.reproducer.mlir" in said
    text = (folder / "weights.reproducer.mlir").read_text()
    assert "// pipeline: toy-break\n" in text and "return %0, %1, %2" in text
    assert "toy-break failed" in opt(capsys, "weights.reproducer.mlir", "--run-reproducer", code=1).err


def test_stale_reproducers_are_removed(folder, capsys):
    command = ["weights.mlir", "--load", "breaks.py", "--toy-break"]
    opt(capsys, *command, code=1)
    files = [folder / "weights.reproducer.mlir", folder / "weights.reproducer.mlir.safetensors"]
    opt(capsys, "weights.mlir", "--cse")
    assert all(file.exists() for file in files)  # another command's
    (folder / "breaks.py").write_text(PASSES.replace("last.operation.erase()", "function.body.blocks[0].operations[3].operation.erase()"))
    opt(capsys, *command)
    assert not any(file.exists() for file in files)
