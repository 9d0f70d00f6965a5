"""The form of a kernel with one convolution of f32 of one to three dimensions, in groups or not, whose images may be bf16, and with
groups filters, too, or of bytes or integers of 16 bits: its windows, and the elementwise ops on its result.

With groups, the kernel's ops split channels and features into groups and those of a group. Here they are one dimension, as in the kernel's
arguments. So are channels of which a lane of 32 bits has four bytes, or two integers of 16 bits, whose products an instruction sums. Where
these are in no whole lanes, a lane has neighbours of a window's row, or in groups the last lane channels of the one before, too.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from legato.analysis.structured.contraction import LANE, ContractionForm
from legato.analysis.structured.convolution import starts_at_zero, unpadded
from legato.analysis.structured.elements import Index, Untraceable, is_given, tensor_leaves
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.maps import dim_positions
from legato.analysis.structured.ops import CONTRACTION, PRODUCTS, bits_of
from legato.analysis.structured.window import WindowAxis, axes_of
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.dialects.tir.markers import OF_BYTES

SPLIT: Index = ("g", "f")   # the last terms of indices of ops: the group, and the feature in it
DOT_PRODUCTS = ("dot4_u8s8", "dot4_s8s8", "dot4_u8u8", "dot2_s16s16")
KINDS = {"arith.extui": "u", "arith.extsi": "s"}     # of integers, by what widens them
PLACES: dict[int, Index] = {1: ("n", "w"), 2: ("n", "h", "w"), 3: ("n", "d", "h", "w")}   # of the convolution's result, by its dimensions


@dataclass(frozen=True)
class DirectForm:
    """A convolution of images of known channels, zeros around them. The terms of indices are ``n`` (images), ``d``, ``h`` and
    ``w`` (positions of the result) and ``f`` (features of all groups)."""

    kernel: KernelOps
    contraction: ContractionForm
    source: ir.Value
    """The images without padding, [n, height, width, channels], or of another number of spatial dimensions."""
    filter: ir.BlockArgument
    """The filter, [height, width, channels of a group, features], or of another number of spatial dimensions."""
    axes: tuple[WindowAxis, ...]
    """The windows along the spatial dimensions, that of the columns last."""

    @classmethod
    def of(cls, kernel: KernelOps, known: bool = True) -> DirectForm | None:
        """The form of a kernel; None for another one, and where sizes of the images have to be ``known``, for one where they are not."""
        heart = kernel.heart
        if heart is None or heart.kind != CONTRACTION or len(kernel.ops[-1].operands) != 1:
            return None
        contraction = ContractionForm.of_op(heart)
        if contraction is None or len(contraction.batch) > 1 or not contraction.filters or contraction.weight != 1:
            return None
        op, found, grouped = contraction.op, contraction.heart.convolution, bool(contraction.batch)
        image, weight, sums = [value.type.element_type for value in op.operands]
        f32, bf16 = ir.F32Type.get(), ir.BF16Type.get()
        plain = sums == f32 and image in (f32, bf16) and weight in ((f32, bf16) if grouped else (f32,))
        if not plain and dot_product(contraction) is None:
            return None
        if found is None or not starts_at_zero(op) or not _is_in_order(contraction):
            return None
        splits = grouped or splits_channels(contraction)
        padded = _unpadded(op.operands[0]) if splits else unpadded(op.operands[0])
        if padded is None:
            return None
        source, begins, ends = padded
        filters = joined(op.operands[1], inner=0 if grouped else 1) if splits else op.operands[1]
        if filters is None or not is_given(source) or not isinstance(filters, ir.BlockArgument) or len(list(filters.uses)) != 1:
            return None
        result = list(op.results[0].type.shape)[1:-2 if grouped else -1]
        strides, dilations = ([int(step) for step in steps] for steps in (found.strides, found.dilations))
        axes = axes_of(list(source.type.shape)[1:-1], result, list(filters.type.shape)[:-2], begins, strides, dilations,
                       None if known else ends)
        if axes is None or not filters.type.has_static_shape:
            return None
        form = cls(kernel, contraction, source, ir.BlockArgument(filters), axes)
        return form if (form.by_rows or form.channels >= form.per_lane) and form._is_traceable() else None

    @property
    def op(self) -> ir.Operation:
        """The convolution."""
        return self.contraction.op

    @property
    def is_rounded(self) -> bool:
        """Whether the images are rounded to bf16: so may the filter be; or the filter is."""
        return ir.BF16Type.get() in (self.source.type.element_type, self.element)

    @property
    def groups(self) -> int:
        """The number of groups; 1 where there are none."""
        return self.op.operands[1].type.shape[-2] if self.contraction.batch else 1

    @property
    def channels(self) -> int:
        """The channels of a group."""
        return self.filter.type.shape[-2]

    @property
    def per_lane(self) -> int:
        """The integers in a lane of 32 bits; 1 for f32."""
        return LANE // bits_of(self.element)

    @property
    def is_of_bytes(self) -> bool:
        """Whether images have bytes that were widened to 16 bits."""
        return OF_BYTES in self.op.attributes

    @property
    def by_rows(self) -> bool:
        """Whether a lane has neighbouring elements of a window's row, not channels only."""
        return self.per_lane > 1 and not splits_channels(self.contraction) and not self.contraction.batch

    @property
    def is_tiled(self) -> bool:
        """Whether schedules of products compute the convolution, too: all but those of integers in groups, with
        strides, or in no whole lanes."""
        return self.per_lane == 1 or (splits_channels(self.contraction) and all(axis.stride == 1 for axis in self.axes))

    @property
    def depth(self) -> int:
        """The channels of a group in lanes."""
        return -(-self.channels // self.per_lane)

    @property
    def element(self) -> ir.Type:
        """The type of the filter's elements."""
        return self.filter.type.element_type

    @property
    def product(self) -> str:
        """The op of tir that adds the products of a lane, of an image and a filter, to a sum."""
        return present(dot_product(self.contraction))

    @property
    def features(self) -> int:
        """The features of a group."""
        return self.filter.type.shape[-1] // self.groups

    @property
    def terms(self) -> Index:
        """The terms of an element of the result."""
        return (*PLACES[len(self.contraction.filters)], "f")

    @cached_property
    def _ends(self) -> tuple[ir.Value, ir.Value, bool]:
        """The convolution's result as the epilogue reads it, the epilogue's, and whether it has groups as a dimension of their own, which
        become one with the features before or after."""
        made, returned = self.op.results[0], self.kernel.ops[-1].operands[0]
        if not self.contraction.batch:
            return made, returned, False
        last = defining_op(returned)
        if last is not None and last.name == "tensor.collapse_shape" and last.operands[0].type.shape == made.type.shape:
            return made, last.operands[0], True
        readers = [use.owner.operation for use in made.uses]
        if len(readers) == 1 and readers[0].name == "tensor.collapse_shape":
            return readers[0].results[0], returned, False
        raise Untraceable

    @property
    def result(self) -> ir.Value:
        """The convolution's result, of which the epilogue makes the kernel's."""
        return self._ends[0]

    @property
    def returned(self) -> ir.Value:
        """What the epilogue makes."""
        return self._ends[1]

    @property
    def own_terms(self) -> Index:
        """The terms of an element of the result, as the epilogue has them."""
        return (*PLACES[len(self.contraction.filters)], *SPLIT) if self._ends[2] else self.terms

    @cached_property
    def reads(self) -> list[tuple[ir.Value, Index]]:
        """The elements that the epilogue reads, besides those of the convolution's result."""
        return [one for one in tensor_leaves(self.kernel, self.returned, self.own_terms, self.result) if one[0] != self.result]

    def flat(self, tensor: ir.Value, index: Index) -> tuple[ir.Value, Index] | None:
        """An element that the epilogue reads, of a tensor whose groups and features are one dimension; None where there is no such."""
        if not self._ends[2]:
            return tensor, index
        if index[-2:] != SPLIT:
            return None if set(index) & set(SPLIT) else (tensor, index)
        owner = defining_op(tensor)
        if owner is not None and owner.name == "arith.constant":
            return tensor, (*index[:-2], "f")   # equal elements
        whole = joined(tensor)
        return None if whole is None else (whole, (*index[:-2], "f"))

    def _is_traceable(self) -> bool:
        if any("linalg.index" in op.body_names for op in self.kernel.structured):
            return False
        try:
            leaves = tensor_leaves(self.kernel, self.returned, self.own_terms, self.result)
            own = {index for tensor, index in leaves if tensor == self.result}
            return own == {self.own_terms} and all(is_given(tensor) and self.flat(tensor, index) for tensor, index in self.reads)
        except Untraceable:
            return False


def _unpadded(image: ir.Value) -> tuple[ir.Value, list[int], list[int]] | None:
    """The source of an image that is padded before or after its channels are split, and the zeros before and after it; None for another
    one."""
    after = unpadded(image, inner=2)
    whole = None if after is None else joined(after[0])
    before = None if whole is None else unpadded(whole)
    if after is None or before is None or (after[0] != image and before[0] != whole):
        return None
    pads = after if before[0] == whole else before
    return before[0], pads[1], pads[2]


def _is_in_order(contraction: ContractionForm) -> bool:
    """Whether the operands' dimensions are those of images with channels last, and of filters with features last."""
    group, heart, rows = list(contraction.batch), contraction.heart, contraction.rows
    rank = len(contraction.filters)
    if rank not in PLACES or len(rows) != rank + 1 or len(contraction.columns) != 1:
        return False
    image, filters = dim_positions(heart.maps[0]), dim_positions(heart.maps[1])
    taps, channels = list(contraction.reductions[:rank]), list(contraction.reductions[rank:])
    widens_images = heart.body_names == ["arith.extf", "arith.mulf", "arith.addf", "linalg.yield"]
    if len(channels) != (2 if splits_channels(contraction) else 1) or not (widens_images or len(heart.body) in (3, 5)):
        return False
    return (heart.out_loops == [*rows, *group, contraction.column] and image[0] == rows[0]
            and image[rank + 1:] == [*group, *channels] and filters == [*taps, *channels, *group, contraction.column])


def splits_channels(contraction: ContractionForm) -> bool:
    """Whether channels are split into lanes of integers. Those of groups are not; as many as a lane has look as if they were."""
    return contraction.group is not None and not contraction.batch


def dot_product(contraction: ContractionForm) -> str | None:
    """The op of tir by which a contraction's groups of integers are multiplied and summed, the first factor's before the second's; None
    where there is none of these signs."""
    found = []
    if not set(contraction.heart.body_names) <= PRODUCTS:
        return None
    for factor in contraction.heart.scalars[:2]:
        readers = [use.owner.operation for use in factor.uses]
        if len(readers) != 1 or readers[0].name not in KINDS:
            return None
        found.append(f"{KINDS[readers[0].name]}{factor.type.width}")
    name = f"dot{LANE // bits_of(contraction.heart.inputs[0].type.element_type)}_{''.join(found)}"
    return name if name in DOT_PRODUCTS else None


def joined(value: ir.Value, inner: int = 0) -> ir.Value | None:
    """The tensor of whose dimensions, ``inner`` before the last one, a view splits one in two; None for another value."""
    op = defining_op(value)
    if op is None or op.name != "tensor.expand_shape":
        return None
    groups = [[dim.value for dim in group] for group in op.attributes["reassociation"]]
    split = [1] * (len(groups) - 1 - inner) + [2] + [1] * inner
    return op.operands[0] if [len(group) for group in groups] == split else None

