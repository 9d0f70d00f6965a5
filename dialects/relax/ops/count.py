"""Ops whose result sizes depend on data."""

from collections.abc import Collection

import numpy as np

from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects.relax.attributes import Shape, Str
from legato.dialects.relax.calls import fresh_name, symbols_of
from legato.dialects.relax.dims import UNKNOWN, Dim, compatible, symbol, symbol_name
from legato.dialects.relax.op import ANY, INTEGER, MOVED, Operand, RelaxOp
from legato.dialects.relax.types import TensorType


class NonZero(RelaxOp, name="nonzero"):
    """The indices of the elements of x that are not 0: one column per element, in row-major order.

    `size` is the symbol of the number of columns, which is known only after the op has run. By default the builder takes a new symbol.

    ```mlir
    %y = "relax.nonzero"(%x) {size = "m"} : (tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>>
    ```
    """

    PROMOTES = False
    DEFINES_SIZES = True
    x = Operand(ANY)
    size = Str(doc="the symbol of the number of columns")

    @classmethod
    def build(cls, x, size=None, loc=None, ip=None):
        if size is None:
            size = fresh_name("nonzero", symbols_of(_function(ip)))
        return super().build(x, size=size, loc=loc, ip=ip)

    @staticmethod
    def result_type(x: TensorType, size) -> TensorType:
        if x.rank == 0:
            raise InferenceError("operand 'x' must have a dimension, and is a scalar")
        try:
            name = symbol_name(size) == size
        except LegatoError:
            name = False
        if not name:
            raise InferenceError(f"attribute 'size' is the name of a symbol, found {size!r}")
        return x.with_dtype(np.dtype(np.int64)).with_dims((x.rank, symbol(size)))

    @staticmethod
    def compute(x, size):
        return np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1)


class SizeOf(RelaxOp, name="size_of"):
    """The elements of x as sizes of other tensors: a tensor without elements whose type has them, each by a symbol of its own.

    Types and attributes of later ops may name the symbols. A call in which an element is negative is an error.

    ```mlir
    %y = "relax.size_of"(%x) {sizes = #relax.dims<["h", "w"]>} : (tensor<2xi64>) -> tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>>
    ```
    """

    PROMOTES = False
    DEFINES_SIZES = True
    x = Operand(INTEGER)
    sizes = Shape(doc="the symbol of each element")

    @staticmethod
    def result_type(x: TensorType, sizes) -> TensorType:
        if x.rank > 1 or (x.dims and not compatible(x.dims[0], len(sizes))) or (not x.dims and len(sizes) != 1):
            raise InferenceError(f"operand 'x' must be a vector of {len(sizes)} elements, one for each size, has {list(x.dims)}")
        if len(set(sizes)) != len(sizes) or not all(isinstance(size, Dim) and size.is_symbol for size in sizes):
            raise InferenceError(f"attribute 'sizes' is {sizes}, expected names of symbols, all different")
        return TensorType((*sizes, 0), np.dtype(np.int8))

    @staticmethod
    def compute(x, sizes):
        values = [int(value) for value in x.ravel()]
        if min(values, default=0) < 0:
            raise LegatoError(f"a size is {min(values)}, which is negative")
        return np.zeros((*values, 0), np.int8)


class NameSizes(RelaxOp, name="name_sizes"):
    """The tensor x itself, with names for sizes that its type does not know.

    It is what a loop carries from step to step, or one of two branches gives. Types and attributes of later ops may name the symbols.

    ```mlir
    %y = "relax.name_sizes"(%x) {sizes = #relax.dims<["m", 8]>} : (tensor<?x8xf32>) -> tensor<?x8xf32, #relax.dims<["m", 8]>>
    ```
    """

    PROMOTES = False
    DEFINES_SIZES = True
    x = Operand(MOVED)
    sizes = Shape(doc="the size of each axis: one that x's type has, or a new symbol")

    @staticmethod
    def result_type(x: TensorType, sizes) -> TensorType:
        new = [size for size, known in zip(sizes, x.dims)
               if size != known and not (known is UNKNOWN and isinstance(size, int) and size >= 0)]
        if len(sizes) != x.rank or len(set(new)) != len(new) or not all(isinstance(size, Dim) and size.is_symbol for size in new):
            raise InferenceError(f"attribute 'sizes' is {list(sizes)}: for each axis of {x} it has its size, or the name of a new symbol")
        return x.with_dims(sizes)

    @staticmethod
    def compute(x, sizes):
        return x


def with_named_sizes(x: ir.Value, axes: Collection[int], name: str) -> ir.Value:
    """The tensor with new symbols for its sizes along some axes, by a ``name_sizes`` at the insertion point. ``name``: what the symbols'
    names begin with."""
    taken, sizes = symbols_of(_function()), list(TensorType.of(x.type).dims)
    for axis in axes:
        sizes[axis] = symbol(fresh_name(name if len(axes) == 1 else f"{name}_{axis}", taken))
    return NameSizes.build(x, sizes=sizes) if axes else x


def sizes_of(x: ir.Value, name: str) -> list[Dim]:
    """The elements of a vector (or scalar) of integers, of static length, as new symbols, by a ``size_of`` at the insertion point.
    ``name``: what the symbols' names begin with."""
    taken, count = symbols_of(_function()), x.type.shape[0] if x.type.rank else 1
    names = [fresh_name(name if count == 1 else f"{name}_{number}", taken) for number in range(count)]
    sizes = [symbol(one) for one in names]
    SizeOf.build(x, sizes=sizes)
    return sizes


def _function(ip: ir.InsertionPoint | None = None):
    """The function around the insertion point."""
    function = (ip or ir.InsertionPoint.current).block.owner
    while function.operation.name != "func.func":
        function = function.operation.parent
    return function.opview
