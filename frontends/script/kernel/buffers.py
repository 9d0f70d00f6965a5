"""Buffers of a kernel, whose elements are loaded and stored in the script's types."""

from dataclasses import dataclass
from typing import Any

from legato.analysis.bounds import outside
from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, memref
from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.values import Scalar, as_index, cast, constant, nonzero, number_of
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import FLOAT8, memory_type, value_type

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Buffer:
    """A memref with its name and element type in the script (``bool`` where the memref has bytes)."""

    value: ir.Value
    dtype: str
    name: str

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.value.type.rank

    def size(self, axis: int) -> Any:
        """The size of a dimension: an int, or a value of type index."""
        size = self.value.type.shape[axis]
        return size if size != DYNAMIC else Scalar(memref.DimOp(self.value, index(axis)).result, "index")

    def known_size(self, axis: int) -> int | None:
        """The size of a dimension where it is a number, else None."""
        size = self.value.type.shape[axis]
        return size if size != DYNAMIC else None

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of all dimensions."""
        return tuple(self.size(axis) for axis in range(self.rank))

    def strides(self) -> tuple[Any, ...]:
        """The stride of each dimension, in elements: buffers are row-major without gaps."""
        return row_major(self.shape)

    def offset(self) -> Any:
        """The offset of the first element in the buffer's memory, in elements."""
        return 0

    def linear(self, indices: list[Any]) -> Any:
        """The offset of an element in memory, in elements."""
        self.check_bounds(indices)
        place: Any = 0
        for i, stride in zip(indices, self.strides()):
            place = binary("+", place, binary("*", i, stride))
        return place

    def __getitem__(self, indices: Any) -> Any:
        raise TypeError(f"elements of a buffer ('{self.name}') are read in the script itself, or in a macro, @T.macro")

    def load(self, indices: list[Any]) -> Scalar:
        """The element at indices. Misuse where they are outside."""
        loaded = memref.LoadOp(self.value, self.indices(indices)).result
        if self.dtype == "bool":
            return nonzero(Scalar(loaded, "int8"))
        if self.dtype in FLOAT8:
            loaded = arith.BitcastOp(value_type(self.dtype), loaded).result
        return Scalar(loaded, self.dtype)

    def store(self, x: Any, indices: list[Any]) -> None:
        """Stores a value, in the buffer's element type, at indices. Misuse where they are outside."""
        x = cast(x, self.dtype) if isinstance(x, Scalar) else constant(x, self.dtype)
        value, type_ = x.value, memory_type(self.dtype)
        if value.type != type_:     # a boolean, or a float of 8 bits
            value = (arith.ExtUIOp if self.dtype == "bool" else arith.BitcastOp)(type_, value).result
        memref.StoreOp(value, self.value, self.indices(indices))

    def indices(self, indices: list[Any]) -> list[ir.Value]:
        """The indices as SSA values of type index. Misuse where they are outside."""
        self.check_bounds(indices)
        return [as_index(i) for i in indices]

    def check_bounds(self, indices: list[Any]) -> None:
        """Misuse where the number of indices is not the rank, or an index is certain to be outside in some iteration of the loops
        around."""
        if len(indices) != self.rank:
            raise Misuse(f"'{self.name}' has {self.rank} dimension{'s' * (self.rank != 1)}, and {len(indices)} "
                          f"{'index is' if len(indices) == 1 else 'indices are'} given")
        for axis, i in enumerate(indices):
            number = i if isinstance(i, int) else number_of(i) if isinstance(i, Scalar) else None
            size = self.known_size(axis)
            if number is not None and (number < 0 or (size is not None and number >= size)):
                raise Misuse(f"the index {number} is outside of '{self.name}', whose size there is {'?' if size is None else size}")
        sizes = [self.known_size(axis) for axis in range(self.rank)]
        found = outside(sizes, [as_index(i) for i in indices], ir.InsertionPoint.current.block.owner.operation)
        if found is not None:
            axis, low, high = found
            raise Misuse(f"the indices of '{self.name}' on axis {axis} go from {low} to {high}, and its size there is {sizes[axis]}: "
                          "guard what lies beyond by T.if_then_else or T.where")


def row_major(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The strides, in elements, of a buffer without gaps."""
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step = binary("*", step, size)
    return tuple(strides)
