"""tir-call-driver: launches become calls of the entry's functions, which call the CUDA driver (codegen/entry/cuda/launch.py).

Main and the functions that it calls get the call under way as an argument, and the functions a number that says for which graph ops they
work. What they read and write of the device's memory, other than by launches, becomes calls, too.
"""
from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import everything, find, index
from legato.core.locations import describe
from legato.core.mlir import arith, func, ir, memref
from legato.core.views import root_of
from legato.dialects.tir.markers import CHIP, CUBIN, ENTRY, GRAPHS, KERNELS, PASSED, RUN, SITES
from legato.dialects.tir.tiles import MULTIPROCESSORS, TENSOR_MAP, WINDOWS
from legato.passes.gpu.device_copies import copies, element, item_bytes
from legato.passes.gpu.host_functions import MAIN, add_arguments, callee_of, calls_of, extend_call, host_functions, ops_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import EXACT, Rounding

if TYPE_CHECKING:
    from legato.dialects.module import Module

ENTRY_FUNCTIONS = {"legato.cuda_launch": 5, "legato.cuda_tensor_map": 4, "legato.cuda_window_map": 4, "legato.cuda_copy": 5,
                   "legato.cuda_read": 4, "legato.cuda_write": 5, "legato.cuda_multiprocessors": 2}   # their operands
READ, WRITE, COUNT = "legato.cuda_read", "legato.cuda_write", "legato.cuda_multiprocessors"
RETURNING = (READ, COUNT)
LOGGER = logging.getLogger(__name__)
GRID = 6             # of a launch's operands: sizes of the grid and of blocks
CLUSTER, SHARED, PARAMETERS = slice(7, 10), 10, 11     # of its operandSegmentSizes
SIZES = 8            # words before a launch's parameters: grid, block, dynamic shared memory, tensor maps
MAP_WORDS = 16       # of a tensor map
MOST_AXES = 5        # of one
MAP_TYPES = {"i8": 0, "f16": 6, "bf16": 9, "f32": 11}     # CUtensorMapDataType: f32 as tf32, to which the copy rounds
OWN = ("memref.alloca", "memref.alloc")     # the host's memory


@dataclass(frozen=True)
class CallDriver(ModulePass):
    """Replaces gpu.launch_func, and other uses of the device's memory by the host, by calls of the entry's functions for CUDA. The
    gpu.modules stay, for the PTX that is made of them."""

    name: ClassVar[str] = "tir-call-driver"
    rounding: ClassVar[Rounding] = EXACT
    target: TargetText = option("nvvm", "the target whose chip the kernels are for")

    def run(self, module: Module, context: PassContext) -> None:
        options = context.target(self.target).options
        chip = options.get("chip")
        if not isinstance(chip, str):
            raise PassFailed(f"the target '{self.target}' has no option chip: its kernels are no PTX", module.operation)
        with module.context, ir.Location.unknown():
            call_driver(module.module, chip, options.get("graphs") is True, options.get("cubin") is True)


def call_driver(module: ir.Module, chip: str, graphs: bool, cubin: bool) -> None:
    """Works on one module, whose kernels are lowered. ``graphs``: whether launches are wanted as graphs; ``cubin``: whether machine code is
    wanted beside PTX. PassFailed for what the host cannot do with the device's memory."""
    functions = host_functions(module)
    main = functions[MAIN]
    kernels: dict[str, None] = {}
    sites: dict[str, None] = {}
    parameters = parameters_of(module)
    for name, function in functions.items():
        site: ir.Value | None = None
        if name == MAIN:
            (run,) = add_arguments(function, [ir.IndexType.get()], {RUN: ir.UnitAttr.get()})
        else:
            run, site = add_arguments(function, [ir.IndexType.get()] * 2)
        for op in everything(function.operation):
            if op.name in ("gpu.launch_func", "memref.copy", "memref.load", "memref.store", TENSOR_MAP, MULTIPROCESSORS):
                with ir.InsertionPoint(op), op.location:
                    rewrite(op, run, index(numbered(sites, "the model")) if site is None else site, kernels, parameters)
        for call in calls_of(function):
            if callee_of(call) in functions:
                with ir.InsertionPoint(call), call.location:
                    extend_call(call, [run, index(numbered(sites, ops_of(call))) if site is None else site])
    declare(module)
    main.attributes[CHIP] = ir.StringAttr.get(chip)
    if cubin:
        main.attributes[CUBIN] = ir.UnitAttr.get()
    if graphs and not waits(module):
        main.attributes[GRAPHS] = ir.UnitAttr.get()
    for mark, names in ((KERNELS, kernels), (SITES, sites)):
        main.attributes[mark] = ir.ArrayAttr.get([ir.StringAttr.get(one) for one in names])


def waits(module: ir.Module) -> bool:
    """Whether the host waits for the device between launches, so that they are no graph; then with a warning."""
    found = next((op for op in find(module.operation, "func.call") if callee_of(op) in (READ, WRITE)), None)
    if found is not None:
        LOGGER.warning("%s: the host waits for the device here (for a size that depends on data, a branch, or a recurrent layer), so that "
                       "the model's launches are not submitted as graphs: compile without graphs=true", describe(found))
    return found is not None


def parameters_of(module: ir.Module) -> dict[str, list[int]]:
    """Of each lowered kernel, which words of a launch's operands its parameters are."""
    kernels = [op for op in find(module.operation, "llvm.func") if len(op.regions[0].blocks)]
    return {ir.StringAttr(op.attributes["sym_name"]).value: list(ir.DenseI64ArrayAttr(op.attributes[PASSED])) if PASSED in op.attributes
            else list(range(len(op.regions[0].blocks[0].arguments))) for op in kernels}


def numbered(names: dict[str, None], name: str) -> int:
    """The number of a name, which is added if it is new."""
    names.setdefault(name)
    return list(names).index(name)


def rewrite(op: ir.Operation, run: ir.Value, site: ir.Value, kernels: dict[str, None], parameters: dict[str, list[int]]) -> None:
    """Puts a call in the place of an op that concerns the device."""
    if op.name == TENSOR_MAP:
        op.results[0].replace_all_uses_with(tensor_map(op, run, site))
    elif op.name == MULTIPROCESSORS:
        op.results[0].replace_all_uses_with(call(COUNT, [run, site]))
    elif op.name == "gpu.launch_func":
        launch(op, run, site, kernels, parameters)
    elif op.name == "memref.copy":
        if any(map(is_own, op.operands)):
            raise PassFailed("a copy between launches takes buffers of the device", op)
        copies(op, lambda to, source, size: call("legato.cuda_copy", [run, site, to, source, size]))
    elif is_own(op.operands[0 if op.name == "memref.load" else 1]):
        return
    elif op.name == "memref.load":
        read(op, run, site)
    else:
        write(op, run, site)
    op.erase()


def launch(op: ir.Operation, run: ir.Value, site: ir.Value, kernels: dict[str, None], parameters: dict[str, list[int]]) -> None:
    """Writes a launch's sizes and parameters, tensor maps last, to memory, and calls ``cuda_launch``."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    if sum(segments[CLUSTER]) or segments[0]:
        raise PassFailed("a launch with clusters or dependencies is not supported", op)
    operands = list(op.operands)
    first = sum(segments[:PARAMETERS])
    shared = operands[sum(segments[:SHARED])] if segments[SHARED] else None
    given = operands[first:first + segments[PARAMETERS]]
    kernel = ir.SymbolRefAttr(op.attributes["kernel"]).value[-1]
    words = [arith.index_cast(i64(), one) for one in operands[:GRID]]
    words.append(constant(0) if shared is None else arith.extui(i64(), shared))
    words.append(constant(sum(is_map(one) for one in given)))
    kept = parameters.get(kernel)
    if kept is None:
        raise PassFailed(f"a launch calls @{kernel}, and no kernel of that name is in the LLVM dialect", op)
    descriptors = [word for one in given for word in described(one)]
    if kept and kept[-1] >= len(descriptors):
        raise PassFailed(f"the kernel @{kernel} takes {kept[-1] + 1} words, and a launch gives {len(descriptors)}", op)
    passed = [descriptors[number] for number in kept]
    buffer = on_stack(op, SIZES + len(passed))
    for place, word in enumerate([*words, *passed]):
        memref.store(word, buffer, [index(place)])
    call("legato.cuda_launch", [run, site, index(numbered(kernels, kernel)), memref.extract_aligned_pointer_as_index(buffer),
                                index(len(passed))])


def tensor_map(op: ir.Operation, run: ir.Value, site: ir.Value) -> ir.Value:
    """Calls ``cuda_tensor_map`` for the description of a buffer. Returns the address of the map.

    The words in front of the map, which begins at a multiple of 64 bytes: the buffer's address, its element's type, the number of its axes,
    of each axis, the last one first, its size and its step in bytes, and the sizes of a copy's box, two in a word. Of windows there are in
    the box's place the strides of all axes, where windows begin and end along those that have them, likewise two in a word, and a
    word each of a copy's columns and rows.
    """
    buffer, *bounds = op.operands
    _, _, *layout = memref.ExtractStridedMetadataOp(buffer).results
    rank, width = buffer.type.rank, item_bytes(buffer.type.element_type)
    rows, last = op.attributes["rows"].value, rank - 1
    box = list(ir.DenseI64ArrayAttr(op.attributes["box"]))
    boxes = {rows: box[0], last: box[1]}
    words = [pointer(buffer), constant(MAP_TYPES[str(buffer.type.element_type)]), constant(rank)]
    for axis in reversed(range(rank)):
        size = bounds[0] if axis == rows else bounds[1] if axis == last else layout[axis]
        words += [arith.index_cast(i64(), size), arith.muli(arith.index_cast(i64(), layout[rank + axis]), constant(width))]
    windows = {name: list(ir.DenseI64ArrayAttr(op.attributes[name])) for name in WINDOWS if name in op.attributes}
    if windows:
        words += packed([1, *reversed(windows["strides"]), 1], MOST_AXES)
        for corner in ("lower", "upper"):
            words += packed(windows[corner][::-1], MOST_AXES - 2)
        words += map(constant, reversed(box))
    else:
        words += packed([boxes.get(axis, 1) for axis in reversed(range(rank))], rank)
    made = on_stack(op, MAP_WORDS + len(words), alignment=64)
    for place, word in enumerate(words):
        memref.store(word, made, [index(MAP_WORDS + place)])
    at = memref.extract_aligned_pointer_as_index(made)
    call("legato.cuda_window_map" if windows else "legato.cuda_tensor_map", [run, site, at, arith.addi(at, index(8 * MAP_WORDS))])
    return ir.Operation.create("llvm.inttoptr", [op.results[0].type], [arith.index_cast(i64(), at)]).results[0]


def packed(numbers: Sequence[int], count: int) -> list[ir.Value]:
    """Words of ``count`` numbers of 32 bits, two in each, of which the last ones may be missing."""
    sides = [one & 0xFFFFFFFF for one in numbers] + [0] * (count - len(numbers))
    return [constant(signed(low | high << 32)) for low, high in zip_longest(sides[::2], sides[1::2], fillvalue=0)]


def signed(word: int) -> int:
    """A word of 64 bits as the signed number of these bits."""
    return word - (1 << 64) if word >> 63 else word


def is_map(value: ir.Value) -> bool:
    """Whether an operand of a launch is the address of a tensor map, which is passed by value."""
    return str(value.type) == "!llvm.ptr"


def llvm_word(value: ir.Value) -> ir.Value:
    """A pointer as a word."""
    return ir.Operation.create("llvm.ptrtoint", [i64()], [value]).results[0]


def on_stack(op: ir.Operation, count: int, alignment: int | None = None) -> ir.Value:
    """Memory for so many words, until the function of ``op`` ends."""
    while op.parent.name != "func.func":
        op = op.parent
    with ir.InsertionPoint.at_block_begin(op.block):
        return memref.alloca(ir.MemRefType.get([count], i64()), [], [], alignment=alignment)


def described(value: ir.Value) -> list[ir.Value]:
    """An operand of a launch as upstream passes it: a buffer as its descriptor's words."""
    if not isinstance(value.type, ir.MemRefType):
        return [llvm_word(value) if is_map(value) else bits(value)]
    at = pointer(value)
    _, *layout = memref.ExtractStridedMetadataOp(value).results
    return [at, at, *(arith.index_cast(i64(), one) for one in layout)]


def pointer(buffer: ir.Value) -> ir.Value:
    """The address of a buffer as a word."""
    return arith.index_cast(i64(), memref.extract_aligned_pointer_as_index(buffer))


def bits(value: ir.Value) -> ir.Value:
    """A number as a word, whose first bytes are the number. PassFailed for another value."""
    if isinstance(value.type, ir.IndexType):
        return arith.index_cast(i64(), value)
    if isinstance(value.type, ir.FloatType):
        value = arith.bitcast(ir.IntegerType.get_signless(value.type.width), value)
    if not isinstance(value.type, ir.IntegerType) or value.type.width > 64:
        raise PassFailed(f"a launch takes buffers and numbers, and this is a {value.type}", value.owner)
    return value if value.type.width == 64 else arith.extui(i64(), value)


def read(op: ir.Operation, run: ir.Value, site: ir.Value) -> None:
    """Calls ``cuda_read`` for a memref.load."""
    type_ = op.results[0].type
    size = item_bytes(type_)
    word = arith.index_cast(i64(), call(READ, [run, site, element(op.operands[0], list(op.operands)[1:], size), index(size)]))
    if isinstance(type_, ir.IndexType):
        value = arith.index_cast(type_, word)
    else:
        whole = ir.IntegerType.get_signless(type_.width)
        value = word if type_.width == 64 else arith.trunci(whole, word)
        value = arith.bitcast(type_, value) if isinstance(type_, ir.FloatType) else value
    op.results[0].replace_all_uses_with(value)


def write(op: ir.Operation, run: ir.Value, site: ir.Value) -> None:
    """Calls ``cuda_write`` for a memref.store."""
    value, buffer, *indices = op.operands
    size = item_bytes(value.type)
    word = arith.index_cast(ir.IndexType.get(), bits(value))
    call(WRITE, [run, site, element(buffer, indices, size), word, index(size)])


def is_own(buffer: ir.Value) -> bool:
    """Whether a buffer is the host's: allocated by the function itself."""
    owner = root_of(buffer).owner
    return not isinstance(owner, ir.Block) and owner.name in OWN


def i64() -> ir.Type:
    """The type of a word."""
    return ir.IntegerType.get_signless(64)


def constant(value: int) -> ir.Value:
    """A word at the insertion point."""
    return arith.constant(i64(), value)


def call(name: str, operands: Sequence[ir.Value]) -> ir.Value:
    """Calls one of the entry's functions; what it returns, if it does."""
    results = [ir.IndexType.get()] if name in RETURNING else []
    made = func.CallOp(results, ir.FlatSymbolRefAttr.get(name), list(operands))
    return made.operation.results[0] if results else operands[0]


def declare(module: ir.Module) -> None:
    """Declares the entry's functions that the module calls."""
    called = {callee_of(one) for one in find(module.operation, "func.call")}
    with ir.InsertionPoint.at_block_begin(module.body):
        for name, count in ENTRY_FUNCTIONS.items():
            if name in called:
                type_ = ir.FunctionType.get([ir.IndexType.get()] * count, [ir.IndexType.get()] if name in RETURNING else [])
                func.FuncOp(name, type_, visibility="private").attributes[ENTRY] = ir.UnitAttr.get()
