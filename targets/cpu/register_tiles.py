"""The choice of register tiles: how many rows and columns of a product are computed at once in vector registers.

A tile of R rows and C vectors of columns keeps R*C accumulators, C vectors of the weight and one broadcast element in registers, and does
R*C multiply-adds for R+C loads in each step of the reduction.
"""
from dataclasses import dataclass
from functools import cache

from legato.core.register_costs import step_time

# Costs in a step of the reduction, in multiply-adds, besides those of core.register_costs
PANEL_LOAD = 4.5  # a vector of the weight from the L2 cache: with 4 of them, fewer than 5 rows wait for it on Zen 5
FAR_LOAD = 4  # a line of the other operand from beyond the L2 cache
EXTRA_TILE = 1 / 64  # another kind of tile, relative to the whole: code size and compile time


@dataclass(frozen=True)
class RegisterTiles:
    """Tile sizes, widest first: each covers the remainder of those before, the last one all of it (or it is 1)."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]


def steps(rows: int, vectors: int, far_lines: float = 0) -> float:
    """The time of one step of the reduction for a tile, in multiply-adds. ``far_lines``: cache lines of each row that are read from beyond
    the L2 cache."""
    return step_time(rows, vectors, PANEL_LOAD * vectors) + FAR_LOAD * rows * far_lines


def fits(rows: int, vectors: int, registers: int) -> bool:
    """Whether the accumulators, the weight and a broadcast element fit; a single row reads the weight from memory."""
    return rows * vectors + (vectors if rows > 1 else 0) + 1 <= registers


def binary(rest: int) -> tuple[int, ...]:
    """The powers of two that add up to ``rest``, greatest first."""
    return tuple(1 << i for i in reversed(range(rest.bit_length())) if rest >> i & 1)


@cache
def choose(rows: int | None, columns: int | None, lanes: int, registers: int, width: int | None = None,
           most: int | None = None, far_lines: float = 0, fills: bool = False, extra_tile: float = EXTRA_TILE) -> RegisterTiles:
    """The tiles for a product of ``rows`` by ``columns`` (None: not constant), with vectors of ``lanes`` elements.

    Widths of columns are powers of two: others become very slow code. ``fills``: but for the last one, whose vectors are filled
    (``tir-fill-vectors``). ``width``: the first of them, if it is given. ``most``: the greatest number of rows of a tile.
    ``far_lines``: as for ``steps``; ``extra_tile``: what another kind of tile costs, relative to the whole.
    """
    best = None
    for vectors in (2, 4, 1, 8) if width is None else (-(-width // lanes),):
        covered = columns if columns is None or not fills else -(-columns // lanes) * lanes
        if not fits(1, vectors, registers) or (covered is not None and vectors * lanes > max(covered, lanes)):
            continue
        widths = _widths(columns, vectors * lanes, lanes, fills, once=rows == 1)
        for split in _splits(rows, vectors, registers, most, columns is None):
            cost = _cost(rows, columns, split, widths, lanes, far_lines) * (1 + extra_tile * (len(split) + len(widths)))
            if best is None or cost < best[0]:
                best = (cost, RegisterTiles(split, widths))
    assert best is not None
    return best[1]


def _widths(columns: int | None, width: int, lanes: int, fills: bool, once: bool) -> tuple[int, ...]:
    if columns is None:
        return (width, *(narrower for narrower in (lanes, lanes // 2, lanes // 4, lanes // 8) if 1 < narrower < width), 1)
    return ((width,) if columns >= width else ()) + (_filled(columns % width, lanes, once) if fills else binary(columns % width))


def _filled(rest: int, lanes: int, once: bool) -> tuple[int, ...]:
    """Widths that add up to ``rest``, greatest first, each of a power of two of vectors, the last of which may not be full. ``once``: one
    width, since a panel of a weight that one row is multiplied by is read as fast as memory gives it, and that is all in one go."""
    vectors = -(-rest // lanes)
    if once or vectors & (vectors - 1) == 0:
        return (rest,) if rest else ()
    whole = (1 << vectors.bit_length() - 1) * lanes
    return (whole, *_filled(rest - whole, lanes, once))


def _splits(rows: int | None, vectors: int, registers: int, limit: int | None, few: bool) -> list[tuple[int, ...]]:
    """Ways to split the rows: a tile, and the rest as another one; by powers of two, or one by one (``few``), if their number is not
    constant."""
    most = max(r for r in range(1, registers) if fits(r, vectors, registers) and r <= (limit or registers))
    if rows is None:
        power = 1 << (most.bit_length() - 1)
        whole = tuple(power >> i for i in range(power.bit_length()))
        return [(power, 1), (most, 1)] if few else [whole, (most, *whole[1:])]
    return [(tile, rows % tile) if rows % tile else (tile,) for tile in range(1, min(most, rows) + 1)]


def _cost(rows: int | None, columns: int | None, split: tuple[int, ...], widths: tuple[int, ...], lanes: int, far_lines: float) -> float:
    """The steps of the whole product; per row (or column vector) if their number is not constant: of many rows, and of a single one, as
    there are in generating text."""
    total, left = 0.0, widths[0] if columns is None else columns
    for width in widths:
        count, left = divmod(left, width)
        vectors = -(-width // lanes)
        if rows is None:
            total += count * (steps(split[0], vectors, far_lines) / split[0] + steps(1, vectors, far_lines)) / 2
        else:
            rests = sum(steps(rest, vectors, far_lines) for rest in split[1:])
            total += count * (rows // split[0] * steps(split[0], vectors, far_lines) + rests)
    return total / widths[0] if columns is None else total
