"""The elements of a buffer that the stores of loops are certain to write."""
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from legato.analysis.coverage.boxes import MOST_PAINTED, Box, Interval, at_most, covers
from legato.analysis.indices.conditions import constraints
from legato.analysis.indices.forms import Forms
from legato.analysis.indices.linear import Linear, Quotient, variables_of
from legato.analysis.indices.points import MOST_POINTS, Points, can_count
from legato.analysis.kernel_sizes import KernelSizes
from legato.core.ir_helpers import ancestors
from legato.core.mlir import ir
from legato.dialects.tir.loops import BlockOp, ForOp, constant_of

Size = Any
READS = ("memref.load", "memref.dim", "bufferization.to_tensor")


def uncovered(buffer: ir.Value, shape: Sequence[Size], sizes: KernelSizes) -> str | None:
    """Why elements of a buffer may not be written; None where all are."""
    uses = [use.owner.operation for use in buffer.uses]
    stores = [op for op in uses if op.name == "memref.store" and op.operands[1] == buffer]
    others = [op for op in uses if op.name not in (*READS, "memref.store")]
    if others:
        return f"{others[0].name} takes it, which may write any part of it"
    if not stores:
        return "nothing is written to it"
    reason = left_out(stores, shape, sizes)
    if reason is None and any(not follows_store(op, stores, shape, sizes) for op in uses if op.name == "memref.load"):
        return "it is read before all of it is certain to be written"
    return reason


def left_out(stores: Sequence[ir.Operation], shape: Sequence[Size], sizes: KernelSizes) -> str | None:
    """Why some stores may not write all elements of a buffer; None where they do."""
    merged = both_branches(stores)
    found = [StoredBox(store, shape, sizes, store in merged) for store in stores]
    if covers([one.box for one in found if one.box is not None], shape) or painted(found, shape):
        return None
    return next((one.reason for one in found if one.reason), "its stores leave elements out")


def follows_store(load: ir.Operation, stores: Sequence[ir.Operation], shape: Sequence[Size], sizes: KernelSizes) -> bool:
    """Whether a load is certain to read what a store has written: one before it in the loops around both, or in the init of its block; or
    stores before its outermost loop that write all."""
    around = [load, *ancestors(load)]
    indices = list(load.operands)[1:]
    for store in stores:
        beside = next((op for op in around if op.name != "func.func" and op.block == store.block), None)
        if beside is not None and store.is_before_in_block(beside) and list(store.operands)[2:] == indices:
            return True
    return any(covers_load(load, store, shape, sizes) for store in stores) or all_before(load, around, stores, shape, sizes)


def all_before(load: ir.Operation, around: Sequence[ir.Operation], stores: Sequence[ir.Operation], shape: Sequence[Size],
               sizes: KernelSizes) -> bool:
    """Whether the stores before the outermost loop around a load write all."""
    outermost = around[-2] if len(around) > 1 else load
    before = [store for store in stores if (top := [store, *ancestors(store)][-2]) != outermost and top.is_before_in_block(outermost)]
    return bool(before) and left_out(before, shape, sizes) is None


def covers_load(load: ir.Operation, store: ir.Operation, shape: Sequence[Size], sizes: KernelSizes) -> bool:
    """Whether a store writes, in each step of the loops around both and before the load, all elements that the load reads in that step."""
    mine, others = [load, *ancestors(load)], [store, *ancestors(store)]
    common = [op for op in others if op in mine]
    first, second = (chain[len(chain) - len(common) - 1] for chain in (others, mine))
    block = common[0].opview if common[0].name == "tir.block" else None
    in_init = block is not None and block.init_block is not None and first.block == block.init_block and second.block == block.block
    if not in_init and (first.block != second.block or not first.is_before_in_block(second)):
        return False
    fixed = [op.opview.variable for op in common if op.name == "tir.for"]
    held = [op for op in common if op.name == "scf.if"]     # of the load too
    written = StoredBox(store, shape, sizes, False, fixed, held=held)
    if written.box is None:
        return False
    reader = StoredBox(store, shape, sizes, False, fixed, held=held)
    reader.store, reader.around = load, list(reversed(ancestors(load)))
    try:
        forms = reader.index_forms()
    except _NoBoxError:
        return False
    for value, part, interval, size in zip(list(load.operands)[1:], written.parts, written.box, shape):
        index = forms.form(value)
        bounds = forms.bounds(index.without(_outer(index, fixed)))
        if index.only(_outer(index, fixed)) != part or bounds is None or not at_most(interval.low, bounds[0]):
            return False
        if not at_most(bounds[1] + 1, interval.high) and (part.terms or not at_most(size, interval.high)):
            return False
    return True


def both_branches(stores: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The stores of a branch whose other branch writes the same element: they happen under either condition."""
    found = []
    for store in stores:
        test = store.parent.operation
        if test.name != "scf.if":
            continue
        element = list(store.operands)[1:]
        if any(o.parent.operation == test and o.block != store.block and list(o.operands)[1:] == element for o in stores):
            found.append(store)
    return found


class StoredBox:
    """What one store writes: ``box``, or None and the ``reason`` where it is no box that is certain to be written.

    ``either``: the innermost condition around the store does not matter. ``fixed``: variables of loops of which one step is looked at; the
    box is that of the rest of the indices, and ``parts`` are what these variables make of each index. ``indices``: those of a space of
    ``shape`` that another op than a store, such as a block, runs for. ``held``: conditions that hold.
    """

    def __init__(self, store: ir.Operation, shape: Sequence[Size], sizes: KernelSizes, either: bool, fixed: Collection[ir.Value] = (),
                 indices: Sequence[ir.Value] | None = None, held: Collection[ir.Operation] = ()):
        self.store, self.shape, self.sizes, self.fixed, self.held = store, shape, sizes, fixed, held
        self.indices = list(store.operands)[2:] if indices is None else list(indices)
        self.box: Box | None = None
        self.parts: list[Linear] = []
        self.reason: str | None = None
        self.around = list(reversed(ancestors(store)))
        tests = [op for op in self.around if op.name == "scf.if"]
        self.free = tests[-1] if either else None
        self.loops: list[ForOp] = [op.opview for op in self.around if op.name == "tir.for"]
        try:
            self.box = self._box()
        except _NoBoxError as reason:
            self.reason = str(reason)

    @property
    def tests(self) -> list[tuple[ir.Value, bool]]:
        """The conditions that must hold, or not, for the store to happen."""
        chain = [*self.around, self.store]
        return [(op.operands[0], op.regions[0].blocks[0] == chain[n + 1].block) for n, op in enumerate(chain[:-1])
                if op.name == "scf.if" and op not in self.held and (self.free is None or op != self.free)]

    def _box(self) -> Box:
        for op in self.around:
            if op.name not in ("func.func", "tir.for", "tir.block", "scf.if"):
                raise _NoBoxError(f"it is written in {op.name}")
        forms = self.index_forms()
        indices = [forms.form(value) for value in self.indices]
        needed = []
        for test, holds in self.tests:
            found = constraints(test, forms, holds)
            if found is None:
                raise _NoBoxError("it is written under a condition")
            needed += [form for form in found if not _is_natural(forms, form)]
        tails = [Linear({}, size - 1) - index for index, size in zip(indices, self.shape)]
        used = {*self.fixed, *(variable for index in indices for term in index.terms for variable in variables_of(term))}
        if any(form not in tails and not self._holds_at_first(form, used) for form in needed):
            raise _NoBoxError("it is written under a condition")
        self.parts = [index.only(_outer(index, self.fixed)) for index in indices]
        rests, extents = _in_digits([index.without(_outer(index, self.fixed)) for index in indices], dict(forms.extents))
        used = set()
        box = []
        for index, tail, size in zip(rests, tails, self.shape):
            if used & set(index.terms):
                raise _NoBoxError("its indices depend on each other")
            used |= set(index.terms)
            interval = _interval(index, extents)
            if interval is None:
                raise _NoBoxError("its indices leave places out")
            box.append(Interval(interval.low, size) if tail in needed and not self.fixed and at_most(size, interval.high) else interval)
        for variable, extent in extents.items():
            if variable not in {*used, *self.fixed} and not at_most(1, extent) and variable in self._running:
                raise _NoBoxError("a loop around its store may have no step")
        return tuple(box)

    def _holds_at_first(self, form: Linear, used: Collection[Any]) -> bool:
        """Whether a form is 0 or more in the first step of loops around that the indices are not made of, such as those of a reduction."""
        return all(term in self._running and term not in used for term in form.terms) and at_most(0, form.constant)

    def index_forms(self) -> Forms:
        """Index arithmetic in the variables of the loops, which begin at 0."""
        forms = Forms({}, {}, self.sizes.given)
        self._running: set[Any] = set()
        chain = [*self.around, self.store]
        for op, inner in pairwise(chain):
            if op.name == "tir.for":
                lower, upper = (self.sizes.of(bound) for bound in op.opview.bounds)
                if lower is None or upper is None:
                    raise _NoBoxError(f"the bounds of the loop {op.opview.name} are computed from data, or from other loops")
                variable = op.opview.variable
                forms.extents[variable] = upper - lower
                self._running.add(variable)
                if lower != 0:
                    forms.substitutes[variable] = Linear({variable: 1}, lower)
            elif op.name == "tir.block":
                block: BlockOp = op.opview
                for argument, value in zip(inner.block.arguments, block.values):
                    forms.substitutes[argument] = forms.form(value)
        return forms

    def points(self) -> np.ndarray | None:
        """For each element whether the store writes it; None where that is not known, or too much to count."""
        if not all(can_count(loop) for loop in self.loops) or not all(isinstance(s, int) for s in self.shape):
            return None
        ranges = [(loop.variable, constant_of(loop.bounds[0]) or 0, max(loop.extent or 0, 0)) for loop in self.loops]
        if np.prod([float(extent) for *_, extent in ranges]) > MOST_POINTS or np.prod([float(s) for s in self.shape]) > MOST_PAINTED:
            return None
        points = Points(ranges, lambda _: False)
        chain = [*self.around, self.store]
        for op, inner in pairwise(chain):
            if op.name == "tir.block":
                for argument, value in zip(inner.block.arguments, op.opview.values):
                    sample = points.evaluate(value)
                    if sample is None:
                        return None
                    points.values[argument] = sample.array
            elif op.name not in ("func.func", "tir.for", "scf.if"):
                return None
        mask, exact = points.mask(self.tests)
        samples = [points.evaluate(value) for value in self.indices]
        if not exact or any(sample is None for sample in samples):
            return None
        written = np.zeros(tuple(self.shape), bool)
        places = [points.flat(sample.array) for sample in samples if sample is not None]
        inside = points.flat(mask).copy()
        for place, size in zip(places, self.shape):
            inside &= (place >= 0) & (place < size)
        if places:
            written[tuple(place[inside] for place in places)] = True
        elif inside.any():
            written[()] = True
        return written


class _NoBoxError(Exception):
    """Says why a store writes no box."""


def painted(stores: Sequence[StoredBox], shape: Sequence[Size]) -> bool:
    """Whether all elements of static loops' buffer are written, counted one by one."""
    if not all(isinstance(s, int) for s in shape):
        return False
    found = [written for store in stores if (written := store.points()) is not None]
    return bool(found) and bool(np.logical_or.reduce(found).all())


def _is_natural(forms: Forms, form: Linear) -> bool:
    """Whether a form is certain to be 0 or more."""
    bounds = forms.bounds(form)
    return bounds is not None and at_most(0, bounds[0])


def _interval(index: Linear, extents: dict[Any, Size]) -> Interval | None:
    """The values of an index, which are all between the least and the greatest; None where some are left out."""
    low, reach = index.constant, 1  # the values so far are low, ..., low + reach - 1
    for variable, factor in sorted(index.terms.items(), key=lambda term: abs(term[1])):
        extent = extents.get(variable)
        if extent is None or not at_most(abs(factor), reach):
            return None
        grown = abs(factor) * (extent - 1)
        low, reach = low + (grown * -1 if factor < 0 else 0), reach + grown
    return Interval(low, low + reach)


def _outer(form: Linear, fixed: Collection[ir.Value]) -> list[Any]:
    """The terms of a form in variables that are fixed only."""
    return [term for term in form.terms if fixed and variables_of(term) <= set(fixed)]


def _in_digits(indices: list[Linear], extents: dict[Any, Size]) -> tuple[list[Linear], dict[Any, Size]]:
    """The forms with ``v // c`` and ``v - v // c * c`` in digits of ``v``, where the divisors divide each other and the extent."""
    divisors: dict[Any, set[int]] = {}
    for form in indices:
        for term in form.terms:
            if isinstance(term, Quotient):
                variable = term.numerator.variable
                if variable is None:
                    raise _NoBoxError("its indices are quotients of sums")
                divisors.setdefault(variable, set()).add(term.divisor)
    digits: dict[Any, Linear] = {}
    for variable, found in divisors.items():
        order, extent = [1, *sorted(found)], extents.pop(variable, None)
        if not isinstance(extent, int) or any(b % a for a, b in zip(order, [*order[1:], extent])):
            raise _NoBoxError("its indices are quotients that do not divide a loop evenly")
        for n, (a, b) in enumerate(zip(order, [*order[1:], extent])):
            extents[variable, n] = b // a
            digits[variable] = digits.get(variable, Linear({})) + Linear({(variable, n): a})
        for divisor in found:
            first = order.index(divisor)
            digits[Quotient(frozenset({(variable, 1)}), 0, divisor)] = Linear(
                {(variable, n): order[n] // divisor for n in range(first, len(order))})

    def replaced(form: Linear) -> Linear:
        total = Linear({}, form.constant)
        for term, factor in form.terms.items():
            total = total + digits.get(term, Linear({term: 1})).times(factor)
        return total

    return [replaced(form) for form in indices], extents
