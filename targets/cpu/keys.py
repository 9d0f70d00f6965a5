"""Elements with their indices as numbers of 64 bits, for topk: one comparison orders two elements of up to 32 bits, equal ones by index."""
from __future__ import annotations

from legato.core.ir_helpers import element_of
from legato.core.mlir import arith, ir, vector
from legato.targets.builders.element import Element

MOST = (1 << 32) - 1    # elements of a row
FREE = -(1 << 63)       # the key of no element, which all others beat


class Keys:
    """Numbers of 64 bits that are greater for elements that come before: the element in the upper half, the index, inverted, in the lower.
    A NaN is greater than every number; zeros are equal, whatever their signs."""

    def __init__(self, kind: Element, largest: bool) -> None:
        self.kind, self.largest = kind.wide, largest
        self.bits = 32 if self.kind.bits <= 32 else 64      # of ranks: keys are made of those of 32

    def key(self, value: ir.Value, number: ir.Value) -> ir.Value:
        """The key of an element with an index."""
        i64 = ir.IntegerType.get_signless(64)
        high = arith.shli(arith.extsi(i64, self.rank(value)), constant(i64, 32))
        return arith.ori(high, arith.xori(arith.index_cast(i64, number), constant(i64, MOST)))

    def vector(self, values: ir.Value, first: ir.Value) -> ir.Value:
        """The keys of a vector of neighbours, the first of which has an index."""
        i64 = ir.VectorType.get(values.type.shape, ir.IntegerType.get_signless(64))
        high = arith.shli(arith.extsi(i64, self.rank(values)), constant(i64, 32))
        lanes = ir.DenseElementsAttr.get([ir.IntegerAttr.get(i64.element_type, lane) for lane in range(i64.shape[0])], i64)
        numbers = arith.addi(vector.BroadcastOp(i64, arith.index_cast(i64.element_type, first)).result, arith.ConstantOp(i64, lanes).result)
        return arith.ori(high, arith.xori(numbers, constant(i64, MOST)))

    def beat(self, values: ir.Value, key: ir.Value) -> ir.Value:
        """For each element of a vector whether it beats the one of a key with a smaller index."""
        i32 = ir.IntegerType.get_signless(32)
        other = arith.trunci(i32, arith.shrsi(key, constant(key.type, 32)))
        ranks = self.rank(values)
        return arith.cmpi(arith.CmpIPredicate.sgt, ranks, vector.BroadcastOp(ranks.type, other).result)

    @staticmethod
    def place(key: ir.Value, type_: ir.Type) -> ir.Value:
        """The index in a key, or the indices in a vector of keys, as elements of a type."""
        number = arith.andi(arith.xori(key, constant(key.type, -1)), constant(key.type, MOST))
        wanted = _like(key.type, type_)
        return number if number.type == wanted else arith.trunci(wanted, number)

    def rank(self, value: ir.Value) -> ir.Value:
        """Integers of ``bits`` that are ordered as elements, or vectors of them."""
        ranks, most = _like(value.type, ir.IntegerType.get_signless(self.bits)), (1 << self.bits - 1) - 1
        if self.kind.is_float and element_of(value.type) != self.kind.type:
            value = arith.extf(_like(value.type, self.kind.type), value)
        if self.kind.is_float:
            zero = constant(value.type, 0.0)
            value = arith.select(arith.cmpf(arith.CmpFPredicate.OEQ, value, zero), zero, value)
            bits = arith.bitcast(ranks, value)
            flipped = arith.andi(arith.shrsi(bits, constant(ranks, self.bits - 1)), constant(ranks, most))
            is_nan = arith.cmpf(arith.CmpFPredicate.UNO, value, value)
            rank = arith.select(is_nan, constant(ranks, most), arith.xori(bits, flipped))
        elif self.kind.bits == self.bits:
            rank = arith.xori(value, constant(ranks, -most - 1)) if self.kind.is_unsigned else value
        else:
            rank = arith.extui(ranks, value) if self.kind.is_unsigned else arith.extsi(ranks, value)
        return rank if self.largest else arith.xori(rank, constant(ranks, -1))


def in_vectors(kind: Element) -> bool:
    """Whether elements are read and ordered in vectors, as they are in memory."""
    return not (kind.is_narrow or kind.is_bool)


def _like(type_: ir.Type, element_type: ir.Type) -> ir.Type:
    return ir.VectorType.get(type_.shape, element_type) if isinstance(type_, ir.VectorType) else element_type


def constant(type_: ir.Type, number: int | float) -> ir.Value:
    """A number, or a vector of it."""
    scalar = type_.element_type if isinstance(type_, ir.VectorType) else type_
    attribute = ir.FloatAttr.get(scalar, number) if isinstance(scalar, ir.FloatType) else ir.IntegerAttr.get(scalar, number)
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return arith.ConstantOp(type_, attribute).result


