"""Outlines ops of a block to a function, and inlines them again."""
from __future__ import annotations

import heapq
from collections.abc import Sequence

from legato.analysis.data_sizes import DataSizes
from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir
from legato.passes.graph.functions import CONSTANT

Values = dict[ir.Value, ir.Value]


def clone(op: ir.Operation, values: Values) -> ir.Operation:
    """A copy of ``op`` at the insertion point, with operands replaced by ``values``, to which its results are added."""
    copy = op.clone()
    _replace_operands(copy, values)
    values.update(zip(op.results, copy.results))
    return copy


def _replace_operands(op: ir.Operation, values: Values) -> None:
    for number, operand in enumerate(op.operands):
        if operand in values:
            op.operands[number] = values[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _replace_operands(inner.operation, values)


def as_function(module: ir.Module, name: str, ops: Sequence[ir.Operation], results: Sequence[ir.Value],
                location: ir.Location) -> tuple[func.FuncOp, list[ir.Value]]:
    """A private function with copies of ``ops`` (in program order) that returns ``results``, and the values to pass to it. Constants
    are copied."""
    made = {result for op in ops for result in op.results}
    inputs: dict[ir.Value, None] = {}
    constants: dict[ir.Value, ir.Operation] = {}
    for value in (operand for op in ops for operand in _reads(op)):
        owner = defining_op(value)
        if value in made:
            continue
        if owner is not None and owner.name == CONSTANT:
            constants[value] = owner
        else:
            inputs[value] = None
    with ir.InsertionPoint(module.body), location:
        function = func.FuncOp(name, ir.FunctionType.get([v.type for v in inputs], [v.type for v in results]), visibility="private")
        block = function.add_entry_block([v.location if isinstance(v, ir.BlockArgument) else v.owner.location for v in inputs])
    values: Values = dict(zip(inputs, block.arguments))
    with ir.InsertionPoint(block), location:
        for op in ops:
            for operand in _reads(op):
                if operand in constants and operand not in values:
                    clone(constants[operand], values)
            clone(op, values)
        func.ReturnOp([values[r] for r in results])
    return function, list(inputs)


def _reads(op: ir.Operation) -> list[ir.Value]:
    """The values that an op and those in its regions read from outside."""
    found = list(op.operands)
    for region in op.regions:
        for block in region.blocks:
            inside = {*block.arguments, *(r for o in block.operations for r in o.operation.results)}
            found += [v for o in block.operations for v in _reads(o.operation) if v not in inside]
    return found


def replace_by_call(function: func.FuncOp, ops: Sequence[ir.Operation], results: Sequence[ir.Value], inputs: Sequence[ir.Value],
                    location: ir.Location) -> func.CallOp:
    """Replaces ``ops`` by a call of ``function`` at the last of them. Operands of the ops without other uses are erased, too:
    constants, and kernels' empty outputs."""
    with ir.InsertionPoint(ops[-1]), location:
        call = func.CallOp(list(function.type.results), ir.FlatSymbolRefAttr.get(function.name.value), list(inputs))
    for old, new in zip(results, call.results):
        old.replace_all_uses_with(new)
    read = [v for op in ops for v in op.operands if not isinstance(v.owner, ir.Block)]
    made = [result for op in ops for result in op.results]
    left = [defining_op(v) for v in dict.fromkeys(read) if v not in made]
    for op in reversed(ops):
        op.erase()
    erase_unread(left)
    return call


def erase_unread(ops: Sequence[ir.Operation]) -> None:
    """Erases those of these constants and ``tensor.empty`` ops that have no uses. ``ops``: without duplicates."""
    for op in ops:
        if op.name in (CONSTANT, "tensor.empty") and not any(True for result in op.results for _ in result.uses):
            op.erase()


def inline(call: func.CallOp, function: func.FuncOp) -> None:
    """Replaces a call of a function of one block by its body; its constants are copied."""
    block = function.body.blocks[0]
    values: Values = dict(zip(block.arguments, call.operation.operands))
    results: list[ir.Value] = []
    with ir.InsertionPoint(call):
        for op in block.operations:
            if op.operation.name == "func.return":
                results = [values[v] for v in op.operands]
            else:
                clone(op.operation, values)
    for old, new in zip(call.operation.results, results):
        old.replace_all_uses_with(new)
    call.operation.erase()


def sort_block(block: ir.Block, function: func.FuncOp) -> None:
    """Sorts the ops of a block of ``function`` topologically, as close to the present order as possible. An op that names a size which
    another op finds (see analysis/data_sizes.py) stays after that one."""
    sizes = DataSizes(function)
    ops = [op.operation for op in block.operations]
    position = {op: number for number, op in enumerate(ops)}
    waits = [0] * len(ops)
    readers: list[list[int]] = [[] for _ in ops]
    for number, op in enumerate(ops):
        makers = {position[o] for v in _reads(op) if (o := defining_op(v)) is not None and o in position and o != op}
        makers |= {position[giver] for giver in sizes.waits_for(op) if giver in position and position[giver] != number}
        waits[number] = len(makers)
        for maker in makers:
            readers[maker].append(number)
    last = len(ops) - 1
    ready = [n for n in range(last) if not waits[n]]
    heapq.heapify(ready)
    while ready:
        number = heapq.heappop(ready)
        ops[number].move_before(ops[last])
        for reader in readers[number]:
            waits[reader] -= 1
            if not waits[reader] and reader != last:
                heapq.heappush(ready, reader)
