"""The run-time values of sizes, as index arithmetic."""
from collections.abc import Callable
from functools import partial, reduce

from legato.core.errors import LegatoError
from legato.core.mlir import arith, ir
from legato.dialects.relax.dim import Dim, DimPart, Size


class Materializer:
    """Builds sizes as ``index`` values at the insertion point, each sum, product and part once. ``symbol``: the value of a name;
    ``unchecked``, ``made``: as in ``dims.materialize``.
    """

    def __init__(self, symbol: Callable[[str], ir.Value], unchecked: bool, made: dict[object, ir.Value]) -> None:
        self._symbol, self._unchecked, self._made = symbol, unchecked, made

    def value(self, size: Size) -> ir.Value:
        """The value of a size. LegatoError for ``?``."""
        if not isinstance(size, int | Dim):
            raise LegatoError("a dimension without a name ('?') has no run-time value: name it, or infer shapes first")
        return self._once(size, lambda: self._sum(size) if isinstance(size, Dim) else arith.ConstantOp(ir.IndexType.get(), size).result)

    def _once(self, key: object, build: Callable[[], ir.Value]) -> ir.Value:
        if key not in self._made:
            self._made[key] = build()
        return self._made[key]

    def _sum(self, size: Dim) -> ir.Value:
        terms = [self._once(term, partial(self._term, *term)) for term in size.terms]
        return reduce(lambda a, b: arith.AddIOp(a, b).result, terms)

    def _term(self, monomial: tuple[str | DimPart, ...], coefficient: int) -> ir.Value:
        factors = [self._once(variable, partial(self._variable, variable)) for variable in monomial]
        if coefficient != 1 or not factors:
            factors.append(self.value(coefficient))
        return reduce(lambda a, b: arith.MulIOp(a, b).result, factors)

    def _variable(self, variable: str | DimPart) -> ir.Value:
        return self._symbol(variable) if isinstance(variable, str) else self._part(variable)

    def _part(self, part: DimPart) -> ir.Value:
        a, b = self.value(part.a), self.value(part.b)
        if self._unchecked and part.op in ("//", "%") and not isinstance(part.b, int):
            a, b = arith.MaxSIOp(a, self.value(1 - 2**63)).result, self._not_zero(b)
        if part.op == "%":
            return arith.SubIOp(a, arith.MulIOp(arith.FloorDivSIOp(a, b).result, b).result).result
        if part.op == "broadcast":
            is_one = arith.CmpIOp(arith.CmpIPredicate.eq, a, self.value(1)).result
            return arith.SelectOp(is_one, b, a).result
        return {"//": arith.FloorDivSIOp, "min": arith.MinSIOp, "max": arith.MaxSIOp}[part.op](a, b).result

    def _not_zero(self, divisor: ir.Value) -> ir.Value:
        """The divisor, or 1 where it is 0."""
        is_zero = arith.CmpIOp(arith.CmpIPredicate.eq, divisor, self.value(0)).result
        return arith.SelectOp(is_zero, self.value(1), divisor).result
