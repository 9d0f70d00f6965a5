"""The room that sizes in bytes leave below ``LARGEST``, computed so that nothing wraps: in f64, whose rounding is far below the distance of
``LARGEST`` to the limits of an i64."""
from collections.abc import Mapping, Sequence

from legato.core.mlir import arith, ir, scf
from legato.dialects.relax.dim import Dim, DimPart
from legato.dialects.relax.dims import LARGEST, Size, magnitude, substitute, symbols
from legato.dialects.relax.requirements import Room

LEAST = -float(1 << 62)     # what fits an i64


def room(size: Room, values: Mapping[str, ir.Value]) -> ir.Value:
    """An ``index``, built at the insertion point: ``LARGEST`` less the bytes, or a negative number where it would not fit."""
    left = arith.SubFOp(_constant(LARGEST), _Floats(values).size(magnitude(size.bytes))).result
    return _as_index(arith.MaxNumFOp(left, _constant(LEAST)).result)    # not maximumf: inf * 0 is NaN


def rooms(sizes: Sequence[Room], values: Mapping[str, ir.Value]) -> list[ir.Value]:
    """The rooms of several sizes. Calls with small symbols, nearly all, take one multiplication per degree of the sizes instead."""
    if not sizes:
        return []
    index = ir.IndexType.get()
    greatest = arith.ConstantOp(index, 1).result
    for name in sorted(set().union(*(symbols(size.bytes) for size in sizes))):
        greatest = arith.MaxSIOp(greatest, values[name]).result
    bound = _Floats({"n": greatest}).size(_bound([magnitude(size.bytes) for size in sizes]))
    is_small = arith.CmpFOp(arith.CmpFPredicate.OLE, bound, _constant(LARGEST)).result
    either = scf.IfOp(is_small, [index] * len(sizes), has_else=True)
    with ir.InsertionPoint(either.then_block):
        scf.YieldOp([arith.ConstantOp(index, 0).result] * len(sizes))
    with ir.InsertionPoint(either.else_block):
        scf.YieldOp([room(size, values) for size in sizes])
    return list(either.results)


def _bound(sizes: Sequence[Size]) -> Size:
    """A monomial in ``n`` that none of the sizes exceeds, whose symbols are all at most n."""
    factor = max(int(substitute(size, dict.fromkeys(symbols(size), 1))) for size in sizes)
    return Dim(((("n",) * max(map(_degree, sizes)), factor),)) if max(map(_degree, sizes)) else factor


def _degree(size: Size) -> int:
    if not isinstance(size, Dim):
        return 0
    return max(sum(1 if isinstance(v, str) else max(_degree(v.a), _degree(v.b)) for v in monomial) for monomial, _ in size.terms)


class _Floats:
    """Builds sizes as f64; quotients are not rounded."""

    def __init__(self, values: Mapping[str, ir.Value]) -> None:
        self._values = values
        self._made: dict[Size | str, ir.Value] = {}

    def size(self, size: Size) -> ir.Value:
        """The value of a size whose coefficients are positive."""
        if size not in self._made:
            self._made[size] = self._size(size)
        return self._made[size]

    def _size(self, size: Size) -> ir.Value:
        if not isinstance(size, Dim):
            return _constant(size)
        total = None
        for monomial, coefficient in size.terms:
            term = _constant(coefficient)
            for variable in monomial:
                factor = self._symbol(variable) if isinstance(variable, str) else self._part(variable)
                term = arith.MulFOp(term, factor).result
            total = term if total is None else arith.AddFOp(total, term).result
        return total

    def _symbol(self, name: str) -> ir.Value:
        if name not in self._made:
            i64, f64 = ir.IntegerType.get_signless(64), ir.F64Type.get()
            self._made[name] = arith.SIToFPOp(f64, arith.IndexCastOp(i64, self._values[name])).result
        return self._made[name]

    def _part(self, part: DimPart) -> ir.Value:
        a, b = self.size(part.a), self.size(part.b)
        return {"//": arith.DivFOp, "max": arith.MaximumFOp}[part.op](a, b).result


def _constant(value: float) -> ir.Value:
    return arith.ConstantOp(ir.F64Type.get(), float(value)).result


def _as_index(value: ir.Value) -> ir.Value:
    return arith.IndexCastOp(ir.IndexType.get(), arith.FPToSIOp(ir.IntegerType.get_signless(64), value)).result
