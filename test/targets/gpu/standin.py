"""Models for NVIDIA's GPUs on a stand-in for the driver library (inputs/standin_driver.c), which runs their kernels on the CPU.

What a model's own code does is what it does beside NVIDIA's driver; the kernels are those that PTX is made of, lowered for the CPU.
"""
import atexit
import ctypes
import functools
import os
import re
import shutil
import subprocess
import tempfile
from math import prod
from pathlib import Path

from standin_accesses import check_accesses
from standin_forms import add_short_forms
from standin_matrices import MATRIX_FUNCTIONS, call, element, number, rewrite_matrices, word
from standin_warpgroups import WARPGROUP_WAITING, rewrite_warpgroups

import legato
from legato.codegen.device_code import BINARY, NO_BINARY, PTX, embed_kernels
from legato.codegen.jit import jit
from legato.core.ir_helpers import body, copy, find
from legato.core.mlir import arith, execution_engine, func, ir, memref
from legato.dialects.module import Module
from legato.dialects.tir.markers import PASSED, TENSOR_MAPS
from legato.passes.legalize.check_lowered import CheckLowered
from legato.targets.catalog import Catalog

SOURCE = Path(__file__).parent / "inputs" / "standin_driver.c"
HEADER = "/usr/local/cuda/include/cuda.h"     # NVIDIA's: types of functions are compared with it where it is
IDS = {"gpu.block_id": 0, "gpu.thread_id": 3, "gpu.grid_dim": 6, "gpu.block_dim": 9}
SPACES = re.compile(r", #gpu\.address_space<\w+>")
MODES = ("xor", "up", "down", "idx")
ALIGNED = "standin_aligned"
FUNCTIONS = {"standin_barrier": "(i32) -> ()", "standin_shuffle": "(i64, i32, i32, i32) -> i64", "standin_valid": "() -> i32"}
WAITING = ("standin_barrier", "standin_shuffle", *MATRIX_FUNCTIONS, *WARPGROUP_WAITING)     # functions in which a thread waits for others
PTX_OF: list[str] = []      # the PTX of the model that was prepared last
TARGET = "nvvm{approx=true}"     # PTX that needs no libdevice
TILES_ROOM = 1 << 18      # bytes: the addresses that a matrix's description can say
HOST = "llvm{cpu=x86-64-v3}"


@functools.cache
def driver():
    """The stand-in, built once a process, as ctypes has it. Models find it by the environment."""
    folder = Path(tempfile.mkdtemp(prefix="legato-standin-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "libcuda.so.1"
    header = [f'-DSTANDIN_CUDA_H="{HEADER}"'] if os.path.exists(HEADER) else []
    subprocess.run(["cc", "-O2", "-Wall", "-Wno-enum-compare", "-Werror", "-shared", "-fPIC", *header, str(SOURCE), "-o", str(library),
                    "-lpthread", "-ldl"], check=True)
    os.environ["LEGATO_LIBCUDA"] = str(library)
    os.environ["STANDIN_KERNELS"] = str(folder)
    made = ctypes.CDLL(str(library))
    made.standin_digest.restype = ctypes.c_uint64
    made.standin_digest.argtypes = [ctypes.c_char_p]
    made.standin_calls.restype = made.standin_live.restype = ctypes.c_long
    made.standin_calls.argtypes = [ctypes.c_char_p]
    made.standin_fail.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
    return made


def compiled(module, target=TARGET):
    """A module, or a kernel of a script, compiled for an NVIDIA GPU, with kernels for the stand-in; as in ``prepared``."""
    lowered = prepared(module, target)
    return jit(lowered.module, lowered.weights)


def prepared(module, target=TARGET):
    """The lowered module, with PTX, whose kernels the stand-in has. ``module`` may be at the stage outlined already."""
    target = quick(target)
    return finished(outlined(module, target), target)


def outlined(module, target):
    """The module at the stage outlined; itself where it is there already: what a test has looked at is not lowered again to run."""
    there = isinstance(module, Module) and "gpu.container_module" in module.operation.attributes
    return module if there else legato.lower(module, target, last="outlined")


def quick(target):
    """The target without a cubin, for which ptxas takes time, unless it says otherwise."""
    if "cubin=" in target:
        return target
    return target.replace("}", " cubin=false}") if "{" in target else f"{target}{{cubin=false}}"


def finished(module, target):
    """The lowered module of one at the stage outlined."""
    target = quick(target)
    driver()
    lowered = legato.lower(module, target, from_stage="outlined", last="nvvm")
    passed = {text(f, "sym_name"): list(f.attributes[PASSED]) if PASSED in f.attributes else None
              for f in find(lowered.operation, "llvm.func") if len(f.regions[0].blocks)}
    lowered = legato.lower(lowered, target, from_stage="nvvm")
    embed_kernels(lowered.module)
    images = {text(op, "sym_name"): op.attributes["value"] for op in lowered.module.body.operations
              if op.operation.name == "llvm.mlir.global" and text(op, "sym_name") in (PTX, BINARY)}
    PTX_OF[:] = [images[PTX].value.rstrip("\0")]
    place = kernels_of(PTX_OF[0].encode())
    if passed and not place.exists():
        build(module, passed, place)
    if BINARY in images and (binary := images[BINARY].value_bytes) != NO_BINARY:
        shutil.copy(place, kernels_of(binary))
    return lowered


def kernels_of(image):
    """Where the stand-in looks for the kernels of a text or a cubin."""
    return Path(os.environ["STANDIN_KERNELS"]) / f"{driver().standin_digest(image):016x}.so"


def text(op, name):
    """The text of an attribute."""
    return op.attributes[name].value


def build(outlined, passed, place):
    """Writes the shared object with the kernels of a module at the stage outlined. ``passed``: of each kernel the words that launches give
    it; None for all."""
    module = Module.parse(str(outlined))
    add_short_forms(module, passed)
    check_alignment(module)
    rewrite_warpgroups(module)
    rewrite_matrices(module)     # while shared memory is known as such
    check_accesses(module)
    module = Module.parse(SPACES.sub("", str(module)))
    kinds, threads = {}, most_threads(PTX_OF[0])
    with module.context, ir.Location.unknown():
        for function in [op for op in module.module.body.operations if isinstance(op, func.FuncOp)]:
            function.operation.erase()
        for holder in find(module.operation, "gpu.module"):
            on_cpu(module.module, holder, kinds)
        for name, type_ in FUNCTIONS.items():
            with ir.InsertionPoint.at_block_begin(module.module.body):
                func.FuncOp(name, ir.FunctionType(ir.Type.parse(type_)), visibility="private")
        del module.operation.attributes["gpu.container_module"]
    lower_to_llvm(module)
    with module.context, ir.Location.unknown():
        bodies = [one for one in find(module.operation, "llvm.func") if len(one.regions[0].blocks)]
        parts = ir.Module.parse("\n".join(runner(one, kinds, passed, threads) for one in bodies))
        for op in list(parts.body.operations):
            if op.operation.name != "llvm.func" or len(op.operation.regions[0].blocks):
                op.operation.detach_from_parent()
                module.module.body.append(op)
        engine = execution_engine.ExecutionEngine(
            module.module, opt_level=0, shared_libs=[os.environ["LEGATO_LIBCUDA"]],
            enable_object_dump=True, enable_pic=True)  # pyright: ignore[reportCallIssue]
        engine.raw_lookup(f"{next(iter(kinds))}.run")
    made = place.with_suffix(".o")
    engine.dump_to_object_file(str(made))
    subprocess.run(["cc", "-shared", str(made), "-o", str(place), os.environ["LEGATO_LIBCUDA"], "-lm"], check=True)
    made.unlink()


def most_threads(ptx):
    """The threads of a block that the PTX of each kernel says: without this number registers may not suffice for a block."""
    found = {name: sizes for name, sizes in re.findall(r"\.entry (\w+)\([^)]*\)\n(?:\.maxntid ([\d, ]+)\n)?", ptx)}
    assert all(found.values()), f"kernels without the size of their blocks: {[name for name, sizes in found.items() if not sizes]}"
    return {name: prod(map(int, sizes.split(", "))) for name, sizes in found.items()}


def check_alignment(module):
    """Calls of the stand-in in front of accesses of vectors, which a device refuses where they are not aligned."""
    with module.context, ir.Location.unknown():
        for holder in find(module.operation, "gpu.module"):
            with ir.InsertionPoint.at_block_begin(holder.regions[0].blocks[0]):
                func.FuncOp(ALIGNED, ir.FunctionType(ir.Type.parse("(i64, i32) -> ()")), visibility="private")
            for op in find(holder, "vector.load", "vector.store"):
                buffer, *place = list(op.operands)[op.name == "vector.store":]
                if "alignment" in op.attributes and (isinstance(buffer.owner, ir.Block) or buffer.owner.name != "memref.alloca"):
                    with ir.InsertionPoint(op), op.location:
                        call(ALIGNED, word(element(buffer, place)), number(op.attributes["alignment"].value))


def on_cpu(module, holder, kinds):
    """Makes functions of the kernels in a gpu.module: their arguments are the kernel's and the thread's twelve numbers."""
    names = {text(op, "sym_name") for op in module.body.operations if "sym_name" in op.attributes}
    for declaration in find(holder, "func.func"):
        if text(declaration, "sym_name") not in names:
            ir.InsertionPoint.at_block_begin(module.body).insert(declaration.clone())
    for kernel in find(holder, "gpu.func"):
        name = text(kernel, "sym_name")
        entry = kernel.regions[0].blocks[0]
        shared = kernel.attributes["workgroup_attributions"].value if "workgroup_attributions" in kernel.attributes else 0
        own = list(entry.arguments)[len(ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs):]
        given = list(entry.arguments)[:len(entry.arguments) - len(own)]
        index = ir.IndexType.get()
        with ir.InsertionPoint(module.body):
            made = func.FuncOp(name, ir.FunctionType.get([*(a.type for a in given), *[index] * 12], []))
        block = made.add_entry_block()
        arguments, ids = list(block.arguments)[:len(given)], list(block.arguments)[len(given):]
        sizes = [prod(a.type.shape) * bits(a.type.element_type) // 8 for a in own[:shared]]
        with ir.InsertionPoint(block):
            if shared and any(op.attributes["callee"].value == "standin_wgmma" for op in find(kernel, "func.call")):
                memory, sizes = tiles(module, name, kernel, own[:shared], sizes)
                memory += [memref.alloca(a.type, [], []) for a in own[shared:]]
            else:
                memory = [global_memory(module, f"{name}.shared.{n}", a.type) if n < shared else memref.alloca(a.type, [], [])
                          for n, a in enumerate(own)]
            copy(body(entry), dict(zip(entry.arguments, [*arguments, *memory])))
            func.ReturnOp([])
        rewrite(made.operation, ids)
        called = {op.attributes["callee"].value for op in find(made.operation, "func.call")}
        maps = kernel.attributes[TENSOR_MAPS].value if TENSOR_MAPS in kernel.attributes else 0
        kinds[name] = ("s" if called.intersection(WAITING) else "-"), maps, sizes
    holder.erase()


def global_memory(module, name, type_, alignment=128):
    """A buffer that all threads have: the stand-in runs one block at a time."""
    with ir.InsertionPoint.at_block_begin(module.body):
        memref.GlobalOp(name, ir.TypeAttr.get(type_), initial_value=ir.UnitAttr.get(),
                        alignment=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), alignment))
    return memref.get_global(type_, name)


def tiles(module, name, kernel, buffers, sizes):
    """The shared buffers of a kernel that multiplies some by warpgroups, as parts of one, which a matrix's description can say; and its
    size."""
    places, end = [], 0
    for size, asked in zip(sizes, kernel.attributes["workgroup_attrib_attrs"], strict=True):
        end += -end % asked["llvm.align"].value
        places.append(end)
        end += size
    memory = global_memory(module, f"{name}.shared.0", ir.MemRefType.get([end], ir.IntegerType.get_signless(8)), TILES_ROOM)
    return [memref.ViewOp(ir.MemRefType.get(one.type.shape, one.type.element_type), memory,
                          arith.constant(ir.IndexType.get(), place), []).result for one, place in zip(buffers, places)], [end]


def rewrite(function, ids):
    """Puts what the stand-in has in the places of the GPU's ops."""
    i32 = ir.IntegerType.get_signless(32)
    for op in find(function, *IDS):
        op.results[0].replace_all_uses_with(ids[IDS[op.name] + "xyz".index(str(op.attributes["dimension"])[-2])])
        op.erase()
    for place, op in enumerate(find(function, "gpu.barrier")):
        with ir.InsertionPoint(op), op.location:
            call("standin_barrier", number(place))
        op.erase()
    for op in find(function, "gpu.shuffle"):
        with ir.InsertionPoint(op), op.location:
            mode = arith.constant(i32, next(n for n, m in enumerate(MODES) if m in str(op.attributes["mode"])))
            got = func.CallOp([ir.IntegerType.get_signless(64)], ir.FlatSymbolRefAttr.get("standin_shuffle"),
                              [as_word(op.operands[0]), op.operands[1], op.operands[2], mode]).results[0]
            valid = func.CallOp([i32], ir.FlatSymbolRefAttr.get("standin_valid"), []).results[0]
            op.results[0].replace_all_uses_with(of_word(got, op.results[0].type))
            op.results[1].replace_all_uses_with(arith.trunci(ir.IntegerType.get_signless(1), valid))
        op.erase()
    for op in find(function, "gpu.return"):
        op.erase()
    left = sorted({op.name for op in find(function, "gpu.printf", "gpu.dynamic_shared_memory", "gpu.all_reduce", "gpu.subgroup_reduce")})
    assert not left, f"the stand-in does not have {left}"


def as_word(value):
    """A value's bits in 64."""
    if isinstance(value.type, ir.FloatType):
        value = arith.bitcast(ir.IntegerType.get_signless(value.type.width), value)
    return value if value.type.width == 64 else arith.extui(ir.IntegerType.get_signless(64), value)


def of_word(word, type_):
    """The value of such bits."""
    width = type_.width
    narrow = word if width == 64 else arith.trunci(ir.IntegerType.get_signless(width), word)
    return arith.bitcast(type_, narrow) if isinstance(type_, ir.FloatType) else narrow


def lower_to_llvm(module):
    """Runs the CPU's own last stage, without what is about main."""
    stage = dict(Catalog().resolve(HOST).pipeline())["llvm"]
    for name in ("tir-prefetch-weights,", "tir-pass-pointers,", ",tir-emit-entry"):
        assert name in stage
        stage = stage.replace(name, "")
    legato.Pipeline(stage).run(module, legato.PassContext(resolve_target=Catalog().resolve))
    CheckLowered().run(module, legato.PassContext())


def kind(type_):
    """What the stand-in has to know of a parameter: a pointer, or its bytes."""
    if type_ == "!llvm.ptr":
        return "p"
    return str(max(1, int(re.sub(r"\D", "", type_.replace("bf16", "16"))) // 8))


def bits(type_):
    """The bits of an element."""
    return 64 if isinstance(type_, ir.IndexType) else max(8, type_.width)


def runner(function, kinds, passed, threads):
    """A function ``name.run(parameters, numbers)`` that the stand-in calls for each thread, and a text ``name.kinds``: whether the threads
    wait for each other, the kinds of the parameters, the most threads in a block, and the bytes of each shared buffer."""
    name, types = text(function, "sym_name"), [str(a.type) for a in function.regions[0].blocks[0].arguments]
    waits, maps, shared = kinds[name]
    first = len(types) - 12 - maps      # of the tensor maps, which are passed by value
    given = range(len(types) - 12) if passed[name] is None else passed[name]
    listed = waits + "".join("t" if n >= first else kind(types[n]) for n in given)
    numbers = " ".join(map(str, (threads[name], *shared)))
    lines = [f'llvm.func @"{name}"({", ".join(types)})', f'llvm.mlir.global external constant @"{name}.kinds"("{listed} {numbers}\\00")',
             f'llvm.func @"{name}.run"(%slots: !llvm.ptr, %ids: !llvm.ptr) {{']
    for n, type_ in enumerate(types[:-12]):
        if n not in given:      # what no thread reads
            lines.append(f"  %a{n} = llvm.mlir.poison : {type_}")
            continue
        lines += [f"  %s{n} = llvm.getelementptr %slots[{list(given).index(n)}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr",
                  f"  %p{n} = llvm.load %s{n} : !llvm.ptr -> !llvm.ptr"]
        if n < first:
            lines.append(f"  %a{n} = llvm.load %p{n} : !llvm.ptr -> {type_}")
    for n in range(12):
        lines += [f"  %q{n} = llvm.getelementptr %ids[{n}] : (!llvm.ptr) -> !llvm.ptr, i64",
                  f"  %i{n} = llvm.load %q{n} : !llvm.ptr -> i64"]
    values = ", ".join([*(f"%a{n}" if n < first else f"%p{n}" for n in range(len(types) - 12)), *(f"%i{n}" for n in range(12))])
    return "\n".join([*lines, f'  llvm.call @"{name}"({values}) : ({", ".join(types)}) -> ()', "  llvm.return", "}"])
