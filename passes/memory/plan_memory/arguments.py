"""Memrefs as bare pointers: the types of main's arguments, and the reconstruction of their shapes."""
from collections.abc import Mapping, Sequence

from legato.core.dtypes import element_bytes
from legato.core.mlir import ir, memref
from legato.dialects.relax.dims import Size, materialize, product
from legato.dialects.relax.requirements import Room
from legato.passes.memory.plan_memory.room import room, rooms

DYNAMIC = ir.ShapedType.get_dynamic_size()


class SizeValues:
    """Sizes as ``index`` values at the beginning of a function: each, and what several are computed from, computed once."""

    def __init__(self, symbols: Mapping[str, ir.Value], before: ir.Operation) -> None:
        self._symbols = symbols
        self._before = before
        self._made: dict[object, ir.Value] = {}     # by size, room, and what sizes are computed from

    def __call__(self, size: Size | Room) -> ir.Value:
        if size not in self._made:
            with ir.InsertionPoint(self._before), ir.Location.unknown():
                self._made[size] = room(size, self._symbols) if isinstance(size, Room) else self._size(size)
        return self._made[size]

    def _size(self, size: Size) -> ir.Value:
        return materialize(size, self._symbols, unchecked=True, made=self._made)

    def together(self, sizes: Sequence[Room]) -> None:
        """Computes rooms, most calls' at once."""
        with ir.InsertionPoint(self._before), ir.Location.unknown():
            self._made |= dict(zip(sizes, rooms(sizes, self._symbols)))


def bare_type(type_: ir.MemRefType) -> ir.MemRefType:
    """A type for the bare-pointer calling convention: the same if the shape is static, else a rank-0 memref.

    Upstream accepts a static size of 0 in the first dimension only.
    """
    shape = [] if DYNAMIC in type_.shape or 0 in type_.shape[1:] else type_.shape
    return ir.MemRefType.get(shape, type_.element_type, memory_space=type_.memory_space)


def bytes_type(type_: ir.MemRefType) -> ir.MemRefType:
    """The memory of a memref as one of bytes."""
    count = DYNAMIC if DYNAMIC in type_.shape else product(type_.shape) * element_bytes(type_.element_type)
    return ir.MemRefType.get([count], ir.IntegerType.get_signless(8), memory_space=type_.memory_space)


def bytes_at(pointer: ir.Value, type_: ir.MemRefType, shape: Sequence[Size], values: SizeValues) -> ir.Value:
    """The memory at ``pointer``, of bytes, that a memref of a type and ``shape`` takes, as one of bytes; built at the insertion point."""
    return with_shape(pointer, bytes_type(type_), (product(shape) * element_bytes(type_.element_type),), values)


def with_shape(pointer: ir.Value, type_: ir.MemRefType, shape: Sequence[Size], values: SizeValues) -> ir.Value:
    """The memory at ``pointer`` as a memref of ``type_`` (identity layout) with the sizes ``shape``; built at the insertion point."""
    if pointer.type == type_:
        return pointer
    strides = [product(shape[i + 1:]) for i in range(len(shape))]
    return memref.ReinterpretCastOp(
        type_, pointer, [], _dynamic(shape, values), _dynamic(strides, values), [0], _static(shape), _static(strides)).result


def _static(sizes: Sequence[Size]) -> list[int]:
    return [s if isinstance(s, int) else DYNAMIC for s in sizes]


def _dynamic(sizes: Sequence[Size], values: SizeValues) -> list[ir.Value]:
    return [values(s) for s in sizes if not isinstance(s, int)]
