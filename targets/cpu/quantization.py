"""Clipped floats as integers of 8, 16 or 32 bits, as ``QuantizeLinear`` makes them, by x86's instructions.

``cvtps2dq`` rounds to even and converts at once, after the clip, which commutes with rounding. What was added to the rounded float is added
to the integer. ``packssdw`` and ``packuswb`` narrow four registers of 32 bits to one of bytes, in lanes of 128 bits, whose parts then
change places; a conversion would take two instructions for each of the four.
"""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from legato.analysis.structured.clipped import ClippedSum
from legato.analysis.structured.float_bounds import GREATER, LESS, ORDERED
from legato.core.errors import Refusal
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import part
from legato.targets.cpu.avx512 import all_lanes, call_intrinsic, current_rounding
from legato.targets.cpu.dot_products import splat_of, widest_of
from legato.targets.cpu.machine import Machine
from legato.targets.rule import intrinsic

TO_INTEGERS = {16: "llvm.x86.avx512.mask.cvtps2dq.512", 8: "llvm.x86.avx.cvt.ps2dq.256", 4: "llvm.x86.sse2.cvtps2dq"}
TO_SHORTS = {16: "llvm.x86.avx512.packssdw.512", 8: "llvm.x86.avx2.packssdw", 4: "llvm.x86.sse2.packssdw.128"}
TO_BYTES = {16: "llvm.x86.avx512.packsswb.512", 8: "llvm.x86.avx2.packsswb", 4: "llvm.x86.sse2.packsswb.128"}
TO_UNSIGNED_BYTES = {16: "llvm.x86.avx512.packuswb.512", 8: "llvm.x86.avx2.packuswb", 4: "llvm.x86.sse2.packuswb.128"}
BYTE, INTEGER = 8, 32     # bits of what floats are converted to
REGISTER = 128    # bits of the parts of a register in which instructions pack
SHORT = (1 << 15) - 1    # the greatest signed integer of 16 bits


@intrinsic("arith.fptosi", "arith.fptoui", dtypes=("f32",))
def quantized(op, x):
    """Vectors of whole floats that are clipped to a range of the integers."""
    type_, chain = op.output_types[0], ClippedSum.of(x) if isinstance(x.type, ir.VectorType) else None
    rounding = defining_op(chain.x) if chain is not None else None
    if not isinstance(op.machine, Machine) or chain is None or rounding is None or rounding.name != "math.roundeven":
        return Refusal("it is no vector of rounded and clipped floats")
    numbers = [constant for _, constant in chain.steps] or [0]
    bits, lanes = type_.element_type.width, widest_of(op.machine)
    signed = op.name == "arith.fptosi"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if bits not in (BYTE, 16, INTEGER) or not low <= min(numbers) <= max(numbers) <= high or type_.shape[-1] % 4:
        return Refusal("the range is of other integers, or rows are no whole registers")
    kinds = {kind for kind, _ in chain.steps}
    if bits == 16 and not signed and (GREATER not in kinds or max(numbers) > SHORT):
        return Refusal("the instruction packs signed integers")
    if bits == INTEGER and chain.term and not {LESS, GREATER} <= kinds:
        return Refusal("the sum may be rounded as a float")
    steps, of_nan = [], None
    for kind, constant in chain.steps:    # NaN becomes the first constant of ORDERED, then what a later step makes of that
        if kind != ORDERED:
            steps.append((kind, constant))
            of_nan = None if of_nan is None else max(of_nan, constant) if kind == LESS else min(of_nan, constant)
        elif of_nan is None:
            of_nan = constant
    value = replace(chain, steps=steps).clipped(rounding.operands[0], -chain.term)
    is_zero = of_nan == chain.term == 0 and not signed and bits == BYTE    # the least integer is packed to 0
    mask = None if of_nan is None or chain.at_least or is_zero else arith.cmpf(ORDERED, value, value)

    def row(value: ir.Value, mask: ir.Value | None) -> ir.Value:
        parts = []
        for at, size in _registers(type_.shape[-1], lanes):
            found = to_integers(part(value, at, size))
            found = arith.addi(found, splat_of(found.type, chain.term)) if chain.term else found
            parts.append(found if mask is None else arith.select(part(mask, at, size), found, splat_of(found.type, present(of_nan))))
        return _narrowed(parts, type_.element_type, TO_BYTES if signed else TO_UNSIGNED_BYTES)

    if type_.rank == 1:
        return row(value, mask)
    result = splat_of(type_, 0)
    for place in np.ndindex(*type_.shape[:-1]):
        rows = [None if whole is None else vector.ExtractOp(whole, [], place).result for whole in (value, mask)]
        result = vector.InsertOp(row(*rows), result, [], place).result
    return result


def _registers(count: int, widest: int) -> Iterator[tuple[int, int]]:
    """The places and the lanes of registers that hold a vector of so many elements, a multiple of 4."""
    at = 0
    while at < count:
        size = next(lanes for lanes in TO_INTEGERS if lanes <= min(widest, count - at))
        yield at, size
        at += size


def to_integers(value: ir.Value) -> ir.Value:
    """A register of floats, rounded to even; NaN becomes the least integer."""
    lanes = value.type.shape[0]
    type_ = ir.VectorType.get([lanes], ir.IntegerType.get_signless(INTEGER))
    more = [splat_of(type_, 0), all_lanes(lanes), current_rounding()] if lanes == 16 else []
    return call_intrinsic(TO_INTEGERS[lanes], [value, *more], type_)


def _narrowed(parts: Sequence[ir.Value], element: ir.Type, to_bytes: Mapping[int, str]) -> ir.Value:
    """Registers of integers, one after the other, as a vector of narrower ones."""
    count, done, at = INTEGER // element.width, [], 0
    while at < len(parts):
        same = parts[at:at + count]
        if count > 1 and len(same) == count and len({str(value.type) for value in same}) == 1:
            done.append(_packed(same, to_bytes))
            at += count
        else:
            whole = parts[at].type
            done.append(parts[at] if count == 1 else arith.trunci(ir.VectorType.get(whole.shape, element), parts[at]))
            at += 1
    if len(done) == 1:
        return done[0]
    result, place = splat_of(ir.VectorType.get([sum(value.type.shape[0] for value in done)], element), 0), 0
    for value in done:
        result = vector.InsertStridedSliceOp(value, result, [place], [1]).result
        place += value.type.shape[0]
    return result


def _packed(parts: Sequence[ir.Value], to_bytes: Mapping[int, str]) -> ir.Value:
    """Two registers as one of integers of 16 bits, or four as one of bytes."""
    lanes = parts[0].type.shape[0]
    packed = pack_shorts(parts)
    if len(packed) == 2:
        packed = [call_intrinsic(to_bytes[lanes], packed, ir.VectorType.get([4 * lanes], ir.IntegerType.get_signless(8)))]
    return in_order(packed[0], len(parts))


def pack_shorts(parts: Sequence[ir.Value]) -> list[ir.Value]:
    """Pairs of registers of integers as registers of 16 bits, saturated, in groups of 128 bits from one and the other in turns."""
    lanes = parts[0].type.shape[0]
    shorts = ir.VectorType.get([2 * lanes], ir.IntegerType.get_signless(16))
    return [call_intrinsic(TO_SHORTS[lanes], [a, b], shorts) for a, b in zip(parts[::2], parts[1::2])]


def in_order(packed: ir.Value, count: int) -> ir.Value:
    """A register packed from ``count`` ones, whose parts follow each other in each group of 128 bits, in their order."""
    groups = packed.type.shape[0] * packed.type.element_type.width // REGISTER
    piece = ir.VectorType.get([groups * count], ir.IntegerType.get_signless(REGISTER // count))
    pieces = vector.BitCastOp(piece, packed).result
    order = [group * count + place for place in range(count) for group in range(groups)]
    return vector.BitCastOp(packed.type, vector.ShuffleOp(pieces, pieces, order).result).result


RULES = quantized
