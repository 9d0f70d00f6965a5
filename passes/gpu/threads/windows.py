"""Shrinks shared and local buffers to the region that one block, or one thread, accesses."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from legato.analysis.accesses import chain, conditions, indices_of, loops_between
from legato.analysis.indices.build import build
from legato.analysis.indices.forms import Forms, moving, roots
from legato.analysis.indices.linear import Linear
from legato.analysis.indices.points import MOST_POINTS, Sample, can_count
from legato.core.diagnostics import PassFailed
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import AllocBufferOp, ForOp
from legato.dialects.tir.walk import FIRST_INDEX
from legato.passes.gpu.threads.launch import Launch
from legato.passes.gpu.threads.points import as_keys, points_of

MOST_PADDING = 32   # bytes at the ends of rows in shared memory


@dataclass(frozen=True)
class TouchedWindow:
    """The elements that an access touches during one iteration of the loops around all users.

    ``columns``: for each dimension, the indices without the base that all accesses have in common, at each of ``count`` points; None
    where they are not known. ``steps``: the values of loop variables. ``exact``: whether all of these elements are certain to be touched.
    """

    op: ir.Operation
    columns: list[np.ndarray | None]
    steps: dict[ir.Value, np.ndarray]
    count: int
    exact: bool

    @property
    def writes(self) -> bool:
        """Whether the access is a store."""
        return self.op.name == "memref.store"


def compact(launch: Launch, made: AllocBufferOp, accesses: list[ir.Operation], private: bool) -> list[int]:
    """The shape of the region that one block (``private``: one thread) accesses; rebases the accesses to start at 0.

    Where each iteration of the loops around all users writes what it reads, iterations reuse the region. PassFailed where a thread would
    read from a local buffer what another wrote.
    """
    full = list(made.operation.results[0].type.shape)
    accesses = [op for op in find(launch.operation, *FIRST_INDEX) if op in accesses]  # in the order of the program
    if not accesses:
        return full
    around = [loops_between(u, launch.operation) for u in accesses]
    common = 0
    while all(len(c) > common for c in around) and all(c[common].operation == around[0][common].operation for c in around):
        common += 1
    ids = {a.id for a in launch.axes.values() if private or not a.is_thread}
    loops = {loop.variable for loop in around[0][:common]}
    known = Forms({a.id: a.extent for a in launch.axes.values() if a.extent}, quotients=False)
    forms = [[moving(known.form(i)) for i in indices_of(a)] for a in accesses]
    ids |= {term for form in forms for one in form for term in one.terms if comes_from(term, ids, launch.operation)}
    for outer in (ids | loops, ids):
        bases = [base_of([f[axis] for f in forms], outer) for axis in range(len(full))]
        touched = [touches(launch, a, f, bases, [loop for loop in c if loop.variable not in outer], outer)
                   for a, f, c in zip(accesses, forms, around)]
        stepped = [(axis, v) for axis, base in enumerate(bases) if base is not None for v in base.terms if v in loops]
        if not stepped or fresh(touched, forms) or (len(stepped) == 1 and apart(touched, bases[stepped[0][0]], *stepped[0])):
            break
    if private:
        check_private(launch, made, touched, forms, bases)
    whole = not private and all(base is not None and not base.terms for base in bases)
    return shrink(full, accesses, forms, bases, touched, row_padding(made) if whole else 0)


def row_padding(made: AllocBufferOp) -> int:
    """By how many elements the rows of a buffer that is a tile as it is written are at most longer than what is used of them."""
    return MOST_PADDING // element_bytes(made.operation.results[0].type.element_type)


def comes_from(value: ir.Value, ids: set[ir.Value], launch: ir.Operation) -> bool:
    """Whether a value is computed from indices of the launch alone, and sizes: a quotient, a remainder."""

    def is_fixed(value: ir.Value) -> bool:
        block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
        return launch not in (block.owner.operation, *ancestors(block.owner.operation))

    return not isinstance(value.owner, ir.Block) and bool(found := roots(value, is_fixed)) and found <= ids


def base_of(forms: list[Linear], outer: set[ir.Value]) -> Linear | None:
    """The part of the index in variables of ``outer``, where all accesses have it in common; else None."""
    base = forms[0].only(outer)
    return base if all(f.only(outer).terms == base.terms for f in forms) else None


def touches(launch: Launch, access: ir.Operation, forms: list[Linear], bases: Sequence[Linear | None], steps: list[ForOp],
            outer: set[ir.Value]) -> TouchedWindow:
    """The elements that an access touches, for all threads and the iterations of ``steps``."""
    counted = [loop for loop in steps if can_count(loop)]
    points = points_of([a for a in launch.threads if a.id not in outer], counted, lambda _: False)
    if points.count > MOST_POINTS:
        return TouchedWindow(access, [None] * len(forms), {}, 0, False)
    mask, exact = points.mask(conditions(access, launch.operation))
    flat = mask.reshape(-1)
    columns: list[np.ndarray | None] = []
    for form, base in zip(forms, bases):
        total: Sample | None = Sample({}, np.full(points.shape, form.constant, np.int64))
        for value, factor in (form - base).terms.items() if base is not None else ():
            term = points.evaluate(value)
            total = None if term is None or total is None else total.plus(term.times(factor))
        columns.append(None if total is None or base is None else points.flat(total.array)[flat])
    values = {loop.variable: points.flat(points.values[loop.variable])[flat] for loop in counted}
    plain = all(a.name in ("tir.for", "scf.if") for a in chain(access, launch.operation))
    return TouchedWindow(access, columns, values, int(flat.sum()), exact and plain and len(counted) == len(steps))


def fresh(touched: list[TouchedWindow], forms: list[list[Linear]]) -> bool:
    """Whether every element that is read was written before in the same iteration of the loops around."""
    for number, read in enumerate(touched):
        if read.writes:
            continue
        left = np.ones(read.count, bool)
        for earlier, write in enumerate(touched[:number]):
            if write.writes and write.exact:
                left &= ~written_before(read, write, forms[number], forms[earlier])
        if left.any():
            return False
    return True


def written_before(read: TouchedWindow, write: TouchedWindow, read_forms: list[Linear], write_forms: list[Linear]) -> np.ndarray:
    """The points at which an element is read that ``write`` wrote before: in the same iteration of the loops around both, or in
    their first one.
    """
    mine, others = [], []
    for a, b, x, y in zip(read.columns, write.columns, read_forms, write_forms):
        if a is not None and b is not None:
            mine.append(a)
            others.append(b)
        elif x != y:
            return np.zeros(read.count, bool)
    both = [v for v in read.steps if v in write.steps]
    begun = np.ones(write.count, bool)
    for v in both:
        begun &= write.steps[v] == (write.steps[v].min() if write.count else 0)
    place, other = as_keys([[*mine, np.zeros(read.count, np.int64)], [*others, np.zeros(write.count, np.int64)]])
    always = np.isin(place, other[begun])
    now, then = as_keys([[place, *(read.steps[v] for v in both)], [other, *(write.steps[v] for v in both)]])
    return always | np.isin(now, then)


def known_columns(touched: list[TouchedWindow], axis: int) -> list[np.ndarray] | None:
    """The indices of all accesses on one axis; None where those of an access are not known."""
    found = [column for t in touched if (column := t.columns[axis]) is not None]
    return found if len(found) == len(touched) else None


def apart(touched: list[TouchedWindow], base: Linear, axis: int, variable: ir.Value) -> bool:
    """Whether the iterations of a loop touch different elements."""
    columns = known_columns(touched, axis)
    if columns is None:
        return False
    found = [c for c in columns if len(c)]
    return not found or abs(base.terms[variable]) > max(int(c.max()) for c in found) - min(int(c.min()) for c in found)


def check_private(launch: Launch, made: AllocBufferOp, touched: list[TouchedWindow], forms: list[list[Linear]],
                  bases: Sequence[Linear | None]) -> None:
    """PassFailed where threads would use each other's elements of a local buffer."""
    threads = {a.id for a in launch.threads}
    for axis in range(len(bases)):
        by_thread = [f[axis].only(threads).terms for f in forms]
        if any(t != by_thread[0] for t in by_thread):
            raise PassFailed(f"the local buffer {made.name} is used at indices that depend on the thread in different ways: a thread would "
                             "read what another wrote, and each has its own; give it the scope shared", touched[0].op)
        if not by_thread[0]:
            continue
        columns = known_columns(touched, axis)
        if columns is None:
            continue
        written = [c for t, c in zip(touched, columns) if t.writes]
        for t, column in zip(touched, columns):
            if not t.writes and not np.isin(column, np.concatenate([*written, np.zeros(0, np.int64)])).all():
                raise PassFailed(f"the local buffer {made.name} is read where another thread writes it: each thread has its own; give it "
                                 "the scope shared", t.op)


def shrink(full: list[int], accesses: list[ir.Operation], forms: list[list[Linear]], bases: Sequence[Linear | None],
           touched: list[TouchedWindow], padding: int) -> list[int]:
    """The shape of the region; rebases the accesses to start at 0. Rows of up to ``padding`` elements more than are used keep their length:
    it puts them into different banks."""
    shape = []
    for axis, (size, base) in enumerate(zip(full, bases)):
        columns = known_columns(touched, axis)
        if base is None or columns is None:
            shape.append(size)
            continue
        found = [c for c in columns if len(c)]
        low, high = (min(int(c.min()) for c in found), max(int(c.max()) for c in found)) if found else (0, 0)
        spare = padding if axis == len(full) - 1 else 0
        if not base.terms and size != ir.ShapedType.get_dynamic_size() and high - low + 1 >= size - spare:
            shape.append(size)
            continue
        shape.append(high - low + 1)
        for access, form in zip(accesses, forms):
            with ir.InsertionPoint(access), access.location:
                access.operands[FIRST_INDEX[access.name] + axis] = build(form[axis] - base - Linear({}, low))
    return shape
