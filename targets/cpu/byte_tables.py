"""Functions of what is rounded to an integer, whose results are bytes, by look-up in a table in registers (AVX512-VBMI).

Four registers of floats are converted to integers and packed to one of bytes, which saturates. ``vpermi2b`` looks up 64 bytes in a table of
128; a second one and a mask have one of 256. The arithmetic would take its multiplications and clips for each of the four.
"""
from collections.abc import Iterator, Mapping

import numpy as np

from legato.analysis.structured.byte_functions import SIZE, ByteFunction, clipped_above
from legato.analysis.structured.float_bounds import KnownBounds
from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import part
from legato.targets.cpu.avx512 import call_intrinsic
from legato.targets.cpu.dot_products import splat_of
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantization import TO_BYTES, TO_UNSIGNED_BYTES, in_order, pack_shorts, to_integers
from legato.targets.cpu.rounded_sums import fused_sum
from legato.targets.rule import intrinsic

LANES, PACKED, BYTES = 16, 4, 64      # of a register: floats; registers that are packed to one; bytes
GREATEST = (1 << 31) - (1 << 16)     # what is less is an integer of 32 bits when it is rounded, and shifted
LOOK_UP = "llvm.x86.avx512.vpermi2var.qi.512"


@intrinsic("arith.fptosi", "arith.fptoui", dtypes=("f32",), priority=1)
def looked_up(op, x):
    """Vectors whose rows are whole registers."""
    type_ = op.output_types[0]
    if not isinstance(op.machine, Machine) or not op.machine.has("avx512bw"):
        return Refusal("the CPU is not known to have avx512bw")
    if not isinstance(type_, ir.VectorType) or type_.element_type.width != 8 or type_.rank == 0 or type_.shape[-1] % LANES:
        return Refusal("it is no vector of bytes in whole registers")
    function = ByteFunction.of(op.op)
    if function is None:
        return Refusal("it is no function of a rounded float that a table has")
    bounds = KnownBounds()
    known = bounds.of(function.rounded)
    if function.only_saturates:
        pack: Saturation | Table = Saturation(function)
        if not (known.some and max(-known.low, known.high) < GREATEST):
            return Refusal("an infinity, or what is too great an integer, would become the least")
    elif function.scales and op.machine.has("avx512vbmi") and not (function.low > 0 and function.high >= SIZE):
        pack = Table(function, known.high)
    else:
        return Refusal("it only clips, or there is no instruction for its table")
    value = fused_sum(function, bounds) or function.rounded
    value = value if known.high < GREATEST else clipped_above(value, function.high)
    registers = list(_registers(value))
    registers += [registers[-1]] * (-len(registers) % PACKED)
    done = [in_order(pack.of(registers[at:at + PACKED]), PACKED) for at in range(0, len(registers), PACKED)]
    return _joined(done, type_)


class Saturation:
    """The sum of a rounded float and a constant as a byte: packing clips."""

    def __init__(self, function: ByteFunction):
        self.instruction, self.shift = (TO_BYTES, -128 - function.low) if function.table[0] else (TO_UNSIGNED_BYTES, -function.low)

    def of(self, values: list[ir.Value]) -> ir.Value:
        """The results for four registers of floats, in groups of 128 bits."""
        return _packed(values, self.shift, self.instruction)


class RegisterTable:
    """A table of 256 bytes in registers, at the insertion point. ``halves``: of it that are looked up, the first ones."""

    def __init__(self, table: np.ndarray, halves: int = 2):
        self.table, self.halves = table, halves

    def of(self, index: ir.Value) -> ir.Value:
        """The bytes at a vector of indices, of 64."""
        found = [self._looked_up(index, half) for half in range(self.halves)]
        if self.halves == 1:
            return found[0]
        return arith.select(arith.cmpi(arith.CmpIPredicate.slt, index, splat_of(index.type, 0)), *found[::-1])

    def _looked_up(self, index: ir.Value, half: int) -> ir.Value:
        """By the low seven bits of each index."""
        start = half * SIZE // 2
        low, high = (self._constant(index.type, at) for at in (start, start + BYTES))
        return call_intrinsic(LOOK_UP, [low, index, high])

    def _constant(self, type_: ir.Type, start: int) -> ir.Value:
        numbers = np.ascontiguousarray(self.table[start:start + BYTES].view(np.int8))
        return arith.ConstantOp(type_, ir.DenseElementsAttr.get(numbers, type=type_)).result


class Table:
    """The table of a function. ``most``: no rounded float is greater, or it is clipped."""

    def __init__(self, function: ByteFunction, most: float):
        fits = function.low >= 0 and function.high < SIZE
        self.shift = 0 if fits else -function.low
        numbers = np.clip(np.arange(SIZE) - self.shift, function.low, function.high) - function.low
        greatest = max(function.high, most if most < GREATEST else 0) + self.shift
        self.bytes = RegisterTable(function.table[numbers], 1 if greatest + 1 < SIZE // 2 else 2)

    def of(self, values: list[ir.Value]) -> ir.Value:
        """The results for four registers of floats, in groups of 128 bits."""
        return self.bytes.of(_packed(values, self.shift, TO_UNSIGNED_BYTES))


def _packed(values: list[ir.Value], shift: int, instruction: Mapping[int, str]) -> ir.Value:
    """Four registers of floats, rounded, and a number, as one of bytes, saturated."""
    integers = [to_integers(value) for value in values]
    if shift:
        integers = [arith.addi(value, splat_of(value.type, shift)) for value in integers]
    return call_intrinsic(instruction[LANES], pack_shorts(integers), ir.VectorType.get([BYTES], ir.IntegerType.get_signless(8)))


def _registers(value: ir.Value) -> Iterator[ir.Value]:
    """The registers of a vector of floats, row by row."""
    for place in np.ndindex(*value.type.shape[:-1]):
        row = vector.ExtractOp(value, [], place).result if place else value
        for at in range(0, value.type.shape[-1], LANES):
            yield part(row, at, LANES)


def _joined(done: list[ir.Value], type_: ir.VectorType) -> ir.Value:
    """Registers of bytes as a vector, whose rows may begin in any of their quarters."""
    width, result = type_.shape[-1], splat_of(type_, 0)
    for number, place in enumerate(np.ndindex(*type_.shape[:-1])):
        row, at = splat_of(ir.VectorType.get([width], type_.element_type), 0), 0
        while at < width:
            register, start = divmod(number * width + at, BYTES)
            count = min(BYTES - start, width - at)
            piece = part(done[register], start, count)
            row = piece if count == width else vector.InsertStridedSliceOp(piece, row, [at], [1]).result
            at += count
        result = vector.InsertOp(row, result, [], place).result if place else row
    return result


RULES = looked_up
