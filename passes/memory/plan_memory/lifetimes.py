"""The live ranges of buffers in main."""
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import walk
from legato.core.mlir import func, ir
from legato.core.views import VIEWS

BRANCHES = {"scf.if", "scf.index_switch", "scf.execute_region"}   # regions that run at most once


@dataclass(eq=False)
class MainBuffer:
    """One ``memref.alloc`` of main. ``first`` and ``last``: the numbers of the first and last op of main's block that touch it or an
    alias; -1: none. ``is_carried``: a loop gives it to its next step."""

    alloc: ir.Operation
    first: int = -1
    last: int = -1
    is_carried: bool = False
    deallocations: list[ir.Operation] = field(default_factory=list)

    @property
    def is_used(self) -> bool:
        """Whether any op touches it."""
        return self.first >= 0

    def touch(self, index: int) -> None:
        """Extends the live range to an op's number."""
        self.first = index if self.first < 0 else min(self.first, index)
        self.last = max(self.last, index)


def find_buffers(function: func.FuncOp) -> list[MainBuffer]:
    """The buffers that ``function`` allocates; those allocated in regions live as long as the region's op.

    PassFailed for a function with branches between blocks, and for a buffer of a branch in a loop that the loop carries to its next step.
    """
    if len(function.body.blocks) != 1:
        raise PassFailed(f"@{function.name.value} has branches: memory is planned before scf becomes cf", function.operation)
    entry = function.body.blocks[0]
    position = {op.operation: i for i, op in enumerate(entry.operations)}

    def index(op: ir.Operation) -> int:
        while op not in position:
            op = op.parent.operation
        return position[op]

    buffers: list[MainBuffer] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.alloc":
            buffers.append(MainBuffer(op))
        return ir.WalkResult.ADVANCE

    walk(function, visit)
    for buffer in buffers:
        _follow(buffer, index)
    return buffers


def _follow(buffer: MainBuffer, index: Callable[[ir.Operation], int]) -> None:
    """Finds all aliases and uses of a buffer; results of unknown ops count as aliases."""
    seen = {buffer.alloc.results[0]}
    queue = list(seen)
    while queue:
        for use in queue.pop().uses:
            op = use.owner.operation
            if op.name == "memref.dealloc":
                buffer.deallocations.append(op)
                continue
            if op.name not in VIEWS:
                buffer.touch(index(op))
            for alias in _aliases(buffer, op):
                if alias not in seen:
                    seen.add(alias)
                    queue.append(alias)


def _aliases(buffer: MainBuffer, op: ir.Operation) -> Iterator[ir.Value]:
    """The memrefs that may alias the buffer because ``op`` uses it."""
    if _ends_block(op) and op.name != "func.return":
        op = op.parent.operation
        if op.name not in BRANCHES and _inside(buffer.alloc, op):
            if buffer.alloc.parent.operation != op:
                raise PassFailed("a buffer made in a branch in a loop of main is carried out of the loop's step: copy it behind the branch",
                                 buffer.alloc)
            buffer.is_carried = True
    values = [*op.results, *(a for region in op.regions for block in region for a in block.arguments)]
    yield from (v for v in values if isinstance(v.type, ir.MemRefType))


def _ends_block(op: ir.Operation) -> bool:
    if op.name == "func.call" or len(op.results):
        return False  # without walking to the end of the block, from each of its calls
    operations = op.block.operations
    return operations[len(operations) - 1].operation == op


def _inside(op: ir.Operation, ancestor: ir.Operation) -> bool:
    while op.parent is not None:
        op = op.parent.operation
        if op == ancestor:
            return True
        if op.name == "func.func":
            return False
    return False
