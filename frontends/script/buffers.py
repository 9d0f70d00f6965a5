"""Buffers of a kernel's script: elements read and written in the script's types."""

from dataclasses import dataclass
from typing import Any

from ...dialects.tir.loops import index
from ...mlir import arith, ir, memref
from .source import Problem
from .types import memory_type
from .values import Scalar, as_index, cast, compare, constant, number_of

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Buffer:
    """``value``: a memref; ``dtype``: the script's."""

    value: ir.Value
    dtype: str
    name: str

    @property
    def rank(self) -> int:
        return self.value.type.rank

    def size(self, axis: int) -> Any:
        """A size: an int, or a value."""
        size = self.value.type.shape[axis]
        return size if size != DYNAMIC else Scalar(memref.DimOp(self.value, index(axis)).result, "index")

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.size(axis) for axis in range(self.rank))

    def load(self, indices: list[Any]) -> Scalar:
        loaded = memref.LoadOp(self.value, self.indices(indices)).result
        if self.dtype == "bool":
            return compare("!=", Scalar(loaded, "int8"), 0)
        return Scalar(loaded, self.dtype)

    def store(self, x: Any, indices: list[Any]) -> None:
        x = cast(x, self.dtype) if isinstance(x, Scalar) else constant(x, self.dtype)
        value = arith.ExtUIOp(memory_type("bool"), x.value).result if self.dtype == "bool" else x.value
        memref.StoreOp(value, self.value, self.indices(indices))

    def indices(self, indices: list[Any]) -> list[ir.Value]:
        if len(indices) != self.rank:
            raise Problem(f"'{self.name}' has {self.rank} dimensions, and {len(indices)} indices are given")
        for axis, i in enumerate(indices):
            number = i if isinstance(i, int) else number_of(i) if isinstance(i, Scalar) else None
            size = self.value.type.shape[axis]
            if number is not None and (number < 0 or (size != DYNAMIC and number >= size)):
                raise Problem(f"the index {number} is outside of '{self.name}', whose size there is {'?' if size == DYNAMIC else size}")
        return [as_index(i) for i in indices]
