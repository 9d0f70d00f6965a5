"""The form of a kernel with one dense convolution of one to three dimensions: its pad, its constant-sized filter and its readers.

The terms of indices are ``n`` (images), ``d``, ``h`` and ``w`` (positions of the output) and ``f`` (features). Images of one dimension have
one row, which their tensors have no dimension for; volumes are images in slices.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.analysis.structured.contraction import ContractionForm
from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.window import WindowAxis, steps_of
from legato.core.ir_helpers import constant_number, defining_op, terminator
from legato.core.mlir import ir

# of the parallel loops, by the op
TERMS = {"linalg.conv_1d_nwc_wcf": ("n", "w", "f"), "linalg.conv_2d_nhwc_hwcf": ("n", "h", "w", "f"),
         "linalg.conv_3d_ndhwc_dhwcf": ("n", "d", "h", "w", "f")}

ENOUGH_FEATURES = 16    # pairs are multiplied in the lanes of vectors of as many


@dataclass(frozen=True)
class ConvolutionForm(Epilogue):
    """A kernel's convolution in f32, its input and filter being arguments of the kernel, or views of them. The filter may be bf16."""

    kernel: KernelOps
    contraction: ContractionForm
    source: ir.Value
    """The input without padding."""
    begins: tuple[int, int]
    """The zeros before the first row, and the first column."""
    ends: tuple[int, int]
    """The zeros after the last ones."""
    made: Index
    """The index of what the epilogue makes, which is the kernel's result."""
    depth: WindowAxis | None = None
    """The windows across the slices of volumes."""

    @classmethod
    def of(cls, kernel: KernelOps, contraction: ContractionForm | None) -> ConvolutionForm | None:
        """The form of a kernel with this contraction; None for another kernel."""
        if contraction is None or contraction.op.name not in TERMS or contraction.weight != 1:
            return None
        op = contraction.op
        image, filters, sums = (value.type.element_type for value in op.operands)
        plain = image == sums == ir.F32Type.get() and filters in (image, ir.BF16Type.get())
        filters, padded = op.operands[1], unpadded(op.operands[0])
        if not plain or padded is None or not starts_at_zero(op) or not isinstance(filters, ir.BlockArgument):
            return None
        if not filters.type.has_static_shape or len(list(filters.uses)) != 1:
            return None
        out = _out(contraction, kernel.ops[-1].operands[0])
        if out is None:
            return None
        source, begins, ends = padded
        depth = _depth(op, source, begins[0]) if len(begins) == 3 else None
        if len(begins) == 3 and depth is None:
            return None
        form = cls(kernel, contraction, source, pair(begins[-2:], 0), pair(ends[-2:], 0), out, depth)
        return form if form.is_traceable([]) else None

    @property
    def op(self) -> ir.Operation:
        """The convolution."""
        return self.contraction.op

    @property
    def strides(self) -> tuple[int, int]:
        """The rows, and the columns, between neighbouring windows."""
        return self._pair("strides")

    @property
    def dilations(self) -> tuple[int, int]:
        """The rows, and the columns, between neighbouring taps of a window."""
        return self._pair("dilations")

    def _pair(self, name: str) -> tuple[int, int]:
        return pair(steps_of(self.op, name)[-2:], 1)

    @property
    def terms(self) -> Index:
        """The terms of the convolution's result."""
        return TERMS[self.op.name]

    @property
    def filter(self) -> ir.BlockArgument:
        """The filter, [height, width, channels, features], or of another number of spatial dimensions."""
        return ir.BlockArgument(self.op.operands[1])

    @property
    def filter_shape(self) -> list[int]:
        """The filter's height, width, channels and features."""
        shape = list(self.filter.type.shape)[-4:]
        return shape if len(shape) == 4 else [1, *shape]

    @property
    def source_shape(self) -> list[int]:
        """The number, height, width and channels of images that are no volumes."""
        return self._rows_of(self.source)

    @property
    def result_shape(self) -> list[int]:
        """The number of images, rows, columns and features of the convolution's result, where they are no volumes."""
        return self._rows_of(self.result)

    @staticmethod
    def _rows_of(image: ir.Value) -> list[int]:
        shape = list(image.type.shape)
        return shape if len(shape) == 4 else [shape[0], 1, *shape[1:]]

    @property
    def groups(self) -> int:
        """All features are those of one group."""
        return 1

    @property
    def out(self) -> Index:
        """The index of the kernel's result."""
        return self.made

    @property
    def memory(self) -> list[ir.Value]:
        """The tensors that the epilogue reads, besides the convolution's result."""
        return [value for value, _ in self.reads]

    @property
    def result(self) -> ir.Value:
        """The convolution's result, of which the epilogue makes the kernel's."""
        return self.op.results[0]


def are_few(features: int, channels: int, lanes: int) -> bool:
    """Whether a convolution has so few features, and enough channels, that lanes of vectors had better be channels."""
    return features <= lanes // 4 and channels >= lanes // 2


def fills_lanes(features: int, groups: int, reads: float, lanes: int) -> bool:
    """Whether a convolution of so many features has enough in each group for pairs in the lanes of vectors: more than half a vector, as
    f32 takes twice the steps. Each element of the image, which is copied, is to be read as often as by one tap of ``ENOUGH_FEATURES``.
    ``reads``: by how many taps, on average; ``lanes``: of a vector of f32."""
    if groups > 1:
        return 2 * features // groups > lanes
    return features >= ENOUGH_FEATURES or (2 * features > lanes and features * reads >= ENOUGH_FEATURES)


def unpadded(value: ir.Value, before: int = 1, inner: int = 1, number: float = 0,
             ends_known: bool = True) -> tuple[ir.Value, list[int], list[int]] | None:
    """The source of a padded image, and the elements before and after it, by its spatial dimensions; None for another pad, and for one of
    another number. ``before``: how many dimensions precede these; ``inner``: how many follow; ``ends_known``: whether numbers of elements
    after it have to be known, others being negative."""
    pad, rank = defining_op(value), value.type.rank
    if pad is None or pad.name != "tensor.pad":
        none = [0] * (rank - before - inner)
        return value, none, none
    low, high = list(pad.attributes["static_low"]), list(pad.attributes["static_high"])
    filling = constant_number(terminator(pad.regions[0].blocks[0]).operands[0])
    other = [*range(before), *range(rank - inner, rank)]
    if filling != number or min(low + high if ends_known else low) < 0 or any(low[d] or high[d] for d in other):
        return None    # sizes that are not static are negative too
    return pad.operands[0], low[before:rank - inner], high[before:rank - inner]


def pair(values: Sequence[int], of_row: int) -> tuple[int, int]:
    """What is said of rows and columns, or of columns only."""
    rows, columns = values if len(values) == 2 else (of_row, *values)
    return rows, columns


def _depth(op: ir.Operation, source: ir.Value, begin: int) -> WindowAxis | None:
    """The axis across the slices of volumes; None where their number is not known."""
    stride, dilation = (steps_of(op, name)[0] for name in ("strides", "dilations"))
    size, count = source.type.shape[1], op.results[0].type.shape[1]
    return None if min(size, count) < 0 else WindowAxis(size, count, begin, stride, dilation, op.operands[1].type.shape[0])


def start_of(op: ir.Operation) -> float | None:
    """The number that a convolution or pool, of two inputs, accumulates on; None where it is not a constant."""
    fill = defining_op(op.operands[2])
    return constant_number(fill.operands[0]) if fill is not None and fill.name == "linalg.fill" else None


def starts_at_zero(op: ir.Operation) -> bool:
    """Whether the result is accumulated on zeros."""
    return start_of(op) == 0


def _out(form: ContractionForm, returned: ir.Value) -> Index | None:
    """The index of the returned value, by the convolution's terms; None where it is a view of what the last op makes."""
    last = form.last
    if defining_op(returned) != last.op:
        return None
    terms: dict[int, Term] = {dim: TERMS[form.op.name][loop] for loop, dim in form.dims.items()}
    found = [None if loop is None else terms.get(loop, 0) for loop in last.out_loops]
    return None if None in found else tuple(term for term in found if term is not None)

