"""Sums of four products of bytes, or of two of integers of 16 bits or of bf16, in each lane of 32 bits, by x86's instructions.

``vpdpbusd`` (AVX512-VNNI, AVX-VNNI) multiplies unsigned bytes by signed ones, and its sums wrap. Without it, or for other signs, the bytes
at even and at odd places are widened to 16 bits in place, and ``pmaddwd`` sums the products of each: two multiplications a step, exact,
where ``pmaddubsw`` saturates. Of integers of 16 bits one ``pmaddwd`` sums the products, of bf16 one ``vdpbf16ps`` (AVX512-BF16), whose
denormal numbers are 0.
"""
from collections.abc import Callable

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import part
from legato.targets.cpu.avx512 import call_intrinsic
from legato.targets.cpu.machine import Machine
from legato.targets.rule import intrinsic

SIGNS = {"tir.dot4_u8s8": (False, True), "tir.dot4_s8s8": (True, True), "tir.dot4_u8u8": (False, False)}
VPDPBUSD = {16: "llvm.x86.avx512.vpdpbusd.512", 8: "llvm.x86.avx512.vpdpbusd.256", 4: "llvm.x86.avx512.vpdpbusd.128"}
DPBF16 = {16: "llvm.x86.avx512bf16.dpbf16ps.512", 8: "llvm.x86.avx512bf16.dpbf16ps.256", 4: "llvm.x86.avx512bf16.dpbf16ps.128"}
PMADDWD = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}
ZEROS = {"i32": "0 : i32", "f32": "0.0 : f32"}
Step = Callable[[ir.Value, ir.Value, ir.Value], ir.Value]


@intrinsic(*SIGNS, dtypes=("i32",))
def dot_of_bytes(op, x, y, sums):
    """Vectors of lanes, in registers of 16, 8 or 4."""
    if (refusal := _refusal(op, x, "sse4.1")) is not None:
        return refusal
    signs, vnni = SIGNS[op.name], op.machine.multiplies_bytes
    widest = widest_of(op.machine)
    if vnni and not op.machine.has("avx512vnni"):
        widest = 8
    return _by_registers(_vpdpbusd if vnni and signs == (False, True) else _pmaddwd(*signs), x, y, sums, widest)


@intrinsic("tir.dot2_s16s16", dtypes=("i32",))
def dot_of_shorts(op, x, y, sums):
    """Vectors of lanes, in registers of 16, 8 or 4."""
    if (refusal := _refusal(op, x, "sse4.1")) is not None:
        return refusal

    def step(x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
        pairs = call_intrinsic(PMADDWD[sums.type.shape[0]], [as_bits(x, 16), as_bits(y, 16)], sums.type)
        return arith.addi(sums, pairs)

    return _by_registers(step, x, y, sums, widest_of(op.machine))


@intrinsic("tir.dot2_bf16bf16", dtypes=("i32",))
def dot_of_halves(op, x, y, sums):
    """Vectors of lanes, in registers of 16, 8 or 4."""
    if (refusal := _refusal(op, x, "avx512bf16")) is not None:
        return refusal

    def step(x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
        halves = ir.VectorType.get([2 * sums.type.shape[0]], ir.BF16Type.get())
        factors = [vector.BitCastOp(halves, value).result for value in (y, x)]    # the last may be one pair in memory, which x often is
        return call_intrinsic(DPBF16[sums.type.shape[0]], [sums, *factors])

    return _by_registers(step, x, y, sums, 16)


def _refusal(op, x: ir.Value, feature: str) -> Refusal | None:
    """Why the instructions of a feature of CPUs, by LLVM's name, do not take x."""
    if not isinstance(op.machine, Machine) or not isinstance(x.type, ir.VectorType) or x.type.rank != 1:
        return Refusal("the instructions take vectors")
    return None if op.machine.has(feature) else Refusal(f"the CPU is not known to have {feature}")


def widest_of(machine: Machine) -> int:
    """The lanes of 32 bits of the widest register whose integers of 8 and 16 bits instructions take."""
    return 16 if machine.has("avx512bw") else 8 if machine.has("avx2") else 4


def _by_registers(step: Step, x: ir.Value, y: ir.Value, sums: ir.Value, widest: int) -> ir.Value:
    """Applies a step on vectors of a register, of at most ``widest`` lanes, to longer and shorter ones."""
    total, at = sums.type.shape[0], 0
    if total in (4, 8, 16) and total <= widest:
        return step(x, y, sums)
    result = sums
    while at < total:
        lanes = next((n for n in (16, 8, 4) if n <= min(widest, total - at)), total - at)
        parts = [part(value, at, lanes) for value in (x, y, sums)]
        done = step(*parts) if lanes >= 4 else part(step(*map(_widened, parts)), 0, lanes)
        result = vector.InsertStridedSliceOp(done, result, [at], [1]).result
        at += lanes
    return result


def _widened(value: ir.Value) -> ir.Value:
    """A vector of fewer than four lanes in one of four, the others 0."""
    type_ = ir.VectorType.get([4], value.type.element_type)
    zeros = arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.Attribute.parse(ZEROS[str(type_.element_type)]))).result
    return vector.InsertStridedSliceOp(value, zeros, [0], [1]).result


def splat_of(type_: ir.Type, number: int) -> ir.Value:
    """A vector of integers that are all this number."""
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, number))).result


def as_bits(value: ir.Value, bits: int) -> ir.Value:
    """The same bits in elements of another width."""
    element = ir.IntegerType.get_signless(bits)
    return vector.BitCastOp(ir.VectorType.get([value.type.shape[0] * value.type.element_type.width // bits], element), value).result


def _vpdpbusd(x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    return call_intrinsic(VPDPBUSD[sums.type.shape[0]], [sums, as_bits(x, 8), as_bits(y, 8)])


def _pmaddwd(x_signed: bool, y_signed: bool) -> Step:
    def step(x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
        instruction, pairs = PMADDWD[sums.type.shape[0]], []
        for half in (_even, _odd):
            pairs.append(call_intrinsic(instruction, [half(as_bits(x, 16), x_signed), half(as_bits(y, 16), y_signed)], sums.type))
        return arith.addi(sums, arith.addi(*pairs))

    return step


def _even(v: ir.Value, signed: bool) -> ir.Value:
    """The low byte of each 16 bits, widened."""
    if not signed:
        return arith.andi(v, splat_of(v.type, 0xFF))
    eight = splat_of(v.type, 8)
    return arith.shrsi(arith.shli(v, eight), eight)


def _odd(v: ir.Value, signed: bool) -> ir.Value:
    """The high byte of each 16 bits, widened."""
    return (arith.shrsi if signed else arith.shrui)(v, splat_of(v.type, 8))


RULES = (*dot_of_bytes, dot_of_shorts, dot_of_halves)
