"""What ways of topk of elements of 64 bits take for a row in random order, in nanoseconds of one core."""
from math import log

from legato.targets.cpu.vectorizer import next_power_of_two

SORTED = 64         # an element that is sorted by halves, by the lanes of a vector
IN_HEAP = 100       # an element that enters a heap
IN_REGISTERS = 0.5  # an element that enters vectors in order, by the elements that are wanted


def sorting(size: int, lanes: int) -> float:
    """Sorting a row by halves."""
    return SORTED / lanes * next_power_of_two(size)


def by_heap(size: int, count: int) -> float:
    """A heap of the best so far."""
    return IN_HEAP * entering(size, count)


def by_registers(size: int, count: int) -> float:
    """Vectors of the best so far, in order."""
    return IN_REGISTERS * count * entering(size, count)


def entering(size: int, count: int) -> float:
    """The number of elements that are among the best so far when it is their turn."""
    return count * (1 + log(max(size, count) / count))
