"""Layered layout of a graph (Sugiyama's method): boxes in rows from top to bottom, and edges that run between boxes, never behind them.

An edge that passes rows has a place of its own in each, so that no box lies on it. Edges move sideways only between rows.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from legato.graph_boxes import INPUT, GraphBox

LINE, LETTER = 15, 6.7                 # pixels: a line of text, a letter of it
GAP, SPACE, MARGIN, LANE = 30, 22, 24, 10   # between rows, between neighbours, around everything; the width of an edge's place
LONGEST = 64                           # letters of a line that are shown
SWEEPS = 12                            # over all rows, down and up
STRAIGHT = 8.0                         # weight of an edge's place, against a box's


@dataclass(eq=False)
class Spot:
    """A place in a row: of a box, or (``box`` None) of an edge that passes. ``x``: its middle; ``y``: its top."""

    row: int
    width: float
    height: float
    box: GraphBox | None = None
    above: list[Spot] = field(default_factory=list)
    below: list[Spot] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class GraphLayout:
    """Rows of spots from top to bottom; ``bottoms``: the lower end of each row; ``width``, ``height``: of everything, in pixels."""

    rows: list[list[Spot]]
    bottoms: list[float]
    width: float
    height: float

    def spots(self) -> list[Spot]:
        """The spots of boxes."""
        return [spot for row in self.rows for spot in row if spot.box is not None]


def shown_lines(box: GraphBox) -> list[str]:
    """The lines of a box as they are drawn: long ones cut off, then the branch that it is in, the time last."""
    lines = [line if len(line) <= LONGEST else f"{line[:LONGEST - 1]}…" for line in [*box.lines, *([box.inside] if box.inside else [])]]
    if box.seconds is None:
        return lines
    return [*lines, f"{time_text(box.seconds)}, {box.share:.1%}" if box.count else "did not run"]


def time_text(seconds: float) -> str:
    """A time in a unit that suits it: ``2.41 ms``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} µs"


def layout(boxes: Sequence[GraphBox], top: float) -> GraphLayout:
    """Places the boxes below ``top``, each under those it reads."""
    rows = _rows(boxes)
    _order(rows)
    _place(rows)
    left = min((spot.x - spot.width / 2 for row in rows for spot in row), default=0.0)
    y, bottoms = top, []
    for row in rows:
        height = max(spot.height for spot in row)
        for spot in row:
            spot.x, spot.y = spot.x - left + MARGIN, y
        bottoms.append(y + height)
        y += height + GAP
    width = max((spot.x + spot.width / 2 for row in rows for spot in row), default=0.0) + MARGIN
    return GraphLayout(rows, bottoms, width, (bottoms[-1] if bottoms else top) + MARGIN)


def _rows(boxes: Sequence[GraphBox]) -> list[list[Spot]]:
    """The spots of boxes and of edges that pass rows; edges from one box to several share them."""
    levels: dict[GraphBox, int] = {}
    for box in boxes:
        levels[box] = 1 + max((levels[read] for read in box.reads), default=-1)
    for box, readers in reversed(_sources(boxes).items()):
        if readers:
            levels[box] = min(levels[one] for one in readers) - 1
    rows: list[list[Spot]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    spots = {}
    for box in boxes:
        lines = shown_lines(box)
        width = max(map(len, lines)) * LETTER + 18
        spots[box] = Spot(levels[box], width, len(lines) * LINE + 12 + (5 if box.seconds is not None else 0), box)
        rows[levels[box]].append(spots[box])
    lanes: dict[tuple[Spot, int], Spot] = {}
    for box in boxes:
        for read in box.reads:
            upper = start = spots[read]
            for row in range(levels[read] + 1, levels[box]):
                if (start, row) not in lanes:
                    lanes[start, row] = Spot(row, LANE, 0.0)
                    rows[row].append(lanes[start, row])
                    _join(upper, lanes[start, row])
                upper = lanes[start, row]
            _join(upper, spots[box])
    return [row for row in rows if row]


def _sources(boxes: Sequence[GraphBox]) -> dict[GraphBox, list[GraphBox]]:
    """The boxes that stand right above their first reader, with their readers: inputs, and what is computed of no input."""
    readers: dict[GraphBox, list[GraphBox]] = {box: [] for box in boxes}
    free: set[GraphBox] = set()
    for box in boxes:
        if box.kind != INPUT and all(read in free for read in box.reads):
            free.add(box)
        for read in box.reads:
            readers[read].append(box)
    return {box: found for box, found in readers.items() if box.kind == INPUT or box in free}


def _join(upper: Spot, lower: Spot) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def _order(rows: list[list[Spot]]) -> None:
    """Sorts each row by the mean position of its neighbours, down and up, which removes most crossings."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            position = {}
            for number, spot in enumerate(row):
                near = spot.above if down else spot.below
                position[spot] = sum(one.x for one in near) / len(near) if near else (spot.x if sweep else number)
            row.sort(key=lambda spot: position[spot])
            for number, spot in enumerate(row):
                spot.x = float(number) - len(row) / 2


def _place(rows: list[list[Spot]]) -> None:
    """Horizontal places in the order of each row, as near as possible to the neighbours above, then below, in turns. Only what lies between
    two rows of an edge resists being moved: where it counted for more beside the boxes that an edge begins or ends at, each block with a
    short branch would be pushed aside, and a model of many of them ran diagonally."""
    for row in rows:
        for spot, x in zip(row, _apart([0.0] * len(row), row, [1.0] * len(row))):
            spot.x = x
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            nears = [(spot.above if down else spot.below) or spot.above or spot.below for spot in row]
            wanted = [sum(one.x for one in near) / len(near) if near else spot.x for spot, near in zip(row, nears)]
            weights = [STRAIGHT if spot.box is None and any(one.box is None for one in near) else 1.0 for spot, near in zip(row, nears)]
            for spot, x in zip(row, _apart(wanted, row, weights)):
                spot.x = x


def _apart(wanted: Sequence[float], row: Sequence[Spot], weights: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones (least squares, weighted) at which neighbours do not overlap: isotonic regression, by merging
    neighbours that are in each other's way (pool adjacent violators)."""
    offset, offsets = 0.0, []
    for number, spot in enumerate(row):
        offset += (row[number - 1].width + spot.width) / 2 + SPACE if number else 0.0
        offsets.append(offset)
    blocks: list[list[float]] = []   # mean, weight, count
    for want, weight, offset in zip(wanted, weights, offsets):
        blocks.append([want - offset, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, weight, count = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight)
            last[1], last[2] = last[1] + weight, last[2] + count
    means = [mean for mean, _, count in blocks for _ in range(int(count))]
    return [mean + offset for mean, offset in zip(means, offsets)]
