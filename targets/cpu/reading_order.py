"""In which order nests that read an input across its rows go through it, so that a cache has a line until all of it is read.

Rows a power of two apart meet in few sets of a cache, of eight lines each, and each is on a page of its own.
"""
from collections.abc import Sequence

from legato.analysis.structured import StructuredOp

NARROW = 64     # columns that are few beside an unknown number of rows
SHORTEST_RUN, RUN = 64, 256     # elements of an input's row that are transposed one after the other, at least and at most
SHORT_ROW, PART_OF_ROWS = 128, 512    # bytes of a row, at most, and of the rows that are read one after the other
WAYS = 8         # lines of a set of a cache
FAR = 1 << 23    # bytes from which on the columns of a matrix are read in parts


def block_loops(nest: StructuredOp, extents: Sequence[int], loop: int, other: int, side: int) -> list[tuple[int, int]]:
    """The loops over blocks of ``side`` x ``side``, outermost first, and their steps. Blocks go down the columns of the input, and so
    along the rows of the output, unless those are short, or the columns so many pages that each read misses the TLB: then along
    ``RUN`` elements of the input's rows."""
    columns, rows = extents[other], extents[loop]
    if columns < 0:
        return [(other, RUN), (loop, side), (other, side)]
    if columns <= (rows if rows >= 0 else NARROW) and rows * columns * nest.memory_bits < 8 * FAR:
        return [(other, side), (loop, side)]
    blocks = columns // side
    parts = [count for count in range(SHORTEST_RUN // side, RUN // side + 1) if columns > RUN and blocks % count == 0]
    return [*((other, parts[-1] * side) for _ in parts[:1]), (loop, side), (other, side)]


def part_of_crossed_rows(nest: StructuredOp, extents: Sequence[int], loop: int) -> tuple[int, int] | None:
    """Where the rows along ``loop`` lie in another order in an input than in the output: the input's loop over rows, and how many of
    them, one after the other, fill a few lines of a cache. It may lose a line before the rest of it is read: rows a power of two
    apart meet in few sets. None where rows are long."""
    row = extents[loop] * nest.memory_bits // 8
    if not 0 < row <= SHORT_ROW or not nest.parallel:
        return None

    def outside(loops: Sequence[int | None]) -> int | None:
        """The loop over rows that lie one after the other."""
        others = [i for i in loops if i is None or extents[i] != 1]
        return others[-2] if len(others) > 1 and others[-1] == loop else None

    own = outside(nest.out_loops)
    found = [other for i in range(len(nest.inputs)) if (other := outside(nest.loops_of(i))) not in (None, own)]
    return (found[0], min(PART_OF_ROWS // row, WAYS)) if found and own is not None else None
