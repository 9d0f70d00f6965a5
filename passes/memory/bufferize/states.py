"""States of main's loops, which a step stores in their memory at its end, where what it stores lies in the memory of states itself.

The frontends copy a state that becomes another one. What simplification made of their ops, and what inner loops begin with, is known here.
"""
from collections.abc import Iterator

from legato.core.ir_helpers import find, terminator
from legato.core.mlir import bufferization, func, ir
from legato.dialects import tir
from legato.passes.memory.bufferize.donated import compute_in
from legato.passes.memory.bufferize.reads import VIEWS

STORE = "bufferization.materialize_in_destination"


def own_states(function: func.FuncOp) -> None:
    """Stores nothing that a loop inside computes in the state's own memory, computes there what a step makes once it has read the state,
    and copies what lies in other states before the first store.

    Bufferization takes both for conflicts that it cannot avoid.
    """
    stores: dict[ir.Block, list[ir.Operation]] = {}
    for op in find(function.operation, STORE):
        if op.block != function.body.blocks[0]:
            stores.setdefault(op.block, []).append(op)
    with ir.Location.unknown():
        for block, found in stores.items():
            _separate_states(block, found)


def _separate_states(block: ir.Block, found: list[ir.Operation]) -> None:
    states = {op.operands[1] for op in found} & set(block.arguments)
    order = {op.operation: number for number, op in enumerate(block.operations)}
    found.sort(key=order.__getitem__)
    start = order[found[0]]
    written: set[ir.Value] = set()
    dropped: list[ir.Operation] = []
    for op in found:
        value, into = op.operands
        if into in states:
            compute_in(ir.BlockArgument(into), value, op)
        begins = set(_begins(value)) & states
        if into in begins and tir.is_tied(value, into) and (value == into or _is_read_by_one(into, op)):
            op.results[0].replace_all_uses_with(value)
            dropped.append(op)
            continue
        if begins & written or into in begins:
            is_behind = not isinstance(value.owner, ir.Block) and order.get(value.owner.operation, -1) > start
            with ir.InsertionPoint(op if is_behind else found[0]):
                op.operands[0] = bufferization.AllocTensorOp(value.type, [], copy=value).result
        written.add(into)
    for op in dropped:
        op.erase()


def _is_read_by_one(state: ir.Value, store: ir.Operation) -> bool:
    """Whether one op at most uses a state beside its store."""
    return sum(use.owner.operation != store for use in state.uses) <= 1


def _begins(value: ir.Value) -> Iterator[ir.Value]:
    """The arguments of blocks in whose memory, or a part of it, a value may lie: through views, branches, and what loops begin with."""
    if isinstance(value.owner, ir.Block):
        yield value
        return
    op, number = value.owner.operation, ir.OpResult(value).result_number
    if op.name in VIEWS:
        yield from _begins(op.operands[0])
    elif op.name == STORE:
        yield from _begins(op.operands[1])
    elif op.name == "scf.for":
        yield from _begins(op.operands[3 + number])
    elif op.name == "scf.while":
        for begin in _begins(terminator(op.regions[0].blocks[0]).operands[1 + number]):
            yield from _begins(op.operands[begin.arg_number]) if begin.owner == op.regions[0].blocks[0] else (begin,)
    elif op.name == "scf.if":
        for region in op.regions:
            if len(region.blocks):
                yield from _begins(terminator(region.blocks[0]).operands[number])
