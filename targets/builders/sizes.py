"""Sizes inside kernels: Python ints if static, else index values, and arithmetic on them."""
from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, tensor

Size = int | ir.Value


def dim(value: ir.Value, axis: int) -> Size:
    """The size of one dimension."""
    if value.type.is_dynamic_dim(axis):
        return tensor.DimOp(value, index(axis)).result
    return value.type.get_dim_size(axis)


def dims(value: ir.Value) -> list[Size]:
    """The sizes of all dimensions."""
    return [dim(value, i) for i in range(value.type.rank)]


def index(size: Size) -> ir.Value:
    """A size as an index value."""
    return arith.ConstantOp(ir.IndexType.get(), size).result if isinstance(size, int) else size


def _fold(a: Size, b: Size, number: Callable[[int, int], int], build: Callable[[ir.Value, ir.Value], ir.Value]) -> Size:
    return number(a, b) if isinstance(a, int) and isinstance(b, int) else build(index(a), index(b))


def plus(a: Size, b: Size) -> Size:
    """a + b."""
    return _fold(a, b, lambda x, y: x + y, arith.addi)


def minus(a: Size, b: Size) -> Size:
    """a - b."""
    return _fold(a, b, lambda x, y: x - y, arith.subi)


def times(a: Size, b: Size) -> Size:
    """a * b."""
    return _fold(a, b, lambda x, y: x * y, arith.muli)


def quotient(a: Size, b: Size) -> Size:
    """a // b, for sizes that are not negative."""
    return _fold(a, b, lambda x, y: x // y, arith.divui)


def largest(a: Size, b: Size) -> Size:
    """The maximum of two sizes."""
    return _fold(a, b, max, arith.maxsi)


def smallest(a: Size, b: Size) -> Size:
    """The minimum of two sizes."""
    return _fold(a, b, min, arith.minsi)


def product(sizes: Sequence[Size]) -> Size:
    """The product of sizes; 1 if there are none."""
    result: Size = 1
    for size in sizes:
        result = size if isinstance(result, int) and result == 1 else times(result, size)
    return result


def shape_of(sizes: Sequence[Size]) -> list[int]:
    """Sizes as the shape of a tensor type."""
    return [s if isinstance(s, int) else ir.ShapedType.get_dynamic_size() for s in sizes]


def values_of(sizes: Sequence[Size]) -> list[ir.Value]:
    """The sizes that are not static."""
    return [s for s in sizes if not isinstance(s, int)]
