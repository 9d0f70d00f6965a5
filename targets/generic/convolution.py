"""Convolutions in one to three dimensions: a named linalg op if upstream has one for the layouts, else a generic loop nest."""
from collections.abc import Mapping, Sequence
from functools import cache

from legato.core.mlir import ir, linalg
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims, largest, minus, plus, quotient, times
from legato.targets.builders.structured import (
    accumulated,
    collapse,
    compute,
    empty,
    expand,
    filled,
    multiply_add,
    named,
    names,
    of_size,
    padded,
    put,
    window,
)
from legato.targets.rule import kernel

Layouts = tuple[str, str]   # of data, and of the kernel


@cache
def _convolutions() -> Mapping[Layouts, type[ir.OpView]]:
    """Upstream's ops, whose f is our O. Not a constant: the dialect's module takes 50 ms to import."""
    return {
        ("NWC", "WIO"): linalg.Conv1DNwcWcfOp, ("NCW", "OIW"): linalg.Conv1DNcwFcwOp,
        ("NHWC", "HWIO"): linalg.Conv2DNhwcHwcfOp, ("NHWC", "OHWI"): linalg.Conv2DNhwcFhwcOp, ("NCHW", "OIHW"): linalg.Conv2DNchwFchwOp,
        ("NDHWC", "DHWIO"): linalg.Conv3DNdhwcDhwcfOp, ("NCDHW", "OIDHW"): linalg.Conv3DNcdhwFcdhwOp,
    }  # fmt: skip


@cache
def _depthwise_convolutions() -> Mapping[Layouts, type[ir.OpView]]:
    return {
        ("NWC", "WIO"): linalg.DepthwiseConv1DNwcWcOp, ("NCW", "OIW"): linalg.DepthwiseConv1DNcwCwOp,
        ("NHWC", "HWIO"): linalg.DepthwiseConv2DNhwcHwcOp, ("NCHW", "OIHW"): linalg.DepthwiseConv2DNchwChwOp,
        ("NDHWC", "DHWIO"): linalg.DepthwiseConv3DNdhwcDhwcOp,
    }  # fmt: skip


def positions(layout: str) -> list[int]:
    """The positions of the spatial dimensions in a layout, in order (``NHWC``: 1, 2)."""
    return [i for i, letter in enumerate(layout) if letter not in "NCOI"]


def pad_spatial(x: ir.Value, layout: str, begins: Sequence[int], ends: Sequence, scalar: ir.Value) -> ir.Value:
    """``x`` padded along its spatial dimensions."""
    low, high = [0] * x.type.rank, [0] * x.type.rank
    for place, begin, end in zip(positions(layout), begins, ends):
        low[place], high[place] = begin, end
    return padded(x, low, high, scalar)


def per_window(values: Sequence[int]) -> ir.Attribute:
    """Strides or dilations as the attribute of linalg's named ops."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.DenseElementsAttr.get([ir.IntegerAttr.get(i64, v) for v in values], ir.RankedTensorType.get([len(values)], i64))


def convolve(k, x: ir.Value, w: ir.Value, out: ir.Value, strides: Sequence[int], dilations: Sequence[int], groups: int, layout: str,
             kernel_layout: str) -> ir.Value:
    """The convolution of an input that is padded already."""
    kind = element(k.input_types[0])
    windows = {"strides": per_window(strides), "dilations": per_window(dilations)}
    if not w.type.is_dynamic_dim(kernel_layout.index("I")):
        x = of_size(x, layout.index("C"), w.type.shape[kernel_layout.index("I")] * groups)
    op = _convolutions().get((layout, kernel_layout))
    if groups == 1 and op is not None:
        return accumulated(out, kind, lambda zeros: named(op, zeros, [x, w], **windows))
    filters, inputs = (w.type.shape[kernel_layout.index(letter)] for letter in "OI")
    op = _depthwise_convolutions().get((layout, kernel_layout))
    if groups > 1 and inputs == 1 and filters == groups and (op is not None or (layout, kernel_layout) == ("NCDHW", "OIDHW")):
        filters_of = without_axis(w, kernel_layout.index("I"))
        if op is None:
            reads = [(x, f"n, c, {', '.join(_window_steps(strides, dilations))}"), (filters_of, "c, k0, k1, k2")]
            return accumulated(out, kind, lambda zeros: compute(zeros, "n, c, o0, o1, o2, +k0, +k1, +k2", reads, multiply_add(kind)))
        return accumulated(out, kind, lambda zeros: named(op, zeros, [x, filters_of], **windows))
    return _by_hand(kind, x, w, out, strides, dilations, groups, layout, kernel_layout)


def without_axis(value: ir.Value, axis: int) -> ir.Value:
    """A value without an axis of one element, which is not its first."""
    return collapse(value, [[i] for i in range(axis - 1)] + [[axis - 1, axis]] + [[i] for i in range(axis + 1, value.type.rank)])


def _window_steps(strides: Sequence[int], dilations: Sequence[int]) -> list[str]:
    """The index of what a tap of a window reads, in each spatial dimension."""
    return [f"o{i} * {s} + k{i} * {d}" for i, (s, d) in enumerate(zip(strides, dilations))]


def _by_hand(kind, x, w, out, strides, dilations, groups: int, layout: str, kernel_layout: str) -> ir.Value:
    """The generic loop nest. With groups, channels are split into groups and channels per group, so that every index is a plain loop."""
    steps = _window_steps(strides, dilations)
    channel, feature = ("g, c", "g, f") if groups > 1 else ("c", "f")

    def indices(order: str, letters: dict[str, str], spatial: Sequence[str]) -> str:
        left = iter(spatial)
        return ", ".join(letters[letter] if letter in letters else next(left) for letter in order)

    rank = len(strides)
    writes = indices(layout, {"N": "n", "C": feature}, names(rank, "o"))
    reads = [(split_groups(x, layout.index("C"), groups), indices(layout, {"N": "n", "C": channel}, steps)),
             (split_groups(w, kernel_layout.index("O"), groups), indices(kernel_layout, {"O": feature, "I": "c"}, names(rank, "k")))]
    loops = ", ".join([writes, *(f"+k{i}" for i in range(rank)), "+c"])
    place = layout.index("C")
    result = accumulated(split_groups(out, place, groups), kind, lambda zeros: compute(zeros, loops, reads, multiply_add(kind)))
    return collapse(result, axes_of_groups(out.type.rank, place)) if groups > 1 else result


def axes_of_groups(rank: int, place: int) -> list[list[int]]:
    """The axes of a split dimension that make one dimension."""
    return [[i] for i in range(place)] + [[place, place + 1]] + [[i + 1] for i in range(place + 1, rank)]


def split_groups(value: ir.Value, place: int, groups: int) -> ir.Value:
    """Splits a dimension of size groups * n into groups and n."""
    if groups == 1:
        return value
    sizes = dims(value)
    return expand(value, axes_of_groups(len(sizes), place), [*sizes[:place], groups, quotient(sizes[place], groups), *sizes[place + 1:]])


@kernel("relax.conv1d", "relax.conv2d", "relax.conv3d")
def convolution(k, x, w, out):
    """Pads the input, then convolves."""
    a = k.attrs
    rank = len(a["strides"])
    padding = a["padding"]
    source = pad_spatial(x, a["data_layout"], padding[:rank], padding[rank:], element(k.input_types[0]).const(0))
    return convolve(k, source, w, out, a["strides"], a["dilations"], a["groups"], a["data_layout"], a["kernel_layout"])


@kernel("relax.conv1d_transpose", "relax.conv2d_transpose", "relax.conv3d_transpose")
def convolution_transposed(k, x, w, out):
    """A convolution with stride 1 of the input dilated by the strides, with a mirrored kernel."""
    a = k.attrs
    zero = element(k.input_types[0]).const(0)
    rank, padding = len(a["strides"]), a["padding"]
    spatial = "DHW"[3 - rank:]
    layout = f"NC{spatial}"
    places = positions(layout)
    reach = [d * (size - 1) for d, size in zip(a["dilations"], w.type.shape[2:])]
    low = [r - p for r, p in zip(reach, padding[:rank])]
    high = [r - p + extra for r, p, extra in zip(reach, padding[rank:], a["output_padding"])]
    mixed = [begin * end < 0 for begin, end in zip(low, high)]  # padded before the crop, which may be longer than the input

    def added(amounts: Sequence[int], first: bool) -> list[int]:
        return [max(amount, 0) if is_mixed == first else 0 for amount, is_mixed in zip(amounts, mixed)]

    source = pad_spatial(_spread(x, places, a["strides"], zero), layout, added(low, True), added(high, True), zero)
    source = _crop(source, places, [max(-p, 0) for p in low], [max(-p, 0) for p in high])
    source = pad_spatial(source, layout, added(low, False), added(high, False), zero)
    turned = _turned(w, a["groups"])
    return convolve(k, source, turned, out, [1] * rank, a["dilations"], a["groups"], layout, f"OI{spatial}")


def _crop(x: ir.Value, places: Sequence[int], low: Sequence[int], high: Sequence[int]) -> ir.Value:
    """``x`` without its ends in some dimensions."""
    if not any((*low, *high)):
        return x
    offsets, sizes = [0] * x.type.rank, dims(x)
    for place, begin, end in zip(places, low, high):
        offsets[place] = begin
        sizes[place] = minus(sizes[place], begin + end)
    return window(x, offsets, sizes)


def _spread(x: ir.Value, places: Sequence[int], strides: Sequence[int], zero: ir.Value) -> ir.Value:
    if max(strides) == 1:
        return x
    steps, sizes = [1] * x.type.rank, dims(x)
    for place, stride in zip(places, strides):
        steps[place] = stride
        sizes[place] = largest(plus(times(minus(sizes[place], 1), stride), 1), 0)
    return put(x, filled(empty(sizes, x.type.element_type), zero), [0] * x.type.rank, steps)


def _turned(w: ir.Value, groups: int) -> ir.Value:
    """[inputs, filters per group, ...] as [filters, inputs per group, ...], spatially mirrored."""
    inputs, filters, *kernel = dims(w)
    split = split_groups(w, 0, groups)
    per_group = quotient(inputs, groups)
    places = names(len(kernel), "k")
    backwards = ", ".join(f"{size - 1} - {place}" for size, place in zip(kernel, places))
    loops = ", ".join(places)
    grouped = groups > 1
    sizes = [groups, filters, per_group, *kernel] if grouped else [filters, inputs, *kernel]
    order, reads = (f"g, f, c, {loops}", f"g, c, f, {backwards}") if grouped else (f"f, c, {loops}", f"c, f, {backwards}")
    turned = compute(empty(sizes, w.type.element_type), order, [(split, reads)], lambda x, _: x)
    return collapse(turned, axes_of_groups(w.type.rank, 0)) if grouped else turned


RULES = (*convolution, *convolution_transposed)
