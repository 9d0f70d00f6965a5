"""Sums of products of the four bytes, or two halves, in lanes of 32 bits, in plain arithmetic."""
from legato.core.mlir import arith, ir
from legato.targets.intrinsics.lanes import Lanes


def _byte(e: Lanes, lanes: ir.Value, place: int, signed: bool) -> ir.Value:
    """Byte ``place`` of each lane, from the least significant one, as i32."""
    raised = arith.shli(lanes, e.const(24 - 8 * place)) if place < 3 else lanes
    return (arith.shrsi if signed else arith.shrui)(raised, e.const(24))


def _dot4(e: Lanes, x: ir.Value, y: ir.Value, sums: ir.Value, x_signed: bool, y_signed: bool) -> ir.Value:
    for place in range(4):
        sums = e.add(sums, e.mul(_byte(e, x, place, x_signed), _byte(e, y, place, y_signed)))
    return sums


def dot4_u8s8(e: Lanes, x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """Unsigned bytes times signed ones."""
    return _dot4(e, x, y, sums, False, True)


def dot4_s8s8(e: Lanes, x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """Signed bytes."""
    return _dot4(e, x, y, sums, True, True)


def dot4_u8u8(e: Lanes, x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """Unsigned bytes."""
    return _dot4(e, x, y, sums, False, False)


def dot2_s16s16(e: Lanes, x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """Signed integers of 16 bits."""
    half = e.const(16)
    for part in (lambda lanes: arith.shrsi(arith.shli(lanes, half), half), lambda lanes: arith.shrsi(lanes, half)):
        sums = e.add(sums, e.mul(part(x), part(y)))
    return sums


def dot2_bf16bf16(e: Lanes, x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """Pairs of bf16, which are the upper halves of numbers of f32."""
    f = e.over(ir.F32Type.get())
    for part in (lambda lanes: arith.andi(lanes, e.const(-1 << 16)), lambda lanes: arith.shli(lanes, e.const(16))):
        sums = f.fma(f.from_bits(part(x)), f.from_bits(part(y)), sums)
    return sums
