"""Builders of structured kernels: tensors, loop nests, broadcasting, contractions.

They build at the insertion point. Tensors are plain: no encodings, signless integers. Sizes are Python ints if static, else index values.
"""
from collections.abc import Callable, Sequence
from typing import Any

from legato.core import ir_helpers
from legato.core.mlir import arith, ir, linalg, scf, tensor
from legato.targets.builders.element import Element
from legato.targets.builders.sizes import Size, dims, plus, product, shape_of, values_of
from legato.targets.builders.sizes import index as index_value

Body = Callable[..., ir.Value | Sequence[ir.Value]]


# tensors ----------------------------------------------------------------------------------------------------------------------------------

def empty(sizes: Sequence[Size], element: ir.Type) -> ir.Value:
    """An uninitialized tensor."""
    return tensor.EmptyOp(list(sizes), element).result


def is_empty(value: ir.Value) -> bool:
    """Whether a tensor is known to have no elements. No loop nests are built for these: upstream's tiling and vectorizer fail on them."""
    return 0 in value.type.shape


def filled(out: ir.Value, scalar: ir.Value) -> ir.Value:
    """``out`` with every element set to ``scalar``."""
    if is_empty(out):
        return out
    fill = linalg.FillOp([out.type], [scalar], [out])
    linalg.fill_builtin_region(fill.operation)
    return fill.results[0]


def splat(value: ir.Value) -> ir.Attribute | None:
    """The element of a tensor constant with equal elements, else None."""
    dense = ir_helpers.splat(value, "arith.constant")
    return None if dense is None else dense.get_splat_value()


def scalar_constant(value: ir.Value) -> float | int | None:
    """The Python number of a tensor constant with equal elements, else None."""
    element = splat(value)
    return None if element is None else element.value


def collapse(value: ir.Value, groups: Sequence[Sequence[int]]) -> ir.Value:
    """``tensor.collapse_shape``: each group of adjacent dimensions becomes one."""
    if list(map(list, groups)) == [[i] for i in range(value.type.rank)]:
        return value
    shape = []
    for group in groups:
        sizes = [value.type.shape[i] for i in group]
        dynamic = any(value.type.is_dynamic_dim(i) for i in group)
        shape.append(ir.ShapedType.get_dynamic_size() if dynamic else int(product(sizes)))
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return tensor.CollapseShapeOp(type_, value, groups).result


def expand(value: ir.Value, groups: Sequence[Sequence[int]], sizes: Sequence[Size]) -> ir.Value:
    """``tensor.expand_shape``: dimension i of ``value`` becomes the dimensions ``groups[i]`` of the result. ``sizes``: the result's
    sizes, which may be known where that of ``value`` is not, or the other way round."""
    if len(sizes) == value.type.rank:
        return value
    shape, element = shape_of(sizes), value.type.element_type
    dynamic = ir.ShapedType.get_dynamic_size()
    whole = [dynamic if dynamic in parts else product(parts) for parts in ([shape[i] for i in group] for group in groups)]
    value = cast_to(value, whole)
    type_ = ir.RankedTensorType.get(shape, element)
    return tensor.ExpandShapeOp(type_, value, groups, [s for s in sizes if not isinstance(s, int)], shape).result


def cast_to(value: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    """``value`` with dimensions that are static where these sizes are: views change no static size to a dynamic one, nor the other way.
    Where the two differ, a call has checked that they are equal."""
    type_ = ir.RankedTensorType.get(shape_of(sizes), value.type.element_type)
    return value if value.type == type_ else tensor.CastOp(type_, value).result


def window(value: ir.Value, offsets: Sequence[Size], sizes: Sequence[Size], strides: Sequence[int] | None = None) -> ir.Value:
    """``tensor.extract_slice`` of the same rank."""
    strides = list(strides or [1] * len(sizes))
    type_ = ir.RankedTensorType.get(shape_of(sizes), value.type.element_type)
    return tensor.ExtractSliceOp(type_, value, values_of(offsets), values_of(sizes), [], shape_of(offsets), shape_of(sizes), strides).result


def of_size(value: ir.Value, axis: int, size: int) -> ir.Value:
    """``value`` with a static size at an axis whose size only a call knows, and has checked. A slice, since passes of upstream's fold a
    cast into the reshapes around it, and lose track of dimensions of 1. A dynamic ``size``, or that of a static axis, changes nothing."""
    if size == ir.ShapedType.get_dynamic_size() or not value.type.is_dynamic_dim(axis % value.type.rank):
        return value
    sizes = dims(value)
    sizes[axis] = size
    return window(value, [0] * len(sizes), sizes)


def put(value: ir.Value, into: ir.Value, offsets: Sequence[Size], strides: Sequence[int] | None = None) -> ir.Value:
    """``into`` with ``value`` copied to a window. The copy is a loop nest: a bare insert_slice would become a library call."""
    if is_empty(value):
        return into
    return inserted(copy(value, window(into, offsets, dims(value), strides)), into, offsets, strides)


def inserted(value: ir.Value, into: ir.Value, offsets: Sequence[Size], strides: Sequence[int] | None = None) -> ir.Value:
    """``tensor.insert_slice`` for a value computed in the same window of ``into``, so that bufferization needs no copy."""
    sizes = dims(value)
    strides = list(strides or [1] * len(sizes))
    return tensor.InsertSliceOp(value, into, values_of(offsets), values_of(sizes), [], shape_of(offsets), shape_of(sizes), strides).result


def padded(value: ir.Value, low: Sequence[Size], high: Sequence[Size], scalar: ir.Value) -> ir.Value:
    """``tensor.pad`` with a scalar; the value itself if nothing is added."""
    if all(isinstance(p, int) and p == 0 for p in [*low, *high]):
        return value
    sizes = [plus(plus(a, size), b) for a, size, b in zip(low, dims(value), high, strict=True)]
    if is_empty(value):
        return filled(empty(sizes, value.type.element_type), scalar)
    type_ = ir.RankedTensorType.get(shape_of(sizes), value.type.element_type)
    pad = tensor.PadOp(type_, value, values_of(low), values_of(high), shape_of(low), shape_of(high))
    block = pad.regions[0].blocks.append(*[ir.IndexType.get()] * len(sizes))
    with ir.InsertionPoint(block):
        tensor.YieldOp(scalar)
    return pad.result


# loops ------------------------------------------------------------------------------------------------------------------------------------

_PARALLEL, _REDUCTION = "#linalg.iterator_type<parallel>", "#linalg.iterator_type<reduction>"


Outs = ir.Value | Sequence[ir.Value]


def generic(outs: Outs, ins: Sequence[ir.Value], maps: Sequence[str], reductions: Sequence[bool], body: Body) -> Any:
    """``linalg.generic``. ``maps``: texts of affine maps, inputs first; ``reductions``: for each loop whether it is a reduction.

    ``body(*inputs, *outputs)`` gets scalars and returns the values to store. Returns a value for one output, else a list. Each loop is a
    dimension of some operand; if one of these has size 0, the outputs are returned unchanged.
    """
    many = not isinstance(outs, ir.Value)
    outs = list(outs) if many else [outs]
    if any(map(is_empty, [*ins, *outs])):
        return outs if many else outs[0]
    kinds = [ir.Attribute.parse(_REDUCTION if r else _PARALLEL) for r in reductions]
    texts = [ir.Attribute.parse(f"affine_map<{m}>") for m in maps]
    op = linalg.GenericOp([o.type for o in outs], ins, outs, ir.ArrayAttr.get(texts), ir.ArrayAttr.get(kinds))
    block = op.regions[0].blocks.append(*[v.type.element_type for v in [*ins, *outs]])
    with ir.InsertionPoint(block):
        results = body(*block.arguments)
        linalg.YieldOp([results] if isinstance(results, ir.Value) else list(results))
    return list(op.results) if many else op.results[0]


def names(count: int, prefix: str = "d") -> list[str]:
    """Names of loops: the prefix and a number."""
    return [f"{prefix}{i}" for i in range(count)]


def compute(outs: Outs, loops: str, reads: Sequence[tuple[ir.Value, str]], body: Body, writes: str | None = None) -> Any:
    """A loop nest given by index expressions, like TVM's te.compute.

    ``loops``: comma-separated names, outermost first, reductions marked ``+``; ``reads``: tensors with their index expressions, affine in
    the loops; ``writes``: the outputs' indices, by default the parallel loops in order. With reductions the outputs hold the initial
    values::

        compute(filled(out, zero), "n, h, w, f, +kh, +kw, +c", [(x, "n, h * 2 + kh, w * 2 + kw, c"), (w, "kh, kw, c, f")], multiply_add)
    """
    marked = [l.strip() for l in loops.split(",")] if loops else []
    plain = [l.lstrip("+") for l in marked]
    writes = ", ".join(l for l in marked if not l.startswith("+")) if writes is None else writes
    count = 1 if isinstance(outs, ir.Value) else len(outs)
    head = f"({', '.join(plain)}) -> "
    maps = [f"{head}({text})" for _, text in reads] + [f"{head}({writes})"] * count
    return generic(outs, [t for t, _ in reads], maps, [l.startswith("+") for l in marked], body)


def copy(source: ir.Value, out: ir.Value) -> ir.Value:
    """``source`` copied to ``out``, of the same shape, by a loop nest."""
    loops = ", ".join(names(out.type.rank))
    return compute(out, loops, [(source, loops)], lambda x, _: x)


def looped(count: Size, carried: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]], first: Size = 0) -> list[ir.Value]:
    """A loop from ``first`` to ``count``; ``body(number, *carried)`` returns the next values."""
    loop = scf.ForOp(index_value(first), index_value(count), index_value(1), list(carried))
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, *loop.inner_iter_args)))
    return list(loop.results)


def loop_index(loop: int) -> ir.Value:
    """The value of a loop's variable, inside a body."""
    return linalg.IndexOp(loop).result


def extract(value: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """One element of a tensor."""
    return tensor.ExtractOp(value, list(indices)).result


# broadcasting -----------------------------------------------------------------------------------------------------------------------------

Operand = ir.Value | tuple[ir.Value, Sequence[int]]


def broadcast_indices(operand: Operand, out_shape: Sequence[int]) -> str:
    """The index expressions of an operand in a loop nest over ``out_shape``, with numpy's broadcasting: aligned at the end, 0 along sizes
    of 1. For ``(tensor, axes)``: the loops of these axes.

    Constant-0 results, not collapsed shapes: upstream's elementwise fusion and vectorizer support them, and fusion across a reshape would
    expand every loop nest involved.
    """
    value, axes = operand if isinstance(operand, tuple) else (operand, None)
    shape = value.type.shape
    if axes is None:
        axes = range(len(out_shape) - len(shape), len(out_shape))
    return ", ".join("0" if size == 1 and out_shape[a] != 1 else f"d{a}" for a, size in zip(axes, shape, strict=True))


def _refined(operand: Operand, out_shape: Sequence[int]) -> ir.Value:
    """The tensor with the sizes of the loops where its own are dynamic. Upstream infers them only where no other operand is broadcast, and
    does not vectorize without them."""
    value, axes = operand if isinstance(operand, tuple) else (operand, None)
    if axes is None:
        axes = range(len(out_shape) - value.type.rank, len(out_shape))
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [out_shape[a] if size == dynamic else size for a, size in zip(axes, value.type.shape, strict=True)]
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return value if value.type == type_ else tensor.CastOp(type_, value).result


def elementwise(out: ir.Value, operands: Sequence[Operand], body: Body) -> ir.Value:
    """A parallel loop nest over ``out``; ``body(*scalars)`` returns the element. Operands are broadcast (``broadcast_indices``).

    A dynamic size of an operand is assumed to be the output's. Constants with equal elements become scalars in the body.
    """
    constants = [splat(v if isinstance(v, ir.Value) else v[0]) for v in operands]
    tensors = [v for v, c in zip(operands, constants) if c is None]

    def with_constants(*scalars: ir.Value) -> ir.Value:
        given = iter(scalars[:-1])
        return body(*[next(given) if c is None else arith.ConstantOp(c.type, c).result for c in constants])

    reads = [(_refined(v, out.type.shape), broadcast_indices(v, out.type.shape)) for v in tensors]
    return compute(out, ", ".join(names(out.type.rank)), reads, with_constants)


def reduce(out: ir.Value, operands: Sequence[Operand], axes: Sequence[int], initial: ir.Value, body: Body) -> ir.Value:
    """Fills ``out`` with ``initial`` and reduces the operands' axes into it; ``body(*scalars, accumulator)`` returns the next accumulator.

    The first operand's shape defines the loops; the others are broadcast to it. ``out`` has the axes with size 1, or lacks them.
    """
    shape = operands[0].type.shape
    kept = out.type.rank == len(shape) and len(axes) > 0
    loops: list[str] = []
    for i in range(len(shape)):
        if i in axes and kept:
            loops.append(f"u{i}")  # a loop of one iteration: an output index that is not a loop cannot be tiled
        loops.append(f"+d{i}" if i in axes else f"d{i}")
    reads = [(v if isinstance(v, ir.Value) else v[0], broadcast_indices(v, shape)) for v in operands]
    return compute(filled(out, initial), ", ".join(loops), reads, body)


# contractions -----------------------------------------------------------------------------------------------------------------------------

def named(op_class: Any, out: ir.Value, ins: Sequence[ir.Value], **attributes: Any) -> ir.Value:
    """A named linalg op (``linalg.MatmulOp``, ...) on the initial value ``out``."""
    if any(map(is_empty, [*ins, out])):
        return out
    op = op_class([out.type], list(ins), [out], **attributes)
    linalg.fill_builtin_region(op.operation)
    return op.results[0]


def accumulated(out: ir.Value, kind: Element, build: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """The sum of products ``build(zeros)``, stored in ``out`` of the element ``kind``; f16 and bf16 are accumulated in f32, and rounded
    unless an epilogue takes them as they are."""
    wide = kind.wide
    if wide.type == out.type.element_type:
        return build(filled(out, wide.const(0)))
    sums = build(filled(empty(dims(out), wide.type), wide.const(0)))
    return elementwise(out, [sums], lambda s: wide.contracted(s, kind))


def multiply_add(kind: Element) -> Body:
    """The body of a contraction: accumulator + a * b, in f32 for f16 and bf16."""
    wide = kind.wide
    return lambda a, b, acc: wide.add(acc, wide.mul(kind.cast(a, wide), kind.cast(b, wide)))
