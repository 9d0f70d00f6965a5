"""relax-convert-layout: converts convolutions and pools to the layout that a device prefers, with few transpositions.

The pass visits a function once. A convolution or pool is rebuilt in the wanted layout, and its result is then *held* in that layout;
layout-agnostic ops (elementwise, concat, reductions, softmax, pads, slices, elements taken along axes, products with constant matrices,
...) are rebuilt on held values, with their axes translated. A permute_dims of a held value only changes its layout, and so does one from
channels last to channels first of any value; a reshape is done in the held layout if it splits dimensions or merges adjacent ones.
A permute_dims is inserted only where an op needs the value in its own order, as a reshape if only dimensions of size 1 move. Weights are
wrapped in a permute_dims, which relax-fold-constants folds.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import (
    Constants,
    erase_dead,
    graph_ops,
    permutation_of,
    relax_functions,
    replace_uses,
    set_operand,
)
from legato.passes.graph.layout import layout
from legato.passes.graph.layout.layout import Perm
from legato.passes.graph.layout.rules import ON_IMAGES, RULES, elementwise
from legato.passes.pipeline.base import ModulePass, PassContext, option


@dataclass(frozen=True)
class ConvertLayout(ModulePass):
    """Converts convolutions and pools to another layout, and propagates it through the ops around them.

    The layouts are named for two spatial axes; NHWC stands for NWC and NDHWC, too, HWIO for WIO and DHWIO. The kernel of a grouped
    convolution is not split: HWIO has the shape [KH, KW, I / groups, O], [KH, KW, 1, C] for a depthwise one.
    """

    name = "relax-convert-layout"
    data_layout: Literal["NHWC", "NCHW"] = option("NHWC", "of images")
    kernel_layout: Literal["HWIO", "OHWI", "OIHW"] = option("HWIO", "of convolutions' weights")
    integer_kernel_layout: Literal["", "HWIO", "OHWI"] = option("", "of weights of conv2d_integer, where it is another one")
    in_place: bool = option(False, "what is as fast on channels-first images stays: pools of floats, and what strides step over")
    columns: bool = option(False, "convolutions of channels-first images that are depthwise or of few features stay")
    products: bool = option(False, "convolutions by one element of channels-first images, into few features, are products with the image")
    mixes: bool = option(False, "products with constant matrices of values whose rows and columns are exchanged around them are along rows")
    norms: bool = option(False, "group_norm and instance_norm, of reshaped groups too, are several ops on images as they are held")

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            ops = graph_ops(function)
            has_images = any(RULES.get(op.name) in ON_IMAGES for op in ops)
            layouts = (self.data_layout, self.kernel_layout, self.integer_kernel_layout or self.kernel_layout)
            converter = Converter(layouts, has_images, self.in_place, self.columns, self.products, self.mixes, self.norms)
            for op in ops:
                converter.convert(op)
            erase_dead(function, constants)


class Converter:
    """The conversion of one function: the values held as another tensor, and their layouts. ``layouts``: those wanted of images, of
    weights, and of weights of integers; ``has_images``: whether it has ops that they are for. ``in_place``, ``columns``, ``products``,
    ``mixes``, ``norms``: as the pass's options."""

    def __init__(self, layouts: tuple[str, str, str], has_images: bool, in_place: bool, columns: bool, products: bool, mixes: bool,
                 norms: bool):
        self.data_layout, self.kernel_layout, self.integer_kernel_layout = layouts
        self.has_images = has_images
        self.in_place, self.columns, self.products, self.mixes, self.norms = in_place, columns, products, mixes, norms
        self._held: dict[ir.Value, tuple[ir.Value, Perm]] = {}
        self._permuted: dict[tuple[ir.Value, Perm, ir.Block], ir.Value] = {}

    def convert(self, op: ir.Operation) -> None:
        """Rebuilds the op on held values if a rule can; else gives it its operands in their own order."""
        cls = relax.op_class(op)
        rule = RULES.get(op.name) or (elementwise if cls is not None and cls.ELEMENTWISE else None)
        with ir.InsertionPoint(op), op.location:
            if rule is not None and rule(self, op):
                return
            for number, operand in enumerate(op.operands):
                if operand in self._held:
                    set_operand(op, number, self.plain(operand))

    def is_wanted(self, perm: Perm) -> bool:
        """Whether the layout holds images with channels first as wanted, but for the order of their positions, in a function that has
        images: a Resize is along one axis after the other, each with its own rows."""
        first = {3: "NCW", 4: "NCHW", 5: "NCDHW"}.get(len(perm), "")
        wanted = layout.for_axes(self.data_layout, first)
        if not self.has_images or not first or first == wanted:
            return False
        return all(perm.index(axis) == layout.between(first, wanted).index(axis) for axis in (0, 1))

    def perm_of(self, value: ir.Value) -> Perm | None:
        """The layout that the value is held in; None if it is its own."""
        return self._held[value][1] if value in self._held else None

    def common_perm(self, values: Sequence[ir.Value], rank: int) -> Perm | None:
        """The layout that most of these values of one rank are held in."""
        perms = [perm for value in values if (perm := self.perm_of(value)) is not None and len(perm) == rank]
        return max(perms, key=perms.count) if perms else None

    def hold(self, value: ir.Value, tensor: ir.Value, perm: Perm) -> None:
        """Holds `value` as `tensor` from here on; dimension i of the tensor is the value's dimension perm[i]."""
        sizes = dims(value.type)
        if layout.is_identity(perm) or layout.moves_only_ones(perm, sizes):
            replace_uses(value, self.permute(tensor, layout.invert(perm)))
        else:
            self._held[value] = (tensor, perm)

    def held(self, value: ir.Value) -> tuple[ir.Value, Perm]:
        """The tensor that a value is held as, and its layout."""
        return self._held.get(value) or (value, tuple(range(value.type.rank)))

    def place(self, value: ir.Value, perm: Perm) -> ir.Value:
        """The value in the layout `perm`."""
        tensor, now = self.held(value)
        return self.permute(tensor, tuple(now.index(axis) for axis in perm))

    def plain(self, value: ir.Value) -> ir.Value:
        """The value in its own layout."""
        return self.place(value, tuple(range(value.type.rank)))

    def place_broadcast(self, value: ir.Value, perm: Perm) -> ir.Value:
        """An operand of a broadcasting op whose result has the layout `perm`; missing leading dimensions are added if they matter."""
        sizes = dims(value.type)
        if all(size == 1 for size in sizes):
            return value
        if len(sizes) == len(perm):
            return self.place(value, perm)
        return self.permute(relax.expand_dims(self.plain(value), list(range(len(perm) - len(sizes)))), perm)

    def permute(self, tensor: ir.Value, perm: Perm) -> ir.Value:
        """permute_dims, simplified: nothing for an identity, one for two in a row, a reshape if only dimensions of size 1 move.
        Cached, in each block."""
        key = (tensor, perm, ir.InsertionPoint.current.block)
        if key not in self._permuted:
            self._permuted[key] = self._permute(tensor, perm)
        return self._permuted[key]

    def _permute(self, tensor: ir.Value, perm: Perm) -> ir.Value:
        if layout.is_identity(perm):
            return tensor
        op = defining_op(tensor)
        if op is not None and op.name == "relax.permute_dims":
            return self.permute(op.operands[0], layout.compose(permutation_of(op), perm))
        sizes = dims(tensor.type)
        if layout.moves_only_ones(perm, sizes) and UNKNOWN not in sizes:
            return reshape(tensor, layout.apply(perm, sizes))
        return relax.permute_dims(tensor, list(perm))


def reshape(tensor: ir.Value, sizes: Sequence) -> ir.Value:
    """relax.reshape of the tensor, or of its source if it is a reshape itself; the source if that has these sizes."""
    op = defining_op(tensor)
    if op is not None and op.name == "relax.reshape":
        tensor = op.operands[0]
    return tensor if tuple(sizes) == tuple(dims(tensor.type)) else relax.reshape(tensor, list(sizes))
