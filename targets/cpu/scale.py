"""AVX-512's multiplication by powers of two, ``vscalefps``, on vectors of f32 of any rank."""
from math import prod

from legato.core.mlir import arith, ir, vector


def can_scale(type_: ir.Type) -> bool:
    """Whether ``scale_by_power`` supports the type: vectors that fill whole registers."""
    if not isinstance(type_, ir.VectorType) or type_.rank == 0:
        return False
    total = prod(type_.shape)
    return total in (4, 8) or total % 16 == 0


def scale_by_power(y: ir.Value, exponent: ir.Value) -> ir.Value:
    """y * 2^exponent (whole numbers, as floats), rounded once, over the whole range."""
    f32, whole = ir.F32Type.get(), y.type
    total = prod(whole.shape)
    lanes = min(total, 16)
    flat, part = ir.VectorType.get([total], f32), ir.VectorType.get([lanes], f32)
    y, exponent = (v if v.type == flat else vector.ShapeCastOp(flat, v).result for v in (y, exponent))
    if lanes == total:
        result = _scale(y, exponent)
    else:
        result = y
        for at in range(0, total, lanes):
            piece = [vector.ExtractStridedSliceOp(part, v, [at], [lanes], [1]).result for v in (y, exponent)]
            result = vector.InsertStridedSliceOp(_scale(*piece), result, [at], [1]).result
    return result if flat == whole else vector.ShapeCastOp(whole, result).result


def _scale(y: ir.Value, exponent: ir.Value) -> ir.Value:
    lanes = y.type.shape[0]
    mask = ir.IntegerType.get_signless(max(lanes, 8))
    operands = [y, exponent, y, arith.ConstantOp(mask, ir.IntegerAttr.get(mask, -1)).result]
    if lanes == 16:  # the rounding mode: the current one
        i32 = ir.IntegerType.get_signless(32)
        four = ir.IntegerAttr.get(i32, 4)
        operands.append(ir.Operation.create("llvm.mlir.constant", [i32], [], {"value": four}).results[0])
    return ir.Operation.create("llvm.call_intrinsic", [y.type], operands, {
        "intrin": ir.StringAttr.get(f"llvm.x86.avx512.mask.scalef.ps.{32 * lanes}"), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0])}).results[0]
