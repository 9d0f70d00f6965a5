"""The description of a GPU for schedules and rules."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """``approx``: whether approximating instructions may be used; ``warp``: threads that run in lockstep and exchange values by shuffles
    (1: none do); ``block``: threads in a block, by default; ``shared_bytes``: the most that a block's shared buffers can take."""

    approx: bool = False
    warp: int = 32
    block: int = 128
    shared_bytes: int = 48 << 10
