"""What scalar and vector ops become on CPUs, where LLVM would call libm lane by lane or emit several instructions for one.

``EXPANSIONS``: op name -> ``expand(op, machine) -> value | None`` (None: leave it to LLVM). Called with the insertion point at the op.
"""
from collections.abc import Callable
from typing import Any

from ...mlir import arith, ir, vector
from . import vector_functions as f
from .machine import Machine
from .vector_builder import OGT, OLT, UNO, Builder

Expansion = Callable[[ir.Operation, Machine], "ir.Value | None"]


def element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def elementary(function: Callable[[Builder, ir.Value], ir.Value]) -> Expansion:
    """An f32 function of one operand; narrower floats go through f32, f64 is left to libm."""
    def expand(op: ir.Operation, machine: Machine) -> ir.Value | None:
        x = op.operands[0]
        kind = element(x.type)
        if isinstance(kind, ir.F32Type):
            return function(Builder(x.type), x)
        if not isinstance(kind, (ir.F16Type, ir.BF16Type)):
            return None
        wide = Builder(x.type).like(ir.F32Type.get())
        return arith.TruncFOp(x.type, function(Builder(wide), arith.ExtFOp(wide, x).result)).result

    return expand


def expand_exp(op: ir.Operation, machine: Machine) -> ir.Value | None:
    wide = machine.has("avx512f") and isinstance(op.operands[0].type, ir.VectorType) and op.operands[0].type.rank > 0
    return elementary(lambda b, x: f.exp(b, x, wide))(op, machine)


def constant_number(value: ir.Value) -> bool:
    """Whether ``value`` is a constant without NaNs (a splat, or a scalar)."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name not in ("arith.constant", "vector.broadcast"):
        return False
    if owner.name == "vector.broadcast":
        return constant_number(owner.operands[0])
    attribute = owner.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return False
        attribute = attribute.get_splat_value()
    return isinstance(attribute, ir.FloatAttr) and attribute.value == attribute.value


def choose(predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    """``a`` where the comparison holds, else ``b`` (also where one is NaN): one instruction for less and greater."""
    return arith.SelectOp(arith.CmpFOp(predicate, a, b).result, a, b).result


def extreme(predicate: int, a: ir.Value, b: ir.Value, nan_free: bool = False) -> ir.Value:
    """The greater (OGT) or lesser (OLT); NaN where one is NaN, unless ``nan_free`` says that NaNs need not survive."""
    if constant_number(b) or nan_free:
        a, b = b, a
        return choose(predicate, a, b)
    if constant_number(a):
        return choose(predicate, a, b)
    return arith.SelectOp(arith.CmpFOp(UNO, a, a).result, a, choose(predicate, a, b)).result


def nan_free(op: ir.Operation) -> bool:
    return "fastmath" in op.attributes and "nnan" in str(op.attributes["fastmath"])


def expand_maximum(op: ir.Operation, machine: Machine) -> ir.Value:
    return extreme(OGT, *op.operands, nan_free=nan_free(op))


def expand_minimum(op: ir.Operation, machine: Machine) -> ir.Value:
    return extreme(OLT, *op.operands, nan_free=nan_free(op))


def joined(kind: str, value: ir.Value, free: bool) -> ir.Value | None:
    """Greatest or least element of a vector, halves against halves; LLVM's own takes several instructions a step. None for other kinds."""
    predicate = OGT if "maximumf" in kind else OLT if "minimumf" in kind else None
    if predicate is None or value.type.rank != 1 or value.type.shape[0] & (value.type.shape[0] - 1):
        return None
    width = value.type.shape[0]
    while width > 1:
        width //= 2
        half = ir.VectorType.get([width], value.type.element_type)
        low, high = (vector.ExtractStridedSliceOp(half, value, [at], [width], [1]).result for at in (0, width))
        value = extreme(predicate, low, high, free)
    return vector.ExtractOp(value, [], [0]).result


def expand_reduction(op: ir.Operation, machine: Machine) -> ir.Value | None:
    if op.parent.operation.name == "vector.mask":
        return None  # the mask around it is expanded
    kind, free = str(op.attributes["kind"]), nan_free(op)
    result = joined(kind, op.operands[0], free)
    if result is None or len(op.operands) == 1:
        return result
    return extreme(OGT if "maximumf" in kind else OLT, result, op.operands[1], free)


def expand_masked_reduction(op: ir.Operation, machine: Machine) -> ir.Value | None:
    """A reduction under a mask: lanes that are off get the neutral element."""
    inner = op.regions[0].blocks[0].operations[0].operation
    if inner.name != "vector.reduction" or len(op.operands) != 1:
        return None
    kind, value = str(inner.attributes["kind"]), inner.operands[0]
    if "maximumf" not in kind and "minimumf" not in kind:
        return None
    number = element(value.type)
    neutral = ir.FloatAttr.get(number, float("-inf" if "maximumf" in kind else "inf"))
    others = arith.ConstantOp(value.type, ir.DenseElementsAttr.get_splat(value.type, neutral)).result
    result = joined(kind, arith.SelectOp(op.operands[0], value, others).result, nan_free(inner))
    if result is None or len(inner.operands) == 1:
        return result
    return extreme(OGT if "maximumf" in kind else OLT, result, inner.operands[1], nan_free(inner))


EXPANSIONS: dict[str, Any] = {
    "math.exp": expand_exp,
    "math.expm1": elementary(f.expm1),
    "math.log": elementary(f.log),
    "math.log1p": elementary(f.log1p),
    "math.tanh": elementary(f.tanh),
    "math.erf": elementary(f.erf),
    "math.sin": elementary(lambda b, x: f.sine(b, x, 0)),
    "math.cos": elementary(lambda b, x: f.sine(b, x, 1)),
    "arith.maximumf": expand_maximum,
    "arith.minimumf": expand_minimum,
    "vector.reduction": expand_reduction,
    "vector.mask": expand_masked_reduction,
}
