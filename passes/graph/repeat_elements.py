"""relax-repeat-elements: takes that repeat each element along the last two axes, as resizes of images have them, become one broadcast.

    y = take(take(x, [0, 0, 1, 1, ...], axis=3), [0, 0, 1, 1, ...], axis=2)

is ``x`` of [n, c, h, 1, w, 1] to [n, c, h, 2, w, 2], reshaped, which a kernel makes at once. To be run when layouts are chosen.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import Constants, erase_dead, relax_functions
from legato.passes.graph.rewriter import GraphRewriter, attributes, dtype_of, table
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

MOST, SHORTEST = 4, 4   # times that kernels repeat an element, and elements of a row that fill a vector
KINDS = "iuf"           # of elements that vectors have, but booleans and such of other packages, which are narrow


@dataclass(frozen=True)
class RepeatElements(ModulePass):
    """Makes a broadcast of two takes at constant places that repeat the elements of the last two axes, of known sizes."""

    name: ClassVar[str] = "relax-repeat-elements"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants, patterns = Constants(module), table([PATTERNS])
        for function in relax_functions(module):
            GraphRewriter(constants).sweep(function, patterns)
            erase_dead(function, constants)


def rows_and_elements(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """The broadcast for a take along the axis before the last of one along the last."""
    inner = r.find(op.operands[0], "take", once=True)
    if inner is None:
        return None
    x, rank = inner.operands[0], inner.operands[0].type.rank
    rows, elements = (repeats(r, one, rank - axis) for axis, one in ((2, op), (1, inner)))
    sizes = list(dims(x.type))
    if rows is None or elements is None or UNKNOWN in sizes or dtype_of(x).kind not in KINDS or x.type.shape[-1] < SHORTEST:
        return None
    *outer, height, width = sizes
    units = relax.reshape(x, [*outer, height, 1, width, 1])
    return relax.reshape(relax.broadcast_to(units, shape=[*outer, height, rows, width, elements]), list(dims(op.results[0].type)))


def repeats(r: GraphRewriter, op: ir.Operation, axis: int) -> int | None:
    """How often a take along this axis repeats each element; None if it does something else, or does not pay."""
    x, indices = op.operands
    size, places = x.type.shape[axis], r.array(indices)
    if attributes(op)["axis"] % x.type.rank != axis or x.type.is_dynamic_dim(axis) or places is None or places.ndim != 1 or not size:
        return None
    times, rest = divmod(places.size, size)
    found = not rest and 2 <= times <= MOST and (places == np.repeat(np.arange(size), times)).all()
    return times if found else None


PATTERNS = (("take", rows_and_elements),)
