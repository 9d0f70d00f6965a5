"""Loads and stores of buffer elements, and the loops and conditions around them."""
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
        """Whether it is a store."""
        return self.op.name == "memref.store"

    @property
    def first_index(self) -> int:
        """The operand number of the first index."""
        return FIRST_INDEX[self.op.name]

    @property
    def buffer(self) -> ir.Value:
        """The buffer that is accessed."""
        return self.op.operands[self.first_index - 1]

    @property
    def indices(self) -> list[ir.Value]:
        """The index of each dimension."""
        return list(self.op.operands)[self.first_index:]


def accesses_under(root: ir.Operation, buffers: Collection[ir.Value] | None = None) -> list[ElementAccess]:
    """The loads and stores in an op, itself included, in program order: those of ``buffers``, or of all."""
    found = [ElementAccess(op) for op in find(root, *FIRST_INDEX)]
    return found if buffers is None else [a for a in found if a.buffer in buffers]


def accesses_in(blocks: Collection[ir.Block | None], buffers: Collection[ir.Value] | None = None) -> list[ElementAccess]:
    """The loads and stores in some blocks, in order; blocks that are None are skipped."""
    return [a for block in blocks if block is not None for op in block.operations for a in accesses_under(op.operation, buffers)]


def buffer_of(op: ir.Operation) -> ir.Value:
    """The buffer of a load or store."""
    return ElementAccess(op).buffer


def indices_of(op: ir.Operation) -> list[ir.Value]:
    """The indices of a load or store."""
    return ElementAccess(op).indices


def chain(op: ir.Operation, root: ir.Operation) -> list[ir.Operation]:
    """The ops around an op, innermost first, up to and without ``root``."""
    around = ancestors(op)
    return around[:around.index(root)]


def loops_between(op: ir.Operation, root: ir.Operation) -> list[ForOp]:
    """The loops around an op that are inside of ``root``, outermost first."""
    return [a.opview for a in reversed(chain(op, root)) if a.name == "tir.for"]


def conditions(op: ir.Operation, root: ir.Operation) -> list[tuple[ir.Value, bool]]:
    """The conditions around an op up to ``root``, each with the value it has to have."""
    return [(outer.operands[0], inner.block == outer.regions[0].blocks[0])
            for inner, outer in pairwise([op, *chain(op, root)]) if outer.name == "scf.if"]


def varies(value: ir.Value, root: ir.Operation, during_step: bool = False) -> bool:
    """Whether a value may change while ``root`` runs; ``during_step``: during one iteration of ``root``, a loop."""
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
    """Whether two indices can be equal in the same iteration of a loop only.

    ``factor``: the coefficient of the loop's variable in both; ``first``, ``second``: the least and greatest value of the rest of each.
    """
    (a, b), (c, d) = first, second
    return max(abs(d - a), abs(b - c)) < abs(factor)
