"""Index arithmetic, evaluated for all threads of a block and all steps of loops at once."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from legato.core.ir_helpers import ancestors
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp, constant_of
from legato.passes.gpu.threads.launch import Axis

MOST_POINTS = 1 << 21  # threads times steps that are looked at
PREDICATES = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.less, np.less_equal, np.greater,
              np.greater_equal)  # in the order of arith.cmpi's numbers


def _truncated(divide: Callable) -> Callable:
    return lambda a, b: divide(np.where(b == 0, 1, a), np.where(b == 0, 1, b))


OPERATIONS: dict[str, Callable] = {
    "arith.muli": np.multiply, "arith.floordivsi": _truncated(np.floor_divide),
    "arith.divui": _truncated(np.floor_divide), "arith.divsi": _truncated(lambda a, b: np.trunc(a / b).astype(np.int64)),
    "arith.ceildivsi": _truncated(lambda a, b: -(-a // b)), "arith.remui": _truncated(np.mod), "arith.remsi": _truncated(np.fmod),
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum, "arith.minui": np.minimum, "arith.maxui": np.maximum,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift, "arith.shrui": np.right_shift, "arith.select": np.where,
}
CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")


@dataclass(frozen=True)
class Form:
    """``sum of symbol * factor + array``: the symbols have the same value for all threads; the array has a value for each point."""

    symbols: dict[ir.Value, int]
    array: np.ndarray

    def plus(self, other: "Form", sign: int = 1) -> "Form":
        symbols = dict(self.symbols)
        for value, factor in other.symbols.items():
            symbols[value] = symbols.get(value, 0) + sign * factor
        return Form({v: f for v, f in symbols.items() if f}, self.array + sign * other.array)

    def times(self, factor: int) -> "Form":
        return Form({v: f * factor for v, f in self.symbols.items() if factor}, self.array * factor)


class Points:
    """All combinations of the threads of a block and the steps of some loops, of known extent. ``uniform(value)``: whether a value is one
    for all threads; what it cannot say anything else of becomes a symbol."""

    def __init__(self, threads: Sequence[Axis], steps: Sequence[ForOp], uniform: Callable[[ir.Value], bool]):
        self.uniform = uniform
        ranges: list[tuple[ir.Value, int, int]] = [(a.id, 0, a.extent) for a in threads]
        ranges += [(loop.variable, constant_of(loop.bounds[0]) or 0, loop.extent or 0) for loop in steps]
        self.shape = [extent for _, _, extent in ranges]
        self.values: dict[ir.Value, np.ndarray] = {}
        for number, (value, low, extent) in enumerate(ranges):
            shape = [1] * len(ranges)
            shape[number] = extent
            self.values[value] = np.arange(low, low + extent, dtype=np.int64).reshape(shape)
        self.known: dict[ir.Value, Form | None] = {}
        thread, stride = np.zeros([1] * len(ranges), np.int64), 1
        for axis in threads:
            thread = thread + self.values[axis.id] * stride
            stride *= axis.extent
        self.thread = thread

    @property
    def count(self) -> int:
        return prod(self.shape)

    def flat(self, array: np.ndarray) -> np.ndarray:
        return np.broadcast_to(array, self.shape).reshape(-1)

    def evaluate(self, value: ir.Value) -> Form | None:
        """The value at all points; None where it is not known."""
        if value not in self.known:
            self.known[value] = self._evaluate(value)
        return self.known[value]

    def _evaluate(self, value: ir.Value) -> Form | None:
        if value in self.values:
            return Form({}, self.values[value])
        number = constant_of(value)
        if number is not None:
            return Form({}, np.int64(number) if not isinstance(number, bool) else np.int64(int(number)))
        if not isinstance(value.owner, ir.Block):
            made = self._operation(value.owner.operation)
            if made is not None:
                return made
        return Form({value: 1}, np.int64(0)) if self.uniform(value) and not self._enumerated(value) else None

    def mask(self, tests: Sequence[tuple[ir.Value, bool]]) -> tuple[np.ndarray, bool]:
        """At which points conditions hold; and whether all of them could be looked at."""
        mask, exact = np.ones(self.shape, bool), True
        for test, wanted in tests:
            for part in conjuncts(test) if wanted else [test]:
                form = self.evaluate(part)
                if form is None or form.symbols:
                    exact = False
                else:
                    mask = mask & ((form.array != 0) == wanted)
        return mask, exact

    def _operation(self, op: ir.Operation) -> Form | None:
        if op.name not in OPERATIONS and op.name not in CASTS and op.name not in ("arith.addi", "arith.subi", "arith.cmpi"):
            return None
        forms = [self.evaluate(v) for v in op.operands]
        if any(f is None for f in forms):
            return None
        if op.name in CASTS:
            return forms[0]
        if op.name in ("arith.addi", "arith.subi"):
            return forms[0].plus(forms[1], 1 if op.name == "arith.addi" else -1)
        if op.name == "arith.muli":
            for a, b in (forms, reversed(forms)):
                if not a.symbols and a.array.size == 1:
                    return b.times(int(a.array.reshape(-1)[0]) if a.array.ndim else int(a.array))
        if op.name == "arith.cmpi":
            difference = forms[0].plus(forms[1], -1)
            unsigned = op.attributes["predicate"].value > 5
            if difference.symbols or (unsigned and any(f.symbols or (f.array < 0).any() for f in forms)):
                return None
            return Form({}, PREDICATES[op.attributes["predicate"].value](difference.array, 0).astype(np.int64))
        if any(f.symbols for f in forms):
            return None
        if op.name == "arith.select":
            return Form({}, np.where(forms[0].array != 0, forms[1].array, forms[2].array))
        return Form({}, OPERATIONS[op.name](*(f.array for f in forms)))

    def _enumerated(self, value: ir.Value) -> bool:
        """Whether a value is computed from one that differs between the points."""
        todo, seen = [value], set()
        while todo:
            one = todo.pop()
            if one in self.values:
                return True
            if one not in seen and not isinstance(one.owner, ir.Block):
                todo += one.owner.operation.operands
            seen.add(one)
        return False


def can_count(loop: ForOp) -> bool:
    """Whether the steps of a loop are known."""
    return loop.extent is not None and constant_of(loop.bounds[0]) is not None


def conditions(op: ir.Operation, root: ir.Operation) -> list[tuple[ir.Value, bool]]:
    """The conditions around an op, up to the op ``root``, each with what it has to be."""
    around = ancestors(op)
    chain = [op, *around[:around.index(root)]]
    return [(outer.operands[0], inner.block == outer.regions[0].blocks[0])
            for inner, outer in pairwise(chain) if outer.name == "scf.if"]


def conjuncts(test: ir.Value) -> list[ir.Value]:
    """The conditions that all hold where a condition holds."""
    owner = test.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "arith.andi":
        return [c for operand in owner.operation.operands for c in conjuncts(operand)]
    return [test]


def as_keys(rows: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Rows of several columns as one number each, the same in all tables."""
    if not rows[0]:
        raise ValueError("no columns")
    totals = [np.zeros(len(table[0]), np.int64) for table in rows]
    for columns in zip(*rows):
        low = min((int(c.min()) for c in columns if c.size), default=0)
        width = max((int(c.max()) for c in columns if c.size), default=0) - low + 1
        totals = [t * width + (c - low) for t, c in zip(totals, columns)]
    return totals


