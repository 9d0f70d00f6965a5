"""Identity values of the ops that combine in reductions."""
from legato.core.ir_helpers import defining_op
from legato.core.mlir import arith, ir

GREATEST, LEAST = "greatest", "least"
IDENTITIES = {
    "arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1, "arith.ori": 0, "arith.xori": 0, "arith.andi": -1,
    "arith.maximumf": LEAST, "arith.maxnumf": LEAST, "arith.maxsi": LEAST, "arith.maxui": 0,
    "arith.minimumf": GREATEST, "arith.minnumf": GREATEST, "arith.minsi": GREATEST, "arith.minui": -1,
}
# combined once or more often, a value has the same effect
IDEMPOTENT = {"arith.andi", "arith.ori", *(f"arith.{name}" for name in (
    "maximumf", "maxnumf", "maxsi", "maxui", "minimumf", "minnumf", "minsi", "minui"))}


def identity(combiner: ir.Operation) -> ir.Value:
    """The op's identity value, at the insertion point."""
    type_ = combiner.results[0].type
    return arith.ConstantOp(type_, _attribute(type_, IDENTITIES[combiner.name])).result


def is_identity(value: ir.Value, combiner: ir.Operation) -> bool:
    """Whether a value is the constant identity of the op."""
    owner = defining_op(value)
    if owner is None or owner.name != "arith.constant":
        return False
    return owner.attributes["value"] == _attribute(value.type, IDENTITIES[combiner.name])


def _attribute(type_: ir.Type, number: int | str) -> ir.Attribute:
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        width = 64 if isinstance(type_, ir.IndexType) else type_.width
        if number in (GREATEST, LEAST):
            number = 2 ** (width - 1) - 1 if number == GREATEST else -(2 ** (width - 1))
        return ir.IntegerAttr.get(type_, number)
    return ir.FloatAttr.get(type_, float("inf") if number == GREATEST else float("-inf") if number == LEAST else number)
