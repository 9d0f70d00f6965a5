"""relax-split-pools: maximum pools of long windows as two of shorter ones.

The greatest element of k neighbours is that of b places, d apart, of the greatest of a neighbours, where ``a + (b - 1) * d == k`` and d is
at most a. Both take ``a + b`` steps for an element in place of k. Windows may overlap: a maximum takes an element twice without harm, as
it does NaN.
"""
from dataclasses import dataclass
from math import gcd
from typing import ClassVar

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, relax_functions, replace_uses, top_ops
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

OPS = {f"relax.max_pool{rank}d": rank for rank in (1, 2, 3)}
LONG = 8        # windows up to this are quick as they are,
FEW = 4         # and those that take an element so often at most


@dataclass(frozen=True)
class SplitPools(ModulePass):
    """Splits maximum pools of windows of more than 8 elements along an axis in two, where more than four windows share an element."""

    name: ClassVar[str] = "relax-split-pools"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            for op in top_ops(function):
                if op.name in OPS:
                    with ir.InsertionPoint(op), op.location:
                        split(op)
            erase_dead(function, constants)


def split(op: ir.Operation) -> None:
    """Replaces a pool by shorter ones, if it is long."""
    attributes, rank = relax.attributes_of(op.opview), OPS[op.name]
    places = range(2, rank + 2) if attributes["layout"].startswith("NC") else range(1, rank + 1)
    axes = [PoolAxis(attributes["kernel"][i], attributes["strides"][i], attributes["dilations"][i], attributes["padding"][i],
                     attributes["padding"][rank + i]) for i in range(rank)]
    sizes, counts = ([dims.dims(value.type)[place] for place in places] for value in (op.operands[0], op.results[0]))
    value = op.operands[0]
    while any(axis.is_long for axis in axes):
        if attributes["ceil_mode"] and not all(axis.fits(size, count) for axis, size, count in zip(axes, sizes, counts)):
            return      # the last window ends behind the padding
        parts = [axis.parts(size if isinstance(size, int) else None) for axis, size in zip(axes, sizes)]
        value = pooled(op, value, [first for first, _ in parts])
        sizes, axes = [dims.dims(value.type)[place] for place in places], [second for _, second in parts]
    if value != op.operands[0]:
        replace_uses(op.results[0], pooled(op, value, axes))


def pooled(op: ir.Operation, value: ir.Value, axes: list["PoolAxis"]) -> ir.Value:
    """A pool of the same kind as ``op``."""
    return relax.OPS[op.name.removeprefix("relax.")].build(
        value, kernel=[axis.taps for axis in axes], strides=[axis.stride for axis in axes], dilations=[axis.dilation for axis in axes],
        padding=[*(axis.begin for axis in axes), *(axis.end for axis in axes)], layout=relax.attributes_of(op.opview)["layout"])


@dataclass(frozen=True)
class PoolAxis:
    """The windows of a pool along an axis: ``taps`` elements, ``dilation`` apart, every ``stride``, of what is padded by ``begin`` and
    ``end``."""

    taps: int
    stride: int
    dilation: int
    begin: int
    end: int

    @property
    def is_long(self) -> bool:
        """Whether two pools take fewer steps."""
        return self.taps > max(LONG, FEW * self.stride)

    def fits(self, size: dims.Size, count: dims.Size) -> bool:
        """Whether the last of ``count`` windows ends in the padding."""
        extent = self.dilation * (self.taps - 1) + 1
        return isinstance(size, int) and count == (size + self.begin + self.end - extent) // self.stride + 1

    def parts(self, size: int | None) -> tuple["PoolAxis", "PoolAxis"]:
        """Two pools for this one; the first does nothing where the windows are short. It skips what the second does not read, if the size
        is known. All its windows that have an element are there: what the second pads are others."""
        if not self.is_long:
            return PoolAxis(1, 1, 1, 0, 0), self
        steps = {(a, d): (self.taps - a) // d + 1 for a in range(2, LONG + 1) for d in range(1, a + 1) if (self.taps - a) % d == 0}

        def cost(one: tuple[int, int]) -> float:
            (a, d), b = one, steps[one]
            return a / (1 if size is None else gcd(self.stride, d)) + b / self.stride + (b > LONG) * b

        a, d = min(steps, key=cost)
        stride = 1 if size is None else gcd(self.stride, d)
        most = self.dilation * (a - 1)      # padding of a window that has an element
        begin, end = most - (most - self.begin) % stride if self.begin > most else self.begin, min(self.end, most)
        before, behind = (self.begin - begin) // stride, self.end - end
        if size is not None:
            of_all, of_first = ((size + padding - most - 1) // stride + 1 for padding in (self.begin + self.end, begin + end))
            behind = of_all - of_first - before
        return (PoolAxis(a, stride, self.dilation, begin, end),
                PoolAxis(steps[a, d], self.stride // stride, d * self.dilation // stride, before, behind))
