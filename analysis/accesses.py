"""Loads and stores of elements of buffers: what they touch, the loops and the conditions around them."""
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import ForOp
from legato.dialects.tir.walk import FIRST_INDEX


@dataclass(frozen=True)
class ElementAccess:
    """A ``memref.load`` or ``memref.store``."""

    op: ir.Operation

    @property
    def writes(self) -> bool:
        return self.op.name == "memref.store"

    @property
    def first_index(self) -> int:
        """The number of the first index among the operands."""
        return FIRST_INDEX[self.op.name]

    @property
    def buffer(self) -> ir.Value:
        return self.op.operands[self.first_index - 1]

    @property
    def indices(self) -> list[ir.Value]:
        return list(self.op.operands)[self.first_index:]


def accesses_under(root: ir.Operation, buffers: Collection[ir.Value] | None = None) -> list[ElementAccess]:
    """The loads and stores under an op, and it itself, in the order of the program; those of some buffers, or of all."""
    found = [ElementAccess(op) for op in find(root, *FIRST_INDEX)]
    return found if buffers is None else [a for a in found if a.buffer in buffers]


def accesses_in(blocks: Collection[ir.Block | None], buffers: Collection[ir.Value] | None = None) -> list[ElementAccess]:
    """The same of some blocks, one after the other; None stands for a block that is not there."""
    return [a for block in blocks if block is not None for op in block.operations for a in accesses_under(op.operation, buffers)]


def buffer_of(op: ir.Operation) -> ir.Value:
    """The buffer of a load or store."""
    return ElementAccess(op).buffer


def indices_of(op: ir.Operation) -> list[ir.Value]:
    """The indices of a load or store."""
    return ElementAccess(op).indices


def chain(op: ir.Operation, root: ir.Operation) -> list[ir.Operation]:
    """The ops around an op, the nearest first, up to the op ``root``, which is not among them."""
    around = ancestors(op)
    return around[:around.index(root)]


def loops_between(op: ir.Operation, root: ir.Operation) -> list[ForOp]:
    """The loops around an op that are under ``root``, outermost first."""
    return [a.opview for a in reversed(chain(op, root)) if a.name == "tir.for"]


def conditions(op: ir.Operation, root: ir.Operation) -> list[tuple[ir.Value, bool]]:
    """The conditions around an op, up to the op ``root``, each with what it has to be."""
    return [(outer.operands[0], inner.block == outer.regions[0].blocks[0])
            for inner, outer in pairwise([op, *chain(op, root)]) if outer.name == "scf.if"]


def varies(value: ir.Value, root: ir.Operation, during_step: bool = False) -> bool:
    """Whether a value may change while an op runs; ``during_step``: while one step of it, a loop, runs."""
    owner = value.owner
    home = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    if home == root:
        return not during_step
    if root not in ancestors(home):
        return False
    if isinstance(owner, ir.Block) or not home.name.startswith(("arith.", "affine.")):
        return True
    return any(varies(operand, root, during_step) for operand in home.operands)


def one_step_only(first: tuple[int, int], second: tuple[int, int], factor: int) -> bool:
    """Whether two indices can be the same in one step of a loop only. ``factor``: that of the loop's variable in both; ``first`` and
    ``second``: the least and the greatest value of the rest of each."""
    (a, b), (c, d) = first, second
    return max(abs(d - a), abs(b - c)) < abs(factor)
