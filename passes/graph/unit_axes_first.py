"""relax-unit-axes-first: convolutions and pools of images of one column are those of images of one row.

Loops on windows compute neighbouring positions of a row together. A sequence that lies along the height, as exporters from TensorFlow and
JAX have it, has rows of one position each; its elements are the same in the same order along the width.
"""
from dataclasses import dataclass
from typing import Any, ClassVar

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions, replace_uses
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

CONVOLUTIONS = ("relax.conv2d", "relax.conv3d", "relax.conv2d_integer")
POOLS = ("relax.max_pool2d", "relax.max_pool3d", "relax.avg_pool2d", "relax.avg_pool3d")


@dataclass(frozen=True)
class UnitAxesFirst(ModulePass):
    """Puts spatial axes of one element, along which windows are one element, before the others, where the last is such an axis: of pools,
    and of convolutions with windows and without groups. Others may be fused with the one before."""

    name: ClassVar[str] = "relax-unit-axes-first"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        for function in relax_functions(module):
            for op in graph_ops(function):
                if op.name in (*CONVOLUTIONS, *POOLS):
                    axes = SpatialAxes.of(op)
                    if axes.order[-1] != len(axes.order) - 1:
                        with ir.InsertionPoint(op), op.location:
                            replace_uses(op.results[0], axes.reordered(op))
            erase_dead(function, Constants(module))


@dataclass(frozen=True)
class SpatialAxes:
    """The spatial axes of a convolution or pool: where they are, and the order in which those of one element come first."""

    attributes: dict[str, Any]
    image: list[int]
    kernel: list[int]
    """Empty for pools."""
    order: list[int]

    @classmethod
    def of(cls, op: ir.Operation) -> "SpatialAxes":
        """The axes of an op."""
        attrs, pools = relax.attributes_of(op.opview), op.name in POOLS
        image = _spatial(attrs["layout" if pools else "data_layout"], "NC")
        kernel = [] if pools else _spatial(attrs["kernel_layout"], "OI")
        source, result = dims(op.operands[0].type), dims(op.results[0].type)
        taps = list(attrs["kernel"]) if pools else [dims(op.operands[1].type)[axis] for axis in kernel]
        rank = len(image)
        unit = [source[axis] == result[axis] == taps[i] == 1 and attrs["padding"][i] == attrs["padding"][i + rank] == 0
                for i, axis in enumerate(image)]
        dense = pools or (attrs["groups"] == 1 and any(size != 1 for size in taps))
        known = dense and UNKNOWN not in (*source, *result) and unit[-1]
        return cls(attrs, image, kernel, sorted(range(rank), key=lambda i: not unit[i]) if known else [*range(rank)])

    def reordered(self, op: ir.Operation) -> ir.Value:
        """The op on its axes in order, and the result as it was."""
        rank, attrs = len(self.order), dict(self.attributes)
        for name in ("kernel", "strides", "dilations"):
            if name in attrs:
                attrs[name] = [attrs[name][i] for i in self.order]
        attrs["padding"] = [attrs["padding"][i + half] for half in (0, rank) for i in self.order]
        operands = [self._moved(op.operands[0], self.image)]
        operands += [self._moved(weight, self.kernel) for weight in list(op.operands)[1:]]
        result = present(relax.op_class(op)).build(*operands, **attrs)
        return relax.reshape(result, list(dims(op.results[0].type)))

    def _moved(self, value: ir.Value, axes: list[int]) -> ir.Value:
        sizes = list(dims(value.type))
        moved = list(sizes)
        for place, i in zip(axes, self.order):
            moved[place] = sizes[axes[i]]
        return relax.reshape(value, moved)


def _spatial(layout: str, others: str) -> list[int]:
    return [axis for axis, letter in enumerate(layout) if letter not in others]
