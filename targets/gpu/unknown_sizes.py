"""The tiles of products of unknown sizes, on devices whose copies are asynchronous, by the time that they take for sizes that there may be.

Of sizes that are not known one, two, four ... are tried. There are several tiles, each from a number of results on, among which the host
chooses (``row_forms``): those that take the least time, relative to the best for each size, where one more of them saves a part of it.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from math import prod

from legato.analysis.products import ProductForm
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.product_tiles import LAUNCH, ProductTiles, element_bytes, in_one_launch, time_of

MOST = (1 << 10, 1 << 15, 1 << 15)     # products of a batch, rows and columns that are tried, or so many times
MOST_TIMES = 64                        # what is known of them
DEPTH = 1024       # where it is not known
# tiles at most, and the part of the time that one more of them has to leave: a network of images has many convolutions, and few matmuls
OF_MATMULS, OF_IMAGES = (3, 0.95), (2, 0.92)

Ratios = Sequence[tuple[int, Sequence[float]]]


@dataclass(frozen=True)
class TilesFrom:
    """Tiles from a number on of what is not known of batch, rows and columns together."""

    least: int
    tiles: ProductTiles


def tiles_by_size(form: ProductForm, machine: Gpu, may_turn: bool) -> Sequence[TilesFrom]:
    """The tiles of a product with sizes that are not known, for few results first, from 0 on. None for other products, and other devices.
    ``may_turn``: whether the rows' operand can have a tile along the rows."""
    sides, depth = (form.batch, form.rows, form.columns), form.extent(form.depth)
    unknown = sum(form.extent(axes) is None for axes in sides)
    if not machine.async_copies or (unknown == 0 and depth is not None):
        return ()
    found = in_one_launch(machine, element_bytes(form), depth or 0, form.extent(form.columns), may_turn)
    tried = product(*(numbers(form, axes, unknown, most) for axes, most in zip(sides, MOST)))
    ratios = together(list(compared(form, found, tried, DEPTH if depth is None else depth, machine)))
    most, part = OF_MATMULS if sum(form.block.extents[axis] != 1 for axis in form.rows) <= 1 else OF_IMAGES
    best, shortest = best_from(found, ratios, (0,))
    for count in range(2, most + 1):
        for starts in combinations(range(1, len(ratios)), count - 1):
            more, time = best_from(found, ratios, (0, *starts))
            if time < (part if len(more) > len(best) else 1) * shortest:
                best, shortest = more, time
    return best


def numbers(form: ProductForm, axes: Sequence[int], unknown: int, most: int) -> list[int]:
    """The number of values of several axes; where it is not known, numbers that are tried: more than one of what is not known, as single
    rows and images have forms of their own; fewer the more sizes are unknown, and larger ones."""
    size, known, step = form.extent(axes), max(form.known_part(axes), 1), 2 ** unknown
    if size is not None:
        return [size]
    found = [step ** min(unknown, 2) * known]
    while step * found[-1] <= max(most, MOST_TIMES * known):
        found.append(step * found[-1])
    return found


def compared(form: ProductForm, tiles: Sequence[ProductTiles], sizes: Iterator[tuple[int, ...]], depth: int,
             machine: Gpu) -> Iterator[tuple[int, list[float]]]:
    """Of each batch, rows and columns: what is not known of them, together, and how much longer than the best each of the tiles takes, with
    what a launch takes besides."""
    known = prod(max(form.known_part(axes), 1) for axes in (form.batch, form.rows, form.columns))
    for one in sizes:
        times = [time_of((*one, depth), each, machine, element_bytes(form)) + LAUNCH for each in tiles]
        yield prod(one) // known, [time / min(times) for time in times]


def together(ratios: Ratios) -> Ratios:
    """The sums of ratios of the same number, by number."""
    return [(number, [sum(column) for column in zip(*(each for n, each in ratios if n == number))])
            for number in sorted({n for n, _ in ratios})]


def best_from(tiles: Sequence[ProductTiles], ratios: Ratios, starts: Sequence[int]) -> tuple[list[TilesFrom], float]:
    """Of the sizes from each start to the next the tiles whose ratios are least together, and the sum of all these ratios. Neighbours that
    would have the same are one."""
    total, found = 0., []
    for start, end in pairwise((*starts, len(ratios))):
        sums = [sum(column) for column in zip(*(each for _, each in ratios[start:end]))]
        total += min(sums)
        best = tiles[sums.index(min(sums))]
        if not found or found[-1].tiles != best:
            found.append(TilesFrom(ratios[start][0] if start else 0, best))
    return found, total
