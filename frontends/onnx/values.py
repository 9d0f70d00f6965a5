"""Values of names in an ONNX graph during import: IR values, constants, symbolic sizes."""
import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes
import numpy as np

from legato.core.dtypes import mlir_type
from legato.core.mlir import arith, func, ir, tensor
from legato.core.weights import WeightStore
from legato.dialects import relax
from legato.dialects.relax import dims as sizes
from legato.dialects.relax.dims import Dim, Size
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Refused

KNOWN_ELEMENTS = 4096  # constants up to this size can be folded
MADE_ELEMENTS = 1 << 24  # limit for constants created by the importer rather than found in the model
DENSE_BYTES = 1024  # scalars and vectors up to this size are stored in the IR, other constants in the weight store

# integers of fewer than 8 bits, and the type of 8 bits that has their numbers
WIDENED = {np.dtype(getattr(ml_dtypes, name)): np.dtype(wide)
           for name, wide in (("int4", np.int8), ("int2", np.int8), ("uint4", np.uint8), ("uint2", np.uint8))}


@dataclass(frozen=True)
class Emitter:
    """Where values are built: the function, whose arguments define symbols, and the weight store. ``symbols``: of values that are sizes,
    by value and block."""

    function: func.FuncOp
    weights: WeightStore
    symbols: dict[tuple[ir.Value, ir.Block], Dim] = field(default_factory=dict)

    def outside(self) -> ir.InsertionPoint:
        """The insertion point; inside of a region that in front of its op in the function, which dominates all that reads it later."""
        point = ir.InsertionPoint.current
        op = point.block.owner
        if op.operation == self.function.operation:
            return point
        while op.operation.parent != self.function.operation:
            op = op.operation.parent
        return ir.InsertionPoint(op.operation)


class Value:
    """A tensor: its element type, its sizes, and its elements if known.

    ``dtype`` is a numpy dtype, ``dims`` a tuple of ints, ``Dim`` and ``UNKNOWN``.
    """

    dtype: np.dtype
    dims: tuple[Size, ...]

    def known(self) -> np.ndarray | None:
        """The elements if they are few and known at import, else None. Symbolic elements are ``Dim`` in an array of objects."""
        return None

    def emit(self, emitter: Emitter) -> ir.Value:
        """The tensor in the IR, built at the insertion point when first requested."""
        raise NotImplementedError


class ComputedValue(Value):
    """The result of an op, or an argument of the function."""

    def __init__(self, value: ir.Value) -> None:
        self.value = value
        self.dims, self.dtype = TensorType.of(value.type)

    def emit(self, emitter: Emitter) -> ir.Value:
        return self.value


class SizeEquality(ComputedValue):
    """A boolean: whether two sizes are equal, which each call says."""

    def __init__(self, value: ir.Value, sizes: tuple[Size, Size]) -> None:
        super().__init__(value)
        self.sizes = sizes


class ConstantValue(Value):
    """A tensor known at import. It gets an op and a weight only when ``emit`` is called."""

    def __init__(self, name: str, array: np.ndarray, read: Future[None] | None = None) -> None:
        """``name`` becomes the weight's key. ``read``: what gives the array its elements."""
        self.name = name
        self.dtype, self.dims, self.size = array.dtype, array.shape, array.size
        self._array, self._read = array, read
        self._value: ir.Value | None = None

    @property
    def array(self) -> np.ndarray:
        """The elements."""
        if self._read is not None:
            self._read.result()
        return self._array

    def known(self) -> np.ndarray | None:
        return self.array if self.size <= KNOWN_ELEMENTS else None

    def emit(self, emitter: Emitter) -> ir.Value:
        if self._value is None:
            with ir.Location.name(self.name), emitter.outside():
                if self.size == 1 or (len(self.dims) <= 1 and self.size * self.dtype.itemsize <= DENSE_BYTES):
                    self._value = relax.constant(np.array(self.array))
                else:
                    self._value = relax.weight(self.store(emitter.weights), self.dtype, self.dims)
        return self._value

    def store(self, weights: WeightStore) -> str:
        """Adds the elements to a weight store. Returns the key."""
        return weights.add(self.name, self._array, self._read)


class FileConstant(ConstantValue):
    """A constant whose elements are in a file. They are read only for folding; the weight store memory-maps them."""

    def __init__(self, name: str, path: Path, offset: int, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """``offset`` in bytes."""
        self.name, self.dtype, self.dims, self.size = name, dtype, shape, math.prod(shape)
        self._path, self._offset, self._shape = path, offset, shape
        self._value = None

    @property
    def array(self) -> np.ndarray:
        """The elements, read from the file at each call."""
        return np.fromfile(self._path, self.dtype, self.size, offset=self._offset).reshape(self._shape)

    def store(self, weights: WeightStore) -> str:
        return weights.add_file(self.name, self._path, self._offset, self.dtype, self.dims)


class Symbolic(Value):
    """A small integer tensor with symbolic sizes among its elements: the result of ``Shape``, or computed from it."""

    def __init__(self, array: np.ndarray, dtype: np.dtype) -> None:
        """``array`` has objects: ints and ``Dim``."""
        self.array, self.dtype, self.dims = array, np.dtype(dtype), array.shape
        self._value: ir.Value | None = None

    def known(self) -> np.ndarray:
        return self.array

    def emit(self, emitter: Emitter) -> ir.Value:
        if self._value is None:
            names = {name for size in self.array.ravel().tolist() for name in sizes.symbols(size)}
            with emitter.outside():
                if all(sizes.is_defined(name, emitter.function) for name in names):
                    self._value = self._build(emitter)
        return self._build(emitter) if self._value is None else self._value     # of sizes of a step or branch: there, each time

    def _build(self, emitter: Emitter) -> ir.Value:
        element_type = mlir_type(self.dtype)
        if not isinstance(element_type, ir.IntegerType):
            raise Refused(f"a size known only at run time is wanted as {element_type}")
        values = [sizes.materialize(size, emitter.function) for size in self.array.ravel().tolist()]
        signless = ir.IntegerType.get_signless(element_type.width)
        elements = [arith.IndexCastOp(signless, value).result for value in values]
        built = tensor.FromElementsOp(ir.RankedTensorType.get(self.dims, signless), elements).result
        return built if element_type.is_signless else relax.astype(built, dtype=self.dtype)


class Poisoned(Value):
    """The result of a node that could not be imported. Nodes that read it are skipped without a problem of their own."""

    dtype, dims = np.dtype(np.float32), ()


POISON = Poisoned()


def elements(array: np.ndarray, dtype, name: str) -> Value:
    """A value from folded elements: a constant, or symbolic if some of them are ``Dim``."""
    array = np.asarray(array)
    if array.dtype != object:
        return ConstantValue(name, array.astype(dtype, copy=False))
    if any(isinstance(element, Dim) for element in array.flat):
        return Symbolic(array, dtype)
    return ConstantValue(name, array.astype(dtype))


def size_array(values: Sequence[Size]) -> np.ndarray:
    """Sizes as a vector: int64, or objects if one of them is not an int."""
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array
