"""take at known indices along the last axis, as a resize to nearest elements has them: vectors are shuffled.

The elements of a vector of the result come from two vectors of the input at most. Neighbouring vectors that are shuffled in the same way,
each a step further in the input, are a loop.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.dialects.tir.markers import WRITES_ALL
from legato.dialects.tir.plain import plain_type
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import collapse, expand, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.channels import shared
from legato.targets.cpu.machine import Machine
from legato.targets.rule import rewrite

FEWEST = 4          # lanes of a vector
MOST = 32           # loops for a row, or vectors outside of them
SHORT = 4           # vectors of a loop, up to which it is written out
MOST_LOOPS = 8      # others, one behind the other: bufferization takes twice as long for each
WORTH_IT = 1 << 15  # elements of the result from which on threads share its rows
PIECES = 4          # of the rows, for each thread


@dataclass
class Shuffles:
    """Vectors of the result, the first of which is at ``place``: each is ``lanes`` of those of the input at ``first`` and ``second``. All
    move on by ``step`` in the input from one to the next."""

    place: int
    first: int
    second: int
    lanes: tuple[int, ...]
    count: int = 1
    step: int = 0

    def takes(self, other: "Shuffles") -> bool:
        """Takes a vector behind the last one, if it is shuffled in the same way and as far from that as that is from the one before."""
        step = (other.first - self.first) / self.count
        is_next = other.place == self.place + self.count * len(self.lanes) and other.lanes == self.lanes
        if not is_next or other.second - self.second != other.first - self.first or (self.count > 1 and step != self.step) or step % 1:
            return False
        self.count, self.step = self.count + 1, int(step)
        return True


def shuffles(indices: np.ndarray, size: int, lanes: int) -> list[Shuffles] | None:
    """The vectors of a row of the result, of ``indices`` from 0 to ``size`` - 1; None where elements of one are too far from each other.
    The last one overlaps the one before it, if the row is no multiple of vectors."""
    found: list[Shuffles] = []
    for place in [*range(0, len(indices) - lanes, lanes), len(indices) - lanes]:
        part = indices[place: place + lanes]
        first, second = min(part.min(), size - lanes), max(part.max() - lanes + 1, 0)
        in_first = part < first + lanes
        if (part[~in_first] < second).any():
            return None
        made = Shuffles(place, int(first), int(second), tuple(map(int, np.where(in_first, part - first, part - second + lanes))))
        if not found or not found[-1].takes(made):
            found.append(made)
    return found


@rewrite("relax.take", priority=1)
def take_in_vectors(op, x, indices):
    """Of elements that vectors have, in rows of known length."""
    axis, kind, table = op.attrs["axis"] % x.type.rank, element(x.type), op.array(indices)
    size = x.type.shape[-1]
    if not isinstance(op.machine, Machine) or kind.is_narrow or kind.is_bool or axis != x.type.rank - 1 or x.type.is_dynamic_dim(axis):
        return Refusal("its elements are not read in vectors, or not along a last axis of known length")
    if table is None or table.ndim != 1:
        return Refusal("its indices are not a vector that is known")
    table = table.astype(np.int64)
    table = np.clip(np.where(table < 0, table + size, table), 0, size - 1)
    lanes = min(op.machine.lanes(kind.bits), 1 << min(size, len(table)).bit_length() - 1)
    vectors = shuffles(table, size, lanes) if lanes >= FEWEST else None
    if vectors is None or len(vectors) > MOST:
        return Refusal("its elements are far from each other, or in no order")
    if sum(one.count > SHORT for one in vectors) > MOST_LOOPS:
        return Refusal(f"a row would take more than {MOST_LOOPS} loops, whose compilation takes long")

    def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        return [_rows(op.machine, kind, vectors, ins[0], outs[0])]

    return op.call_built(body, [x], [plain_type(op.output_types[0])], [op.sizes(op.output_types[0])])


def _rows(machine: Machine, kind: Element, vectors: Sequence[Shuffles], x: ir.Value, out: ir.Value) -> ir.Value:
    """``out`` with its rows."""
    if is_empty(out):
        return out
    ir.InsertionPoint.current.block.owner.attributes[WRITES_ALL] = ir.UnitAttr.get()
    rank = x.type.rank
    groups = [list(range(rank - 1)), [rank - 1]] if rank > 1 else [[0]]
    rows, flat = collapse(x, groups), collapse(out, groups)

    def row(at: list[ir.Value], source: list[ir.Value], into: ir.Value) -> ir.Value:
        for one in vectors:
            if one.count <= SHORT:
                for number in range(one.count):
                    into = _vector(kind, one, rows, into, index_value(number), at, source)
                continue
            into = looped(one.count, [into], lambda number, into, one=one: [_vector(kind, one, rows, into, number, at, source)])[0]
        return into

    if rank == 1:
        return row([], [], flat)
    count, length = dims(flat)
    if machine.threads < 2 or not isinstance(count, int) or count < machine.threads or count * length < WORTH_IT:
        flat = looped(count, [flat], lambda number, into: [row([number], [number], into)])[0]
    else:
        part = max(1, -(-count // (PIECES * machine.threads)))
        flat = shared(flat, [part, length], lambda places, into: looped(
            dims(into)[0], [into], lambda number, into: [row([number], [arith.addi(places[0], number)], into)])[0])
    return expand(flat, groups, dims(out))


def _vector(kind: Element, one: Shuffles, x: ir.Value, into: ir.Value, number: ir.Value, at: list[ir.Value],
            source: list[ir.Value]) -> ir.Value:
    lanes = len(one.lanes)

    def along(first: int, step: int) -> ir.Value:
        return arith.addi(index_value(first), arith.muli(number, index_value(step)))

    first, second = (read_vector(x, [*source, along(place, one.step)], lanes, kind.const(0)) for place in (one.first, one.second))
    return write_vector(vector.ShuffleOp(first, second, list(one.lanes)).result, into, [*at, along(one.place, lanes)])


RULES = (take_in_vectors,)
