"""AVX-512's instructions on vectors of f32: multiplication by powers of two, ``vscalefps``, estimates of reciprocals, ``vrcp14ps``, and
look-up in two registers, ``vpermi2ps``."""
from collections.abc import Callable
from math import prod

from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import part


def fills_registers(type_: ir.Type, shorter: bool = True) -> bool:
    """Whether a type is a vector that fills whole registers: those of 512 bits, or a ``shorter`` one."""
    if not isinstance(type_, ir.VectorType) or type_.rank == 0:
        return False
    total = prod(type_.shape)
    return total % 16 == 0 or (shorter and total in (4, 8))


def scale_by_power(y: ir.Value, exponent: ir.Value) -> ir.Value:
    """y * 2^exponent (whole numbers, as floats), rounded once, over the whole range."""
    return by_registers(_scale, y, exponent)


def permute(low: ir.Value, index: ir.Value, high: ir.Value) -> ir.Value:
    """The elements of a table of 32 at the low five bits of each index: vectors of 16, of f32 and of i32."""
    return call_intrinsic("llvm.x86.avx512.vpermi2var.ps.512", [low, index, high])


def estimate_reciprocal(x: ir.Value) -> ir.Value:
    """1 / x of normal numbers, relative error 2^-14."""
    return by_registers(_reciprocal, x)


def by_registers(function: Callable[..., ir.Value], *operands: ir.Value) -> ir.Value:
    """Applies a function of vectors of a register to longer ones."""
    f32, whole = ir.F32Type.get(), operands[0].type
    total = prod(whole.shape)
    lanes = min(total, 16)
    flat = ir.VectorType.get([total], f32)
    values = [v if v.type == flat else vector.ShapeCastOp(flat, v).result for v in operands]
    if lanes == total:
        result = function(*values)
    else:
        result = values[0]
        for at in range(0, total, lanes):
            pieces = [part(v, at, lanes) for v in values]
            result = vector.InsertStridedSliceOp(function(*pieces), result, [at], [1]).result
    return result if flat == whole else vector.ShapeCastOp(whole, result).result


def _scale(y: ir.Value, exponent: ir.Value) -> ir.Value:
    lanes = y.type.shape[0]
    operands = [y, exponent, y, all_lanes(lanes)]
    if lanes == 16:
        operands.append(current_rounding())
    return call_intrinsic(f"llvm.x86.avx512.mask.scalef.ps.{32 * lanes}", operands)


def _reciprocal(x: ir.Value) -> ir.Value:
    lanes = x.type.shape[0]
    return call_intrinsic(f"llvm.x86.avx512.rcp14.ps.{32 * lanes}", [x, x, all_lanes(lanes)])


def current_rounding() -> ir.Value:
    """The rounding mode of an instruction of 512 bits that is the thread's: to nearest, ties to even."""
    i32 = ir.IntegerType.get_signless(32)
    return ir.Operation.create("llvm.mlir.constant", [i32], [], {"value": ir.IntegerAttr.get(i32, 4)}).results[0]


def all_lanes(lanes: int) -> ir.Value:
    """The mask of all lanes."""
    mask = ir.IntegerType.get_signless(max(lanes, 8))
    return arith.ConstantOp(mask, ir.IntegerAttr.get(mask, -1)).result


def call_intrinsic(intrinsic: str, operands: list[ir.Value], result: ir.Type | None = None) -> ir.Value:
    """A call of an intrinsic of LLVM; its result has the type of the first operand unless another one is given."""
    return ir.Operation.create("llvm.call_intrinsic", [result or operands[0].type], operands, {
        "intrin": ir.StringAttr.get(intrinsic), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0])}).results[0]
