"""Accesses of threads to shared memory, and detection of conflicts between threads."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from legato.analysis.accesses import conditions, indices_of, loops_between
from legato.analysis.indices.arithmetic import EQUAL, NOT_EQUAL
from legato.analysis.indices.conditions import conjuncts
from legato.analysis.indices.forms import roots
from legato.analysis.indices.points import MOST_POINTS, can_count
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.core.views import root_of
from legato.dialects.tir.loops import ForOp
from legato.dialects.tir.walk import FIRST_INDEX
from legato.passes.gpu.threads.launch import Launch, LaunchAxis
from legato.passes.gpu.threads.memory import MATRIX_BUFFERS
from legato.passes.gpu.threads.points import as_keys, points_of, thread_numbers
from legato.passes.gpu.threads.uniform import Uniform

FEW = 4  # blocks of an axis that are checked


@dataclass(frozen=True, eq=False)
class ThreadAccess:
    """An access in a launch.

    ``indices``: None where they are not known. ``loops``: the loops around it in the launch, outermost first; ``tests``: the conditions
    around it, each with the value it has to have; ``size``: the elements that it touches from its indices on along the last axes.
    """

    op: ir.Operation
    buffer: ir.Value
    writes: bool
    reads: bool
    indices: list[ir.Value] | None
    loops: list[ForOp]
    tests: list[tuple[ir.Value, bool]]
    size: tuple[int, ...] = ()
    cache: dict = field(default_factory=dict)


@dataclass(frozen=True)
class TouchedElements:
    """The elements that an access touches, as columns with a row for each point.

    ``thread``: the thread's number; ``columns``: for each dimension its symbols and indices; ``steps``: the values of loop variables;
    ``exact``: whether all conditions were evaluated.
    """

    thread: np.ndarray
    columns: list[tuple[dict[ir.Value, int], np.ndarray]]
    steps: dict[ir.Value, np.ndarray]
    exact: bool

    def ends(self, threads: int) -> TouchedElements:
        """The same without the threads of a block, which has so many, between the first and the last that touch an element in a step."""
        groups = as_keys([[self.thread // threads, *(column for _, column in self.columns), *self.steps.values()]])[0]
        order = np.lexsort((self.thread, groups))
        differ = groups[order][1:] != groups[order][:-1]
        kept = order[np.concatenate([[True], differ]) | np.concatenate([differ, [True]])] if len(order) else order
        return TouchedElements(self.thread[kept], [(symbols, column[kept]) for symbols, column in self.columns],
                               {variable: step[kept] for variable, step in self.steps.items()}, self.exact)

    def spread(self, size: Sequence[int]) -> TouchedElements:
        """The same with so many elements along the last axes in the place of each."""
        count, first = prod(size), len(self.columns) - len(size)
        offsets = np.indices(size).reshape(len(size), -1)
        columns = [(symbols, np.repeat(column, count) + (np.tile(offsets[n - first], len(column)) if n >= first else 0))
                   for n, (symbols, column) in enumerate(self.columns)]
        return TouchedElements(np.repeat(self.thread, count), columns, {v: np.repeat(s, count) for v, s in self.steps.items()}, self.exact)


def access_of(op: ir.Operation, buffer_operand: int, launch: Launch, writes: bool, reads: bool) -> ThreadAccess:
    """An op's access to the buffer that is operand number ``buffer_operand``."""
    if op.name in MATRIX_BUFFERS:
        return matrix_access_of(op, launch, writes, reads)
    indices = indices_of(op) if op.name in FIRST_INDEX else None
    if indices is not None and root_of(op.operands[buffer_operand]) != op.operands[buffer_operand]:
        indices = None  # through a view: the index differs
    return ThreadAccess(op, root_of(op.operands[buffer_operand]), writes, reads, indices, loops_between(op, launch.operation),
                        conditions(op, launch.operation))


def matrix_access_of(op: ir.Operation, launch: Launch, writes: bool, reads: bool) -> ThreadAccess:
    """The access of an op that moves a matrix of a subgroup: each of its threads touches the whole matrix."""
    place = MATRIX_BUFFERS[op.name]
    buffer, indices = op.operands[place], list(op.operands)[place + 1:]
    matrix = ir.VectorType((op.operands[0] if place else op.results[0]).type)
    turned = "turned" in op.attributes and op.attributes["turned"].value
    return ThreadAccess(op, buffer, writes, reads, indices, loops_between(op, launch.operation), conditions(op, launch.operation),
                        tuple(matrix.shape[::-1] if turned else matrix.shape))


class Conflicts:
    """Decides whether two threads of a block may access one element, one of them writing. ``certain``: whether they are certain to."""

    def __init__(self, launch: Launch, uniform: Uniform, certain: bool = False):
        self.launch, self.uniform, self.certain = launch, uniform, certain

    def touched(self, access: ThreadAccess, kept: Sequence[ForOp], blocks: Sequence[LaunchAxis] = ()) -> TouchedElements | None:
        """The elements that an access touches, with the iterations of the loops ``kept``; ``blocks``: grid axes to include."""
        key = (tuple(loop.variable for loop in kept), tuple(b.name for b in blocks))
        if key not in access.cache:
            access.cache[key] = self._touched(access, kept, blocks)
        return access.cache[key]

    def _touched(self, access: ThreadAccess, kept: Sequence[ForOp], blocks: Sequence[LaunchAxis]) -> TouchedElements | None:
        if access.indices is None:
            return None
        wanted = {r for v in (*access.indices, *(t for t, _ in access.tests)) for r in roots(v)}
        steps = [loop for loop in access.loops if can_count(loop) and (loop.variable in wanted or loop in kept)]
        axes = [*self.launch.threads, *blocks]
        if prod(a.extent for a in axes) * prod(present(loop.extent) for loop in steps) * prod(access.size) > MOST_POINTS:
            return None
        points = points_of(axes, steps, self.uniform)
        columns = [c for i in access.indices if (c := points.evaluate(i)) is not None]
        if len(columns) < len(access.indices):
            return None
        mask, exact = points.mask(access.tests)
        flat = mask.reshape(-1)
        found = TouchedElements(points.flat(thread_numbers(points, axes))[flat], [(c.symbols, points.flat(c.array)[flat]) for c in columns],
                                {loop.variable: points.flat(points.values[loop.variable])[flat] for loop in steps}, exact)
        return found.ends(self.launch.thread_count).spread(access.size) if access.size else found

    def in_step(self, first: ThreadAccess, second: ThreadAccess) -> bool:
        """Whether two threads may conflict where ``second`` follows ``first`` in the same iteration of all loops around both."""
        common = shared_loops(first, second)
        return self._meet(first, second, [loop for loop in common if can_count(loop)], set(), {})

    def carried(self, first: ThreadAccess, second: ThreadAccess, loop: ForOp, next_only: bool) -> bool:
        """Whether two threads may conflict where ``second`` is in a later iteration of the loop; ``next_only``: in the next one."""
        common = shared_loops(first, second)
        at = next(n for n, one in enumerate(common) if one.operation == loop.operation)
        outer = [one for one in common[:at] if can_count(one)]
        free = {one.variable for access in (first, second) for one in access.loops[at:]}
        if not next_only:
            return self._meet(first, second, outer, free, {}) and self._apart(first, second, outer, loop)
        if can_count(loop):
            return self._meet(first, second, [*outer, loop], free - {loop.variable}, {loop.variable: 1})
        return self._meet(first, second, outer, free - {loop.variable}, {loop.variable: 1})

    def _meet(self, first: ThreadAccess, second: ThreadAccess, kept: list[ForOp], free: set[ir.Value], shift: dict[ir.Value, int]) -> bool:
        """``free``: loop variables that differ between the two; ``shift``: the amount by which a variable is greater for the second."""
        if first.buffer != second.buffer or not (first.writes or second.writes) or self.launch.thread_count == 1:
            return False
        a, b = self.touched(first, kept), self.touched(second, kept)
        if a is None or b is None:
            return not same_place(first, second, free | set(shift)) and self.in_doubt(first, second)
        if self.certain and not (a.exact and b.exact):
            return False
        left, right = [a.steps[loop.variable] for loop in kept], [b.steps[loop.variable] - shift.get(loop.variable, 0) for loop in kept]
        for (symbols, mine), (others, theirs) in zip(a.columns, b.columns):
            if symbols != others or any(roots(s) & free for s in symbols):
                return self.in_doubt(first, second)
            moved = 0
            for symbol, factor in symbols.items():
                if roots(symbol) & set(shift):
                    if symbol not in shift:
                        return self.in_doubt(first, second)
                    moved += factor * shift[symbol]
            left.append(mine)
            right.append(theirs + moved)
        return meeting(a.thread, left, b.thread, right) is not None

    def _apart(self, first: ThreadAccess, second: ThreadAccess, outer: list[ForOp], loop: ForOp) -> bool:
        """Whether threads conflict in different iterations of a loop, and not in the same one only."""
        kept = [*outer, loop]
        a, b = (self.touched(one, kept) for one in (first, second)) if can_count(loop) else (None, None)
        if a is None or b is None or any(x != y or x for (x, _), (y, _) in zip(a.columns, b.columns)):
            return True
        rows = [[np.zeros_like(t.thread), *(t.steps[one.variable] for one in outer), *(c for _, c in t.columns)] for t in (a, b)]
        keys = np.concatenate(as_keys(rows))
        _, low, high = spans(keys, np.concatenate([a.thread, b.thread]))
        _, begin, end = spans(keys, np.concatenate([t.steps[loop.variable] for t in (a, b)]))
        return bool(((low != high) & (begin != end)).any())

    def one_value(self, access: ThreadAccess, sources: Sequence[ir.Value], blocks: Sequence[LaunchAxis] = ()) -> bool:
        """Whether threads that write one element at once have equal ``sources``, from which the stored value is computed."""
        kept = [loop for loop in access.loops if can_count(loop)]
        found = self.touched(replace(access, indices=[*(access.indices or ()), *sources], cache={}), kept, blocks)
        if access.indices is None or found is None:
            return False
        steps = [found.steps[loop.variable] for loop in kept]
        columns = [c for _, c in found.columns]
        places, values = (as_keys([[np.zeros_like(found.thread), *steps, *some]])[0] for some in (columns[:len(access.indices)], columns))
        return len(np.unique(places)) == len(np.unique(values))

    def in_doubt(self, first: ThreadAccess, second: ThreadAccess) -> bool:
        """Whether to assume a conflict that cannot be decided. In shared memory yes; in global memory not between two writes, and not
        where the read and the written index are the same.
        """
        if self.certain:
            return False
        shared = isinstance(first.buffer.owner, ir.Block) and first.buffer.owner.owner.operation == self.launch.operation
        return shared or (not (first.writes and second.writes) and first.indices != second.indices)

    def across_blocks(self, first: ThreadAccess, second: ThreadAccess) -> str | None:
        """Two blocks that conflict in an element, as text; None where there are none or it cannot be decided. Checks the first blocks."""
        if first.buffer != second.buffer:
            return None
        blocks = [LaunchAxis(b.name, b.id, min(b.extent or 2, FEW)) for b in self.launch.blocks]
        a, b = self.touched(first, [], blocks), self.touched(second, [], blocks)
        if a is None or b is None or not (a.exact and b.exact) or [s for s, _ in a.columns] != [s for s, _ in b.columns]:
            return None
        mine, other = a.thread // self.launch.thread_count, b.thread // self.launch.thread_count
        found = meeting(mine, [c for _, c in a.columns], other, [c for _, c in b.columns])
        return None if found is None else describe(blocks, *found)

    def only_elsewhere(self, read: ThreadAccess, writes: Sequence[ThreadAccess]) -> str | None:
        """Two blocks of which the first reads an element that the second writes, and itself does not, as text; None where there are none or
        it cannot be decided. Checks the first blocks."""
        blocks = [LaunchAxis(b.name, b.id, min(b.extent or 2, FEW)) for b in self.launch.blocks]
        ids = {axis.id for axis in blocks}
        values = [v for one in (read, *writes) for v in (*(one.indices or ()), *(test for test, _ in one.tests))]
        if not any(roots(value) & ids for value in values):
            return None
        mine = self.touched(read, [], blocks)
        found = [self.touched(write, [], blocks) for write in writes]
        if mine is None or not mine.exact or any(one is None for one in found):
            return None
        tables = [mine, *map(present, found)]
        if any([s for s, _ in one.columns] != [s for s, _ in mine.columns] for one in tables):
            return None
        keys = as_keys([[np.zeros_like(one.thread), *(c for _, c in one.columns)] for one in tables])
        block = [one.thread // self.launch.thread_count for one in tables]
        place, at = np.concatenate([np.zeros(0, np.int64), *keys[1:]]), np.concatenate([np.zeros(0, np.int64), *block[1:]])
        own, written = as_keys([[keys[0], block[0]], [place, at]])
        bad = np.nonzero(~np.isin(own, written) & np.isin(keys[0], place))[0]
        return describe(blocks, int(block[0][bad[0]]), int(at[place == keys[0][bad[0]]][0])) if len(bad) else None

    def has_open_bound(self, test: ir.Value) -> bool:
        """Whether a test compares with a number that only the call knows, which may be great, or small, enough for all threads."""
        op = defining_op(test)
        return (op is not None and op.name == "arith.cmpi" and ir.IntegerAttr(op.attributes["predicate"]).value not in (EQUAL, NOT_EQUAL)
                and any(self.uniform(bound) and roots(bound) for bound in op.operands))

    def race(self, access: ThreadAccess, blocks: Sequence[LaunchAxis] = ()) -> str | None:
        """Two threads that write one element at once by a store, in some call, as text; None where there are none or it cannot be decided.

        ``blocks``: grid axes, of which the first two blocks are checked.
        """
        kept = [loop for loop in access.loops if can_count(loop)]
        found = self.touched(access, kept, blocks)
        if found is not None and not found.exact and not blocks:
            parts = [(part, wanted) for test, wanted in access.tests for part in (conjuncts(test) if wanted else [test])]
            found = self.touched(replace(access, tests=[one for one in parts if not self.has_open_bound(one[0])], cache={}), kept)
        if found is None or not found.exact:
            return None
        keys = as_keys([[np.zeros_like(found.thread), *(found.steps[loop.variable] for loop in kept), *(c for _, c in found.columns)]])[0]
        order = np.lexsort((found.thread, keys))
        keys, thread = keys[order], found.thread[order]
        twice = np.nonzero((keys[1:] == keys[:-1]) & (thread[1:] != thread[:-1]))[0]
        return describe([*self.launch.threads, *blocks], int(thread[twice[0]]), int(thread[twice[0] + 1])) if len(twice) else None


def describe(axes: Sequence[LaunchAxis], one: int, other: int) -> str:
    """Two threads, or blocks, as text: the indices in which they differ."""
    texts = []
    for number in (one, other):
        places = []
        for axis in axes:
            places.append((axis.name, number % axis.extent))
            number //= axis.extent
        texts.append(places)
    differ = [n for n, (a, b) in enumerate(zip(*texts)) if a != b]
    return " and ".join("(" + ", ".join(f"{places[n][0]} = {places[n][1]}" for n in differ) + ")" for places in texts)


def shared_loops(first: ThreadAccess, second: ThreadAccess) -> list[ForOp]:
    """The loops around both accesses, outermost first."""
    return [a for a, b in zip(first.loops, second.loops) if a.operation == b.operation]


def same_place(first: ThreadAccess, second: ThreadAccess, differing: set[ir.Value]) -> bool:
    """Whether both accesses are of one element and have the same index values in the same iteration, so that a thread meets only itself."""
    if first.indices is None or second.indices is None or first.indices != second.indices or first.size or second.size:
        return False
    return not any(roots(i) & differing for i in first.indices)


def meeting(thread: np.ndarray, left: list[np.ndarray], other: np.ndarray, right: list[np.ndarray]) -> tuple[int, int] | None:
    """Two different threads that touch one element: rows of ``left`` by ``thread``, rows of ``right`` by ``other``; None without any."""
    if not len(thread) or not len(other):
        return None
    a, b = as_keys([[np.zeros_like(thread), *left], [np.zeros_like(other), *right]])
    mine, others = spans(a, thread), spans(b, other)
    _, i, j = np.intersect1d(mine[0], others[0], assume_unique=True, return_indices=True)
    low, high = np.minimum(mine[1][i], others[1][j]), np.maximum(mine[2][i], others[2][j])
    found = np.nonzero(low != high)[0]
    return (int(low[found[0]]), int(high[found[0]])) if len(found) else None


def spans(keys: np.ndarray, thread: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct keys, with the least and the greatest thread that has each."""
    order = np.lexsort((thread, keys))
    keys, thread = keys[order], thread[order]
    first = np.concatenate([[True], keys[1:] != keys[:-1]])
    last = np.concatenate([keys[1:] != keys[:-1], [True]])
    return keys[first], thread[first], thread[last]
