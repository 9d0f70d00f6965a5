"""Values of a graph whose elements are functions of bytes: what elementwise ops with constants make of these, and moves."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.passes.graph.functions import CONSTANT, rebuilt
from legato.passes.graph.integers.quantized import BYTES, VIEWS, Reader, dtype_of

MOVES = (*VIEWS, "relax.permute_dims", "relax.broadcast_to", "relax.tile", "relax.strided_slice", "relax.take", "relax.depth_to_space",
         "relax.space_to_depth")      # of their first operand's elements
POOLS = ("relax.max_pool1d", "relax.max_pool2d", "relax.max_pool3d")
CONCAT, PAD = "tensor.concat", "relax.pad"
LONGEST = 64    # of a chain of ops


@dataclass(frozen=True)
class TabulatedValue:
    """A value whose elements are functions of those of a tensor of bytes. ``table``: the results, by the bits of the byte; ``moved``
    builds the bytes, each where its result is, at the insertion point; ``source``: they, where no move is between; ``ops``: the names of
    the elementwise ops between, and ``joins``: whether one of them reads two functions of the bytes."""

    dtype: np.dtype
    table: np.ndarray
    moved: Callable[[], ir.Value]
    source: ir.Value | None = None
    ops: frozenset[str] = frozenset()
    joins: bool = False

    def is_identity(self) -> bool:
        """Whether the results are the bytes."""
        return self.table.dtype == self.dtype and np.array_equal(self.table, every_byte(self.dtype))

    def is_increasing(self) -> bool:
        """Whether greater bytes never have smaller results, nor NaN: the greatest result is that of the greatest byte."""
        results = self.table[np.argsort(every_byte(self.dtype), kind="stable")]
        return bool((results[1:] >= results[:-1]).all())


def every_byte(dtype: np.dtype) -> np.ndarray:
    """All numbers of a type of bytes, by their bits."""
    return np.arange(256, dtype=np.uint8).view(dtype)


def is_elementwise(op: ir.Operation | None) -> bool:
    """Whether an op has one result, of known rank, whose elements are functions of those of its operands and of nothing else."""
    cls = None if op is None else relax.op_class(op)
    if op is None or cls is None or not cls.ELEMENTWISE or len(op.results) != 1:
        return False
    return dims.UNKNOWN not in dims.dims(op.results[0].type) and not relax.has_symbols(op)


def scalar_step(op: ir.Operation | None, reader: Reader) -> tuple[int, list[np.ndarray]] | None:
    """Which operand an elementwise op computes its result from, element by element, and its other operands: single numbers, as arrays of
    rank 0. None for other ops."""
    if op is None or not is_elementwise(op):
        return None
    numbers = [number(operand, reader) for operand in op.operands]
    varying = [place for place, array in enumerate(numbers) if array is None]
    if len(varying) != 1 or not _has_shape_of(op.results[0], op.operands[varying[0]]):
        return None
    return varying[0], [array for array in numbers if array is not None]


def number(value: ir.Value, reader: Reader) -> np.ndarray | None:
    """The single element of a constant, or of a cast of one, as an array of rank 0; None for any other value."""
    op = defining_op(value)
    is_cast = op is not None and op.name == "relax.astype"
    source = defining_op(op.operands[0]) if op is not None and is_cast else op
    if source is None or source.name != CONSTANT or any(size != 1 for size in source.results[0].type.shape):
        return None
    array = present(reader.constants.array(source.results[0])).reshape(())
    return array if op is None or not is_cast else applied(op, [array])


def applied(op: ir.Operation, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The result of an elementwise op."""
    with np.errstate(all="ignore"):
        return relax.evaluate(op, arrays)[0]


class TabulatedValues:
    """The values of one graph that are functions of bytes: of the nearest ones, or of the farthest, through other bytes that are functions
    of them. The graph's ops must not be erased meanwhile."""

    def __init__(self, reader: Reader, farthest: bool = False):
        self.reader, self.farthest = reader, farthest
        self._found: dict[ir.Value, TabulatedValue | None] = {}

    def of_result(self, op: ir.Operation, depth: int = 0) -> TabulatedValue | None:
        """How an op's result is computed from bytes, by elementwise ops and moves; None if it is not."""
        if op.name == CONSTANT or depth > LONGEST:
            return None
        if op.name in (*MOVES, *POOLS, CONCAT, PAD):
            return None if dims.UNKNOWN in dims.dims(op.results[0].type) else self._of_move(op, depth)
        return self._of_elements(op, depth) if is_elementwise(op) else None

    def _of(self, value: ir.Value, depth: int) -> TabulatedValue | None:
        if value not in self._found:
            op, is_byte = defining_op(value), dtype_of(value) in BYTES
            found = self.of_result(op, depth + 1) if op is not None and (self.farthest or not is_byte) else None
            if is_byte and (found is None or found.source is None):
                found = TabulatedValue(dtype_of(value), every_byte(dtype_of(value)), lambda: value, value)
            self._found[value] = found
        return self._found[value]

    def _of_elements(self, op: ir.Operation, depth: int) -> TabulatedValue | None:
        """Of an elementwise op of numbers and of functions of the same bytes."""
        arrays: list[np.ndarray] = []
        found: list[TabulatedValue] = []
        for operand in op.operands:
            array = number(operand, self.reader)
            if array is None:
                given = self._of(operand, depth) if _has_shape_of(op.results[0], operand) else None
                if given is None:
                    return None
                found.append(given)
            arrays.append(found[-1].table if array is None else array)
        if not found or (len(found) > 1 and not _share_source(found)):
            return None
        ops = frozenset({op.name}).union(*(one.ops for one in found))
        return TabulatedValue(found[0].dtype, applied(op, arrays), found[0].moved, found[0].source, ops,
                              len(found) > 1 or found[0].joins)

    def _of_move(self, op: ir.Operation, depth: int) -> TabulatedValue | None:
        count = len(op.operands) if op.name == CONCAT else 1
        found: list[TabulatedValue] = []
        for operand in list(op.operands)[:count]:
            given = self._of(operand, depth)
            if given is None or (found and (given.dtype != found[0].dtype or not _same(given.table, found[0].table))):
                return None
            found.append(given)
        first, others = found[0], list(op.operands)[count:]
        if op.name in POOLS and not first.is_increasing():
            return None
        if op.name == PAD:
            return self._padded(op, first)
        if op.name == CONCAT:
            axis = relax.attributes_of(op)["axis"]
            return TabulatedValue(first.dtype, first.table, _once(lambda: relax.concat([one.moved() for one in found], axis=axis)))
        return TabulatedValue(first.dtype, first.table, _once(lambda: rebuilt(op, [first.moved(), *others])))

    def _padded(self, op: ir.Operation, given: TabulatedValue) -> TabulatedValue | None:
        """Padded with the byte whose result is what is padded with, if there is one."""
        attributes = relax.attributes_of(op)
        if attributes["mode"] == "constant":
            places = np.flatnonzero(given.table == np.float64(attributes["value"]))
            if not places.size:
                return None
            attributes["value"] = float(every_byte(given.dtype)[places[0]])
        pad = present(relax.op_class(op))
        return TabulatedValue(given.dtype, given.table, _once(lambda: pad.build(given.moved(), **attributes)))


def _once(build: Callable[[], ir.Value]) -> Callable[[], ir.Value]:
    """Builds a value once in front of an op, however many ways lead to it: chains of concatenations of slices have a power of two."""
    last: tuple[ir.Operation, ir.Value] | None = None

    def built() -> ir.Value:
        nonlocal last
        at = present(ir.InsertionPoint.current.ref_operation)
        if last is None or last[0] != at:
            last = (at, build())
        return last[1]

    return built


def _share_source(functions: Sequence[TabulatedValue]) -> bool:
    """Whether functions are of the same bytes, where these are."""
    sources = {one.source for one in functions}
    return len(sources) == 1 and None not in sources


def _has_shape_of(value: ir.Value, other: ir.Value) -> bool:
    return list(dims.dims(value.type)) == list(dims.dims(other.type))


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two tables have the same results."""
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
