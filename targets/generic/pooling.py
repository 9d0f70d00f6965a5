"""Max and average pooling in one to three dimensions."""
from collections.abc import Mapping, Sequence
from functools import cache

from legato.core.mlir import arith, ir, linalg
from legato.dialects.relax.window import data_layouts
from legato.targets.builders.element import Element, boolean, index
from legato.targets.builders.pointwise import element, read, stored
from legato.targets.builders.sizes import Size, dim, dims, largest, minus, plus, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import compute, elementwise, empty, filled, loop_index, named, names
from legato.targets.generic.convolution import pad_spatial, per_window, positions
from legato.targets.rule import kernel

MOST_COUNTED = 1 << 16   # windows along an axis, of which the elements are counted here; of longer axes the kernel counts them


@cache
def _maxima(unsigned: bool) -> Mapping[str, type[ir.OpView]]:
    """Upstream's ops, by layout. Not a constant: the dialect's module takes 50 ms to import."""
    if unsigned:
        return {"NWC": linalg.PoolingNwcMaxUnsignedOp, "NHWC": linalg.PoolingNhwcMaxUnsignedOp}
    return {"NWC": linalg.PoolingNwcMaxOp, "NCW": linalg.PoolingNcwMaxOp, "NHWC": linalg.PoolingNhwcMaxOp, "NCHW": linalg.PoolingNchwMaxOp,
            "NDHWC": linalg.PoolingNdhwcMaxOp}


@cache
def _sums() -> Mapping[str, type[ir.OpView]]:
    return {"NWC": linalg.PoolingNwcSumOp, "NCW": linalg.PoolingNcwSumOp, "NHWC": linalg.PoolingNhwcSumOp, "NCHW": linalg.PoolingNchwSumOp,
            "NDHWC": linalg.PoolingNdhwcSumOp}


class Windows:
    """The windows of one pooling: its attributes, and the sizes of input and output."""

    def __init__(self, k, x: ir.Value, out: ir.Value):
        a = k.attrs
        self.kernel, self.strides, self.dilations = a["kernel"], a["strides"], a["dilations"]
        self.layout = a.get("layout", data_layouts(len(self.kernel))[0])
        self.ceil_mode = a["ceil_mode"]
        self.begins, self.ends = a["padding"][: len(self.kernel)], a["padding"][len(self.kernel):]
        self.places = positions(self.layout)
        self.inputs = [dim(x, p) for p in self.places]
        self.outputs = [dim(out, p) for p in self.places]

    def reach(self, i: int) -> int:
        """The extent of a window along an axis."""
        return self.dilations[i] * (self.kernel[i] - 1) + 1

    def padded(self, x: ir.Value, scalar: ir.Value) -> ir.Value:
        """The input with as much padding as the windows need: in ceil mode the last may extend past the declared padding."""
        return pad_spatial(x, self.layout, self.begins, [self._padding_behind(i) for i in range(len(self.kernel))], scalar)

    def _padding_behind(self, i: int) -> Size:
        size, count = self.inputs[i], self.outputs[i]
        if not (self.ceil_mode or (isinstance(size, int) and isinstance(count, int))):
            return self.ends[i]  # sufficient, and static, which schedules prefer
        needed = plus(times(minus(count, 1), self.strides[i]), self.reach(i))
        return largest(minus(needed, plus(size, self.begins[i])), 0)

    def pooled(self, x: ir.Value, zeros: ir.Value, table: Mapping[str, type[ir.OpView]], body) -> ir.Value:
        """The reduction of each window into ``zeros``, which holds the initial value."""
        span = empty(self.kernel, x.type.element_type)  # only its shape is used: that of the window
        op = table.get(self.layout)
        if op is not None:
            return named(op, zeros, [x, span], strides=per_window(self.strides), dilations=per_window(self.dilations))
        reads, writes, spatial = [], [], iter(range(len(self.kernel)))
        for letter in self.layout:
            if letter in "NC":
                reads.append(letter.lower())
                writes.append(letter.lower())
            else:
                i = next(spatial)
                reads.append(f"o{i} * {self.strides[i]} + k{i} * {self.dilations[i]}")
                writes.append(f"o{i}")
        taps = names(len(self.kernel), "k")
        return compute(zeros, ", ".join([*writes, *(f"+{t}" for t in taps)]), [(x, ", ".join(reads)), (span, ", ".join(taps))],
                       lambda x, _, acc: body(x, acc))

    def counts(self, i: int, e: Element, include_pad: bool) -> "ir.Value | int":
        """The number of elements in the windows along one axis: one number, or a tensor with one for each position."""
        size, count = self.inputs[i], self.outputs[i]
        if not self.ceil_mode and (include_pad or self.begins[i] == self.ends[i] == 0) and self._fits(i):
            return self.kernel[i]    # all windows are whole
        first, last = (-self.begins[i], plus(size, self.ends[i])) if include_pad else (0, size)
        if not isinstance(size, int) or not isinstance(count, int):
            return self._counts_at_run_time(i, e, first, last)
        if count > MOST_COUNTED:
            ends = {self._taps(i, o, first, last) for o in (0, count - 1)}
            return self.kernel[i] if ends == {self.kernel[i]} else self._counts_at_run_time(i, e, first, last)
        found = [self._taps(i, o, first, last) for o in range(count)]
        return (found or [1])[0] if len(set(found)) < 2 else dense(found, e)

    def _fits(self, i: int) -> bool:
        """Whether the padded image holds a window: a call with one that does not is refused, but the only window of a known size may be
        larger, as in older models."""
        size = self.inputs[i]
        return not isinstance(size, int) or (self.kernel[i] - 1) * self.dilations[i] < size + self.begins[i] + self.ends[i]

    def _taps(self, i: int, position: int, first: int, last: int) -> int:
        start, dilation = position * self.strides[i] - self.begins[i], self.dilations[i]
        low, high = -((start - first) // dilation), -((start - last) // dilation)
        return max(min(high, self.kernel[i]) - max(low, 0), 0)

    def _counts_at_run_time(self, i: int, e: Element, first: int, last: Size) -> ir.Value:
        """The number of taps t with first <= start + t * dilation < last, for each position."""
        dilation = self.dilations[i]

        def taps(_) -> ir.Value:
            constant = index_value
            start = arith.subi(arith.muli(loop_index(0), constant(self.strides[i])), constant(self.begins[i]))
            low = arith.ceildivsi(arith.subi(constant(first), start), constant(dilation))
            high = arith.ceildivsi(arith.subi(constant(last), start), constant(dilation))
            low, high = arith.maxsi(low, constant(0)), arith.minsi(high, constant(self.kernel[i]))
            number = arith.maxsi(arith.subi(high, low), constant(0))
            integer = Element(ir.IntegerType.get_signless(64))
            return integer.cast(index().cast(number, integer), e)

        return compute(empty([self.outputs[i]], e.type), "o", [], taps)


def dense(values: Sequence[float], e: Element) -> ir.Value:
    """A constant vector."""
    type_ = ir.RankedTensorType.get([len(values)], e.type)
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get([e.attribute(v) for v in values], type_)).result


@kernel("relax.max_pool1d", "relax.max_pool2d", "relax.max_pool3d")
def max_pool(k, x, out):
    """The maximum of each window; padding is the lowest value. Of f16 and bf16, what is compared is widened once, as vectors are of f32."""
    kind, windows = element(k.input_types[0]), Windows(k, x, out)
    e = kind.wide if kind.is_float else kind
    source = windows.padded(x, kind.const(kind.lowest))
    start = filled(out if e is kind else empty(dims(out), e.type), e.const(e.lowest))
    found = windows.pooled(source, start, _maxima(kind.is_unsigned), lambda x, acc: e.max(kind.cast(x, e), acc))
    return found if e is kind else elementwise(out, [found], lambda value: e.cast(value, kind))


@kernel("relax.avg_pool1d", "relax.avg_pool2d", "relax.avg_pool3d")
def avg_pool(k, x, out):
    """The sum of each window, divided by the number of its elements."""
    kind, windows = element(k.input_types[0]), Windows(k, x, out)
    e = kind.wide
    zeros = filled(empty(dims(out), e.type), e.const(0))
    sums = windows.pooled(windows.padded(x, kind.const(0)), zeros, _sums(), lambda x, acc: e.add(read(x, kind), acc))
    counts = [windows.counts(i, e, k.attrs["count_include_pad"]) for i in range(len(windows.kernel))]
    uniform = 1
    for number in counts:
        uniform *= number if isinstance(number, int) else 1
    varying = [(c, [place]) for c, place in zip(counts, windows.places) if not isinstance(c, int)]

    def average(total: ir.Value, *numbers: ir.Value) -> ir.Value:
        divisor = e.const(uniform)
        for number in numbers:
            divisor = e.mul(divisor, number)
        return stored(e.div(total, divisor), kind, out.type.element_type)

    return elementwise(out, [sums, *varying], average)


@kernel("relax.arg_max_pool1d", "relax.arg_max_pool2d", "relax.arg_max_pool3d")
def arg_max_pool(k, x, out):
    """A reduction of pairs of element and place. -1 marks a window of which no element was seen, as padding never counts."""
    kind, place, windows = element(k.input_types[0]), element(k.output_types[0]), Windows(k, x, out)
    e, rank = kind.wide, len(windows.kernel)
    source = windows.padded(x, kind.const(kind.lowest))
    span = empty(windows.kernel, x.type.element_type)   # only its shape is used: that of the window
    positions, taps = names(rank, "o"), names(rank, "k")
    reads = [f"{o} * {stride} + {t} * {d}" for o, t, stride, d in zip(positions, taps, windows.strides, windows.dilations)]

    def body(x: ir.Value, _: ir.Value, best: ir.Value, found: ir.Value) -> list[ir.Value]:
        at, inside = index_value(0), boolean().const(True)
        for i in range(rank):
            here = arith.muli(loop_index(2 + i), index_value(windows.strides[i]))
            here = arith.addi(here, arith.muli(loop_index(2 + rank + i), index_value(windows.dilations[i])))
            here = arith.subi(here, index_value(windows.begins[i]))
            size = index_value(windows.inputs[i])
            inside = arith.andi(inside, arith.cmpi(arith.CmpIPredicate.ult, here, size))
            at = arith.addi(arith.muli(at, size), here)
        x = read(x, kind)
        is_first, greater = place.compare("lt", found, place.const(0)), e.compare("gt", x, best)
        if e.is_float:
            greater = arith.ori(greater, e.is_nan(x))
        wins = arith.andi(inside, arith.ori(is_first, greater))
        return [arith.select(wins, x, best), arith.select(wins, index().cast(at, place), found)]

    values, places = filled(empty(dims(out), e.type), e.const(e.lowest)), filled(out, place.const(-1))
    order = ", ".join(["n", "c", *positions, *(f"+{t}" for t in taps)])
    return compute([values, places], order, [(source, ", ".join(["n", "c", *reads])), (span, ", ".join(taps))], body)[1]


RULES = (*max_pool, *avg_pool, *arg_max_pool)
