"""Indices as linear forms of a statement's axes."""
from collections.abc import Mapping

from legato.analysis.indices.forms import Forms
from legato.analysis.indices.linear import Linear, Term
from legato.analysis.kernel_sizes import KernelSizes, Size
from legato.core.mlir import ir


class AxisForms(Forms):
    """``extents``: the axes (or loop variables), which start at 0, and the number of their values; ``others``: forms for values."""

    def __init__(self, extents: Mapping[Term, Size], sizes: KernelSizes, others: Mapping[ir.Value, Linear] | None = None) -> None:
        super().__init__(extents, others, sizes.given)
        self.sizes = sizes

    def renamed(self, axes: list[ir.Value]) -> "AxisForms":
        """The same extents for other axis arguments."""
        return AxisForms(dict(zip(axes, self.extents.values(), strict=True)), self.sizes)
