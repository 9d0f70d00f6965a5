"""What schedules and rules want to know of a GPU."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """``approx``: whether the device's approximating instructions may be used; ``warp``: threads that run together; ``block``: threads in a
    block, by default."""

    approx: bool = False
    warp: int = 32
    block: int = 128
