"""tir-promote-matrices: matrices of subgroups that lie in a thread's own buffer become values, which loops carry.

Upstream's ``mem2reg`` and ``sroa`` take buffers apart by constant indices, and do not carry values through ``scf.for``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.indices.forms import Linear, linear
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, body, everything, find, move_before, terminator
from legato.core.locations import describe
from legato.core.mlir import ir, scf
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.matrices import LOAD_MATRIX, STORE_MATRIX
from legato.passes.gpu.threads.memory import MATRIX_BUFFERS, name_of
from legato.passes.pipeline.base import ModulePass, PassContext

PURE = ("arith.", "index.", "memref.dim", "affine.")
THREADS = (3, 4, 5)           # of a launch's arguments: the thread's indices; those of its block stand before them
Held = dict[int, ir.Value]    # the value of each matrix of a buffer, by its number


@dataclass(frozen=True)
class PromoteMatrices(ModulePass):
    """Turns the matrices in local buffers that only tir.load_matrix and tir.store_matrix touch into values; fails where that cannot be
    done, because no device keeps a matrix of a subgroup in a thread's memory."""

    name: ClassVar[str] = "tir-promote-matrices"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                for made in find(kernel.operation, "memref.alloca"):
                    users = [use.owner.operation for use in made.results[0].uses]
                    if any(user.name in MATRIX_BUFFERS for user in users):
                        Promotion(made, users).run()


class Promotion:
    """The promotion of one buffer's matrices."""

    def __init__(self, made: ir.Operation, users: Sequence[ir.Operation]) -> None:
        self.made = made
        other = next((user for user in users if user.name not in MATRIX_BUFFERS), None)
        if other is not None:
            raise self.failed(other, f"{other.name} touches single elements of it: schedule each of its blocks by an intrinsic of "
                                     "subgroups")
        self.places: list[tuple[list[Linear], list[int]]] = []
        self.numbers = {op: self.number(op) for op in sorted_in_program(made, users)}

    def run(self) -> None:
        """Replaces the buffer, from the innermost block on that has all accesses. PassFailed where threads may pass by it."""
        first = next(iter(self.numbers))
        block = first.block
        while not all(is_in(op, block) for op in self.numbers):
            around = block.owner.operation
            block = around.block
        for around in ancestors(block.operations[0].operation):
            if around.name == "scf.if" and not same_for_all(around.operands[0]):
                raise self.failed(first, f"it is accessed inside of {around.name}, which not all threads of a subgroup may enter")
        self.block(block, {})
        self.made.erase()

    def failed(self, op: ir.Operation, why: str) -> PassFailed:
        """The error for a buffer that cannot be replaced."""
        buffer = name_of(self.made.results[0])
        return PassFailed(f"{describe(op)}: matrices of subgroups cannot stay in the local buffer {buffer}: {why}", op)

    def number(self, op: ir.Operation) -> int:
        """The number of the matrix that an op loads or stores. PassFailed where it may overlap another one."""
        place = MATRIX_BUFFERS[op.name]
        forms = [linear(v) for v in list(op.operands)[place + 1:]]
        shape = list(ir.VectorType((op.operands[0] if place else op.results[0]).type).shape)
        for number, (known, size) in enumerate(self.places):
            apart = [f - k for f, k in zip(forms, known)]
            if all(not one.terms and one.constant == 0 for one in apart) and size == shape:
                return number
            if not any(not one.terms and isinstance(one.constant, int) and not -extent < one.constant < extent
                       for one, extent in zip(apart[-2:], size)) or size != shape:
                raise self.failed(op, "its place overlaps that of another one, or is known only at run time; unroll the loops over "
                                      "matrices")
        self.places.append((forms, shape))
        return len(self.places) - 1

    def block(self, block: ir.Block, held: Held) -> None:
        """Replaces the accesses in a block. ``held``: the matrices before it, and afterwards those behind it."""
        for op in body(block):
            if op in self.numbers and op.name == STORE_MATRIX:
                held[self.numbers[op]] = op.operands[0]
                op.erase()
            elif op in self.numbers and op.name == LOAD_MATRIX:
                if self.numbers[op] not in held:
                    raise self.failed(op, "one is read that nothing has written; fill it first")
                op.results[0].replace_all_uses_with(held[self.numbers[op]])
                op.erase()
            elif len(op.regions) and (inside := [one for one in everything(op) if one in self.numbers]):
                if op.name != "scf.for":
                    raise self.failed(inside[0], f"it is accessed inside of {op.name}, which not all threads of a subgroup may enter")
                self.loop(op, held, sorted({self.numbers[one] for one in inside if one.name == STORE_MATRIX}))

    def loop(self, loop: ir.Operation, held: Held, changed: Sequence[int]) -> None:
        """Replaces the accesses in a loop, which carries the matrices that it changes."""
        missing = [number for number in changed if number not in held]
        if missing:
            raise self.failed(loop, "one is written in a loop and not before it; fill it first")
        old = loop.regions[0].blocks[0]
        lower, upper, step, *carries = list(loop.operands)
        with ir.InsertionPoint(loop), loop.location:
            new = scf.ForOp(lower, upper, step, [*carries, *(held[number] for number in changed)])
            with ir.InsertionPoint(new.body):
                end = scf.YieldOp(list(terminator(old).operands) + [held[number] for number in changed]).operation
        for argument, value in zip(old.arguments, new.body.arguments):
            argument.replace_all_uses_with(value)
        move_before(body(old), end)
        inside = held | dict(zip(changed, list(new.body.arguments)[1 + len(carries):]))
        self.block(new.body, inside)
        for place, number in enumerate(changed):
            end.operands[len(carries) + place] = inside[number]
            held[number] = new.results[len(carries) + place]
        for result, value in zip(loop.results, new.results):
            result.replace_all_uses_with(value)
        loop.erase()


def is_in(op: ir.Operation, block: ir.Block) -> bool:
    """Whether an op stands in a block, or in a region of an op there."""
    return op.block == block or any(around.block == block for around in ancestors(op))


def same_for_all(value: ir.Value, known: dict[ir.Value, bool] | None = None) -> bool:
    """Whether a value is the same for all threads of a launch's block, by what it is computed from. ``known``: for values that were asked
    for before."""
    known = {} if known is None else known
    if value not in known:
        known[value] = is_same(value, known)
    return known[value]


def is_same(value: ir.Value, known: dict[ir.Value, bool]) -> bool:
    """As ``same_for_all``, by the values that a value is computed from."""
    if isinstance(value.owner, ir.Block):
        around = value.owner.owner.operation
        if around.name == "gpu.launch":
            return ir.BlockArgument(value).arg_number not in THREADS
        return around.name == "func.func" or (around.name == "scf.for" and value == value.owner.arguments[0]
                                              and all(same_for_all(v, known) for v in list(around.operands)[:3]))
    op = value.owner.operation
    return op.name.startswith(PURE) and all(same_for_all(v, known) for v in op.operands)


def sorted_in_program(made: ir.Operation, users: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The users of a buffer in the order of the program."""
    wanted = set(users)
    return [op for op in everything(made.block.owner.operation, ir.WalkOrder.PRE_ORDER) if op in wanted]
