"""Normalizations: mean and variance in two passes, in f32 for f16 and bf16."""
from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, math
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read, stored
from legato.targets.builders.sizes import dim, dims, quotient
from legato.targets.builders.structured import collapse, compute, elementwise, empty, expand, filled, names, padded, reduce, window
from legato.targets.generic.reductions import axes_of, count
from legato.targets.rule import kernel


class Normalizer:
    """The steps of normalizing ``x`` over some axes; the statistics have the other axes."""

    def __init__(self, x: ir.Value, axes: Sequence[int], kind: Element):
        self.x, self.axes, self.kind, self.wide = x, list(axes), kind, kind.wide
        self.rest = [i for i in range(x.type.rank) if i not in axes]
        sizes = dims(x)
        self.sizes = [sizes[i] for i in self.rest]
        self.count = count(x, axes, self.wide)

    def total(self, operands: Sequence, body: Callable[..., ir.Value]) -> ir.Value:
        """The sum of ``body(x, *scalars)`` over the axes."""
        return reduce(empty(self.sizes, self.wide.type), [self.x, *operands], self.axes, self.wide.const(0),
                      lambda x, *rest: arith.addf(body(read(x, self.kind), *rest[:-1]), rest[-1]))

    def each(self, values: Sequence[ir.Value], body: Callable[..., ir.Value]) -> ir.Value:
        """A statistic computed elementwise from others."""
        return elementwise(empty(self.sizes, self.wide.type), values, body)

    def mean(self) -> ir.Value:
        """The mean over the axes."""
        return self.each([self.total([], lambda x: x)], lambda s: arith.divf(s, self.count))

    def inverse_deviation(self, squares: ir.Value, epsilon: float) -> ir.Value:
        """1 / sqrt(squares / count + epsilon)."""
        e = self.wide
        return self.each([squares], lambda s: arith.divf(e.const(1), math.sqrt(arith.addf(arith.divf(s, self.count), e.const(epsilon)))))

    def variance_scale(self, mean: ir.Value, epsilon: float) -> ir.Value:
        """1 / sqrt(variance + epsilon)."""
        def square(x: ir.Value, mean: ir.Value) -> ir.Value:
            difference = arith.subf(x, mean)
            return arith.mulf(difference, difference)

        return self.inverse_deviation(self.total([(mean, self.rest)], square), epsilon)

    def normalized(self, out: ir.Value, epsilon: float, gamma, beta, affine_kind: Element) -> ir.Value:
        """(x - mean) * scale * gamma + beta, stored in ``out``; gamma and beta are operands of the loop nest."""
        mean = self.mean()
        scale = self.variance_scale(mean, epsilon)
        kind, memory = self.kind, out.type.element_type

        def body(x: ir.Value, mean: ir.Value, scale: ir.Value, gamma: ir.Value, beta: ir.Value) -> ir.Value:
            unit = arith.mulf(arith.subf(read(x, kind), mean), scale)
            return stored(arith.addf(arith.mulf(unit, read(gamma, affine_kind)), read(beta, affine_kind)), kind, memory)

        return elementwise(out, [self.x, (mean, self.rest), (scale, self.rest), gamma, beta], body)


@kernel("relax.layer_norm")
def layer_norm(k, x, gamma, beta, out):
    """Over the given axes, with gamma and beta of their shape."""
    axes = axes_of(k.attrs["axes"], x.type.rank)
    parts = Normalizer(x, axes, element(k.input_types[0]))
    return parts.normalized(out, k.attrs["epsilon"], _along(gamma, axes), _along(beta, axes), element(k.input_types[1]))


def _along(value: ir.Value, axes: Sequence[int]):
    """gamma or beta with the axes that it is indexed by."""
    return (value, axes) if value.type.rank == len(axes) else value


@kernel("relax.rms_norm")
def rms_norm(k, x, gamma, out):
    """x times the inverse root of the mean square, times gamma."""
    axes = axes_of(k.attrs["axes"], x.type.rank)
    kind, affine = element(k.input_types[0]), element(k.input_types[1])
    parts = Normalizer(x, axes, kind)
    scale = parts.inverse_deviation(parts.total([], lambda x: arith.mulf(x, x)), k.attrs["epsilon"])

    def body(x: ir.Value, scale: ir.Value, gamma: ir.Value) -> ir.Value:
        return stored(arith.mulf(arith.mulf(read(x, kind), scale), read(gamma, affine)), kind, out.type.element_type)

    return elementwise(out, [x, (scale, parts.rest), _along(gamma, axes)], body)


@kernel("relax.batch_norm")
def batch_norm(k, x, gamma, beta, mean, variance, out):
    """Scale and shift per channel are computed first."""
    axis, epsilon = k.attrs["axis"] % x.type.rank, k.attrs["epsilon"]
    kinds = [element(t) for t in k.input_types]
    e = kinds[0].wide
    channels = empty([dim(x, axis)], e.type)

    def factor(gamma: ir.Value, variance: ir.Value) -> ir.Value:
        return arith.divf(read(gamma, kinds[1]), math.sqrt(arith.addf(read(variance, kinds[4]), e.const(epsilon))))

    scale = elementwise(channels, [gamma, variance], factor)
    shift = elementwise(channels, [beta, mean, scale],
                        lambda beta, mean, scale: arith.subf(read(beta, kinds[2]), arith.mulf(read(mean, kinds[3]), scale)))

    def body(x: ir.Value, scale: ir.Value, shift: ir.Value) -> ir.Value:
        return stored(arith.addf(arith.mulf(read(x, kinds[0]), scale), shift), kinds[0], out.type.element_type)

    return elementwise(out, [x, (scale, [axis]), (shift, [axis])], body)


@kernel("relax.instance_norm")
def instance_norm(k, x, gamma, beta, out):
    """Over the spatial axes, for each channel of each example."""
    parts = Normalizer(x, range(2, x.type.rank), element(k.input_types[0]))
    return parts.normalized(out, k.attrs["epsilon"], (gamma, [1]), (beta, [1]), element(k.input_types[1]))


@kernel("relax.group_norm")
def group_norm(k, x, gamma, beta, out):
    """[N, C, ...] as [N, groups, C / groups, ...], normalized over all axes from the third on."""
    groups, rank = k.attrs["num_groups"], x.type.rank
    sizes = dims(x)
    width = quotient(sizes[1], groups)
    split = [[0], [1, 2], *([i + 1] for i in range(2, rank))]
    wide_sizes = [sizes[0], groups, width, *sizes[2:]]

    def grouped(channels: ir.Value):
        if channels.type.is_dynamic_dim(0) != isinstance(sizes[1], ir.Value):   # upstream folds a cast into the reshape
            channels = window(channels, [0], [sizes[1]])
        return expand(channels, [[0, 1]], [groups, width]), [1, 2]

    parts = Normalizer(expand(x, split, wide_sizes), range(2, rank + 1), element(k.input_types[0]))
    result = parts.normalized(expand(out, split, wide_sizes), k.attrs["epsilon"], grouped(gamma), grouped(beta), element(k.input_types[1]))
    return collapse(result, split)


@kernel("relax.lrn")
def lrn(k, x, out):
    """x / (bias + alpha / size * sum of squares over a window of channels) ** beta; the window is truncated at the ends."""
    size, axis = k.attrs["size"], k.attrs["axis"] % x.type.rank
    kind = element(k.input_types[0])
    e = kind.wide
    before = (size - 1) // 2
    low, high = [0] * x.type.rank, [0] * x.type.rank
    low[axis], high[axis] = before, size - 1 - before
    loops = names(x.type.rank)
    reads = ", ".join(f"{l} + w" if i == axis else l for i, l in enumerate(loops))
    span = empty([size], e.type)  # only its shape is used: the extent of the loop over the window
    sums = compute(filled(empty(dims(x), e.type), e.const(0)), ", ".join([*loops, "+w"]),
                   [(padded(x, low, high, kind.const(0)), reads), (span, "w")],
                   lambda x, _, acc: arith.addf(arith.mulf(read(x, kind), read(x, kind)), acc))

    return elementwise(out, [x, sums], lambda x, total: rescaled(k, x, total, out.type.element_type))


def rescaled(k, x: ir.Value, total: ir.Value, memory: ir.Type) -> ir.Value:
    """An element of LRN, given the sum of the squares in its window."""
    kind = element(k.input_types[0])
    e = kind.wide
    base = arith.addf(e.const(k.attrs["bias"]), arith.mulf(total, e.const(k.attrs["alpha"] / k.attrs["size"])))
    return stored(arith.divf(read(x, kind), _power(e, base, k.attrs["beta"])), kind, memory)


def _power(e: Element, base: ir.Value, exponent: float) -> ir.Value:
    """base ** exponent; the usual 0.75 by two square roots."""
    if exponent == 0.5:
        return math.sqrt(base)
    if exponent == 0.75:
        root = math.sqrt(base)
        return arith.mulf(root, math.sqrt(root))
    return math.powf(base, e.const(exponent))


RULES = (layer_norm, rms_norm, batch_norm, instance_norm, group_norm, lrn)
