"""Selection of the loop of a contraction that is split among threads."""
from collections.abc import Iterator
from math import prod

from legato.analysis.structured import ContractionForm

WORTH_IT = 1 << 20  # multiply-adds from which on a parallel region pays
TYPICAL = 128  # assumed extent of a dynamic loop


def parallel_part(form: ContractionForm, width: int, threads: int) -> tuple[int, int] | None:
    """The loop to split among threads and the size of a part; None where one thread is as fast.

    ``width``: columns of a register tile. Parts of columns and of the register tile's rows are equal, so that their sizes stay static.
    """
    if threads < 2 or prod(extent or TYPICAL for extent in form.extents) < WORTH_IT:
        return None
    best = max(_candidates(form, width, threads), default=None)
    return best[-2:] if best and best[0] * threads > 1.3 else None


def _candidates(form: ContractionForm, width: int, threads: int) -> Iterator[tuple[float, int, int, int]]:
    """(utilization of the threads, how much of the larger operand is read by one thread only, loop, part)."""
    weight_is_larger = _size(form, form.columns) > _size(form, form.rows)
    for loop in form.dims:
        extent = form.extents[loop]
        if extent is None:
            continue
        column = loop in form.columns
        gain = int(column == weight_is_larger) + int(loop in form.batch)
        part = -(-extent // threads)
        if loop == form.column:
            if extent % width:
                continue
            part = part if part % width == 0 and extent % part == 0 else width
        elif loop == form.row and extent % part:
            continue
        count = -(-extent // part)
        rounds = -(-count // threads)
        if count > 1:
            yield extent / (part * rounds * threads), gain, loop, part


def _size(form: ContractionForm, loops: tuple[int, ...]) -> int:
    """The elements of the operand with these loops; overlap of windows is ignored."""
    return prod(form.extents[loop] or TYPICAL for loop in (*loops, *form.reductions) if loop not in form.filters or loops == form.columns)
