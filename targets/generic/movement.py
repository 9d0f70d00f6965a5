"""Ops that move elements: permute_dims, broadcast_to, tile, slices, concat, pad, triangles."""
from legato.core.mlir import arith, ir, linalg
from legato.targets.builders.element import Element, index
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dim, dims, largest, minus, plus, smallest
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import (
    collapse,
    compute,
    copy,
    elementwise,
    expand,
    extract,
    filled,
    is_empty,
    loop_index,
    names,
    put,
    window,
)
from legato.targets.rule import kernel


@kernel("relax.permute_dims")
def permute_dims(k, x, out):
    """linalg's transpose."""
    if is_empty(x):
        return out
    op = linalg.TransposeOp([out.type], x, out, [a % x.type.rank for a in k.attrs["axes"]])
    linalg.fill_builtin_region(op.operation)
    return op.result[0]


@kernel("relax.broadcast_to")
def broadcast_to(k, x, out):
    """An elementwise copy with broadcasting; of nothing, to sizes of which one turns out to be 0, nothing."""
    if is_empty(x) and not is_empty(out):
        return filled(out, element(k.input_types[0]).const(0))
    return elementwise(out, [x], lambda x: x)


@kernel("relax.tile")
def tile(k, x, out):
    """The output with each axis split into repeats and x's axis, so that every index is a plain loop."""
    groups: list[list[int]] = []
    sizes: list[Size] = []
    loops, reads = [], []
    for axis, (repeat, size) in enumerate(zip(k.attrs["repeats"], dims(x))):
        reads.append(f"d{axis}")
        split = [] if repeat == 1 else [repeat if isinstance(repeat, int) else k.index(repeat)]
        loops += [f"r{axis}"] * len(split) + [f"d{axis}"]
        groups.append(list(range(len(sizes), len(sizes) + len(split) + 1)))
        sizes += [*split, size]
    result = compute(expand(out, groups, sizes), ", ".join(loops), [(x, ", ".join(reads))], lambda x, _: x)
    return collapse(result, groups)


@kernel("tensor.concat")
def concat(k, *operands):
    """Each part is copied to its window of the output."""
    *parts, out = operands
    axis = k.attrs["axis"]
    offsets: list[Size] = [0] * out.type.rank
    k.writes_all()
    for part in parts:
        out = put(part, out, offsets)
        offsets[axis] = plus(offsets[axis], dim(part, axis))
    return out


@kernel("relax.strided_slice")
def strided_slice(k, x, out):
    """A copy of a slice; negative strides by computed indices."""
    rank = x.type.rank
    if is_empty(x):
        return filled(out, memory_of(element(k.input_types[0]), x).const(0))
    begins, strides = k.attrs["begin"], k.attrs["strides"] or [1] * len(k.attrs["begin"])
    axes = range(len(begins)) if k.attrs["axes"] is None else [a % rank for a in k.attrs["axes"]]
    offsets: list[Size] = [0] * rank
    steps = [1] * rank
    for axis, begin, stride in zip(axes, begins, strides):
        offsets[axis] = _first(k, dim(x, axis), begin, stride)
        steps[axis] = stride
    if min(steps, default=1) > 0:
        whole = [axis not in axes and out.type.is_dynamic_dim(axis) for axis in range(rank)]
        return copy(window(x, offsets, [dim(x if whole[axis] else out, axis) for axis in range(rank)], steps), out)

    def pick(_) -> ir.Value:
        places = [arith.addi(index_value(o), arith.muli(loop_index(i), index_value(s))) for i, (o, s) in enumerate(zip(offsets, steps))]
        return extract(x, places)

    return compute(out, ", ".join(names(rank)), [], pick)


def _first(k, size: Size, begin, stride: int) -> Size:
    """The first index of a slice, counted from the front and clipped; a symbolic begin unchanged."""
    if not isinstance(begin, int):
        return k.index(begin)
    if stride > 0:
        return largest(plus(size, begin), 0) if begin < 0 else smallest(begin, size)
    return largest(plus(size, begin), -1) if begin < 0 else smallest(begin, minus(size, 1))


@kernel("relax.pad")
def pad(k, x, out):
    """The input copied into a filled output; other modes by computed indices."""
    rank, mode = x.type.rank, k.attrs["mode"]
    pads = k.attrs["pads"]
    cut = [max(-p, 0) for p in pads]
    begins = [max(p, 0) for p in pads[:rank]]
    kept = [minus(size, cut[i] + cut[rank + i]) for i, size in enumerate(dims(x))]
    source = window(x, cut[:rank], kept) if any(cut) else x
    if mode == "constant":
        kind = element(k.input_types[0])
        return put(source, filled(out, memory_of(kind, x).const(k.attrs["value"])), begins)

    def pick(_) -> ir.Value:
        places = []
        for axis in range(rank):
            place = loop_index(axis)
            if max(pads[axis], pads[rank + axis]) > 0:
                place = folded(arith.subi(place, index_value(begins[axis])), kept[axis], mode, max(pads[axis], pads[rank + axis]))
            places.append(place)
        return extract(source, places)

    return compute(out, ", ".join(names(rank)), [], pick)


def memory_of(kind: Element, x: ir.Value) -> Element:
    """The element of x's memory, where a boolean may be a byte."""
    return kind if x.type.element_type == kind.type else Element(x.type.element_type)


def folded(place: ir.Value, size: Size, mode: str, most: int) -> ir.Value:
    """An index that lies outside of an axis of that size by ``most`` at most, mapped into it by ``mode``."""
    e, extent = index(), index_value(size)
    last, zero = arith.subi(extent, e.const(1)), e.const(0)
    if mode == "reflect":
        place = e.abs(place)
        place = arith.select(e.compare("gt", place, last), arith.subi(arith.addi(last, last), place), place)
    elif mode == "wrap":
        if not isinstance(size, int) or most > size:    # around more than once
            place = arith.remsi(place, extent)
        place = arith.select(e.compare("lt", place, zero), arith.addi(place, extent), place)
        place = arith.select(e.compare("gt", place, last), arith.subi(place, extent), place)
    return arith.maxsi(arith.minsi(place, last), zero)


@kernel("relax.triu", "relax.tril")
def triangle(k, x, out):
    """Elements on one side of a diagonal, else 0."""
    rank, diagonal = x.type.rank, k.attrs["k"]
    inside = "ge" if k.name == "relax.triu" else "le"
    e = memory_of(element(k.input_types[0]), x)

    def body(x: ir.Value) -> ir.Value:
        right = arith.subi(loop_index(rank - 1), loop_index(rank - 2))
        return arith.select(index().compare(inside, right, index().const(diagonal)), x, e.const(0))

    return elementwise(out, [x], body)


RULES = (permute_dims, broadcast_to, tile, concat, strided_slice, pad, *triangle)
