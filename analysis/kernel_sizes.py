"""The sizes in a kernel: ints, and expressions of the symbols of its signature."""
from collections.abc import Sequence
from typing import Any

from legato.analysis.indices.sizes import size_of
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir, tensor
from legato.dialects.relax import dims
from legato.dialects.relax.dim import DimPart
from legato.dialects.relax.dim_bounds import lower_bound
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import SIGNATURE
from legato.dialects.tir.walk import parameter_name

DYNAMIC = ir.ShapedType.get_dynamic_size()
Size = Any  # an int or a Dim, an expression of symbols


class UnknownSizeError(Exception):
    """The size of a tensor or buffer is not known; the message says why."""


class KernelSizes:
    """``shapes``: the sizes of each tensor and buffer."""

    def __init__(self, kernel: func.FuncOp):
        self.shapes: dict[ir.Value, tuple[Size, ...]] = {}
        self.symbols: dict[str, tuple[ir.Value, int | None]] = {}
        self.scalars: dict[ir.Value, Size] = {}
        self.entry = kernel.body.blocks[0]
        self.made: dict[str, ir.Value] = {}
        attributes = kernel.attributes
        types = list(attributes[SIGNATURE].value.inputs) if SIGNATURE in attributes else [a.type for a in self.entry.arguments]
        names = [parameter_name(kernel, number, f"argument_{number}") for number in range(len(types))]
        for argument, type_, name in zip(self.entry.arguments, types, names):
            if not isinstance(type_, ir.RankedTensorType):
                symbol = dims.symbol_name(name)
                self.scalars[argument] = dims.symbol(symbol)
                self.symbols[symbol] = argument, None
                continue
            shape = [dims.symbol(f"{dims.symbol_name(name)}_{axis}") if s is dims.UNKNOWN else s for axis, s in enumerate(dims.dims(type_))]
            self.shapes[argument] = tuple(shape)
            for axis, size in enumerate(shape):
                if isinstance(size, dims.Dim) and size.is_symbol:
                    self.symbols.setdefault(str(size), (argument, axis))

    def allocate(self, buffer: ir.Value, sizes: Sequence[ir.Value]) -> None:
        """Records the shape of a buffer that the kernel allocates; ``sizes``: its dynamic sizes."""
        given = iter(sizes)
        found = [self.of(next(given)) if s == DYNAMIC else s for s in buffer.type.shape]
        self.shapes[buffer] = tuple(dims.symbol(f"unknown_{len(self.shapes)}_{n}") if s is None else s for n, s in enumerate(found))

    def of(self, value: ir.Value) -> Size | None:
        """The size that an integer outside of all loops is; None for a value computed from data or loop variables."""
        return size_of(value, self.given)

    def given(self, value: ir.Value) -> Size | None:
        """The size that a value is by definition: a scalar parameter, or a dimension of a tensor or buffer; None for any other."""
        if value in self.scalars:
            return self.scalars[value]
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name not in ("memref.dim", "tensor.dim"):
            return None
        shape, axis = self.shapes.get(owner.operands[0]), constant_of(owner.operands[1])
        return shape[axis] if shape is not None and axis is not None and 0 <= axis < len(shape) else None

    def shape(self, buffer: ir.Value) -> tuple[Size, ...]:
        """The sizes of a tensor or buffer. UnknownSizeError for a buffer that is neither a parameter nor the kernel's own."""
        if buffer not in self.shapes:
            raise UnknownSizeError("a buffer is neither a parameter nor the kernel's own")
        return self.shapes[buffer]

    def has_natural(self, size: Size) -> bool:
        """Whether a size is seen to be 0 or more: it is one of a buffer, or ``is_natural``."""
        return is_natural(size) or any(size in shape for shape in self.shapes.values())

    def value(self, size: Size) -> ir.Value:
        """A size as a value at the insertion point."""
        if not isinstance(size, int):
            for name in dims.symbols(size):
                self._symbol(name)
        return dims.materialize(size, self.made)

    def values(self, sizes: Sequence[Size]) -> list[ir.Value]:
        """The values of the sizes that are not ints."""
        return [self.value(s) for s in sizes if not isinstance(s, int)]

    def _symbol(self, name: str) -> None:
        if name in self.made:
            return
        if name not in self.symbols:
            raise UnknownSizeError("the size of a buffer depends on data")
        argument, axis = self.symbols[name]
        if axis is None:
            self.made[name] = argument
            return
        with ir.InsertionPoint.at_block_begin(self.entry):
            self.made[name] = tensor.DimOp(argument, dims.materialize(axis, {})).result


def static(sizes: Sequence[Size]) -> list[int]:
    """The shape of a tensor type with these sizes."""
    return [s if isinstance(s, int) else DYNAMIC for s in sizes]


def may_be_zero(size: Size) -> bool:
    """Whether a size that is 0 or more may be 0 at a call; any symbol may."""
    return not is_natural(dims.substitute(size, {name: dims.symbol(name) - 1 for name in dims.symbols(size)}) - 1)


def is_natural(size: Size) -> bool:
    """Whether a size is seen to be 0 or more."""
    if isinstance(size, int):
        return size >= 0
    total: Size = 0
    for variables, factor in size.terms:
        part = variables[0] if len(variables) == 1 else None
        if isinstance(part, DimPart) and part.op == "//" and isinstance(part.b, int) and part.b > 0 and factor > 0 and factor % part.b == 0:
            total = total + (part.a - (part.b - 1)) * (factor // part.b)    # x // n * n is at least x - (n - 1)
        else:
            total = total + dims.Dim(((variables, factor),)) if variables else total + factor
    low = total if isinstance(total, int) else lower_bound(total)
    return low is not None and low >= 0


def sizes_of(kernel: func.FuncOp) -> KernelSizes:
    """The sizes of a kernel's arguments and buffers. UnknownSizeError where one is not known."""
    sizes = KernelSizes(kernel)
    for op in find(kernel.operation, "bufferization.to_buffer", "tir.alloc_buffer"):
        if op.name == "tir.alloc_buffer":
            sizes.allocate(op.results[0], list(op.operands))
        else:
            sizes.shapes[op.results[0]] = sizes.shape(op.operands[0])
    return sizes
