"""Selection of the loop of a nest that is split among threads."""
from collections.abc import Collection, Mapping, Sequence
from math import prod

from legato.analysis.structured import StructuredOp

WORTH_IT = 1 << 16   # elements from which on a parallel region pays, most of all where several threads wrote them
LEAST_PART = 1 << 15 # elements of a part of a loop of unknown extent
PIECES = 4           # parts for each thread, which takes the next one when it is through
HEAVY = 4            # weight of an element computed by a math function
TYPICAL = 512        # assumed extent of a dynamic loop


def work_of(nests: Sequence[StructuredOp]) -> int:
    """The number of elements of the largest nest, weighted by ``HEAVY`` where it computes math functions."""
    return max(prod(e if e >= 0 else TYPICAL for e in n.extents) * (HEAVY if any(name.startswith("math.") for name in n.body_names) else 1)
               for n in nests)


def shared_part(extents: Sequence[int], loops: Collection[int], inner: int | None, grain: int, threads: int, work: int,
                blocks: Mapping[int, int] = {}) -> tuple[int, int] | None:
    """The loop to split among threads, and the size of a part (0: its extent divided by the threads at run time); None for one thread.

    ``loops``: the parallel loops that may be split; ``inner`` is vectorized, by pieces of ``grain``; ``blocks``: of loops of which several
    elements are computed at once, their number. Takes the outermost loop that keeps all threads busy, and the vectorized one only where no
    other does. The first of several loops, of unknown extent, is often a batch of one: another one is split that has enough work for it, or
    of several unknown ones the last.
    """
    if threads < 2:
        return None
    outer = [loop for loop in range(len(extents)) if loop in loops and loop != inner]
    unknown = [loop for loop, extent in enumerate(extents) if extent < 0]
    each = max(work // TYPICAL ** len(unknown), 1)      # the work of one step of all unknown loops
    part, pays = 0, work >= WORTH_IT
    if len(unknown) == 1:       # in parts that pay: what is one part is not given to other threads
        part = -(-LEAST_PART // each)
    elif not pays:
        return None
    shares = {loop: size for loop in outer if extents[loop] >= 0 and pays
              if (size := _equal_part(extents[loop], blocks.get(loop, 1), threads)) is not None}
    first = next((loop for loop in outer if loop in shares or extents[loop] < 0), None)
    if first is not None:
        last = next((loop for loop in reversed(outer) if extents[loop] < 0), first)
        if shares and (first in shares or each >= WORTH_IT or (len(unknown) > 1 and last == outer[0])):
            return next(iter(shares.items()))
        block = blocks.get(last, 1)
        size = -(-LEAST_PART // each) if last in blocks else part
        return last, -(-size // block) * block
    if inner is None or inner not in loops:
        return None
    if extents[inner] < 0:
        return inner, -(-part // grain) * grain
    if pays and extents[inner] >= threads * grain:
        part = -(-extents[inner] // (threads if extents[inner] < PIECES * threads * grain else PIECES * threads))
        return inner, -(-part // grain) * grain
    return None


def _equal_part(extent: int, block: int, threads: int) -> int | None:
    """The size of the parts of a loop of known extent, of whole blocks; None where they keep not all threads busy."""
    pieces = -(-extent // block)
    if (pieces % threads or extent % block) and pieces < 8 * threads:
        return None
    return -(-pieces // (PIECES * threads if pieces >= 8 * PIECES * threads else threads)) * block
