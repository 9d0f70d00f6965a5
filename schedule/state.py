"""What primitives share: finding blocks, loops and buffers in a kernel, and the reasons for which a step is refused."""
from collections.abc import Callable, Collection
from itertools import count
from weakref import WeakSet

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.forms import linear, roots
from legato.analysis.indices.linear import Linear
from legato.core.errors import LegatoError
from legato.core.ir_helpers import body, find
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.tir.loops import AllocBufferOp, BlockOp, ForOp
from legato.dialects.tir.walk import blocks, buffer_name


class ScheduleError(LegatoError):
    """A step of a schedule that is not legal, or that finds nothing; it says why. The kernel is as it was."""


class Cell:
    """What a handle stands for: a block or a loop, which steps may replace (another op) or take away (None)."""

    def __init__(self, op: ir.Operation, value: ir.Value | None = None):
        self.op: ir.Operation | None = op
        self.value = value  # the handle in the trace


class Kernel:
    """A kernel under scheduling. All that primitives take out of it goes through ``erase``, so that no handle is left to what is gone.

    ``eraser``: how ops are erased, where somebody else keeps handles too: the transform interpreter. Steps change loops and blocks in
    place wherever they can: whoever has a handle to one has it still.
    """

    def __init__(self, function: func.FuncOp, eraser: Callable[[ir.Operation], None] = ir.Operation.erase):
        self.function = function
        self.cells: WeakSet[Cell] = WeakSet()
        self._eraser = eraser

    def cell(self, op: ir.Operation, value: ir.Value | None = None) -> Cell:
        made = Cell(op.operation, value)
        self.cells.add(made)
        return made

    def replaced(self, old: ir.Operation, new: ir.Operation) -> None:
        """``new`` stands for ``old``, which is about to go."""
        for cell in list(self.cells):
            if cell.op is not None and cell.op == old.operation:
                cell.op = new.operation

    def erase(self, op: ir.Operation) -> None:
        """Takes an op away with all that is in it."""
        gone = [op.operation, *find(op.operation, "tir.for", "tir.block")] if op.operation.regions else []
        for cell in list(self.cells) if gone else ():
            if cell.op is not None and cell.op in gone:
                cell.op = None
        self._eraser(op.operation)

    def unique(self, name: str) -> str:
        """A block's name that is not taken."""
        taken = {b.name for b in blocks(self.function.operation)}
        return fresh(name, taken)

    def is_output(self, buffer: ir.Value) -> bool:
        owner = buffer.owner.operation
        if owner.name != "bufferization.to_buffer":
            return False
        first = len(self.function.type.inputs) - tir.out_count(self.function)
        return ir.BlockArgument(owner.operands[0]).arg_number >= first

    def top(self, op: ir.Operation) -> ir.Operation:
        """The statement of the function's body that holds an op."""
        while op.operation.parent.name != "func.func":
            op = op.operation.parent
        return op.operation

    def allocation(self, buffer: ir.Value, what: str) -> AllocBufferOp:
        owner = buffer.owner.operation
        if owner.name != "tir.alloc_buffer":
            raise ScheduleError(f"{what}: '{buffer_name(buffer)}' is a parameter of the kernel, not a buffer of its own")
        return owner.opview


def fresh(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: the given one, with a number if it has to be."""
    return name if name not in taken else next(f"{name}_{n}" for n in count(1) if f"{name}_{n}" not in taken)


# --- accesses ---

def accesses(op: ir.Operation, kind: str) -> list[ir.Operation]:
    """The loads (``memref.load``) or stores (``memref.store``) under an op."""
    return find(op.operation, kind)


def is_shared(buffer: ir.Value) -> bool:
    """Whether a buffer is one for all threads of a block."""
    made = None if isinstance(buffer.owner, ir.Block) else buffer.owner.operation
    return made is not None and made.name == "tir.alloc_buffer" and made.opview.scope.startswith("shared")


def reads(block: BlockOp) -> list[ir.Value]:
    """The buffers that a block reads, in order of first use; those that it only adds to are not among them."""
    written = writes(block)
    return list(dict.fromkeys(buffer_of(o) for o in accesses(block, "memref.load") if buffer_of(o) not in written))


def writes(block: BlockOp) -> list[ir.Value]:
    return list(dict.fromkeys(buffer_of(o) for o in accesses(block, "memref.store")))


def users(buffer: ir.Value, kind: str) -> list[ir.Operation]:
    """The loads or stores of a buffer, anywhere."""
    return [u.owner.operation for u in buffer.uses if u.owner.operation.name == kind and buffer_of(u.owner.operation) == buffer]


def only_accessed(kernel: Kernel, buffer: ir.Value, what: str) -> None:
    """ScheduleError where a buffer is used by more than loads and stores: parts of it, calls."""
    for use in buffer.uses:
        name = use.owner.operation.name
        if name not in ("memref.load", "memref.store", "memref.dim", "bufferization.to_tensor"):
            raise ScheduleError(f"{what}: '{buffer_name(buffer)}' is also used by {name}, in which its elements are not seen")


# --- loops around blocks ---

def dependent_axes(block: BlockOp, variable: ir.Value) -> list[tuple[str, str]]:
    """The axes, with their kinds, whose values come from a loop variable."""
    return [(axis, kind) for axis, kind, value in zip(block.axes, block.kinds, block.values) if variable in roots(value)]


def arithmetic(op: ir.Operation) -> bool:
    return op.name.split(".")[0] == "arith"


def statements(block: ir.Block) -> list[ir.Operation]:
    """What a loop's body does, index arithmetic left out."""
    return [op for op in body(block) if not arithmetic(op)]


def only_block(kernel: Kernel, block: BlockOp, what: str) -> ir.Operation:
    """The whole nest of a block, which has to be alone in it."""
    nest = kernel.top(block)
    if len(blocks(nest)) != 1:
        raise ScheduleError(f"{what}: the loops around block '{block.name}' hold other blocks too")
    return nest


def own_nest(block: BlockOp) -> ir.Operation:
    """The loops around a block that hold nothing else, from the outermost; the block itself where there are none."""
    op = block.operation
    while op.parent.name in ("tir.for", "scf.if") and statements(op.block) == [op]:
        op = op.parent.operation
    return op


def predicate_of(block: BlockOp) -> ir.Operation | None:
    """The ``scf.if`` right around a block."""
    parent = block.operation.parent
    return parent.operation if parent.name == "scf.if" else None


def require_static(loop: ForOp, what: str) -> int:
    if loop.extent is None or linear(loop.bounds[0]) != Linear({}):
        raise ScheduleError(f"{what}: the extent of the loop {loop.name} is not known, or it does not begin at 0")
    return loop.extent


def plain_axes(access: ir.Operation, block: BlockOp, what: str) -> list[int]:
    """For each index of an access the axis that it is. ScheduleError where one is anything else."""
    initial = block.init_block
    arguments = list((initial if initial is not None and access.block == initial else block.block).arguments)
    found = [arguments.index(v) if v in arguments else None for v in indices_of(access)]
    plain = [axis for axis in found if axis is not None]
    if len(plain) != len(found) or len(set(plain)) != len(plain):
        raise ScheduleError(f"{what}: block '{block.name}' does not access the buffer by one axis for each dimension")
    return plain
