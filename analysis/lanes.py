"""How many steps of a loop can become one vector."""
from legato.dialects.tir.loops import ForOp

MOST_LANES = 64


class NotVectorizable(Exception):
    """Why a loop stays a loop of scalars."""


def lanes_of(loop: ForOp) -> int:
    """How many steps of the loop become one vector."""
    extent = loop.extent
    if extent is None:
        raise NotVectorizable("its extent is not known")
    return next((n for n in range(min(extent, MOST_LANES), 0, -1) if extent % n == 0), 1)
