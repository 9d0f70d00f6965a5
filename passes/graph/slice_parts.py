"""relax-slice-parts: slices of a concatenation along another axis become concatenations of slices, and slices of slices one slice.

An image that is rolled along two axes is two concatenations of two slices each, the second ones of the first's result. Afterwards it is
one of four, each of the image, which ``tir-fuse-slices`` makes one copy.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.passes.graph.functions import Constants, erase_dead, relax_functions, sliced_axes
from legato.passes.graph.rewriter import GraphRewriter, attributes, table
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

SLICE = "relax.strided_slice"
SWEEPS = 8      # axes that are rolled one after the other


@dataclass(frozen=True)
class SliceParts(ModulePass):
    """Moves slices in front of concatenations that nothing else reads, as far as these are along other axes."""

    name: ClassVar[str] = "relax-slice-parts"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants, patterns = Constants(module), table([PATTERNS])
        rewriter = GraphRewriter(constants)
        for function in relax_functions(module):
            for _ in range(SWEEPS):
                if not rewriter.sweep(function, patterns):
                    break
                erase_dead(function, constants)


def slice_of_concat(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """The concatenation of slices of the parts."""
    whole = r.find(op.operands[0], "tensor.concat")
    if whole is None:
        return None
    axis = attributes(whole)["axis"]
    if any(use.owner.name != SLICE or axis in (axes_of(use.owner.operation) or (axis,)) for use in whole.results[0].uses):
        return None
    return relax.concat([relax.strided_slice(part, **attributes(op)) for part in whole.operands], axis)


def slice_of_slice(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """One slice for two of different axes."""
    inner = r.find(op.operands[0], "strided_slice")
    if inner is None:
        return None
    axes, others = axes_of(op), axes_of(inner)
    if axes is None or others is None or set(axes) & set(others):
        return None
    first, second = attributes(inner), attributes(op)
    strides = [*(first["strides"] or [1] * len(others)), *(second["strides"] or [1] * len(axes))]
    return relax.strided_slice(inner.operands[0], begin=[*first["begin"], *second["begin"]], end=[*first["end"], *second["end"]],
                               strides=strides, axes=[*others, *axes])


def axes_of(op: ir.Operation) -> list[int] | None:
    """The axes that a slice is along; None if it walks backwards."""
    if any(stride < 0 for stride in attributes(op)["strides"] or ()):
        return None
    return sliced_axes(op)


PATTERNS = (("strided_slice", slice_of_concat), ("strided_slice", slice_of_slice))
