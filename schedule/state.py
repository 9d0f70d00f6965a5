"""The kernel under scheduling with its handles, and helpers of the primitives."""
from collections.abc import Callable, Collection
from itertools import count
from weakref import WeakSet

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.forms import linear, roots
from legato.analysis.indices.linear import Linear
from legato.core.errors import LegatoError
from legato.core.ir_helpers import ancestors, body, defining_op, everything, find, unused
from legato.core.mlir import func, ir
from legato.core.views import VIEWS, root_of
from legato.dialects import tir
from legato.dialects.tir.loops import AllocBufferOp, BlockOp, ForOp
from legato.dialects.tir.walk import blocks, buffer_name

# ops of loops that do nothing by themselves
STRUCTURE = ("tir.for", "tir.block", "tir.yield", "tir.alloc_buffer", "scf.if", "scf.yield", "memref.dim", "memref.subview")


class ScheduleError(LegatoError):
    """A step of a schedule that is not legal, or that matches nothing, with the reason. The kernel is unchanged."""


class HandleTarget:
    """The block or loop of a handle, which steps may replace by another op or remove (None)."""

    def __init__(self, op: ir.Operation, value: ir.Value | None = None):
        self.op: ir.Operation | None = op
        self.value = value  # the handle in the trace


class Kernel:
    """A kernel under scheduling. Primitives remove ops through ``erase``, so that no handle is left to an erased op.

    ``eraser``: erases an op; the transform interpreter, which has handles of its own, gives another one. Steps change loops and blocks in
    place where they can, so that handles stay valid.
    """

    def __init__(self, function: func.FuncOp, eraser: Callable[[ir.Operation], None] = ir.Operation.erase):
        self.function = function
        self.cells: WeakSet[HandleTarget] = WeakSet()
        self._eraser = eraser

    def cell(self, op: ir.Operation, value: ir.Value | None = None) -> HandleTarget:
        """A new handle to an op."""
        made = HandleTarget(op.operation, value)
        self.cells.add(made)
        return made

    def replaced(self, old: ir.Operation, new: ir.Operation) -> None:
        """Makes handles to ``old``, which is about to be erased, refer to ``new``."""
        for cell in list(self.cells):
            if cell.op is not None and cell.op == old.operation:
                cell.op = new.operation

    def erase(self, op: ir.Operation) -> None:
        """Erases an op with all ops in it, and invalidates the handles to them."""
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
        """Whether a buffer is that of an output."""
        owner = buffer.owner.operation
        if owner.name != "bufferization.to_buffer":
            return False
        first = len(self.function.type.inputs) - tir.out_count(self.function)
        return ir.BlockArgument(owner.operands[0]).arg_number >= first

    def top(self, op: ir.Operation) -> ir.Operation:
        """The op of the function's body that contains an op."""
        while op.operation.parent.name != "func.func":
            op = op.operation.parent
        return op.operation

    def allocation(self, buffer: ir.Value, what: str) -> AllocBufferOp:
        """The allocation of a buffer. ScheduleError for a parameter."""
        owner = buffer.owner.operation
        if owner.name != "tir.alloc_buffer":
            raise ScheduleError(f"{what}: '{buffer_name(buffer)}' is a parameter of the kernel, not a buffer of its own")
        return owner.opview


def fresh(name: str, taken: Collection[str]) -> str:
    """``name``, with a number where it is taken."""
    return name if name not in taken else next(f"{name}_{n}" for n in count(1) if f"{name}_{n}" not in taken)


# --- accesses ---

def accesses(op: ir.Operation, kind: str) -> list[ir.Operation]:
    """The loads (``memref.load``) or stores (``memref.store``) in an op."""
    return find(op.operation, kind)


def is_shared(buffer: ir.Value) -> bool:
    """Whether a buffer is shared by all threads of a block."""
    made = None if isinstance(buffer.owner, ir.Block) else buffer.owner.operation
    return made is not None and made.name == "tir.alloc_buffer" and made.opview.scope.startswith("shared")


def reads(block: BlockOp) -> list[ir.Value]:
    """The buffers that a block reads, in order of first use, without those that it also writes."""
    written = writes(block)
    return list(dict.fromkeys(buffer_of(o) for o in accesses(block, "memref.load") if buffer_of(o) not in written))


def writes(block: BlockOp) -> list[ir.Value]:
    """The buffers that a block writes, in order of first use."""
    return list(dict.fromkeys(buffer_of(o) for o in accesses(block, "memref.store")))


def users(buffer: ir.Value, kind: str) -> list[ir.Operation]:
    """All loads or stores of a buffer."""
    return [u.owner.operation for u in buffer.uses if u.owner.operation.name == kind and buffer_of(u.owner.operation) == buffer]


def only_accessed(kernel: Kernel, buffer: ir.Value, what: str) -> None:
    """ScheduleError where a buffer has uses other than loads and stores: views, calls."""
    for use in buffer.uses:
        name = use.owner.operation.name
        if name not in ("memref.load", "memref.store", "memref.dim", "bufferization.to_tensor"):
            raise ScheduleError(f"{what}: '{buffer_name(buffer)}' is also used by {name}, in which its elements are not seen")


def no_view(buffer: ir.Value, what: str) -> None:
    """ScheduleError where a buffer is a view of another one, whose elements are accessed by other names."""
    owner = defining_op(buffer)
    if owner is not None and owner.name not in ("tir.alloc_buffer", "bufferization.to_buffer"):
        raise ScheduleError(f"{what}: a block accesses '{buffer_name(root_of(buffer))}' by a view of it, of {owner.name}: {what} comes "
                            "before tensorize")


def may_write(buffer: ir.Value) -> list[ir.Operation]:
    """The ops that may write a buffer, by its name or by a view of it: stores, and what takes it as a whole, as calls do."""
    found = []
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            found += may_write(op.results[0])
        elif op.name not in ("memref.load", "memref.dim", "bufferization.to_tensor"):
            found.append(op)
    return found


def one_written(block: BlockOp, what: str) -> ir.Value:
    """The only buffer that a block writes. ScheduleError where there are several."""
    found = writes(block)
    if len(found) != 1:
        raise ScheduleError(f"{what}: block '{block.name}' writes {len(found)} buffers; it has to be one")
    return found[0]


def holder(access: ir.Operation) -> str:
    """What does an access, for messages."""
    return next((f"block '{a.opview.name}'" for a in ancestors(access) if a.name == "tir.block"), "a statement in no block")


def only_writer(kernel: Kernel, buffer: ir.Value, block: BlockOp, what: str) -> None:
    """ScheduleError where something else writes the buffer."""
    for store in users(buffer, "memref.store"):
        if block.operation not in ancestors(store):
            raise ScheduleError(f"{what}: '{buffer_name(buffer)}' is also written by {holder(store)}")


# --- loops around blocks ---

def dependent_axes(block: BlockOp, variable: ir.Value) -> list[tuple[str, str]]:
    """The axes, with their kinds, whose values depend on a loop variable."""
    return [(axis, kind) for axis, kind, value in zip(block.axes, block.kinds, block.values) if variable in roots(value)]


def arithmetic(op: ir.Operation) -> bool:
    """Whether an op is one of arith."""
    return op.name.split(".")[0] == "arith"


def drop_unused(kernel: Kernel, root: ir.Operation) -> None:
    """Erases arithmetic in an op whose results nothing uses."""
    while found := [op for op in unused(root) if arithmetic(op)]:
        for op in reversed(found):
            kernel.erase(op)


def statements(block: ir.Block) -> list[ir.Operation]:
    """The ops of a loop's body without index arithmetic."""
    return [op for op in body(block) if not arithmetic(op)]


def within(op: ir.Operation, outer: ir.Operation) -> list[ir.Operation]:
    """The ops around one, up to an outer one."""
    found = []
    for a in ancestors(op):
        if a == outer:
            break
        found.append(a)
    return found


def loose(around: ir.Operation, *harmless: str) -> list[ir.Operation]:
    """The ops in a loop that stand in no block in it, and read or do something; ``harmless``: names of ops that do not count."""
    return [op for op in everything(around) if op != around and op.name.split(".")[0] not in ("arith", "math")
            and op.name not in (*STRUCTURE, *harmless) and not any(a.name == "tir.block" for a in within(op, around))]


def only_block(kernel: Kernel, block: BlockOp, what: str) -> ir.Operation:
    """The op of the function's body around a block. ScheduleError where it contains other blocks."""
    nest = kernel.top(block)
    if len(blocks(nest)) != 1:
        raise ScheduleError(f"{what}: the loops around block '{block.name}' hold other blocks too")
    if nest != block.operation and loose(nest, "memref.load"):
        raise ScheduleError(f"{what}: the loops around block '{block.name}' hold statements that stand in no block")
    return nest


def own_nest(block: BlockOp) -> ir.Operation:
    """The outermost of the loops around a block that contain nothing else; the block itself where there are none."""
    op = block.operation
    while op.parent.name in ("tir.for", "scf.if") and statements(op.block) == [op]:
        op = op.parent.operation
    return op


def predicate_of(block: BlockOp) -> ir.Operation | None:
    """The ``scf.if`` directly around a block, or None."""
    parent = block.operation.parent
    return parent.operation if parent.name == "scf.if" else None


def from_zero(loop: ForOp, what: str) -> None:
    """ScheduleError where a loop does not start at 0."""
    if linear(loop.bounds[0]) != Linear({}):
        raise ScheduleError(f"{what}: the loop {loop.name} does not begin at 0")


def require_static(loop: ForOp, what: str) -> int:
    """The extent of a loop from 0. ScheduleError where it is dynamic, or the loop does not start at 0."""
    if loop.extent is None or linear(loop.bounds[0]) != Linear({}):
        raise ScheduleError(f"{what}: the extent of the loop {loop.name} is not known, or it does not begin at 0")
    return loop.extent


def plain_axes(access: ir.Operation, block: BlockOp, what: str) -> list[int]:
    """The axis that each index of an access is. ScheduleError where an index is anything else, or two are one axis."""
    initial = block.init_block
    arguments = list((initial if initial is not None and access.block == initial else block.block).arguments)
    found = [arguments.index(v) if v in arguments else None for v in indices_of(access)]
    plain = [axis for axis in found if axis is not None]
    if len(plain) != len(found) or len(set(plain)) != len(plain):
        raise ScheduleError(f"{what}: block '{block.name}' does not access the buffer by one axis for each dimension")
    return plain
