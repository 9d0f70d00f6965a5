"""relax-convert-layout: convolutions and pools in the layout a device wants, with as few transpositions left as the graph allows.

The pass goes through a function once. A convolution or pool is rebuilt in the wanted layout, and from then on its result is *held* in that
layout; ops that do not care (elementwise, concat, reductions, softmax, pads, slices, ...) are rebuilt on what is held, with their axes
translated; a permute_dims of a held value is only a change of its name; a reshape is done in the layout where it splits dimensions or
merges adjacent ones. Only where an op needs the value in its own order does a permute_dims appear, and where nothing but ones would move,
it is a reshape. Weights are wrapped in a permute_dims, which relax-fold-constants does at compile time.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import (
    Constants,
    defining_op,
    erase_dead,
    graph_ops,
    permutation_of,
    relax_functions,
    replace_uses,
    set_operand,
)
from legato.passes.graph.layout import layout
from legato.passes.graph.layout.layout import Perm
from legato.passes.graph.layout.rules import RULES, elementwise
from legato.passes.pipeline.base import ModulePass, PassContext, option


@dataclass(frozen=True)
class ConvertLayout(ModulePass):
    """Convert convolutions and pools to another layout, and carry it through the ops around them.

    The layouts are named for two spatial axes; NHWC stands for NWC and NDHWC too, HWIO for WIO and DHWIO.
    The kernel of a grouped convolution stays whole: HWIO has the shape [KH, KW, I / groups, O], [KH, KW, 1, C] for a depthwise one.
    """

    name = "relax-convert-layout"
    data_layout: Literal["NHWC", "NCHW"] = option("NHWC", "of images")
    kernel_layout: Literal["HWIO", "OHWI", "OIHW"] = option("HWIO", "of convolutions' weights")

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            converter = Converter(self.data_layout, self.kernel_layout)
            for op in graph_ops(function):
                converter.convert(op)
            erase_dead(function, constants)


class Converter:
    """One function's conversion: which values are held as another tensor, and in which layout."""

    def __init__(self, data_layout: str, kernel_layout: str):
        self.data_layout, self.kernel_layout = data_layout, kernel_layout
        self._held: dict[ir.Value, tuple[ir.Value, Perm]] = {}
        self._permuted: dict[tuple[ir.Value, Perm], ir.Value] = {}

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

    def perm_of(self, value: ir.Value) -> Perm | None:
        """The layout the value is held in, None if it is in its own."""
        return self._held[value][1] if value in self._held else None

    def common_perm(self, values: Sequence[ir.Value], rank: int) -> Perm | None:
        """The layout in which most of these values of one rank are held."""
        perms = [perm for value in values if (perm := self.perm_of(value)) is not None and len(perm) == rank]
        return max(perms, key=perms.count) if perms else None

    def hold(self, value: ir.Value, tensor: ir.Value, perm: Perm) -> None:
        """From here on, `value` is the tensor, whose dimension i is the value's dimension perm[i]."""
        sizes = dims(value.type)
        if layout.is_identity(perm) or layout.moves_only_ones(perm, sizes):
            replace_uses(value, self.permute(tensor, layout.invert(perm)))
        else:
            self._held[value] = (tensor, perm)

    def held(self, value: ir.Value) -> tuple[ir.Value, Perm]:
        """The tensor that stands for a value, and its layout."""
        return self._held.get(value) or (value, tuple(range(value.type.rank)))

    def place(self, value: ir.Value, perm: Perm) -> ir.Value:
        """The value in the layout `perm`."""
        tensor, now = self.held(value)
        return self.permute(tensor, tuple(now.index(axis) for axis in perm))

    def plain(self, value: ir.Value) -> ir.Value:
        """The value in its own layout."""
        return self.place(value, tuple(range(value.type.rank)))

    def place_broadcast(self, value: ir.Value, perm: Perm) -> ir.Value:
        """An operand of a broadcasting op whose result is in the layout `perm`: missing leading dimensions are made where they matter."""
        sizes = dims(value.type)
        if all(size == 1 for size in sizes):
            return value
        if len(sizes) == len(perm):
            return self.place(value, perm)
        return self.permute(relax.expand_dims(self.plain(value), list(range(len(perm) - len(sizes)))), perm)

    def permute(self, tensor: ir.Value, perm: Perm) -> ir.Value:
        """permute_dims, or less: nothing, one permutation for two in a row, a reshape where only ones move. The same one once."""
        key = (tensor, perm)
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
    """relax.reshape of the tensor, or of what it is itself a reshape of; nothing if the sizes are those of that."""
    op = defining_op(tensor)
    if op is not None and op.name == "relax.reshape":
        tensor = op.operands[0]
    return tensor if tuple(sizes) == tuple(dims(tensor.type)) else relax.reshape(tensor, list(sizes))
