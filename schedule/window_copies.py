"""Copies of a convolution's windows by the device's copy engine, which goes through images' pixels as the convolution does (im2col)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from legato.analysis.accesses import ElementAccess
from legato.analysis.indices.forms import Forms, linear
from legato.analysis.indices.linear import Linear
from legato.analysis.products import axes_of, maker
from legato.core.ir_helpers import ancestors, constant_number, index, terminator
from legato.core.mlir import arith, ir, memref
from legato.dialects.tir.loops import BlockOp, constant_of

MOST_STRIDE = 8
LIMITS = {3: (1 << 15, 1 << 16), 4: (1 << 7, 1 << 8), 5: (1 << 4, 1 << 5)}     # by axes of the image: of corners, and of offsets


@dataclass(frozen=True)
class CopiedAxis:
    """An axis along which windows move: ``place * stride + lower + offset``. ``place``: the window's number along it, None where there is
    one; ``offset``: the element in the window; ``count``: the windows."""

    place: ir.Value | None
    stride: int
    lower: int
    offset: Linear
    count: int

    def upper(self, size: int) -> int:
        """Where the last window begins, counted from the last element of an axis of so many."""
        return self.stride * (self.count - 1) + self.lower - (size - 1)


@dataclass(frozen=True)
class CopiedWindows:
    """The copy of a tile of which each row is an element of a window, along ``axes`` of an image, and its channels from ``channel`` on.
    ``image``: the image's number, None where there is one; ``images``: how many there are, by the rows, and no more than ``limit`` says, if
    it is a value."""

    axes: list[CopiedAxis]
    image: ir.Value | None
    channel: ir.Value
    images: Linear
    limit: ir.Value | None


class NoWindows(Exception):
    """Why a block does not copy windows."""


def windows_of(block: BlockOp, value: ir.Value, load: ElementAccess, row: ir.Value, column: ir.Value) -> CopiedWindows:
    """The form of a block that stores ``value`` for each ``row`` and ``column`` of a tile: an element that it loads from images, which are
    along the first axis, as channels are along the last one, or 0 beyond an image or beyond all rows. NoWindows for another block."""
    arguments, shape = list(block.block.arguments), list(load.buffer.type.shape)
    if len(shape) not in LIMITS or min(shape[1:]) < 0:
        raise NoWindows("an image has three to five axes, of known sizes but the first")
    forms, last = [linear(v) for v in load.indices], len(shape) - 1
    mine = {arguments.index(row), arguments.index(column)}

    def moves(term: ir.Value) -> bool:
        return bool(axes_of(block, term) & mine)

    if forms[last].coefficient(column) != 1 or any(moves(term) for term in forms[last].terms if term != column):
        raise NoWindows("its channels do not lie together")
    places = places_of(forms[:last], moves)
    numbers = Numbering(row, moves)
    counts = [1 if place is None else numbers.count(place, is_first=all(one is None for one in places[:axis]))
              for axis, place in reversed(list(enumerate(places)))][::-1]
    if numbers.rows is None:
        raise NoWindows("its rows are no windows")
    tests = conditions(value, load.op)
    limit = limit_of(load.buffer, tests, forms[0])
    inside = [form for one, size in zip(forms, shape) for form in (one, Linear({}, size - 1) - one) if size >= 0]
    inside += [] if limit is None else [forms[0], Linear({limit: 1}, -1) - forms[0]]
    total = total_of(block, [one for one in tests if one not in inside], numbers.rows)
    if forms[0] != Linear({} if places[0] is None else {places[0]: 1}):
        raise NoWindows("it does not go through images one after the other")
    known = prod(one for one in counts if one is not None)
    first = next(axis for axis, one in enumerate(places) if one is not None)
    if any(number % known for number in (total.constant, *total.terms.values())) or (first > 0 and not total.is_constant):
        raise NoWindows("its rows are no whole images")
    whole = Linear({term: factor // known for term, factor in total.terms.items()}, total.constant // known)
    counts[first] = whole.constant
    axes = [axis_of(form, place, count or 1) for form, place, count in zip(forms[1:last], places[1:], counts[1:])]
    check_limits(block, axes, shape)
    return CopiedWindows(axes, places[0], load.indices[last], whole if first == 0 else Linear({}, 1), limit)


def places_of(forms: Sequence[Linear], moves: Callable[[ir.Value], bool]) -> list[ir.Value | None]:
    """Of each index the term that moves with the rows, if there is one."""
    found: list[ir.Value | None] = []
    for form in forms:
        moving = [term for term in form.terms if moves(term)]
        if len(moving) > 1 or any(form.terms[term] < 1 for term in moving):
            raise NoWindows("an index is no sum of one that moves with the rows, and of others")
        found.append(moving[0] if moving else None)
    return found


class Numbering:
    """Reads the number of a row as numbers along axes: remainders and quotients, from the last axis on. ``rows``: its form."""

    def __init__(self, row: ir.Value, moves: Callable[[ir.Value], bool]):
        self.row, self.moves = row, moves
        self.rows: Linear | None = None
        self.counts: list[int] = []

    def count(self, place: ir.Value, is_first: bool) -> int | None:
        """How many values the number along the next axis has; None for that of the first one, which is the rest."""
        if is_first:
            self.check(place)
            return None
        op = maker(place, "arith.remui")
        size = None if op is None else constant_of(op.operands[1])
        if op is None or size is None:
            raise NoWindows("the number of a row is not divided by the windows of an axis")
        self.check(op.operands[0])
        self.counts.append(size)
        return size

    def check(self, value: ir.Value) -> None:
        """NoWindows unless a value is what is left of a row's number behind the axes so far."""
        for size in reversed(self.counts):
            op = maker(value, "arith.divui")
            if op is None or constant_of(op.operands[1]) != size:
                raise NoWindows("the number of a row is not that of a window")
            value = op.operands[0]
        form = linear(value)
        if form.coefficient(self.row) != 1 or any(self.moves(term) for term in form.terms if term != self.row) or (
                self.rows is not None and self.rows != form):
            raise NoWindows("the number of a row is not that of a window")
        self.rows = form


def limit_of(buffer: ir.Value, tests: Sequence[Linear], image: Linear) -> ir.Value | None:
    """The number of a buffer's images, where that is a value and the image's number is compared to it."""
    for test in tests:
        limit = (test + image + Linear({}, 1)).variable
        dim = None if limit is None else maker(limit, "memref.dim")
        if dim is not None and dim.operands[0] == buffer and constant_of(dim.operands[1]) == 0:
            return limit
    return None


def total_of(block: BlockOp, tests: Sequence[Linear], rows: Linear) -> Linear:
    """How many rows are no padding. ``tests``: what is not negative where an element is loaded, besides that it is in the image. NoWindows
    where a test is not whether a row is among those."""
    totals = [test + rows + Linear({}, 1) for test in tests]
    if len(totals) > 1 or any(not isinstance(one.constant, int) or any(axes_of(block, term) for term in one.terms) for one in totals):
        raise NoWindows("an element is loaded under another condition than that it is in the image")
    if totals:
        return totals[0]
    reach = Forms({a: e for a, e in zip(block.block.arguments, block.extents) if e is not None}).bounds(rows)
    if reach is None or not isinstance(reach[1], int):
        raise NoWindows("the number of rows is not known")
    return Linear({}, reach[1] + 1)


def axis_of(form: Linear, place: ir.Value | None, count: int) -> CopiedAxis:
    """An axis of the image, by its index."""
    offset = Linear({term: factor for term, factor in form.terms.items() if term != place})
    if not isinstance(form.constant, int) or any(factor < 0 for factor in offset.terms.values()):
        raise NoWindows("an element of a window lies before the window's begin")
    return CopiedAxis(place, 1 if place is None else form.terms[place], form.constant, offset, count)


def check_limits(block: BlockOp, axes: Sequence[CopiedAxis], shape: Sequence[int]) -> None:
    """NoWindows for strides, paddings and windows that are larger than the copy engine's numbers."""
    corners, offsets = LIMITS[len(shape)]
    read = Forms({a: e for a, e in zip(block.block.arguments, block.extents) if e is not None})
    for axis, size in zip(axes, shape[1:]):
        most = [(greatest(read, term), factor) for term, factor in axis.offset.terms.items()]
        if sum(offsets if one is None else one * factor for one, factor in most) >= offsets:
            raise NoWindows(f"its windows are not known to be shorter than {offsets}")
        if axis.stride > MOST_STRIDE or not all(-corners <= one < corners for one in (axis.lower, axis.upper(size))):
            raise NoWindows(f"its windows are further apart than {MOST_STRIDE}, or the image is padded by more than {corners - 1}")


def greatest(read: Forms, value: ir.Value) -> int | None:
    """The greatest that an index may be; None where it is not known, or may be negative."""
    remainder = maker(value, "arith.remui")
    size = None if remainder is None else constant_of(remainder.operands[1])
    low, high = (0, size - 1) if size is not None else read.reach(read.form(value))
    return high if low is not None and low >= 0 else None


def conditions(value: ir.Value, load: ir.Operation) -> list[Linear]:
    """What is not negative where a value is the load; it is 0 elsewhere. NoWindows for another value."""
    if value == load.results[0]:
        return []
    op = maker(value, "scf.if")
    if op is None or len(op.results) != 1 or op not in ancestors(load):
        raise NoWindows("it stores no element that it loads")
    then, other = (terminator(region.blocks[0]).operands[0] for region in op.regions)
    if constant_number(other) != 0:
        raise NoWindows("beyond the image are no zeros")
    return compared(op.operands[0]) + conditions(then, load)


def compared(test: ir.Value) -> list[Linear]:
    """What is not negative where a conjunction of comparisons holds."""
    if (both := maker(test, "arith.andi")) is not None:
        return [form for v in both.operands for form in compared(v)]
    op = maker(test, "arith.cmpi")
    predicate = None if op is None else op.attributes["predicate"].value
    if op is None or predicate not in (arith.CmpIPredicate.slt, arith.CmpIPredicate.sge):
        raise NoWindows("an element is loaded under another condition than that it is in the image")
    left, right = map(linear, op.operands)
    return [left - right] if predicate == arith.CmpIPredicate.sge else [right - left - Linear({}, 1)]


def built(windows: CopiedWindows, rebuild: Callable[[ir.Value], ir.Value], image: ir.Value) -> tuple[list[ir.Value], list[ir.Value]]:
    """At the insertion point, of the tile's first element: the bounds of the image's first and last axes, and its places along all axes,
    with those in the window behind them. ``rebuild`` computes a value for the tile's first row and column; ``image``: the buffer."""
    places = [index(0) if windows.image is None else rebuild(windows.image)]
    for axis in windows.axes:
        moved = Linear({} if axis.place is None else {axis.place: axis.stride}, axis.lower)
        places.append(summed(moved, rebuild))
    offsets = [summed(axis.offset, rebuild) for axis in windows.axes]
    channels = memref.DimOp(image, index(image.type.rank - 1)).result
    images = summed(windows.images, rebuild)
    if windows.limit is not None:
        images = arith.MinUIOp(images, windows.limit).result
    return [images, channels], [*places, rebuild(windows.channel), *offsets]


def summed(form: Linear, rebuild: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """The value of a form at the insertion point."""
    total = index(form.constant)
    for term, factor in form.terms.items():
        one = rebuild(term)
        total = arith.AddIOp(total, one if factor == 1 else arith.MulIOp(one, index(factor)).result).result
    return total
