"""tir-overlap-outputs: while matrix instructions multiply a tile, vectors compute the outputs of the tile before.

A product of matrices by AMX leaves its sums in memory, and a loop over their rows takes them through what follows the product. The two use
different units of the core, but the loop needs the last of the sums, and is longer than what the core looks ahead. So each step of a
product takes some rows of the tile before, and only the last tile of a loop over tiles has its rows by themselves.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.ir_helpers import ancestors, body, copy, everything, find, index, is_made_in, move_before, terminator
from legato.core.mlir import arith, ir, scf
from legato.core.vector_loops import below, least, loop, minus, most, plus, quotient, times, value_of, when
from legato.core.views import VIEWS, root_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.passes.cpu.loop_steps import step_count
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

INTRINSIC = "llvm.call_intrinsic"
PRODUCT = "llvm.x86.tdp"
MATRICES = "llvm.x86.t"         # what the names of instructions on tile registers begin with, these two among them
IN_STEPS = (PRODUCT, "llvm.x86.tileload")
READS = ("vector.transfer_read", "vector.load", "memref.load")
POINTER = "memref.extract_aligned_pointer_as_index"
QUIET = (*VIEWS, *READS, POINTER, "affine.apply", "memref.prefetch", "memref.extract_strided_metadata", "llvm.inttoptr",
         "llvm.mlir.constant", "ub.poison", "vector.broadcast", "vector.shape_cast")


@dataclass(frozen=True)
class OverlapOutputs(ModulePass):
    """Moves the rows of a tile's outputs into the steps of the next tile's product, where these are instructions on matrices."""

    name: ClassVar[str] = "tir-overlap-outputs"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                steps = [] if kernel.is_external else [op for op in find(kernel.operation, INTRINSIC) if _calls(op, PRODUCT)]
                for innermost in dict.fromkeys(op.parent.operation for op in steps):
                    found = TileLoop.of(innermost)
                    if found is not None:
                        with ir.InsertionPoint(found.loop), found.outputs.location:
                            found.overlap()


@dataclass(frozen=True)
class TileLoop:
    """A loop over tiles: each has a product, whose sums are in tile registers, and then outputs, row by row.

    ``nest``: the loops of the product, outermost first; ``outputs``: the loop over rows; ``needs``: what else is computed for a tile that
    the outputs use, in order; ``rows``: of a tile."""

    loop: ir.Operation
    nest: list[ir.Operation]
    outputs: ir.Operation
    needs: list[ir.Operation]
    rows: int

    @classmethod
    def of(cls, innermost: ir.Operation) -> TileLoop | None:
        """The loop over tiles around the innermost loop of a product; None where there is none, or where the outputs are no loop over rows
        that may wait."""
        if innermost.name != "scf.for" or not all(_is_quiet(op) or _calls(op, *IN_STEPS) for op in _body(innermost)):
            return None
        nest = [innermost]
        for around in ancestors(innermost):
            if around.name != "scf.for" or len(around.results):
                return None
            if not all(op == nest[0] or _is_quiet(op) for op in _body(around)):
                return cls._around(around, nest)
            nest.insert(0, around)
        return None

    @classmethod
    def _around(cls, tiles: ir.Operation, nest: list[ir.Operation]) -> TileLoop | None:
        *others, outputs = ops = _body(tiles)
        if outputs == nest[0]:
            return None
        others.remove(nest[0])
        rows = _rows(outputs)
        if rows is None or not all(_is_quiet(op) or _calls(op, MATRICES) for op in others) or any(map(_is_used, outputs.results)):
            return None
        needs = _used_by(outputs, [op for op in others if not _calls(op, MATRICES)])
        if any(op.name in READS and nest[0].is_before_in_block(op) for op in needs):
            return None     # of the sums
        written = {root_of(operand) for op in everything(outputs) if not _is_quiet(op) for operand in op.operands}
        read = {root_of(op.operands[0]) for part in [*nest[:1], *ops[:ops.index(nest[0])]] for op in everything(part)
                if op.name in READS or op.name == POINTER}
        return None if written & read else cls(tiles, nest, outputs, needs, rows)

    @property
    def start(self) -> list[ir.Value]:
        """What the loop over rows begins with."""
        return list(self.outputs.operands)[3:]

    def overlap(self) -> None:
        """Rewrites the loop, and lets the rows of its last tile follow it."""
        lower, upper, step = list(self.loop.operands)[:3]
        block = self.loop.regions[0].blocks[0]
        variable = block.arguments[0]
        first = block.operations[0].operation
        with ir.InsertionPoint(first):
            before = copy(self.needs, {variable: value_of(most(minus(variable, step), lower))})
            done = arith.select(arith.cmpi(arith.CmpIPredicate.eq, variable, lower), index(self.rows), index(0))
        steps = [step_count(one) for one in self.nest]
        share = -(-self.rows // prod(count or 1 for count in steps))
        ops = list(block.operations)
        with ir.InsertionPoint(ops[ops.index(self.nest[0].opview) + 1]):
            carried = self._carrying(self.nest, before, share, [done, *(before.get(value, value) for value in self.start)])
            if None in steps or 0 in steps:
                self._rows(before, carried[0], index(self.rows), carried[1:])
        with ir.InsertionPoint.after(self.loop):
            def last() -> None:
                at = plus(lower, times(quotient(minus(minus(upper, lower), 1), step), step))
                values = copy(self.needs, {variable: value_of(at)})
                self._rows(values, index(0), index(self.rows), [values.get(value, value) for value in self.start])

            known = step_count(self.loop)
            when(below(lower, upper) if known is None else known > 0, last)
        self.outputs.erase()

    def _carrying(self, nest: Sequence[ir.Operation], before: dict[ir.Value, ir.Value], share: int,
                  start: list[ir.Value]) -> list[ir.Value]:
        """Replaces the loops of the product by such that carry the number of rows that are done, and what the loop over rows carries, and
        that take some rows in each step."""
        old, *inner = nest
        lower, upper, step = list(old.operands)[:3]
        made = scf.ForOp(lower, upper, step, start)
        block = old.regions[0].blocks[0]
        block.arguments[0].replace_all_uses_with(made.induction_variable)
        with ir.InsertionPoint(made.body):
            last = scf.YieldOp(start).operation
        move_before(body(block), last)
        carried = list(made.inner_iter_args)
        if inner:
            with ir.InsertionPoint(inner[0]):
                carried = self._carrying(inner, before, share, carried)
        else:
            with ir.InsertionPoint(last):
                end = value_of(least(plus(carried[0], share), self.rows))
                carried = [end, *self._rows(before, carried[0], end, carried[1:])]
        for number, value in enumerate(carried):
            last.operands[number] = value
        old.erase()
        return list(made.results)

    def _rows(self, values: dict[ir.Value, ir.Value], first: ir.Value, end: ir.Value, start: Sequence[ir.Value]) -> list[ir.Value]:
        """The outputs of some rows, with these values for what is computed in front of the product."""
        block = self.outputs.regions[0].blocks[0]

        def row(*given: ir.Value) -> list[ir.Value]:
            made = copy(body(block), values | dict(zip(block.arguments, given, strict=True)))
            return [made.get(value, value) for value in terminator(block).operands]

        return loop(first, end, 1, row, start)


def _body(one: ir.Operation) -> list[ir.Operation]:
    """The ops in a loop."""
    return body(one.regions[0].blocks[0])


def _calls(op: ir.Operation, *names: str) -> bool:
    """Whether an op calls an intrinsic whose name begins with one of these."""
    return op.name == INTRINSIC and op.attributes["intrin"].value.startswith(names)


def _is_quiet(op: ir.Operation) -> bool:
    """Whether an op writes nothing."""
    return op.name in QUIET or op.name.startswith("arith.")


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


def _rows(outputs: ir.Operation) -> int | None:
    """The number of rows of a loop over all of them; None for another op."""
    if outputs.name != "scf.for" or [constant_of(bound) for bound in (outputs.operands[0], outputs.operands[2])] != [0, 1]:
        return None
    return None if any(_calls(op, MATRICES) for op in find(outputs, INTRINSIC)) else constant_of(outputs.operands[1])


def _used_by(outputs: ir.Operation, ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops, of these, whose results the outputs use, or those that they use, in order."""
    wanted = {operand for op in everything(outputs) for operand in op.operands if not is_made_in(operand, outputs)}
    used: list[ir.Operation] = []
    for op in reversed(ops):
        if wanted & set(op.results):
            used.insert(0, op)
            wanted |= set(op.operands)
    return used
