"""Selection of the loop of a contraction that is split among threads."""
from collections.abc import Iterator
from math import prod

from legato.analysis.structured import ContractionForm
from legato.targets.cpu.machine import Machine

WORTH_IT = 1 << 20  # multiply-adds from which on a parallel region pays
WORTH_READING = 1 << 19    # likewise of few rows of 32 bits where threads are awake; they read the factor that the rows share
GRAIN = 1 << 19     # multiply-adds of a part, at least
PIECES = (4, 3, 2, 1)    # parts for each thread, which takes the next one when it is through: others may use its core
TYPICAL = 128  # assumed extent of a dynamic loop
READ_ONCE = 4  # rows of f32, or of pairs of bf16, that are multiplied while the factor that they share is read: fewer take as long
FAR_ROWS = 64  # likewise where that factor is read from memory
POSITIONS = 16  # of a row of unknown length that a part has, at least
LIKELY, PERHAPS = 0.95, 0.66    # the assumed utilization where the parts are of loops of unknown extents: of an image, of a matrix


def parallel_part(form: ContractionForm, tile: tuple[int, int], machine: Machine, matrices: bool = False) -> dict[int, int]:
    """The loops to split among the machine's threads, with the sizes of a part; none where one thread is as fast.

    ``tile``: rows and columns of a register tile. Parts of columns and of the register tile's rows are equal, so that their sizes stay
    static, and hold whole tiles where there are several for each thread. Columns of a product behind the last whole tile, and rows behind
    the last part, are in none; of ``matrices``, which instructions multiply, there are no such. Rows whose number is not known are split
    in parts of some register tiles, of which the last is shorter, along with the loops around them.
    """
    work, least = prod(extent or TYPICAL for extent in form.extents), WORTH_IT
    if not form.filters and not form.batch and (form.heart.memory_bits >= 32 or _reads_pairs(form, matrices)):
        rows = prod(form.extents[loop] or TYPICAL for loop in form.rows)
        if rows < READ_ONCE:
            work = work * READ_ONCE // max(rows, 1)
            least = WORTH_READING if machine.awake and form.heart.memory_bits >= 32 else WORTH_IT
    threads = machine.threads
    positions = {} if matrices or threads < 2 else _positions(form, tile[0])
    if threads < 2 or work < least:
        return positions
    peels = not matrices and not form.filters
    far = _size(form, form.columns) * form.heart.memory_bits // 8 > machine.l2_bytes
    found = [(_busy(form, loop, part, used, far), gain, -number, used, loop, part) for number, pieces in enumerate(PIECES) if pieces == 1
             or work >= threads * pieces * GRAIN
             for used, gain, loop, part in _candidates(form, tile, threads * pieces, pieces > 1, peels)]
    best = max(found, default=None)
    used = 0 if best is None else best[-3]
    if positions and used < (LIKELY if form.filters else PERHAPS):
        return positions
    return dict([best[-2:]]) if best and used * threads > 1.3 else {}


def _positions(form: ContractionForm, rows: int) -> dict[int, int]:
    """The loops of rows up to the last of unknown extent, each with the size of a part; none where all are known. ``rows``: of a register
    tile."""
    unknown = [loop for loop in form.rows if form.extents[loop] is None]
    if not unknown or form.row is None:
        return {}
    parts = {loop: 1 for loop in form.rows[:form.rows.index(unknown[-1]) + 1] if form.extents[loop] != 1}
    if unknown[-1] != form.row:
        return parts
    of_row = prod(extent or TYPICAL for loop, extent in enumerate(form.extents) if loop not in form.rows)
    least = POSITIONS if form.filters else max(POSITIONS, GRAIN // max(of_row, 1))
    return parts | {form.row: -(-least // rows) * rows}


def _reads_pairs(form: ContractionForm, matrices: bool) -> bool:
    """Whether the factors are pairs of 16 bits in the lanes of vectors, which are multiplied as fast as they are read."""
    return form.group is not None and not matrices and form.heart.memory_bits == 16


def _busy(form: ContractionForm, loop: int, part: int, used: float, far: bool) -> float:
    """The utilization of the threads less what they wait for a factor that is ``far``: each part of few rows reads all of it."""
    return used * min(part / FAR_ROWS, 1) if far and loop == form.row and not form.filters and not form.batch else used


def _candidates(form: ContractionForm, tile: tuple[int, int], parts: int, whole_tiles: bool,
                peels: bool) -> Iterator[tuple[float, int, int, int]]:
    """(utilization of the threads, whether what is largest is of one thread only, loop, part). A result that is larger than its operands is
    split by rows, as what reads it is: a thread finds them in its core's cache."""
    rows, width = tile
    result = prod(form.extents[loop] or TYPICAL for loop in (*form.rows, *form.columns))
    weight_is_larger = _size(form, form.columns) > max(_size(form, form.rows), result)
    for loop in form.dims:
        extent = form.extents[loop]
        if extent is None:
            continue
        column = loop in form.columns
        gain = int(column == weight_is_larger) + int(loop in form.batch)
        part, rest, alone = -(-extent // parts), 0, 0     # alone: what the rest takes
        if loop == form.column:
            rest = extent % width
            if rest and not peels:
                continue
            extent, alone = extent - rest, rest
            part = -(-extent // parts)
            part = part if part % width == 0 and extent % part == 0 else width
        elif loop == form.row:
            if extent % part and peels:
                part = extent // parts
                part -= part % rows if whole_tiles else 0
                rest = extent % part if part else 0
                extent, alone = extent - rest, max(rest, READ_ONCE)
            if not part or extent % part or (whole_tiles and part % rows):
                continue
        count = -(-extent // part)
        rounds = -(-count // parts)
        if count > 1:
            yield (extent + rest) / ((part * rounds + alone) * parts), gain, loop, part


def _size(form: ContractionForm, loops: tuple[int, ...]) -> int:
    """The elements of the operand with these loops; overlap of windows is ignored."""
    return prod(form.extents[loop] or TYPICAL for loop in (*loops, *form.reductions) if loop not in form.filters or loops == form.columns)
