"""One op of the host's part of a module whose kernels are launched on a device, as steps for ``runtime.vulkan.plan``.

Integers in registers are signed, truth values 0 or 1.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from legato.core.dtypes import numpy_dtype
from legato.core.errors import UnsupportedError
from legato.core.locations import describe
from legato.core.mlir import ir

Step = list[Any]
BINARY = {
    "arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.divsi": "div", "arith.remsi": "rem", "arith.divui": "udiv",
    "arith.remui": "urem", "arith.floordivsi": "floordiv", "arith.ceildivsi": "ceildiv", "arith.ceildivui": "uceildiv",
    "arith.maxsi": "max", "arith.minsi": "min", "arith.maxui": "umax", "arith.minui": "umin", "arith.andi": "and", "arith.ori": "or",
    "arith.xori": "xor",
}
FLOAT_BINARY = {"arith.addf": "fadd", "arith.subf": "fsub", "arith.mulf": "fmul", "arith.maxnumf": "fmax", "arith.minnumf": "fmin"}
FLOAT_UNARY = {"arith.negf": "neg", "arith.sitofp": "float"}
VIEWS = ("builtin.unrealized_conversion_cast", "memref.cast", "memref.memory_space_cast")   # values that are their operands
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "ult", "ule", "ugt", "uge")     # by the number of arith.cmpi's predicate
FLOATS_COMPARED = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 13: "ne"}       # by that of arith.cmpf's: ordered ones, and une
WORD = 64       # bits of a size


def steps_of(op: ir.Operation, taken: list[int], results: list[int], ops: str) -> list[Step]:
    """The steps of one op without regions, from and to registers. ``ops``: the graph ops that a launch computes. UnsupportedError for what
    the host does not do between launches."""
    numbers = arithmetic(op, taken, results) or conversion(op, taken, results)
    if numbers:
        return numbers
    if op.name == "arith.constant":
        return constant_steps(op, results[0])
    if op.name == "arith.select":
        return [["select", results[0], *taken]]
    if op.name == "memref.dim":
        return [["dim", results[0], *taken]]
    if op.name == "memref.extract_strided_metadata":
        return [["metadata", results, *taken]]
    if op.name == "memref.view":
        return [["view", results[0], taken[0], taken[1], sizes_of(ir.MemRefType(op.results[0].type), taken[2:])]]
    if op.name == "memref.get_global":
        return [["constant", results[0], ir.FlatSymbolRefAttr(op.attributes["name"]).value, list(ir.MemRefType(op.results[0].type).shape)]]
    if op.name in ("memref.reinterpret_cast", "memref.subview"):
        return parts(op, taken, results[0])
    if op.name == "memref.alloc" and holds_numbers(op.results[0]):
        return [["numbers", results[0], ir.MemRefType(op.results[0].type).get_dim_size(0)]]
    if op.name == "memref.store":
        value, buffer, *places = taken
        if holds_numbers(op.operands[1]):
            return [["put", *taken]]
        return [["write", value, buffer, places, element_type(op.operands[1])]]
    if op.name == "memref.load":
        if holds_numbers(op.operands[0]):
            return [["get", results[0], *taken]]
        return [["read", results[0], taken[0], taken[1:], element_type(op.operands[0])]]
    if op.name == "memref.dealloc":
        return []
    if op.name == "gpu.launch_func":
        return [launch(op, taken, ops)]
    if op.name == "memref.copy":
        return [["copy", *taken, item_bytes(op.operands[0].type)]]
    raise UnsupportedError(f"{describe(op)}: {op.name} runs on the host between launches, which the plan of a device cannot")


def arithmetic(op: ir.Operation, taken: list[int], results: list[int]) -> list[Step]:
    """The steps of arithmetic on integers, wrapped to their width, and of that on sizes as f64; none for another op."""
    if op.name in BINARY:
        name, width = BINARY[op.name], bits(op.results[0].type)
        if name.startswith("u") and width != WORD:
            return []
        return [[name, results[0], *taken], *([] if width == WORD else [["wrap", results[0], results[0], width]])]
    if op.name == "arith.cmpi":
        return [["cmp", results[0], COMPARED[ir.IntegerAttr(op.attributes["predicate"]).value], *taken]]
    if op.name == "arith.cmpf":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        return [["cmp", results[0], FLOATS_COMPARED[predicate], *taken]] if predicate in FLOATS_COMPARED else []
    is_double = any(isinstance(value.type, ir.F64Type) for value in (*op.operands, *op.results))
    name = {**FLOAT_BINARY, **FLOAT_UNARY}.get(op.name)
    if op.name == "arith.fptosi" and is_double:
        return [["int", results[0], *taken, describe(op)]]
    return [[name, results[0], *taken]] if name and is_double else []


def conversion(op: ir.Operation, taken: list[int], results: list[int]) -> list[Step]:
    """The steps of a conversion between integers; none for another op."""
    if op.name in ("arith.extui", "arith.index_castui"):
        width = bits(op.operands[0].type)
        return [["set", results, taken] if width in (1, WORD) else ["unsigned", results[0], taken[0], width]]
    if op.name == "arith.extsi" and bits(op.operands[0].type) == 1:
        return [["neg", results[0], taken[0]]]
    if op.name in ("arith.extsi", "arith.index_cast"):      # not wrapped: a size beyond the 32 bits of a kernel is refused at its launch
        return [["set", results, taken]]
    return [["wrap", results[0], taken[0], bits(op.results[0].type)]] if op.name == "arith.trunci" else []


def bits(type_: ir.Type) -> int:
    """The bits of an integer; of an index, those of a size."""
    return ir.IntegerType(type_).width if isinstance(type_, ir.IntegerType) else WORD


def constant_steps(op: ir.Operation, result: int) -> list[Step]:
    """The step of a number; none for other constants."""
    value = op.attributes["value"]
    if isinstance(value, ir.BoolAttr):
        return [["const", result, int(value.value)]]
    if isinstance(value, ir.IntegerAttr | ir.FloatAttr):
        return [["const", result, value.value]]
    return []


def launch(op: ir.Operation, taken: list[int], ops: str) -> Step:
    """A launch: the kernel, the grid, the buffers."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    first = segments[0]
    buffers = sum(segments[:11])
    kernel = ir.SymbolRefAttr(op.attributes["kernel"]).value[0]
    return ["launch", kernel, taken[first:first + 3], taken[buffers:buffers + segments[11]], ops]


def sizes_of(type_: ir.MemRefType, dynamic: Sequence[int]) -> list[Any]:
    """Sizes as plain numbers, or as registers in a list of one."""
    rest = iter(dynamic)
    return [[next(rest)] if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]


def parts(op: ir.Operation, taken: list[int], result: int) -> list[Step]:
    """memref.reinterpret_cast and memref.subview: offsets, sizes and strides, in elements."""
    unknown = (ir.ShapedType.get_dynamic_stride_or_offset(), ir.ShapedType.get_dynamic_size(), ir.ShapedType.get_dynamic_stride_or_offset())
    rest = iter(taken[1:])
    found = [[[next(rest)] if one == mark else one for one in ir.DenseI64ArrayAttr(op.attributes[name])]
             for name, mark in zip(("static_offsets", "static_sizes", "static_strides"), unknown)]
    return [["recast" if op.name.endswith("cast") else "subview", result, taken[0], *found]]


def holds_numbers(buffer: ir.Value) -> bool:
    """Whether a buffer is the host's own: of the sizes of a launch, i32, or of the function of sizes."""
    type_ = ir.MemRefType(buffer.type)
    own = not isinstance(buffer.owner, ir.Block) and buffer.owner.name == "memref.alloc" and type_.has_static_shape
    return (own and type_.element_type == ir.IntegerType.get_signless(32)) or isinstance(type_.element_type, ir.IndexType)


def element_type(buffer: ir.Value) -> str:
    """The name of a buffer's element type, as numpy's."""
    return numpy_dtype(ir.MemRefType(buffer.type).element_type).name


def item_bytes(type_: ir.Type) -> int:
    """The bytes of an element."""
    element = ir.MemRefType(type_).element_type
    if isinstance(element, ir.IndexType):
        return 8
    bits = ir.IntegerType(element).width if isinstance(element, ir.IntegerType) else ir.FloatType(element).width
    return max(1, bits // 8)
