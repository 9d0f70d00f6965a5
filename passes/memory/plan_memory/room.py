"""The room that sizes in bytes leave below ``LARGEST``, computed so that nothing wraps: the terms of all sums, in f64, whose rounding is
far below the distance of ``LARGEST`` to the limits of an i64. Where no sum is too large, quotients and the like are what they are as i64.
"""
from collections.abc import Mapping, Sequence
from functools import reduce

from legato.core.mlir import arith, ir, scf
from legato.dialects.relax.dim import Dim, DimPart
from legato.dialects.relax.dims import LARGEST, Size, magnitude, materialize, nested, substitute, symbols
from legato.dialects.relax.requirements import Room

LEAST = -float(1 << 62)     # what fits an i64


def room(size: Room, values: Mapping[str, ir.Value]) -> ir.Value:
    """An ``index``, built at the insertion point: ``LARGEST`` less the bytes, or less a greater sum that the size is computed from; a
    negative number where that would not fit."""
    return _room(size, _Floats(values))


def _room(size: Room, floats: "_Floats") -> ir.Value:
    greatest = reduce(lambda a, b: arith.MaxNumFOp(a, b).result, map(floats.terms, nested(size.bytes)))
    left = arith.SubFOp(_constant(LARGEST), greatest).result
    return _as_index(arith.MaxNumFOp(left, _constant(LEAST)).result)    # not maximumf: inf * 0 is NaN


def rooms(sizes: Sequence[Room], values: Mapping[str, ir.Value]) -> list[ir.Value]:
    """The rooms of several sizes. Calls with small symbols, nearly all, take one multiplication per degree of the sizes instead."""
    if not sizes:
        return []
    index = ir.IndexType.get()
    greatest = arith.ConstantOp(index, 1).result
    for name in sorted(set().union(*(symbols(size.bytes) for size in sizes))):
        greatest = arith.MaxSIOp(greatest, values[name]).result
    bound = _Floats({"n": greatest}).terms(_bound([magnitude(part) for size in sizes for part in nested(size.bytes)]))
    is_small = arith.CmpFOp(arith.CmpFPredicate.OLE, bound, _constant(LARGEST)).result
    either = scf.IfOp(is_small, [index] * len(sizes), has_else=True)
    with ir.InsertionPoint(either.then_block):
        scf.YieldOp([arith.ConstantOp(index, 0).result] * len(sizes))
    with ir.InsertionPoint(either.else_block):
        floats = _Floats(values)
        scf.YieldOp([_room(size, floats) for size in sizes])
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
    """Builds sizes as f64."""

    def __init__(self, values: Mapping[str, ir.Value]) -> None:
        self._values = values
        self._made: dict[Size | str | DimPart, ir.Value] = {}
        self._indices: dict[object, ir.Value] = {}

    def terms(self, size: Size) -> ir.Value:
        """The sum of the absolute values of a size's terms."""
        if not isinstance(size, Dim):
            return _constant(abs(size))
        if size not in self._made:
            self._made[size] = reduce(lambda a, b: arith.AddFOp(a, b).result, (self._term(*term) for term in size.terms))
        return self._made[size]

    def _term(self, monomial: tuple[str | DimPart, ...], factor: int) -> ir.Value:
        return reduce(lambda a, b: arith.MulFOp(a, b).result, map(self._variable, monomial), _constant(abs(factor)))

    def _variable(self, variable: str | DimPart) -> ir.Value:
        if variable not in self._made:
            value = self._values[variable] if isinstance(variable, str) else materialize(
                Dim((((variable,), 1),)), self._values, unchecked=True, made=self._indices)
            i64, f64 = ir.IntegerType.get_signless(64), ir.F64Type.get()
            signed = arith.SIToFPOp(f64, arith.IndexCastOp(i64, value)).result
            self._made[variable] = signed if isinstance(variable, str) else arith.MaxNumFOp(signed, arith.NegFOp(signed)).result
        return self._made[variable]


def _constant(value: float) -> ir.Value:
    return arith.ConstantOp(ir.F64Type.get(), float(value)).result


def _as_index(value: ir.Value) -> ir.Value:
    return arith.IndexCastOp(ir.IndexType.get(), arith.FPToSIOp(ir.IntegerType.get_signless(64), value)).result
