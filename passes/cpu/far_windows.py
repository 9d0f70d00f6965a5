"""Windows along a row that are far apart: each is combined to a vector, and as many vectors as they have lanes to one.

A window of n columns takes n / lanes loads, and its vector three steps: halves of two vectors are joined, and combined, until a vector has
an element of each window.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from legato.core.mlir import ir, vector
from legato.core.vector_loops import Size, loop
from legato.passes.cpu.kept_rows import KeptRows

MOST_VECTORS = 4        # of a window, which are written out

Combine = Callable[[ir.Value, ir.Value], ir.Value]


def far_windows(rows: KeptRows, row: Sequence[Size], places: Sequence[Size], combine: Combine) -> ir.Value:
    """What the windows at these columns of the result are combined to, as the first lanes of a vector. The rows are kept ``whole``."""
    lanes, taps = rows.vectors.lanes, rows.columns.taps
    whole = taps // lanes * lanes

    def step(tap: Size, values: Sequence[ir.Value]) -> list[ir.Value]:
        return [combine(rows.load_window(row, tap, place), value) for place, value in zip(places, values)]

    if not whole:
        values = [rest(rows, rows.load_window(row, 0, place)) for place in places]
        return lanes_combined(combine, [*values, *[rows.border] * (lanes - len(places))])
    values = [rows.load_window(row, 0, place) for place in places]
    if taps <= MOST_VECTORS * lanes:
        for tap in range(lanes, whole, lanes):
            values = step(tap, values)
    else:
        values = loop(lanes, whole, lanes, lambda tap, *carried: step(tap, carried), values)
    if whole < taps:
        last = [rest(rows, rows.load_window(row, whole, place)) for place in places]
        values = [combine(*both) for both in zip(last, values)]
    return lanes_combined(combine, [*values, *[rows.border] * (lanes - len(places))])


def rest(rows: KeptRows, value: ir.Value) -> ir.Value:
    """A window's last columns, and the border behind them."""
    lanes = rows.vectors.lanes
    count = rows.columns.taps % lanes
    return vector.ShuffleOp(value, rows.border, [lane if lane < count else lanes + lane for lane in range(lanes)]).result


def lanes_combined(combine: Combine, rows: Sequence[ir.Value]) -> ir.Value:
    """What the elements of each vector are combined to, as one vector. There are as many vectors as lanes."""
    lanes = len(rows)
    if lanes == 1:
        return rows[0]

    def joined(first: int, count: int) -> ir.Value:
        """A vector with ``lanes / count`` parts of each of ``count`` vectors, from ``first`` on."""
        if count == 1:
            return rows[first]
        a, b = joined(first, count // 2), joined(first + count // 2, count // 2)
        width = lanes // count       # of a part afterwards
        low = [2 * width * number + lane for number in range(count) for lane in range(width)]
        return combine(*map(partial(shuffled, a, b), (low, [lane + width for lane in low])))

    return joined(0, lanes)


def shuffled(a: ir.Value, b: ir.Value, lanes: list[int]) -> ir.Value:
    """These lanes of two vectors."""
    return vector.ShuffleOp(a, b, lanes).result
