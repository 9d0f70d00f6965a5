"""Combining ops of reductions, and their identity values."""
from legato.analysis.indices.forms import linear
from legato.core.mlir import arith, ir
from legato.passes.gpu.threads.memory import buffer_of

GREATEST, LEAST = "greatest", "least"
IDENTITIES = {
    "arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1, "arith.ori": 0, "arith.xori": 0, "arith.andi": -1,
    "arith.maximumf": LEAST, "arith.maxnumf": LEAST, "arith.maxsi": LEAST, "arith.maxui": 0,
    "arith.minimumf": GREATEST, "arith.minnumf": GREATEST, "arith.minsi": GREATEST, "arith.minui": -1,
}


def combiner_of(store: ir.Operation) -> tuple[ir.Operation, ir.Value] | None:
    """The op that combines the stored element's old value with another, and that other value; None for other stores."""
    owner = store.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name not in IDENTITIES:
        return None
    combiner = owner.operation
    for number, operand in enumerate(combiner.operands):
        load = None if isinstance(operand.owner, ir.Block) else operand.owner.operation
        if load is None or load.name != "memref.load" or buffer_of(load.operands[0]) != buffer_of(store.operands[1]):
            continue
        places = list(load.operands)[1:], list(store.operands)[2:]
        if all(linear(a) == linear(b) for a, b in zip(*places)) and len(list(load.results[0].uses)) == 1:
            return combiner, combiner.operands[1 - number]
    return None


def combine(combiner: ir.Operation, a: ir.Value, b: ir.Value) -> ir.Value:
    """``a`` and ``b`` combined, at the insertion point."""
    new = combiner.clone()
    new.operands[0], new.operands[1] = a, b
    return new.results[0]


def identity(combiner: ir.Operation) -> ir.Value:
    """The op's identity value, at the insertion point."""
    type_ = combiner.results[0].type
    return arith.ConstantOp(type_, _attribute(type_, IDENTITIES[combiner.name])).result


def is_identity(value: ir.Value, combiner: ir.Operation) -> bool:
    """Whether a value is the constant identity of the op."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return False
    return owner.operation.attributes["value"] == _attribute(value.type, IDENTITIES[combiner.name])


def _attribute(type_: ir.Type, number: int | str) -> ir.Attribute:
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        width = 64 if isinstance(type_, ir.IndexType) else type_.width
        if number in (GREATEST, LEAST):
            number = 2 ** (width - 1) - 1 if number == GREATEST else -(2 ** (width - 1))
        return ir.IntegerAttr.get(type_, number)
    return ir.FloatAttr.get(type_, float("inf") if number == GREATEST else float("-inf") if number == LEAST else number)
