"""The number of iterations of a loop that one vector can hold."""
from legato.dialects.tir.loops import ForOp

MOST_LANES = 64


class NotVectorizable(Exception):
    """The reason why a loop stays scalar."""


def lanes_of(loop: ForOp, most: int = MOST_LANES) -> int:
    """The number of iterations per vector: the largest divisor of the extent up to ``most``. NotVectorizable if the extent is not
    constant."""
    extent = loop.extent
    if extent is None:
        raise NotVectorizable("its extent is not known")
    return next((n for n in range(min(extent, most), 0, -1) if extent % n == 0), 1)
