"""tir-parallel-loops: loops of main that are marked as running side by side become the steps of one parallel loop."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from legato.core.ir_helpers import everything, find, is_made_in, move_before
from legato.core.mlir import func, ir, scf
from legato.core.views import VIEWS, root_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import OUT, SIDE_BY_SIDE
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

READS = ("memref.dim", "memref.load", *VIEWS)
NO_MEMORY = ("arith.", "memref.get_global", "memref.alloc")      # of ops that may be computed earlier


@dataclass(frozen=True)
class ParallelLoops(ModulePass):
    """Makes a scf.forall of each group of marked loops (``tir.side_by_side``), one a step, which threads take.

    A loop stays behind another one where one writes what the other one reads or writes, or what stands between them cannot be in front of
    both. Buffers that a loop allocates are its own: memory is planned afterwards.
    """

    name: ClassVar[str] = "tir-parallel-loops"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            functions = {op.name.value: op for op in module.module.body.operations if isinstance(op, func.FuncOp)}
            for function in functions.values():
                if not function.is_external and not tir.is_prim_func(function):
                    for group in marked(function):
                        for free in free_loops(group, functions):
                            if len(free) > 1:
                                join(free)


def marked(function: func.FuncOp) -> Iterable[list[ir.Operation]]:
    """The marked loops of a function, by group and block. The marks are removed."""
    found: dict[tuple[int, ir.Block], list[ir.Operation]] = {}
    for op in find(function.operation, "scf.for"):
        if SIDE_BY_SIDE in op.attributes:
            found.setdefault((op.attributes[SIDE_BY_SIDE].value, op.block), []).append(op)
            del op.attributes[SIDE_BY_SIDE]
    return found.values()


@dataclass(frozen=True)
class Touched:
    """The buffers around an op that it reads or writes, and those that it writes, by their roots."""

    all: frozenset[ir.Value]
    written: frozenset[ir.Value]

    @classmethod
    def by(cls, op: ir.Operation, functions: Mapping[str, func.FuncOp]) -> Touched:
        """Those of an op, and of the ops in it."""
        accesses = [(value, writes) for one in everything(op) for value, writes in accesses_of(one, functions) if not is_made_in(value, op)]
        return cls(frozenset(value for value, _ in accesses), frozenset(value for value, writes in accesses if writes))

    def meets(self, other: Touched) -> bool:
        """Whether one writes what the other one touches."""
        return bool(self.written & other.all or other.written & self.all)


def accesses_of(op: ir.Operation, functions: Mapping[str, func.FuncOp]) -> Iterator[tuple[ir.Value, bool]]:
    """The roots of the buffers that an op takes, each with whether it may write there. A kernel writes its outputs, and the workspaces
    behind them."""
    callee = functions[op.attributes["callee"].value] if op.name == "func.call" else None
    first = next((number for number, given in enumerate(callee.attributes["arg_attrs"]) if OUT in ir.DictAttr(given)), 0) \
        if callee is not None and tir.is_prim_func(callee) and "arg_attrs" in callee.attributes else 0
    for number, value in enumerate(op.operands):
        if isinstance(value.type, ir.MemRefType):
            reads = op.name in READS or (op.name == "memref.copy" and number == 0) or number < first
            yield root_of(value), not reads


def free_loops(group: Sequence[ir.Operation], functions: Mapping[str, func.FuncOp]) -> list[list[ir.Operation]]:
    """The loops of a group, those together that are free: of a function that is inlined twice, the marks of both copies are the same."""
    found: list[list[ir.Operation]] = []
    for loop in group:
        if found and are_free([*found[-1], loop], functions):
            found[-1].append(loop)
        else:
            found.append([loop])
    return found


def are_free(group: Sequence[ir.Operation], functions: Mapping[str, func.FuncOp]) -> bool:
    """Whether loops give and take nothing from each other, and what stands between them, if so, is moved in front of all."""
    if any(len(loop.results) for loop in group):
        return False
    touched = [Touched.by(loop, functions) for loop in group]
    if any(a.meets(b) for a, b in combinations(touched, 2)):
        return False
    between = list(ops_between(group[0], group[-1]))
    passed: list[Touched] = []
    early = []
    for op in between:
        if op in group:
            passed.append(touched[group.index(op)])
            continue
        if not (op.name in (*READS, "memref.copy") or op.name.startswith(NO_MEMORY)):
            return False
        own = Touched.by(op, functions)
        if any(one.meets(own) for one in passed):
            return False
        early.append(op)
    move_before(early, group[0])
    return True


def ops_between(first: ir.Operation, last: ir.Operation) -> Iterator[ir.Operation]:
    """The ops of a block from one to another one, both included."""
    inside = [op.operation for op in first.block.operations]
    yield from inside[inside.index(first):inside.index(last) + 1]


def join(group: Sequence[ir.Operation]) -> None:
    """Moves loops into the branches of the steps of a parallel loop in their place."""
    with ir.InsertionPoint(group[0]), group[0].location:
        around = scf.ForallOp([0], [len(group)], [1], [])
    with ir.InsertionPoint(around.body), group[0].location:
        cases = ir.DenseI64ArrayAttr.get(range(len(group) - 1))
        branch = ir.Operation.create("scf.index_switch", [], [around.induction_variables[0]], {"cases": cases}, regions=len(group))
        scf.InParallelOp()
    for region, loop in zip(branch.regions, [group[-1], *group[:-1]], strict=True):
        block = region.blocks.append()
        with ir.InsertionPoint(block), loop.location:
            end = scf.YieldOp([])
        loop.move_before(end.operation)
