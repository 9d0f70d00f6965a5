"""Combining ops of reductions."""
from legato.analysis.indices.forms import linear
from legato.analysis.structured.identities import IDENTITIES
from legato.core.mlir import ir
from legato.core.views import root_of


def combiner_of(store: ir.Operation) -> tuple[ir.Operation, ir.Value] | None:
    """The op that combines the stored element's old value with another, and that other value; None for other stores."""
    owner = store.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name not in IDENTITIES:
        return None
    combiner = owner.operation
    for number, operand in enumerate(combiner.operands):
        load = None if isinstance(operand.owner, ir.Block) else operand.owner.operation
        if load is None or load.name != "memref.load" or root_of(load.operands[0]) != root_of(store.operands[1]):
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
