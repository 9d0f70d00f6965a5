"""The elements of a buffer that the stores of loops are certain to write."""
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from legato.analysis.indices.conditions import constraints
from legato.analysis.indices.forms import Forms
from legato.analysis.indices.linear import Linear, Quotient
from legato.analysis.indices.points import MOST_POINTS, Points, can_count
from legato.core.ir_helpers import ancestors
from legato.core.mlir import ir
from legato.dialects.tir.loops import BlockOp, ForOp, constant_of
from legato.passes.loops.coverage.boxes import MOST_PAINTED, Box, Interval, at_most, covers
from legato.passes.loops.raising.sizes import KernelSizes

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
    merged = both_branches(stores)
    found = [StoredBox(store, shape, sizes, store in merged) for store in stores]
    if covers([one.box for one in found if one.box is not None], shape) or painted(found, shape):
        return None
    return next((one.reason for one in found if one.reason), "its stores leave elements out")


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

    ``either``: the innermost condition around the store does not matter.
    """

    def __init__(self, store: ir.Operation, shape: Sequence[Size], sizes: KernelSizes, either: bool):
        self.store, self.shape, self.sizes = store, shape, sizes
        self.box: Box | None = None
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
                if op.name == "scf.if" and (self.free is None or op != self.free)]

    def _box(self) -> Box:
        for op in self.around:
            if op.name not in ("func.func", "tir.for", "tir.block", "scf.if"):
                raise _NoBoxError(f"it is written in {op.name}")
        forms = self._forms()
        indices = [forms.form(value) for value in list(self.store.operands)[2:]]
        needed = []
        for test, holds in self.tests:
            found = constraints(test, forms, holds)
            if found is None:
                raise _NoBoxError("it is written under a condition")
            needed += [form for form in found if not _is_natural(forms, form)]
        indices, needed, extents = _in_digits(indices, needed, dict(forms.extents))
        used: set[Any] = set()
        box = []
        for index, size in zip(indices, self.shape):
            if used & set(index.terms):
                raise _NoBoxError("its indices depend on each other")
            used |= set(index.terms)
            tails = [form for form in needed if form == Linear({}, size - 1) - index]
            needed = [form for form in needed if form not in tails]
            interval = _interval(index, extents)
            if interval is None:
                raise _NoBoxError("its indices leave places out")
            box.append(Interval(interval.low, size) if tails and at_most(size, interval.high) else interval)
        if needed:
            raise _NoBoxError("it is written under a condition")
        for variable, extent in extents.items():
            if variable not in used and not at_most(1, extent) and variable in self._running:
                raise _NoBoxError("a loop around its store may have no step")
        return tuple(box)

    def _forms(self) -> Forms:
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
        samples = [points.evaluate(value) for value in list(self.store.operands)[2:]]
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


def _in_digits(indices: list[Linear], needed: list[Linear], extents: dict[Any, Size]) -> tuple[list[Linear], list[Linear], dict[Any, Size]]:
    """The forms with ``v // c`` and ``v - v // c * c`` in digits of ``v``, where the divisors divide each other and the extent."""
    divisors: dict[Any, set[int]] = {}
    for form in [*indices, *needed]:
        for term in form.terms:
            if isinstance(term, Quotient):
                variable = term.numerator.variable
                if variable is None:
                    raise _NoBoxError("its indices are quotients of sums")
                divisors.setdefault(variable, set()).add(term.divisor)
    digits: dict[Any, Linear] = {}
    for variable, found in divisors.items():
        order, extent = [1, *sorted(found)], extents.pop(variable)
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

    return [replaced(f) for f in indices], [replaced(f) for f in needed], extents
