"""Cuts the ops of a kernel into pieces, each with at most one contraction, window op or transpose: its heart.

A heart is a piece of its own, with the pads that only it reads. The other ops are joined with their neighbours, as far as no
heart lies between them: the softmax between the two contractions of an attention stays one piece.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from legato.analysis.structured import CONTRACTION, ELEMENTWISE, WINDOW, StructuredKernel, StructuredOp
from legato.core.ir_helpers import everything, terminator
from legato.core.mlir import ir
from legato.dialects import tir

# ops that every piece that needs their values gets a copy of: initial values, views, scalars
COPIED = ("linalg.fill", "tensor.empty", "tensor.dim", "tensor.cast", "tensor.expand_shape", "tensor.collapse_shape",
          "tensor.extract_slice", "tensor.extract")
SCALAR_DIALECTS = ("arith.", "math.", "affine.")
KNOWN = ("linalg.", "tensor.", *SCALAR_DIALECTS)


@dataclass(eq=False)
class Piece:
    """Ops of a kernel, in order, that can be a kernel of their own.

    ``inputs``: the values from outside, arguments of the kernel or results of other pieces; ``results``: those of its values that other
    pieces read or that the kernel returns.
    """

    ops: list[ir.Operation]
    inputs: list[ir.Value]
    results: list[ir.Value]
    heart: ir.Operation | None
    """The contraction, window op or transpose; None for a piece without."""


def pieces_of(kernel: StructuredKernel) -> list[Piece] | None:
    """The pieces of a kernel, each after those that it reads; None for a kernel that cannot be cut, or is one piece."""
    if any(not op.name.startswith(KNOWN) for op in kernel.ops[:-1]):
        return None
    return _Cut(kernel).pieces()


def stands_alone(op: StructuredOp) -> bool:
    """Whether an op has a schedule of its own: contractions, windows, and what reads an operand transposed."""
    return not op.is_fill and (op.kind in (CONTRACTION, WINDOW) or (op.kind == ELEMENTWISE and not op.reads_in_order))


def copied(value: ir.Value) -> bool:
    """Whether the pieces that need a value get copies of the op that makes it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    tensors = any(isinstance(v.type, ir.RankedTensorType) for v in owner.operands)
    return owner.name in COPIED or (owner.name.startswith(SCALAR_DIALECTS) and not tensors)


def reads(op: ir.Operation) -> list[ir.Value]:
    """The values from outside of an op that it, or an op nested in it, uses."""
    inside = everything(op)
    made = {result for one in inside for result in one.results}
    made |= {argument for one in inside for region in one.regions for block in region.blocks for argument in block.arguments}
    return list(dict.fromkeys(v for one in reversed(inside) for v in one.operands if v not in made))


class _Cut:
    """One kernel, cut into groups of ops. Ops that are copied belong to no group."""

    def __init__(self, kernel: StructuredKernel):
        self.kernel = kernel
        self.block = kernel.function.body.blocks[0]
        arguments = list(kernel.function.arguments)
        self.given = arguments[:len(arguments) - tir.out_count(kernel.function)]
        self.work = [op for op in kernel.ops[:-1] if op.results and not copied(op.results[0])]
        self.hearts = [op.op for op in kernel.structured if stands_alone(op)]
        self.group = {op: op for op in self.work}  # a member of each op's group, the op itself for the first
        self.level: dict[ir.Operation, int] = {}   # the greatest number of hearts on a way to the op

    def pieces(self) -> list[Piece] | None:
        """The pieces in an order in which each is after those that it reads."""
        for op in self.work:
            self._place(op)
        groups: dict[ir.Operation, set[ir.Operation]] = {}
        for op in self.work:
            groups.setdefault(self._first(op), set()).add(op)
        returned = [v for v in dict.fromkeys(terminator(self.block).operands) if v not in self.given]
        makers = [self._maker(value) for value in returned]
        if len(groups) < 2 or any(maker is None for maker in makers):
            return None
        outputs = {id(group): [v for v, maker in zip(returned, makers) if maker in group] for group in groups.values()}
        inputs = {id(group): self._inputs(group, outputs[id(group)]) for group in groups.values()}
        read = {value for values, _ in inputs.values() for value in values}

        def piece(group: set[ir.Operation]) -> Piece:
            values, copies = inputs[id(group)]
            made = [r for op in self.work if op in group for r in op.results if r in read and r not in outputs[id(group)]]
            ops = [op for op in self.kernel.ops if op in group or op in copies]
            return Piece(ops, values, outputs[id(group)] + made, next((op for op in self.hearts if op in group), None))

        def place(group: set[ir.Operation]) -> tuple[int, bool]:
            return max(self.level[op] for op in group), not any(op in group for op in self.hearts)

        made = [piece(group) for group in sorted(groups.values(), key=place)]
        return [one for one in made if one.results]  # others compute what nothing reads

    def _place(self, op: ir.Operation) -> None:
        """Sets the level of an op and joins it with the groups of what it reads on the same level."""
        producers = list(self._producers(op))
        self.level[op] = max((self.level[p] for p in producers), default=0) + (op in self.hearts)
        if (heart := self._heart_of(op)) is not None:
            self.group[op] = heart
            return
        for producer in producers:
            if self.level[producer] == self.level[op] and op not in self.hearts and producer not in self.hearts:
                self.group[self._first(op)] = self._first(producer)

    def _heart_of(self, op: ir.Operation) -> ir.Operation | None:
        """The heart that is the only reader of a pad; None for other ops."""
        users = {use.owner.operation for result in op.results for use in result.uses}
        if op.name != "tensor.pad" or len(users) != 1:
            return None
        user = users.pop()
        return user if user in self.hearts else None

    def _first(self, op: ir.Operation) -> ir.Operation:
        while self.group[op] != op:
            op = self.group[op]
        return op

    def _producers(self, op: ir.Operation) -> Iterator[ir.Operation]:
        """The ops in groups that an op reads, directly or through ops that are copied."""
        for value in reads(op):
            if copied(value):
                yield from self._producers(value.owner.operation)
            elif not isinstance(value.owner, ir.Block):
                yield value.owner.operation

    def _maker(self, value: ir.Value) -> ir.Operation | None:
        """The op of a group that makes a returned value, directly or through views; None where there is not one such op."""
        if not copied(value):
            return None if isinstance(value.owner, ir.Block) else value.owner.operation
        found = set(self._producers(value.owner.operation))
        return found.pop() if len(found) == 1 and value.owner.name != "linalg.fill" else None

    def _inputs(self, group: set[ir.Operation], outputs: list[ir.Value]) -> tuple[list[ir.Value], set[ir.Operation]]:
        """The values that a group reads from outside, and the ops that it needs copies of. ``outputs``: what it returns."""
        inputs: dict[ir.Value, None] = {}
        copies: set[ir.Operation] = set()

        def need(value: ir.Value) -> None:
            owner = value.owner
            if copied(value):
                if owner.operation not in copies:
                    copies.add(owner.operation)
                    for operand in reads(owner.operation):
                        need(operand)
            elif isinstance(owner, ir.Block) or owner.operation not in group:
                inputs[value] = None

        for op in self.work:
            for value in reads(op) if op in group else ():
                need(value)
        for value in outputs:
            need(value)
        return list(inputs), copies
