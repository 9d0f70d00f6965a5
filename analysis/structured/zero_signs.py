"""Whether it matters if a zero among the numbers that a scalar in a body can be is +0 or -0."""
from __future__ import annotations

from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir

# ops whose result is the same, and those of which only the sign of a zero is another
FORGETTING = ("arith.fptosi", "arith.fptoui", "arith.cmpf")
PASSING_ON = ("arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.select", "arith.maximumf", "arith.minimumf", "arith.extf",
              "arith.truncf", "math.fma", "math.absf", "math.roundeven", "math.floor", "math.ceil", "math.trunc")
SUMS = ("arith.addf", "arith.subf")


def zero_sign_matters(value: ir.Value) -> bool:
    """Whether more may depend on the sign of a float, where it is 0, than the signs of zeros that nothing else depends on."""
    seen, open_ = {value}, [value]
    while open_:
        for use in open_.pop().uses:
            op = use.owner.operation
            if op.name in FORGETTING or (op.name in SUMS and any(map(_is_nonzero, op.operands))):
                continue
            if op.name not in PASSING_ON:
                return True
            if op.results[0] not in seen:
                seen.add(op.results[0])
                open_.append(op.results[0])
    return False


def _is_nonzero(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name == "arith.constant" and ir.FloatAttr(op.attributes["value"]).value != 0
