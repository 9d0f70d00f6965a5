"""bf16 as 16-bit integers: LLVM has no library function for its casts where we run, and splits vectors of it into pieces that need them.

Arithmetic is done in f32 by now; what is left of bf16 are casts, which become shifts, and ops that move values, which move integers too.
"""
import numpy as np

from ..mlir import arith, ir


def bf16_as_integers(module: ir.Module) -> None:
    """Rewrites every function of ``module``; nothing of it has a bf16 type afterwards."""
    casts: list[ir.Operation] = []
    others: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        cast = op.name in ("arith.extf", "arith.truncf") and (is_bf16(op.operands[0].type) or is_bf16(op.results[0].type))
        (casts if cast else others).append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in casts:
        with ir.InsertionPoint(op), op.location:
            value = from_bf16(op) if op.name == "arith.extf" else to_bf16(op)
        op.results[0].replace_all_uses_with(value)
        op.erase()
    for op in others:
        retype(op)


def is_bf16(type_: ir.Type) -> bool:
    return isinstance(type_.element_type if isinstance(type_, ir.ShapedType) else type_, ir.BF16Type)


def as_integer(type_: ir.Type) -> ir.Type:
    """The type with i16 for bf16."""
    i16 = ir.IntegerType.get_signless(16)
    if not is_bf16(type_):
        return type_
    if isinstance(type_, ir.MemRefType):
        return ir.MemRefType.get(type_.shape, i16, type_.layout, type_.memory_space)
    return like(type_, i16)


def like(type_: ir.Type, element: ir.Type) -> ir.Type:
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element


def retype(op: ir.Operation) -> None:
    """Sets the types of an op's results and block arguments, and those its attributes hold."""
    for value in [*op.results, *(a for region in op.regions for block in region.blocks for a in block.arguments)]:
        if is_bf16(value.type):
            value.set_type(as_integer(value.type))
    if op.name == "func.func":
        type_ = op.attributes["function_type"].value
        types = [as_integer(t) for t in type_.inputs], [as_integer(t) for t in type_.results]
        op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    elif op.name == "memref.global" and is_bf16(op.attributes["type"].value):
        op.attributes["type"] = ir.TypeAttr.get(as_integer(op.attributes["type"].value))
        if "initial_value" in op.attributes:
            op.attributes["initial_value"] = bits_of(op.attributes["initial_value"])
    elif op.name == "arith.constant":
        op.attributes["value"] = bits_of(op.attributes["value"])


def bits_of(attribute: ir.Attribute) -> ir.Attribute:
    """A constant's bit pattern, where it is one of bf16."""
    if not hasattr(attribute, "type") or not is_bf16(attribute.type):
        return attribute
    i16 = ir.IntegerType.get_signless(16)
    if isinstance(attribute, ir.FloatAttr):
        return ir.IntegerAttr.get(i16, int(np.array(attribute.value, np.float32).view(np.int32) >> 16))
    type_ = attribute.type
    integers = ir.VectorType.get(type_.shape, i16) if isinstance(type_, ir.VectorType) else ir.RankedTensorType.get(type_.shape, i16)
    if attribute.is_splat:
        return ir.DenseElementsAttr.get_splat(integers, bits_of(attribute.get_splat_value()))
    return ir.DenseElementsAttr.get(np.array(memoryview(attribute)).view(np.int16), type=integers)


def constant(type_: ir.Type, value: int) -> ir.Value:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    attribute = ir.IntegerAttr.get(element, value)
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return arith.ConstantOp(type_, attribute).result


def from_bf16(op: ir.Operation) -> ir.Value:
    """The upper half of an f32. The operand has its integer type a moment later."""
    x, result = op.operands[0], op.results[0].type
    i32 = like(x.type, ir.IntegerType.get_signless(32))
    bits = arith.ExtUIOp(i32, arith.BitcastOp(like(x.type, ir.IntegerType.get_signless(16)), x).result).result
    wide = arith.BitcastOp(like(x.type, ir.F32Type.get()), arith.ShLIOp(bits, constant(i32, 16)).result).result
    return wide if wide.type == result else arith.ExtFOp(result, wide).result


def to_bf16(op: ir.Operation) -> ir.Value:
    """To nearest and even, as an i16; a NaN stays one."""
    x = op.operands[0]
    f32, i32 = (like(x.type, t) for t in (ir.F32Type.get(), ir.IntegerType.get_signless(32)))
    if x.type != f32:
        x = arith.TruncFOp(f32, x).result
    bits, sixteen = arith.BitcastOp(i32, x).result, constant(i32, 16)
    odd = arith.AndIOp(arith.ShRUIOp(bits, sixteen).result, constant(i32, 1)).result
    rounded = arith.AddIOp(arith.AddIOp(bits, constant(i32, 0x7FFF)).result, odd).result
    quiet = arith.OrIOp(bits, constant(i32, 0x00400000)).result
    rounded = arith.SelectOp(arith.CmpFOp(arith.CmpFPredicate.UNO, x, x).result, quiet, rounded).result
    return arith.TruncIOp(like(x.type, ir.IntegerType.get_signless(16)), arith.ShRUIOp(rounded, sixteen).result).result
