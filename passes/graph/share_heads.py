"""relax-share-heads: attentions whose heads share keys and values read these in place, not copies for each head.

Grouped-query attention is exported as ``reshape(broadcast_to(k))``, which copies keys and values once for each head that shares them, and
that of one group as products that broadcast it. The queries of these heads are rows of one product instead:
[batch, groups, heads of a group x rows, columns].
"""
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

import numpy as np

from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import dims
from legato.passes.graph.functions import (
    Constants,
    behind,
    erase_dead,
    graph_ops,
    has_one_use,
    permutation_of,
    rebuilt,
    relax_functions,
    replace_uses,
)
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

HEADS = 1       # the axis of heads of [batch, heads, rows, columns]
RANK = 4
TURNED = (0, 1, 3, 2)
MOST_REPEATED = 1 << 20     # elements of a mask, with copies for each head of a group
BETWEEN = tuple(f"relax.{name}" for name in (
    "add", "subtract", "multiply", "divide", "where", "isnan", "isinf", "maximum", "minimum", "tanh", "negative", "astype"))
SCALED = ("relax.multiply", "relax.divide", "relax.astype")


@dataclass(frozen=True)
class ShareHeads(ModulePass):
    """Makes the queries of heads that share keys and values rows of one product, in attentions of known sizes, from the product of queries
    and keys to that with values. Masks of rows are repeated, at compile time if they are constant; attentions with large ones stay. For
    devices on which a launch costs more than to read in any order. To be run when reshapes and transposes have been moved."""

    name: ClassVar[str] = "relax-share-heads"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            repeated: dict[tuple[ir.Value, int], ir.Value] = {}
            for op in graph_ops(function):
                if op.name == "relax.matmul" and has_one_use(op.operands[0]):
                    with ir.InsertionPoint(op), op.location:
                        share(op, constants, repeated)
            erase_dead(function, constants)


def share(op: ir.Operation, constants: Constants, repeated: dict[tuple[ir.Value, int], ir.Value]) -> None:
    """Rewrites the attention whose product with values is ``op``, if there is one. ``repeated``: masks that were made before."""
    values, type_ = shared_factor(op), op.operands[0].type
    if values is None or type_.rank != RANK or not type_.has_static_shape:
        return
    _, heads, rows, _ = type_.shape
    groups = values.type.shape[HEADS]
    weights = Weights(groups, heads // groups, rows, constants, repeated).merged(op.operands[0])
    if weights is not None:
        result = op.results[0]
        replace_uses(result, relax.reshape(relax.matmul(weights, values), shape=dims(result.type)))


def shared_factor(op: ir.Operation) -> ir.Value | None:
    """The right factor of a product of heads that share it, of shape [batch, groups, rows, columns]; None where each has its own."""
    weights, value = op.operands
    if (found := shared(value)) is not None or not (weights.type.rank == value.type.rank == RANK and value.type.has_static_shape):
        return found
    return value if value.type.shape[HEADS] == 1 and weights.type.shape[HEADS] > 1 else None


def shared(value: ir.Value) -> ir.Value | None:
    """What a value of shape [batch, heads, rows, columns] repeats for the heads of each group, of shape [batch, groups, rows, columns]: it
    may be transposed and scaled. None where each head has its own."""
    op = defining_op(value)
    if op is None or value.type.rank != RANK or not value.type.has_static_shape:
        return None
    if op.name == "relax.reshape":
        return copied(op)
    is_turned = op.name == "relax.permute_dims" and permutation_of(op) == TURNED
    if not is_turned and not (op.name in SCALED and all(one.type.rank == 0 for one in [*op.operands][1:])):
        return None
    if (found := shared(op.operands[0])) is None:
        return None
    return relax.permute_dims(found, axes=TURNED) if is_turned else rebuilt(op, [found, *[*op.operands][1:]])


def copied(op: ir.Operation) -> ir.Value | None:
    """What a reshape merges an axis of copies of, behind the axis of groups."""
    repeat = defining_op(op.operands[0])
    if repeat is None or repeat.name != "relax.broadcast_to":
        return None
    one, (full, merged) = repeat.operands[0], (dims(value.type) for value in (repeat.results[0], op.results[0]))
    if len(full) != RANK + 1 or tuple(dims(one.type)) != (*full[:2], 1, *full[3:]):
        return None
    return without_copies(one, (*full[:2], *full[3:])) if tuple(merged) == (full[0], full[1] * full[2], *full[3:]) else None


def without_copies(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A value without its axis of length 1 behind that of groups, which a transpose in front of it may have moved along."""
    turn = defining_op(value)
    if turn is not None and turn.name == "relax.permute_dims":
        axes, given = permutation_of(turn), dims(turn.operands[0].type)
        unit = axes[HEADS + 1]
        rest = relax.reshape(turn.operands[0], shape=(*given[:unit], *given[unit + 1:]))
        return relax.permute_dims(rest, axes=[axis - (axis > unit) for axis in axes if axis != unit])
    return relax.reshape(value, shape=shape)


@dataclass
class Weights:
    """The ops from a product of queries and keys to the weights of values, with heads that share keys as rows: ``heads`` of each of
    ``groups``, of so many ``rows``."""

    groups: int
    heads: int
    rows: int
    constants: Constants
    repeated: dict[tuple[ir.Value, int], ir.Value]
    made: dict[ir.Value, ir.Value | None] = field(default_factory=dict)

    def merged(self, value: ir.Value) -> ir.Value | None:
        """A value that is computed from a product by keys that heads share; None for others."""
        if value not in self.made:
            self.made[value] = self._merged(value)
        return self.made[value]

    def _merged(self, value: ir.Value) -> ir.Value | None:
        op = defining_op(value)
        if op is None or value.type.rank != RANK:
            return None
        if op.name == "relax.matmul":
            keys, queries = shared_factor(op), self.as_rows(op.operands[0])
            return None if keys is None or queries is None or dims(keys.type)[HEADS] != self.groups else relax.matmul(queries, keys)
        if op.name == "relax.softmax" and relax.attributes_of(op)["axis"] not in (-1, RANK - 1):
            return None
        if op.name != "relax.softmax" and op.name not in BETWEEN:
            return None
        given = [self.merged(operand) for operand in op.operands]
        if all(one is None for one in given):
            return None
        others = [self.as_rows(operand) if one is None else one for operand, one in zip(op.operands, given)]
        return None if any(one is None for one in others) else rebuilt(op, [present(one) for one in others])

    def as_rows(self, value: ir.Value) -> ir.Value | None:
        """A value that has heads, or rows, or is the same for these; None where it is too large to be repeated for each head."""
        sizes = dims(value.type)
        *_, heads, rows, columns = (1, 1, 1, *sizes)
        if rows == heads == 1:
            return value
        if not value.type.has_static_shape or rows != self.rows:
            return None
        if heads == self.groups * self.heads:
            return relax.reshape(value, shape=(*sizes[:-3], self.groups, self.heads * rows, columns))
        return self.repeat(value) if heads == 1 and self.heads * prod(value.type.shape) <= MOST_REPEATED else None

    def repeat(self, value: ir.Value) -> ir.Value:
        """A value with its rows repeated for each head of a group."""
        key = value, self.heads
        if key not in self.repeated:
            batch, _, rows, columns = (1, 1, 1, *value.type.shape)[-RANK:]
            apart, full = (batch, 1, 1, rows, columns), (batch, 1, self.heads, rows, columns)
            shape, array = (batch, 1, self.heads * rows, columns), self.constants.array(value)
            with behind(value):
                self.repeated[key] = relax.reshape(relax.broadcast_to(relax.reshape(value, shape=apart), shape=full), shape=shape) if (
                    array is None) else self.constants.build(np.broadcast_to(array.reshape(apart), full).reshape(shape), "mask")
        return self.repeated[key]
