"""Products of integers of 8 or 16 bits with sums in i32.

A reduction whose extent is a multiple of four is split into groups of four neighbours, a view: dot-product instructions of CPUs sum four
products of bytes into one lane of 32 bits. Of factors of 16 bits groups are of two.
"""
from collections.abc import Sequence

from legato.core.ir_helpers import marked
from legato.core.mlir import ir
from legato.dialects.tir.markers import OF_BYTES
from legato.targets.builders.element import Element
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import collapse, compute, expand, filled
from legato.targets.generic.convolution import axes_of_groups, pad_spatial, split_groups, without_axis
from legato.targets.generic.matmul import operand_of
from legato.targets.rule import kernel

LANE = 32   # bits of the sums


def lane_of(*factors: ir.Type) -> int:
    """The products of tensors of these types that one lane sums."""
    return LANE // max(type_.element_type.width for type_ in factors)


def sum_products(k, out: ir.Value, loops: str, reads: Sequence[tuple[ir.Value, str]]) -> ir.Value:
    """The nest that adds the products of both operands, each widened by its own signedness."""
    a, b, wide = (Element(t.element_type) for t in (*k.input_types, k.output_types[0]))
    return compute(filled(out, wide.const(0)), loops, reads, lambda x, y, sums: wide.add(sums, wide.mul(a.cast(x, wide), b.cast(y, wide))))


def split(value: ir.Value, axis: int, group: int) -> ir.Value:
    """A view whose axis is split into groups."""
    sizes = dims(value)
    groups = [[i + (i > axis)] if i != axis else [i, i + 1] for i in range(len(sizes))]
    return expand(value, groups, [*sizes[:axis], sizes[axis] // group, group, *sizes[axis + 1:]])


@kernel("relax.matmul_integer")
def matmul(k, a, b, out):
    """A nest over rows, columns and the reduction, in groups unless the matrix has a row for each column."""
    outer = [f"b{i}" for i in range(a.type.rank - 1)]
    size, group = a.type.shape[-1], lane_of(a.type, b.type)
    if b.type.rank > 2:
        batch = [f"b{i}" for i in range(out.type.rank - 2)]
        places = ["n", "k"] if k.attrs["kernel_layout"] == "OI" else ["k", "n"]
        operands = [operand_of(a, out, batch, ["m", "k"]), operand_of(b, out, batch, places)]
        return sum_products(k, out, ", ".join([*batch, "m, n, +k"]), operands)
    if k.attrs["kernel_layout"] == "OI":
        return sum_products(k, out, ", ".join([*outer, "n", "+k"]), [(a, ", ".join([*outer, "k"])), (b, "n, k")])
    if ir.ShapedType.get_dynamic_size() in (size, b.type.shape[0]) or size % group:
        return sum_products(k, out, ", ".join([*outer, "n", "+k"]), [(a, ", ".join([*outer, "k"])), (b, "k, n")])
    reads = [(split(a, a.type.rank - 1, group), ", ".join([*outer, "k, q"])), (split(b, 0, group), "k, q, n")]
    return sum_products(k, out, ", ".join([*outer, "n", "+k", "+q"]), reads)


@kernel("relax.conv2d_integer")
def convolution(k, x, w, out):
    """A nest over output positions and channels, the places of the window, and input channels, by neighbours if these are last."""
    a, lane = k.attrs, lane_of(x.type, w.type)
    layout, kernel_layout, padding, groups = a["data_layout"], a["kernel_layout"], a["padding"], a["groups"]
    if any(padding):
        x = pad_spatial(x, layout, padding[:2], padding[2:], Element(k.input_types[0].element_type).const(a["pad_value"]))
    vertical, horizontal = (f"o{i} * {s} + k{i} * {d}" for i, (s, d) in enumerate(zip(a["strides"], a["dilations"])))

    def indices(order: str, **letters: str) -> str:
        return ", ".join(letters[letter] for letter in order if letters[letter])

    def nest(into: ir.Value, image: ir.Value, filters: ir.Value, feature: str, channel: str, *own: str) -> ir.Value:
        """The sums. ``feature``, ``channel``: the indices of what is written and read; ``own``: of the filter's features and channels."""
        summed = ", ".join(f"+{axis}" for axis in ("k0", "k1", *(own[1].split(", ") if own[1] else ())))
        return sum_products(k, into, f"{indices(layout, N='n', H='o0', W='o1', C=feature)}, {summed}", [
            (image, indices(layout, N="n", H=vertical, W=horizontal, C=channel)),
            (filters, indices(kernel_layout, O=own[0], H="k0", W="k1", I=own[1]))])

    features, channels = (w.type.shape[kernel_layout.index(letter)] for letter in "OI")
    if groups > 1 and channels == 1 and features == groups:
        return nest(out, x, without_axis(w, kernel_layout.index("I")), "c", "c", "c", "")
    if groups > 1:
        place = layout.index("C")
        image, filters = split_groups(x, place, groups), split_groups(w, kernel_layout.index("O"), groups)
        sums = nest(split_groups(out, place, groups), image, filters, "g, f", "g, c", "g, f", "c")
        return collapse(sums, axes_of_groups(out.type.rank, place))
    last = layout == "NHWC" and kernel_layout == "HWIO"
    if last and channels == x.type.shape[layout.index("C")] and channels % lane == 0:
        sums = nest(out, split(x, 3, lane), split(w, 2, lane), "f", "c, q", "f", "c, q")
        return marked(sums, OF_BYTES) if a["of_bytes"] else sums
    return nest(out, x, w, "f", "c", "f", "c")


RULES = (matmul, convolution)
