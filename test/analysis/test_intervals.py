"""Intervals against all values that lie in them: the arithmetic, and whole index computations."""
from itertools import product

import pytest

from legato.analysis.indices.intervals import Intervals, are_apart
from legato.core.ir_helpers import find
from legato.dialects import Module

NUMBERS = Intervals({})
BOUNDS = (None, -3, -1, 0, 1, 2, 4)
WIDE = range(-9, 10)       # in place of all integers
OPS = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "minimum": min, "maximum": max,
       "floor_divide": lambda a, b: a // b, "modulo": lambda a, b: a % b}


def members(interval):
    low, high = interval
    return [n for n in WIDE if (low is None or n >= low) and (high is None or n <= high)]


@pytest.mark.parametrize("name", OPS)
def test_arithmetic_is_sound(name):
    given = [(low, high) for low, high in product(BOUNDS, BOUNDS) if low is None or high is None or low <= high]
    divides, sharp = name in ("floor_divide", "modulo"), 0
    for a, b in product(given, given):
        low, high = getattr(NUMBERS, name)(a, b)
        values = [OPS[name](x, y) for x, y in product(members(a), members(b)) if y or not divides]
        assert all((low is None or low <= v) and (high is None or v <= high) for v in values), (a, b, low, high)
        sharp += bool(values) and None not in (*a, *b) and (low, high) == (min(values), max(values))
    assert sharp > 50      # and not all of them the interval of all integers


def test_the_channel_of_a_part_of_a_concatenation():
    """Of a number of a point of unknown extent: the remainder is bounded by its divisor, whatever comes before."""
    module = Module.parse("""
func.func @f(%point: index, %block: index) -> (index, index) {
  %c64 = arith.constant 64 : index
  %c196 = arith.constant 196 : index
  %c32 = arith.constant 32 : index
  %plane = arith.divui %point, %c196 : index
  %channel = arith.remui %plane, %c32 : index
  %moved = arith.addi %channel, %c64 : index
  return %channel, %moved : index, index
}""")
    function = find(module.operation, "func.func")[0].opview
    intervals = Intervals({function.arguments[0]: None})
    channel, moved = (intervals.of(value) for value in find(module.operation, "func.return")[0].operands)
    assert (channel, moved) == ((0, 31), (64, 95)) and are_apart(channel, moved) and are_apart(moved, channel)
    assert intervals.of(function.arguments[0]) == (0, None) and intervals.of(function.arguments[1]) == (None, None)
    assert not are_apart((0, 31), (31, 40)) and not are_apart((0, None), (5, 9)) and not are_apart((None, None), (5, 9))
