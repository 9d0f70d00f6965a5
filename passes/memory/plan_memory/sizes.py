"""The sizes in main as expressions of the sizes of its arguments, read off the index arithmetic."""
from collections.abc import Sequence
from functools import reduce

from legato.core.mlir import ir
from legato.dialects.relax.dims import UNKNOWN, Dim, Size, ceil_divide, floor_divide, maximum, minimum, modulo, product, symbol
from legato.dialects.relax.markers import SYMBOL

DYNAMIC = ir.ShapedType.get_dynamic_size()
_ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": floor_divide,
    "arith.ceildivsi": ceil_divide,
    "arith.maxsi": maximum,
    "arith.minsi": minimum,
}
_ROUNDING = {   # like the ones above where nothing is negative
    "arith.divsi": floor_divide,
    "arith.divui": floor_divide,
    "arith.ceildivui": ceil_divide,
    "arith.remsi": modulo,
    "arith.remui": modulo,
    "arith.maxui": maximum,
    "arith.minui": minimum,
}
_AFFINE = {
    ir.AffineAddExpr: lambda a, b: a + b,
    ir.AffineMulExpr: lambda a, b: a * b,
    ir.AffineModExpr: modulo,
    ir.AffineFloorDivExpr: floor_divide,
    ir.AffineCeilDivExpr: ceil_divide,
}


def never_negative(size: Size) -> bool:
    """Whether ``size`` is sure to be 0 or more: symbols are, and sums and products of what is."""
    if isinstance(size, int):
        return size >= 0
    if not isinstance(size, Dim):
        return False
    return all(coefficient >= 0 for _, coefficient in size.terms) and all(
        isinstance(v, str) or (never_negative(v.a) and never_negative(v.b)) for v in size.variables())


def element_bytes(element: ir.Type) -> int:
    """Bytes of one element in memory, as LLVM lays it out: booleans take one each."""
    if isinstance(element, ir.IndexType):
        return 8
    width = element.width if isinstance(element, ir.IntegerType) else ir.FloatType(element).width
    return 1 << (max(1, (width + 7) // 8) - 1).bit_length()


class Sizes:
    """Sizes of values of one function. ``arguments``: the shape of each of its arguments."""

    def __init__(self, function: ir.OpView, arguments: Sequence[Sequence[Size]]) -> None:
        self._shapes: dict[ir.Value, tuple[Size, ...]] = {a: tuple(s) for a, s in zip(function.body.blocks[0].arguments, arguments)}
        self._values: dict[ir.Value, Size] = {}

    def give(self, value: ir.Value, shape: Sequence[Size]) -> None:
        """Says what the shape of a memref is that a call returns."""
        self._shapes[value] = tuple(shape)

    def value(self, value: ir.Value) -> Size:
        """An index (or integer) value; UNKNOWN where it depends on more than the sizes of arguments and results."""
        if value not in self._values:
            self._values[value] = UNKNOWN if isinstance(value.owner, ir.Block) else self._computed(value.owner.operation)
        return self._values[value]

    def shape(self, value: ir.Value) -> tuple[Size, ...]:
        """The shape of a memref, UNKNOWN where a size is not known."""
        if value not in self._shapes:
            given = tuple(UNKNOWN if s == DYNAMIC else s for s in ir.MemRefType(value.type).shape)
            is_known = UNKNOWN not in given or isinstance(value.owner, ir.Block)
            self._shapes[value] = given if is_known else self._joined(value) or self._made(value.owner.operation, given)
        return self._shapes[value]

    def _joined(self, value: ir.Value) -> tuple[Size, ...] | None:
        """The shape of a memref that is one of two: what is the same in both. None for one that is made otherwise."""
        op = value.owner.operation
        if op.name == "arith.select":
            either = list(op.operands)[1:]
        elif op.name == "scf.if":
            number = ir.OpResult(value).result_number
            ends = [list(region.blocks[0].operations)[-1] for region in op.regions]
            either = [end.operation.operands[number] for end in ends]
        else:
            return None
        return tuple(a if a == b else UNKNOWN for a, b in zip(*map(self.shape, either)))

    def bytes(self, value: ir.Value) -> Size:
        """Bytes of a memref of identity layout."""
        return product(self.shape(value)) * element_bytes(ir.MemRefType(value.type).element_type)

    def _computed(self, op: ir.Operation) -> Size:
        name, operands = op.name, list(op.operands)
        if SYMBOL in op.attributes:
            return symbol(op.attributes[SYMBOL].value)
        if name == "arith.constant":
            return int(ir.IntegerAttr(op.attributes["value"]).value) if isinstance(op.attributes["value"], ir.IntegerAttr) else UNKNOWN
        if name in ("arith.index_cast", "arith.index_castui"):
            return self.value(operands[0])
        if name == "memref.dim":
            axis = self.value(operands[1])
            return self.shape(operands[0])[axis] if isinstance(axis, int) else UNKNOWN
        if name in _ARITHMETIC:
            return _ARITHMETIC[name](*map(self.value, operands))
        if name in _ROUNDING:
            a, b = map(self.value, operands)
            return _ROUNDING[name](a, b) if never_negative(a) and never_negative(b) else UNKNOWN
        if name in ("affine.apply", "affine.min", "affine.max"):
            return self._affine(op)
        return UNKNOWN

    def _affine(self, op: ir.Operation) -> Size:
        map_ = ir.AffineMapAttr(op.attributes["map"]).value
        operands = [self.value(v) for v in op.operands]
        results = [_affine_size(e, operands[: map_.n_dims], operands[map_.n_dims:]) for e in map_.results]
        return reduce(maximum if op.name == "affine.max" else minimum, results)

    def _made(self, op: ir.Operation, given: tuple[Size, ...]) -> tuple[Size, ...]:
        view = op.opview
        if op.name == "memref.alloc":
            dynamic = list(view.dynamicSizes)
        elif op.name in ("memref.subview", "memref.reinterpret_cast", "memref.view"):
            dynamic = list(view.sizes)
        elif op.name == "memref.expand_shape":
            dynamic = list(view.output_shape)
        elif op.name == "memref.cast":
            return tuple(s if g is UNKNOWN else g for g, s in zip(given, self.shape(op.operands[0])))
        elif op.name == "memref.collapse_shape":
            source = self.shape(op.operands[0])
            groups = [[ir.IntegerAttr(i).value for i in group] for group in op.attributes["reassociation"]]
            return tuple(product(source[i] for i in group) for group in groups)
        else:
            return given
        sizes = iter(dynamic)
        return tuple(self.value(next(sizes)) if g is UNKNOWN else g for g in given)


def _affine_size(expression: ir.AffineExpr, dims: Sequence[Size], symbols: Sequence[Size]) -> Size:
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    if isinstance(expression, ir.AffineDimExpr):
        return dims[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[expression.position]
    return _AFFINE[type(expression)](_affine_size(expression.lhs, dims, symbols), _affine_size(expression.rhs, dims, symbols))
