"""relax-transposed-convolutions: transposed convolutions as convolutions of the same arithmetic.

Along an axis of stride s the outputs fall into s phases: ``y[s * q + r]`` is the sum of ``x[q - u] * w[t]`` over the taps t with
``t * dilation == s * u + r``, a convolution of stride 1 by a part of the kernel. Neighbouring phases with taps at the same places, which
are all where the stride divides the kernel, are channels of one convolution. No weight is padded by zeros, which would turn infinities
into NaN. What is left is to interleave the phases.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby, product
from math import gcd, prod
from typing import ClassVar, Self

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.requirements import require, requirements
from legato.passes.graph.functions import Constants, erase_dead, relax_functions, replace_uses, top_ops
from legato.passes.graph.op_requirements import transposed_requirements
from legato.passes.pipeline.base import ModulePass, PassContext

OPS = {f"relax.conv{rank}d_transpose": rank for rank in (1, 2, 3)}
MOST_TAPS = 1 << 16
MOST_PRODUCTS = 9       # of an output of a depthwise convolution, where all phases are computed together
LEAST_PHASES = 4        # of such a convolution


@dataclass(frozen=True)
class TransposedConvolutions(ModulePass):
    """Transposed convolutions become convolutions, one for phases of the strides with taps at the same places, and their results
    interleaved."""

    name: ClassVar[str] = "relax-transposed-convolutions"

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in top_ops(function):
                if op.name in OPS and is_decomposable(op):
                    needed = list(transposed_requirements(op))
                    with ir.InsertionPoint(op), op.location:
                        replace_uses(op.results[0], decomposed(op, constants))
                    require(function, [*requirements(function), *needed])
            erase_dead(function, constants)


def is_decomposable(op: ir.Operation) -> bool:
    """Whether sizes have names, there is a result, taps can be listed, and no convolution skips more than the input at one end; else the
    op's own kernel computes it."""
    if any(dims.UNKNOWN in dims.dims(value.type) for value in op.operands) or 0 in dims.dims(op.results[0].type):
        return False
    if any(size > MOST_TAPS for size in [*op.operands[1].type.shape[2:], *relax.attributes_of(op.opview)["strides"]]):
        return False
    plans, sizes = Axes.of(op).plans(together=False), dims.dims(op.operands[0].type)[2:]
    return all(not isinstance(size, int) or min(one.begin, one.end) >= -size for plan, size in zip(plans, sizes) for one in plan)


@dataclass(frozen=True)
class Phases:
    """Phases of one axis that one convolution computes, ``count`` of them, and the taps of each: ``taps[phase][place]``."""

    taps: tuple[tuple[int, ...], ...]
    dilation: int
    begin: int
    end: int


def phases_of(kernel: int, stride: int, dilation: int, first: int, last: int, together: bool) -> list[Phases]:
    """The phases of an axis. ``first``, ``last``: the quotients q of the first output, and of the last less the last input's index.

    Padding: ``begin`` and ``end``, which may be negative.
    """
    found = []
    for phase in range(stride):
        taps = [t for t in range(kernel) if t * dilation % stride == phase]
        if not taps:
            found.append(Phases(((),), 1, 0, 0))
            continue
        shifts = [t * dilation // stride for t in taps]
        found.append(Phases((tuple(reversed(taps)),), dilation // gcd(dilation, stride), shifts[-1] - first, last - shifts[0]))
    if not together:
        return found
    places = groupby(found, lambda one: (len(one.taps[0]), one.dilation, one.begin, one.end))
    return [Phases(tuple(one.taps[0] for one in alike), *key[1:]) for key, alike in places]


@dataclass(frozen=True)
class Axes:
    """The axes of a transposed convolution. ``firsts``, ``lasts``: as ``phases_of`` takes them, of each axis."""

    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    firsts: Sequence[int]
    lasts: Sequence[int]

    @classmethod
    def of(cls, op: ir.Operation) -> Self:
        """The axes of an op."""
        a, kernel = relax.attributes_of(op.opview), list(op.operands[1].type.shape[2:])
        rank, strides, padding = len(kernel), a["strides"], a["padding"]
        firsts = [begin // stride for begin, stride in zip(padding, strides)]
        lasts = [(d * (k - 1) + extra - end) // s
                 for d, k, extra, end, s in zip(a["dilations"], kernel, a["output_padding"], padding[rank:], strides)]
        return cls(kernel, strides, a["dilations"], firsts, lasts)

    def plans(self, together: bool) -> list[list[Phases]]:
        """The phases of each axis. ``together``: whether neighbours with taps at the same places are computed together."""
        return [phases_of(*axis, together) for axis in zip(self.kernel, self.strides, self.dilations, self.firsts, self.lasts)]

    def are_few_products(self) -> bool:
        """Whether an output is a sum of so few products that it is made in one pass over the memory, for phases of which there are many."""
        return prod(-(-k // s) for k, s in zip(self.kernel, self.strides)) <= MOST_PRODUCTS and prod(self.strides) >= LEAST_PHASES


def decomposed(op: ir.Operation, constants: Constants) -> ir.Value:
    """The result of a transposed convolution, by ops built at the insertion point."""
    (x, w), a = op.operands, relax.attributes_of(op.opview)
    rank, groups, strides, padding = OPS[op.name], a["groups"], a["strides"], a["padding"]
    sizes = dims.dims(x.type)
    inputs, filters = dims.dims(w.type)[:2]
    depthwise, axes = inputs == groups and filters == 1, Axes.of(op)
    by_products = depthwise and axes.are_few_products() and _is_finite(constants.array(w))
    firsts, plans = axes.firsts, axes.plans(together=by_products or not depthwise)
    counts = [size + last - first for size, first, last in zip(sizes[2:], firsts, axes.lasts)]
    image = (_Channels if by_products else _Image)(x, w, groups, counts)
    parts = {key: image.part([plan[i] for plan, i in zip(plans, key)]) for key in product(*(range(len(plan)) for plan in plans))}
    y = _interleaved(parts, [len(plan) for plan in plans])
    whole = [count * stride for count, stride in zip(counts, strides)]
    y = relax.reshape(y, shape=[sizes[0], *whole, filters * groups])
    begins = [begin - first * stride for begin, first, stride in zip(padding, firsts, strides)]
    ends = [full - size - begin for full, size, begin in zip(whole, dims.dims(op.results[0].type)[2:], begins)]
    if any([*begins, *ends]):
        y = relax.pad(y, pads=[0, *(-begin for begin in begins), 0, 0, *(-end for end in ends), 0])
    return relax.permute_dims(y, axes=[0, rank + 1, *range(1, rank + 1)])


@dataclass(frozen=True)
class _Image:
    """The operands of a transposed convolution, and the number of quotients of its outputs along each axis."""

    x: ir.Value
    w: ir.Value
    groups: int
    counts: Sequence[dims.Size]

    def part(self, phases: Sequence[Phases]) -> ir.Value:
        """The outputs of some phases of each axis: [batch, count, phases, count, phases, ..., channels]."""
        rank, batch = len(phases), dims.dims(self.x.type)[0]
        filters = dims.dims(self.w.type)[1]
        channels, many = filters * self.groups, [len(one.taps) for one in phases]
        paired = [size for pair in zip(self.counts, many) for size in pair]
        if not all(one.taps[0] for one in phases):
            zero = relax.constant(np.zeros((), relax.TensorType.of(self.x.type).dtype))
            return relax.broadcast_to(zero, shape=[batch, *paired, channels])
        padding = [one.begin for one in phases] + [one.end for one in phases]
        x = self.x
        if min(padding) < 0:
            x, padding = relax.pad(x, pads=[0, 0, *padding[:rank], 0, 0, *padding[rank:]]), [0] * len(padding)
        return relax.reshape(self.convolved(phases, x, padding), shape=[batch, *paired, channels])

    def convolved(self, phases: Sequence[Phases], x: ir.Value, padding: Sequence[int]) -> ir.Value:
        """The part of one convolution of the padded ``x``, its phases apart or not."""
        rank, batch = len(phases), dims.dims(x.type)[0]
        filters, many = dims.dims(self.w.type)[1], [len(one.taps) for one in phases]
        z = relax.OPS[f"conv{rank}d"].build(x, self.weight(phases), padding=padding, dilations=[one.dilation for one in phases],
                                            groups=self.groups)
        z = relax.permute_dims(z, axes=[0, *range(2, rank + 2), 1])
        if max(many) == 1:
            return z
        z = relax.reshape(z, shape=[batch, *self.counts, self.groups, *many, filters])
        order = [axis for place in range(rank) for axis in (1 + place, rank + 2 + place)]
        return relax.permute_dims(z, axes=[0, *order, rank + 1, 2 * rank + 2])

    def weight(self, phases: Sequence[Phases]) -> ir.Value:
        """The kernel of a convolution for some phases of each axis; its channels are group, phases, filter."""
        rank = len(phases)
        inputs, filters, *kernel = dims.dims(self.w.type)
        w = self.w
        for axis, one in enumerate(phases):
            order = [tap for taps in one.taps for tap in taps]
            if order != list(range(kernel[axis])):
                w = relax.take(w, relax.constant(np.array(order, np.int64)), axis=axis + 2)
        pairs = [size for one in phases for size in (len(one.taps), len(one.taps[0]))]
        w = relax.reshape(w, shape=[self.groups, dims.floor_divide(inputs, self.groups), filters, *pairs])
        w = relax.permute_dims(w, axes=[0, *range(3, 3 + 2 * rank, 2), 2, 1, *range(4, 4 + 2 * rank, 2)])
        made = filters * self.groups * int(np.prod([len(one.taps) for one in phases]))
        return relax.reshape(w, shape=[made, dims.floor_divide(inputs, self.groups), *(len(one.taps[0]) for one in phases)])


class _Channels(_Image):
    """The operands of a depthwise one with weights that are finite (padding is multiplied)."""

    def convolved(self, phases: Sequence[Phases], x: ir.Value, padding: Sequence[int]) -> ir.Value:
        """The sum of the products of each place of the taps. All phases of it are elementwise on vectors of channels."""
        rank, type_ = len(phases), relax.TensorType.of(x.type)
        wide = np.dtype(np.float32) if type_.dtype.itemsize == 2 else type_.dtype
        batch, channels = type_.dims[0], type_.dims[1]
        x = relax.astype(relax.permute_dims(x, axes=[0, *range(2, rank + 2), 1]), dtype=wide)
        w = relax.astype(relax.permute_dims(self.w, axes=[*range(2, rank + 2), 1, 0]), dtype=wide)
        if any(padding):
            x = relax.pad(x, pads=[0, *padding[:rank], 0, 0, *padding[rank:], 0])
        terms = []
        for place in product(*(range(len(one.taps[0])) for one in phases)):
            begin = [at * one.dilation for at, one in zip(place, phases)]
            seen = relax.strided_slice(x, begin=begin, end=[b + c for b, c in zip(begin, self.counts)], axes=list(range(1, rank + 1)))
            part = w
            for axis, (at, one) in enumerate(zip(place, phases)):
                part = relax.take(part, relax.constant(np.array([taps[at] for taps in one.taps], np.int64)), axis=axis)
            seen = relax.reshape(seen, shape=[batch, *(size for count in self.counts for size in (count, 1)), channels])
            part = relax.reshape(part, shape=[*(size for one in phases for size in (1, len(one.taps))), channels])
            terms.append(relax.multiply(seen, part))
        return relax.astype(reduce(relax.add, terms), dtype=type_.dtype, contract=wide != type_.dtype)


def _is_finite(weights: np.ndarray | None) -> bool:
    return weights is not None and bool(np.isfinite(weights.astype(np.float32, copy=False)).all())


def _interleaved(parts: dict[tuple[int, ...], ir.Value], counts: Sequence[int]) -> ir.Value:
    """Parts, by their number along each axis, joined along the axes of the phases, the last first."""
    for axis in reversed(range(len(counts))):
        joined: dict[tuple[int, ...], list[ir.Value]] = {}
        for key in sorted(parts):
            joined.setdefault(key[:axis], []).append(parts[key])
        parts = {key: values[0] if len(values) == 1 else relax.concat(values, 2 * axis + 2) for key, values in joined.items()}
    return parts[()]
