"""Products of integers of 8 or 16 bits with sums in i32.

A reduction whose extent is a multiple of four is split into groups of four neighbours, a view: dot-product instructions of CPUs sum four
products of bytes into one lane of 32 bits. Of factors of 16 bits groups are of two.
"""
from collections.abc import Sequence

from legato.core.mlir import ir
from legato.targets.builders.element import Element
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import compute, expand, filled
from legato.targets.generic.convolution import pad_spatial
from legato.targets.rule import kernel

LANE = 32   # bits of the sums


def _group(*factors: ir.Value) -> int:
    """The products that one lane sums."""
    return LANE // max(value.type.element_type.width for value in factors)


def _summed(k, out: ir.Value, loops: str, reads: Sequence[tuple[ir.Value, str]]) -> ir.Value:
    """The nest that adds the products of both operands, each widened by its own signedness."""
    a, b, wide = (Element(t.element_type) for t in (*k.input_types, k.output_types[0]))
    return compute(filled(out, wide.const(0)), loops, reads, lambda x, y, sums: wide.add(sums, wide.mul(a.cast(x, wide), b.cast(y, wide))))


def _grouped(value: ir.Value, axis: int, group: int) -> ir.Value:
    """A view whose axis is split into groups."""
    sizes = dims(value)
    groups = [[i + (i > axis)] if i != axis else [i, i + 1] for i in range(len(sizes))]
    return expand(value, groups, [*sizes[:axis], sizes[axis] // group, group, *sizes[axis + 1:]])


@kernel("relax.matmul_integer")
def matmul(k, a, b, out):
    """A nest over rows, columns and the reduction, in groups unless the matrix has a row for each column."""
    outer = [f"b{i}" for i in range(a.type.rank - 1)]
    size, group = a.type.shape[-1], _group(a, b)
    if k.attrs["kernel_layout"] == "OI":
        return _summed(k, out, ", ".join([*outer, "n", "+k"]), [(a, ", ".join([*outer, "k"])), (b, "n, k")])
    if ir.ShapedType.get_dynamic_size() in (size, b.type.shape[0]) or size % group:
        return _summed(k, out, ", ".join([*outer, "n", "+k"]), [(a, ", ".join([*outer, "k"])), (b, "k, n")])
    reads = [(_grouped(a, a.type.rank - 1, group), ", ".join([*outer, "k, q"])), (_grouped(b, 0, group), "k, q, n")]
    return _summed(k, out, ", ".join([*outer, "n", "+k", "+q"]), reads)


@kernel("relax.conv2d_integer")
def convolution(k, x, w, out):
    """A nest over output positions and channels, the places of the window, and input channels, in groups if these are last."""
    a, group = k.attrs, _group(x, w)
    layout, kernel_layout, padding = a["data_layout"], a["kernel_layout"], a["padding"]
    if any(padding):
        x = pad_spatial(x, layout, padding[:2], padding[2:], Element(k.input_types[0].element_type).const(a["pad_value"]))
    vertical, horizontal = (f"o{i} * {s} + k{i} * {d}" for i, (s, d) in enumerate(zip(a["strides"], a["dilations"])))

    channels = (w.type.shape[kernel_layout.index("I")], x.type.shape[layout.index("C")])
    last = layout == "NHWC" and kernel_layout == "HWIO"
    grouped = last and channels[0] == channels[1] and channels[0] % group == 0
    channel = "c, q" if grouped else "c"
    if grouped:
        x, w = _grouped(x, 3, group), _grouped(w, 2, group)

    def indices(order: str, **letters: str) -> str:
        return ", ".join(letters[letter] for letter in order)

    writes = indices(layout, N="n", H="o0", W="o1", C="f")
    loops = f"{writes}, +k0, +k1, {'+c, +q' if grouped else '+c'}"
    return _summed(k, out, loops, [(x, indices(layout, N="n", H=vertical, W=horizontal, C=channel)),
                                   (w, indices(kernel_layout, O="f", H="k0", W="k1", I=channel))])


RULES = (matmul, convolution)
