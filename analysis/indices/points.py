"""Index arithmetic at many points at once: all threads of a block and all iterations of some loops."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from legato.analysis.indices.arithmetic import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL, Bound, Evaluator, Numbers, limits
from legato.analysis.indices.conditions import conjuncts
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp, constant_of

MOST_POINTS = 1 << 21
PREDICATES = {EQUAL: np.equal, NOT_EQUAL: np.not_equal, LESS: np.less, LESS_EQUAL: np.less_equal, GREATER: np.greater,
              GREATER_EQUAL: np.greater_equal}
BITWISE = {"arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.shli": np.left_shift,
           "arith.shrsi": np.right_shift}
UNSIGNED = {"arith.divui": np.floor_divide, "arith.remui": np.remainder, "arith.minui": np.minimum, "arith.maxui": np.maximum,
            "arith.shrui": np.right_shift, "arith.ceildivui": lambda a, b: a // b + (a % b != 0).astype(np.uint64),
            "arith.extui": lambda a, _: a}


@dataclass(frozen=True, eq=False)
class Sample:
    """``sum of symbol * factor + array``: the array has a value for each point; symbols are values that are equal at all points."""

    symbols: dict[ir.Value, int]
    array: np.ndarray

    def plus(self, other: "Sample", sign: int = 1) -> "Sample":
        """The sum with ``sign * other``."""
        symbols = dict(self.symbols)
        for value, factor in other.symbols.items():
            symbols[value] = symbols.get(value, 0) + sign * factor
        return Sample({v: f for v, f in symbols.items() if f}, self.array + sign * other.array)

    def times(self, factor: int) -> "Sample":
        """The sample multiplied by an int."""
        return Sample({v: f * factor for v, f in self.symbols.items() if factor}, self.array * factor)


class Points(Numbers[Sample]):
    """All combinations of the values of some variables: each an IR value with its first value and the number of its values.

    ``uniform(value)``: whether a value is equal at all points that differ in variables only; such a value becomes a symbol where it is not
    known.
    """

    def __init__(self, ranges: Sequence[tuple[ir.Value, int, int]], uniform: Callable[[ir.Value], bool]) -> None:
        self.uniform = uniform
        self.shape = [extent for _, _, extent in ranges]
        self.values: dict[ir.Value, np.ndarray] = {}
        for number, (value, low, extent) in enumerate(ranges):
            shape = [1] * len(ranges)
            shape[number] = extent
            self.values[value] = np.arange(low, low + extent, dtype=np.int64).reshape(shape)
        self._evaluator = Evaluator(self)

    @property
    def count(self) -> int:
        """The number of points."""
        return prod(self.shape)

    def flat(self, array: np.ndarray) -> np.ndarray:
        """The value at each point, as one dimension."""
        return np.broadcast_to(array, self.shape).reshape(-1)

    def evaluate(self, value: ir.Value) -> Sample | None:
        """The value at all points; None where it is not known."""
        return self._evaluator.value(value)

    def mask(self, tests: Sequence[tuple[ir.Value, bool]]) -> tuple[np.ndarray, bool]:
        """The points at which conditions have the values that they have to have, and whether all conditions are known."""
        mask, exact = np.ones(self.shape, bool), True
        for test, wanted in tests:
            for part in conjuncts(test) if wanted else [test]:
                sample = self.evaluate(part)
                if sample is None or sample.symbols:
                    exact = False
                else:
                    mask = mask & ((sample.array != 0) == wanted)
        return mask, exact

    # --- the arithmetic of samples ---

    def given(self, value: ir.Value) -> Sample | None:
        return Sample({}, self.values[value]) if value in self.values else None

    def opaque(self, value: ir.Value) -> Sample | None:
        return Sample({value: 1}, np.zeros((), np.int64)) if self.uniform(value) and not self._varies(value) else None

    def constant(self, number: int) -> Sample:
        return Sample({}, np.asarray(number, np.int64))

    def reach(self, a: Sample) -> tuple[Bound, Bound]:
        return (None, None) if a.symbols or not a.array.size else (int(a.array.min()), int(a.array.max()))

    def is_natural(self, a: Sample) -> bool:
        return not a.symbols and bool((a.array >= 0).all())

    def add(self, a: Sample, b: Sample) -> Sample:
        return a.plus(b)

    def subtract(self, a: Sample, b: Sample) -> Sample:
        return a.plus(b, -1)

    def multiply(self, a: Sample, b: Sample) -> Sample | None:
        for one, other in ((a, b), (b, a)):
            if not other.symbols and other.array.size == 1:
                return one.times(int(other.array.reshape(-1)[0]))
        return self._pointwise(np.multiply, a, b)

    def floor_divide(self, a: Sample, b: Sample) -> Sample | None:
        return self._pointwise(lambda x, y: x // _not_0(y), a, b)

    def ceil_divide(self, a: Sample, b: Sample) -> Sample | None:
        return self._pointwise(lambda x, y: -(-x // _not_0(y)), a, b)

    def modulo(self, a: Sample, b: Sample) -> Sample | None:
        return self._pointwise(lambda x, y: x % _not_0(y), a, b)

    def minimum(self, a: Sample, b: Sample) -> Sample | None:
        return self._pointwise(np.minimum, a, b)

    def maximum(self, a: Sample, b: Sample) -> Sample | None:
        return self._pointwise(np.maximum, a, b)

    def select(self, condition: Sample, a: Sample, b: Sample) -> Sample | None:
        if condition.symbols or a.symbols != b.symbols:
            return None
        return Sample(a.symbols, np.where(condition.array != 0, a.array, b.array))

    def compare(self, predicate: int, a: Sample, b: Sample) -> Sample | None:
        difference = a.plus(b, -1)
        return None if difference.symbols else Sample({}, PREDICATES[predicate](difference.array, 0).astype(np.int64))

    def truncated(self, name: str, a: Sample, b: Sample) -> Sample | None:
        def remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            return np.fmod(x, _not_0(y))

        if name == "arith.remsi":
            return self._pointwise(remainder, a, b)
        return self._pointwise(lambda x, y: (x - remainder(x, y)) // _not_0(y), a, b)

    def bitwise(self, name: str, a: Sample, b: Sample, bits: int) -> Sample | None:
        if name in BITWISE:
            found = self._pointwise(BITWISE[name], a, b)
        else:
            mask = np.uint64((1 << bits) - 1)
            found = self._pointwise(lambda x, y: UNSIGNED[name](x.astype(np.uint64) & mask, _not_0(y.astype(np.uint64) & mask)
                                                                if name in ("arith.divui", "arith.remui", "arith.ceildivui")
                                                                else y.astype(np.uint64) & mask).astype(np.int64), a, b)
        return found if found is None or name == "arith.extui" else self.wrapped(found, bits)

    def wrapped(self, a: Sample, bits: int) -> Sample | None:
        if a.symbols or bits >= 64:
            return a if bits >= 64 else None
        least, _ = limits(bits)
        return Sample({}, (a.array - least) % (1 << bits) + least)

    def known(self, a: Sample) -> int | None:
        low, high = self.reach(a)
        return low if low == high else None

    def _pointwise(self, compute: Callable[[np.ndarray, np.ndarray], np.ndarray], a: Sample, b: Sample) -> Sample | None:
        return None if a.symbols or b.symbols else Sample({}, compute(a.array, b.array))

    def _varies(self, value: ir.Value) -> bool:
        """Whether a value is computed from a variable."""
        todo, seen = [value], set()
        while todo:
            one = todo.pop()
            if one in self.values:
                return True
            if one not in seen and not isinstance(one.owner, ir.Block):
                todo += one.owner.operation.operands
            seen.add(one)
        return False


def _not_0(divisor: np.ndarray) -> np.ndarray:
    """Divisors with 0 replaced by 1: there the division is not executed."""
    return np.where(divisor == 0, np.ones((), divisor.dtype), divisor)


def can_count(loop: ForOp) -> bool:
    """Whether the bounds of a loop are constant."""
    return loop.extent is not None and constant_of(loop.bounds[0]) is not None
