"""``T.call_packed("name", A, A[0:4, j], i, 1.5, "text")``: calls of packed functions from a kernel."""

import ast
from typing import Any

from legato.core.ir_helpers import ancestors, plain_attribute
from legato.core.mlir import ir, memref
from legato.dialects import tir
from legato.dialects.relax.dims import product
from legato.dialects.tir.loops import PARALLEL, THREAD, VECTORIZED
from legato.frontends.script.kernel.buffers import DYNAMIC, Buffer
from legato.frontends.script.kernel.elements import bounds_of_part, subscripts
from legato.frontends.script.kernel.intrinsics import check_dtype
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.pointers import PointerValue
from legato.frontends.script.kernel.values import Scalar, as_index
from legato.frontends.script.kernel.views import Part, Reshaped, View
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import value_type

# loops whose steps may run at the same time, which a packed function may not
TOGETHER = {PARALLEL: "parallel", VECTORIZED: "vectorized", THREAD: "thread-bound"}


def call_packed_word(parser: KernelParser, node: ast.Call) -> Scalar | None:
    """``T.call_packed`` as a value: the number that the function returns."""
    return call_packed(parser, node, result=True)


def call_packed(parser: KernelParser, node: ast.Call, result: bool) -> Scalar | None:
    """A call at the insertion point. ``result``: whether its result, a number of the type ``dtype=`` (default: int32), is used."""
    if not node.args:
        raise Misuse('T.call_packed says the name of the function, then what it is given: T.call_packed("my.f", A, 3)')
    name, dtype = parser.expression(node.args[0]), "int32"
    for keyword in node.keywords:
        if keyword.arg != "dtype":
            raise Misuse(f"T.call_packed has no argument '{keyword.arg}'")
        dtype = check_dtype(parser.expression(keyword.value))
    if not isinstance(name, str):
        raise parser.error("T.call_packed calls a packed function by its name", node.args[0])
    for loop in (op.opview for op in ancestors_of_here() if op.name == "tir.for"):
        if loop.kind in TOGETHER:
            raise Misuse(f"a packed function is called by one step of a loop at a time, and the loop {loop.name} around this one is "
                          f"{TOGETHER[loop.kind]}: make it serial, or call the function outside")
    operands, dtypes, arguments = [], [], []
    for one in node.args[1:]:
        given = argument(parser, one)
        if isinstance(given, ir.Attribute):
            arguments.append(given)
            continue
        operands.append(given[0])
        dtypes.append(given[1])
        arguments.append(ir.UnitAttr.get())
    listed = arguments if len(operands) != len(arguments) else []
    made = tir.call_packed(name, operands, dtypes, listed, [value_type(dtype)] if result else [])
    return Scalar(made[0], dtype) if made else None


def ancestors_of_here() -> list[ir.Operation]:
    """The ops around the insertion point, innermost first."""
    owner = ir.InsertionPoint.current.block.owner.operation
    return [owner, *ancestors(owner)] if owner.name != "func.func" else []


def argument(parser: KernelParser, node: ast.expr) -> ir.Attribute | tuple[ir.Value, str]:
    """An argument: an attribute where it is known when the kernel is parsed, else an SSA value and its type in the script."""
    if isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
        value = part_of(parser, node)
    else:
        value = parser.expression(node)
    if isinstance(value, Buffer):
        return memory(value), value.dtype
    if isinstance(value, Scalar):
        return value.value, value.dtype
    if isinstance(value, PointerValue):
        return value.value, "pointer"
    if isinstance(value, str) and "\0" in value:
        raise parser.error("the text has a zero in it: texts end there", node)
    if (plain := plain_attribute(value)) is not None:
        return plain
    raise parser.error("a packed function takes buffers, parts of buffers, numbers, texts and addresses", node)


def part_of(parser: KernelParser, node: ast.Subscript) -> Buffer:
    """``A[0:4, j]``: a part of a buffer; an index takes its dimension away, as in numpy."""
    buffer = parser.expression(node.value)
    if not isinstance(buffer, Buffer):
        raise parser.error("parts are taken of buffers", node)
    with parser.source.at(node):
        if any(isinstance(e, ast.Slice) and e.step is not None for e in subscripts(node.slice)):
            raise Misuse("a part of a buffer has no steps: A[i:i + 4]")
        bounds = bounds_of_part(parser, node.slice, buffer)
    kept = tuple(axis for axis, (e, _, _) in enumerate(bounds) if isinstance(e, ast.Slice))
    begin, extents = tuple(b for _, b, _ in bounds), [e for _, _, e in bounds]
    return Part(buffer.value, buffer.dtype, buffer.name, buffer, tuple(extents[k] for k in kept), begin, kept)


def memory(buffer: Buffer) -> ir.Value:
    """A buffer, or the part of one that a view is, as a memref."""
    if not isinstance(buffer, View):
        return buffer.value
    base = memory(buffer.base)
    if isinstance(buffer, Reshaped):
        sizes = [buffer.size(axis) for axis in range(buffer.rank)]
        if not all(isinstance(s, int) for s in (*sizes, buffer.begin)):
            raise Misuse(f"'{buffer.name}' is another shape of '{buffer.base.name}', with sizes that are known at run time only: give "
                          "that buffer itself")
        strides = [product(sizes[axis + 1:]) for axis in range(buffer.rank)]
        layout = ir.StridedLayoutAttr.get(buffer.begin, strides) if buffer.begin else None
        type_ = ir.MemRefType.get(sizes, base.type.element_type, layout)
        return memref.ReinterpretCastOp(type_, base, [], [], [], [buffer.begin], sizes, strides).result
    assert isinstance(buffer, Part)
    rank = base.type.rank
    sizes: list[Any] = [1] * rank
    for axis, dimension in enumerate(buffer.kept):
        sizes[dimension] = buffer.size(axis)
    offsets = list(buffer.begin)
    dynamic = [as_index(v) for v in (*offsets, *sizes) if not isinstance(v, int)]
    static_offsets, static_sizes = ([v if isinstance(v, int) else DYNAMIC for v in row] for row in (offsets, sizes))
    source = base.type
    dense = source.layout == ir.MemRefType.get(source.shape, source.element_type).layout
    strides = [DYNAMIC] * rank
    if dense:
        strides = [product(source.shape[axis + 1:]) if DYNAMIC not in source.shape[axis + 1:] else DYNAMIC for axis in range(rank)]
    terms = [0 if o == 0 else DYNAMIC if DYNAMIC in (o, s) else o * s for o, s in zip(static_offsets, strides)]
    offset = sum(terms) if dense and DYNAMIC not in terms else DYNAMIC
    kept = sorted(buffer.kept)
    if list(buffer.kept) != kept:
        raise Misuse(f"'{buffer.name}' has the dimensions of '{buffer.base.name}' in another order: give that buffer itself")
    layout = ir.StridedLayoutAttr.get(offset, [strides[d] for d in kept])
    type_ = ir.MemRefType.get([static_sizes[d] for d in kept], source.element_type, layout)
    count = sum(not isinstance(v, int) for v in offsets)
    return memref.SubViewOp(type_, base, dynamic[:count], dynamic[count:], [], static_offsets, static_sizes, [1] * rank).result
