"""Which loop of a nest several threads share, and in what parts."""
from collections.abc import Collection, Sequence
from math import prod

from legato.analysis.structured import StructuredOp

WORTH_IT = 1 << 17   # elements below which a parallel region costs more than it gains
HEAVY = 4            # an element of a function counts for as many
TYPICAL = 512        # what a size that is known at run time only is taken for


def work_of(nests: Sequence[StructuredOp]) -> int:
    """How many elements the largest of some nests goes through, heavy ones counted more."""
    return max(prod(e if e >= 0 else TYPICAL for e in n.extents) * (HEAVY if any(name.startswith("math.") for name in n.body_names) else 1)
               for n in nests)


def shared_part(extents: Sequence[int], loops: Collection[int], inner: int, grain: int, threads: int, work: int) -> tuple[int, int] | None:
    """The loop to cut among threads and the size of a part (0: its size divided by the threads, known at run time); None for one thread.

    ``loops``: which may be cut, all parallel; ``inner`` is vectorized, by pieces of ``grain``. The outermost that keeps all threads busy is
    taken, and the vectorized one only where there is no other.
    """
    if threads < 2 or work < WORTH_IT:
        return None
    for loop in [l for l in range(len(extents)) if l in loops and l != inner]:
        extent = extents[loop]
        if extent < 0:
            return loop, 0
        if extent % threads == 0 or extent >= 8 * threads:
            return loop, -(-extent // threads)
    if inner in loops and (extents[inner] < 0 or extents[inner] >= threads * grain):
        part = -(-extents[inner] // threads)
        return inner, 0 if extents[inner] < 0 else -(-part // grain) * grain
    return None
