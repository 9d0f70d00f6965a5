"""A row of windows cut into tiles of neighbouring positions."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from legato.analysis.structured.window import WindowAxis, are_known

MOST_TILES = 16         # of a row, which are written out: in padding wider than this, they would be too many
SHARES = 4              # of a row for each thread, at most
LEAST_TILES = 4         # of a share


@dataclass(frozen=True)
class Positions:
    """Neighbouring positions of a row of the result. ``repeats``: how many such tiles follow each other; ``clipped``: whether branches
    leave out the columns beside the image, of unknown size those of taps that lie beside it for all positions. All windows of other
    repeated tiles lie inside of it. ``before``, ``after``: columns of the tile that lie before an image of unknown size, and after it."""

    start: int
    positions: int
    repeats: int = 1
    clipped: bool = False
    before: int = 0
    after: int = 0


def tiles_of(axis: WindowAxis, most_positions: int, clips: bool = True) -> list[Positions]:
    """The tiles of a row, from left to right. ``clips``: whether neighbouring ones that reach out of the image may be clipped ones."""
    return list(_tiles(axis, -(-axis.count // -(-axis.count // most_positions)), clips))


def tiles_of_any(axis: WindowAxis, most_positions: int, clips: bool = True, fewest: int = 1) -> list[Positions]:
    """The same, and of a row whose size is not known the only tile, which all whole ones are like. It is half as long as it could be, since
    a row that is shorter than it is computed position by position, but of ``fewest`` positions, where there may be as many."""
    if are_known([axis]):
        return tiles_of(axis, most_positions, clips)
    return [Positions(0, min(most_positions, max(fewest, -(-most_positions // 2))))]


def count_of(tiles: Sequence[Positions]) -> int:
    """The number of tiles of a row."""
    return sum(tile.repeats for tile in tiles)


def shares_of(tiles: Sequence[Positions], rows: int, threads: int) -> int:
    """The parts of an only row's tiles, of which threads have as many each; 1 where there are rows to share, or few tiles."""
    each = min(SHARES, count_of(tiles) // (LEAST_TILES * threads))
    return threads * each if threads > 1 and rows == 1 and each else 1


def _tiles(axis: WindowAxis, size: int, clips: bool) -> Iterator[Positions]:
    first, last = axis.inside()
    start = 0
    while start < axis.count:
        positions = min(size, axis.count - start)
        inside = max(0, last - start) // positions if start >= first and positions == size else 0
        end = axis.count if start >= first else min(first + size - 1, axis.count)    # of those that reach out at this side
        outside = max(1, (end - start) // size) if clips and positions == size and not inside else 1
        yield Positions(start, positions, inside or outside, outside > 1)
        start += positions * (inside or outside)
