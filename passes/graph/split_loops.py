"""relax-split-loops: loops of main that do not depend on each other run side by side, each on one thread; of a loop over rows, such as a
recurrent layer over a batch, each part of the rows becomes a loop of its own.

A kernel's threads meet at its end, several times in each step of such a loop, and each reads what the others wrote. Loops meet once.
"""
from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import body, present
from legato.core.mlir import arith, func, ir, scf
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.tir.markers import SIDE_BY_SIDE
from legato.passes.graph.functions import Constants, erase_dead, is_graph_op, is_used, relax_functions, top_ops
from legato.passes.graph.loop_parts import RowPart, build, hoist_casts, number_of_rows, parts_of, replace_result, together
from legato.passes.graph.loop_rows import CAST, DIM, EMPTY, EXTRACT, INSERT, STORE, row_axes
from legato.passes.graph.loop_work import ROWS, GraphLoop, best_parts, least_rows, pays, ranges
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding

MOVES = (EXTRACT, INSERT, STORE, CAST, EMPTY, DIM, "tensor.cast", "tensor.extract", "tensor.from_elements")     # of tensors, and numbers


@dataclass(frozen=True)
class SplitLoops(ModulePass):
    """Splits loops of main by rows and marks those that run side by side, with the number of their group, where that takes less time.

    Where only the call knows how many rows there are, a branch takes the split loops from so many on as pay.
    """

    name: ClassVar[str] = "relax-split-loops"
    rounding: ClassVar[Rounding] = REORDERED    # a product of fewer rows may be summed in another order
    target: TargetText = option("llvm", "the target whose threads run the loops")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if machine.threads < 2:
            return
        with module.context:
            marks = iter(range(1 << 30))
            for function in relax_functions(module):
                for group in groups(function):
                    split_group(group, function, machine, marks)
                erase_dead(function, Constants(module))


def split_group(group: Sequence[GraphLoop], function: func.FuncOp, machine: CpuMachine, marks: Iterator[int]) -> None:
    """Splits and marks the loops of one group, if that pays. ``marks``: the numbers of groups."""
    unknown = {loop.count for loop in group if not isinstance(loop.count, int)}
    parts = best_parts(group, machine)
    if parts == 0 or len(unknown) > 1:
        return
    least = least_rows(group, parts, machine) if unknown else 0
    if least is None:
        return
    bring_together([loop.op for loop in group], dims.symbol_table(function))
    ops = [loop.op for loop in group]
    for op in ops:
        hoist_casts(op, ops[0])
    results = [result for op in ops for result in op.results if is_used(result)]
    with ir.InsertionPoint(ops[0]), ops[0].location:
        if parts == 1:
            mark(ops, next(marks))
            return
        if not unknown or least <= ROWS[0]:
            for result, value in zip(results, in_parts(group, results, parts, function, next(marks)), strict=True):
                replace_result(result, value)
            for op in ops:
                op.erase()
            return
        rows = dims.materialize(unknown.pop(), function)
        many = arith.cmpi(arith.CmpIPredicate.sge, rows, arith.ConstantOp(ir.IndexType.get(), least).result)
        branch = scf.IfOp(many, [result.type for result in results], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp(in_parts(group, results, parts, function, next(marks)))
        for result, value in zip(results, branch.results, strict=True):
            result.replace_all_uses_with(value)
        with ir.InsertionPoint(branch.else_block):
            end = scf.YieldOp(results).operation
        for op in ops:
            op.move_before(end)
        if pays(group, 1, machine, ROWS[0]):
            mark(ops, next(marks))


def in_parts(group: Sequence[GraphLoop], results: Sequence[ir.Value], parts: int, function: func.FuncOp, number: int) -> list[ir.Value]:
    """Results of the loops of a group, by loops over parts of their rows, as far as they have rows, at the insertion point: behind what all
    read."""
    split = [[RowPart.of(first, end, function) for first, end in ranges(loop.count, parts)] for loop in group]
    given = [[parts_of(loop.op, loop.rows, part) for part in own] for loop, own in zip(group, split)]
    made = [[build(loop.op, loop.rows, part, values) for part, values in zip(own, of)] for loop, own, of in zip(group, split, given)]
    mark([op for own in made for op in own], number)
    found = []
    for loop, own, ops in zip(group, split, made):
        for place, result in enumerate(loop.op.results):
            if result in results:
                of_parts = [op.results[place] for op in ops]
                is_split = result in loop.rows and len(ops) > 1
                found.append(together(result, loop.rows[result], of_parts, [part.count for part in own]) if is_split else of_parts[0])
    return found


def mark(loops: Sequence[ir.Operation], number: int) -> None:
    """Marks loops as a group."""
    for op in loops:
        op.attributes[SIDE_BY_SIDE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def groups(function: func.FuncOp) -> list[list[GraphLoop]]:
    """The loops of a function's block that one of its threads may run, in groups that do not depend on each other."""
    found: list[list[GraphLoop]] = []
    given = dims.symbol_table(function)
    for op in top_ops(function):
        if op.name == "scf.for" and is_plain(op, given):
            if not found or sources_between([one.op for one in found[-1]], op, given) is None:
                found.append([])
            found[-1].append(graph_loop(op, given))
    return found


def graph_loop(op: ir.Operation, given: Container[str]) -> GraphLoop:
    """A loop, with the most rows that it carries."""
    states = op.regions[0].blocks[0].arguments
    choices: list[tuple[Mapping[ir.Value, int], dims.Size]] = [({}, 1)]
    for rows in row_axes(op):
        count = number_of_rows(op, rows)
        if any(state in rows for state in states) and count is not dims.UNKNOWN and all(name in given for name in dims.symbols(count)):
            choices.append((rows, count))
    return GraphLoop(op, *max(choices, key=lambda choice: choice[1] if isinstance(choice[1], int) else max(ROWS)))


def is_plain(loop: ir.Operation, given: Container[str]) -> bool:
    """Whether a loop is of graph ops, of sizes that main's arguments give, and of moves of tensors, and calls nothing."""
    for op in body(loop.regions[0].blocks[0]):
        cls = relax.op_class(op)
        if len(op.regions) or not (op.name in MOVES or op.name.startswith("arith.") or cls is not None):
            return False
        if cls is not None and (cls.DEFINES_SIZES or any(name is None or name not in given for name in symbols_of(op))):
            return False
        if op.name == EMPTY and len(op.operands):
            return False
    return len(loop.results) > 0


def sources_between(group: Sequence[ir.Operation], loop: ir.Operation, given: Container[str]) -> list[ir.Operation] | None:
    """What ``loop`` is computed from, of what stands between the first of a group and it, in order. None where it depends on the group, or
    on more than graph ops whose sizes are known in front of the group. ``given``: the symbols that are."""
    between: list[ir.Operation] = []
    needed = {value for op in (loop, *body(loop.regions[0].blocks[0])) for value in op.operands}
    inside = [op.operation for op in loop.block.operations]
    for op in reversed(inside[inside.index(group[0]):inside.index(loop)]):
        if not any(result in needed for result in op.results):
            continue
        plain = is_graph_op(op) or op.name.startswith("arith.") or op.name in MOVES
        if op in group or len(op.regions) or not plain or any(name is not None and name not in given for name in symbols_of(op)):
            return None
        needed |= set(op.operands)
        between.append(op)
    return between[::-1]


def symbols_of(op: ir.Operation) -> Iterator[str | None]:
    """The symbols in the sizes of an op's operands and results; None for a size that has no name."""
    for value in (*op.operands, *op.results):
        if isinstance(value.type, ir.RankedTensorType):
            for size in dims.dims(value.type):
                yield from (None,) if size is dims.UNKNOWN else dims.symbols(size)


def bring_together(group: Sequence[ir.Operation], given: Container[str]) -> None:
    """Makes the loops of a group adjacent: what the others are computed from moves in front of the first."""
    for number, loop in enumerate(group[1:], 1):
        for op in present(sources_between(group[:number], loop, given)):
            op.move_before(group[0])
        loop.move_after(group[number - 1])
