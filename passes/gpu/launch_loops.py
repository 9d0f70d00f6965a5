"""tir-launch-loops: each nest of parallel loops of a kernel becomes a launch on a grid of thread blocks.

One thread for each point of the parallel loops, in row-major order, so that neighbouring threads access neighbouring elements; reductions
are loops inside of a thread. Statements outside of parallel loops run on one thread.

Upstream's gpu-map-parallel-loops,convert-parallel-loops-to-gpu gives each loop an axis of the grid, with one thread in a block (one lane of
32 works), and no more than three loops; to tile for it first, the extents would have to be known and to divide.
"""
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.interfaces import GpuMachine
from legato.core.ir_helpers import copy, find, index, walk
from legato.core.mlir import arith, func, ir, scf
from legato.core.views import VIEWS, root_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import TIR_PACKED
from legato.passes.calls.lower_packed_kernels import packed_calls
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

HOST = ("arith.", "affine.", "memref.dim", "memref.cast", "memref.subview", "memref.expand_shape", "memref.collapse_shape",
        "memref.reinterpret_cast", "memref.get_global", "func.return")
READING = ("memref.load", "memref.dim", *VIEWS)    # ops that do not write their memory
LAUNCH_SIZES = 6
# operand counts: no dependencies; blocks and threads in x, y, z; no clusters, dynamic shared memory, ...
SEGMENTS = [0] + [1] * LAUNCH_SIZES + [0] * 5


@dataclass(frozen=True)
class LaunchLoops(ModulePass):
    """Maps the parallel loops of every kernel on buffers to blocks and threads of a gpu.launch; other statements run on one thread."""

    name: ClassVar[str] = "tir-launch-loops"
    target: TargetText = option("nvvm", "the target whose block size is used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.gpu(self.target)
        with module.context, ir.Location.unknown():
            refuse_packed_calls(module.module)
            for kernel in tir.prim_funcs(module.module):
                launch_loops(kernel, machine)


def refuse_packed_calls(module: ir.Module) -> None:
    """PassFailed for a kernel that calls a packed function, which only the host can."""
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    for kernel in tir.prim_funcs(module):
        for call in packed_calls(kernel, functions):
            name = functions[call.attributes["callee"].value].attributes[TIR_PACKED].value
            raise PassFailed(f"the kernel @{kernel.name.value} calls the packed function '{name}', which a GPU cannot: call it from the "
                             "graph, R.call_packed", call)


def launch_loops(kernel: func.FuncOp, machine: GpuMachine) -> None:
    """Makes a ``gpu.launch`` of each loop nest of a kernel. ``machine.block``: threads in a block."""
    sink_loads(kernel)
    run: list[ir.Operation] = []  # consecutive statements outside of parallel loops
    for op in [one.operation for one in kernel.body.blocks[0].operations]:
        if op.name in ("scf.parallel", "func.return") or launches(op):
            single(run)
            run = []
        if op.name == "scf.parallel":
            parallel(op, machine.block)
        elif (not launches(op) and not op.name.startswith(HOST)) or any(v.owner in run for v in op.operands):
            run.append(op)


def launches(op: ir.Operation) -> bool:
    """Whether an op is or contains a launch, made of loops bound to threads."""
    return bool(find(op, "gpu.launch"))


def sink_loads(kernel: func.FuncOp) -> None:
    """Moves loads outside of loops, with the arithmetic on them, to where they are used: into parallel loops, since memory is the device's,
    and behind the launches before other statements, which one thread runs, and which is not the thread of statements before."""
    block = kernel.body.blocks[0]
    scalars: dict[ir.Operation, None] = {}
    for op in (one.operation for one in block.operations):
        if op.name == "memref.load" or (op.name.startswith("arith.") and any(is_of(v, scalars) for v in op.operands)):
            scalars[op] = None
    users: dict[ir.Operation, list[Any]] = {}
    for scalar in scalars:
        for use in scalar.results[0].uses:
            user = top_level(use.owner.operation, block)
            if user not in scalars:
                users.setdefault(user, []).append(use)
    for user, uses in users.items():
        sink(user, uses, scalars)
    for scalar in reversed(scalars):
        if not any(True for _ in scalar.results[0].uses):
            scalar.erase()


def is_of(value: ir.Value, ops: Collection[ir.Operation]) -> bool:
    """Whether one of these ops computes a value."""
    return not isinstance(value.owner, ir.Block) and value.owner.operation in ops


def sink(user: ir.Operation, uses: list[Any], scalars: Collection[ir.Operation]) -> None:
    """Computes the scalars that a statement uses again: in it, if it is parallel loops, else in front of it. Nothing where memory that is
    loaded is written before."""
    chain: set[ir.Operation] = set()

    def visit(value: ir.Value) -> None:
        if is_of(value, scalars):
            chain.add(value.owner.operation)
            for operand in value.owner.operands:
                visit(operand)

    for use in uses:
        visit(use.owner.operands[use.operand_number])
    inside = user.name == "scf.parallel"
    if any(op.name == "memref.load" and written(op, user, inside) for op in chain):
        return
    with ir.InsertionPoint.at_block_begin(user.regions[0].blocks[0]) if inside else ir.InsertionPoint(user):
        mapping = copy([op for op in scalars if op in chain], {})
    for use in uses:
        owner = use.owner.operation
        owner.operands[use.operand_number] = mapping[owner.operands[use.operand_number]]


def top_level(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The op of the block that contains an op."""
    while op.block != block:
        op = op.parent.operation
    return op


def written(load: ir.Operation, last: ir.Operation, through: bool) -> bool:
    """Whether the loaded buffer is written between the load and ``last``, or, ``through``, its end."""
    buffer, found, seen = root_of(load.operands[0]), False, False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        given = list(op.operands)[1:] if op.name == "memref.copy" else op.operands
        found = found or (op.name not in READING and any(isinstance(v.type, ir.MemRefType) and root_of(v) == buffer for v in given))
        return ir.WalkResult.ADVANCE

    for one in load.block.operations:
        if one.operation == last and not through:
            break
        if seen:
            walk(one, visit)
        seen = seen or one.operation == load
        if one.operation == last:
            break
    return found


def launch(before: ir.Operation, blocks: ir.Value | None, threads: int) -> tuple[list[ir.Value], ir.Operation]:
    """Makes a ``gpu.launch`` in front of an op, ``blocks`` in x (None: 1). Returns its ids and sizes, and its terminator."""
    with ir.InsertionPoint(before), before.location:
        one = index(1)
        sizes = [one if blocks is None else blocks, one, one, one if threads == 1 else index(threads), one, one]
        op = ir.Operation.create("gpu.launch", [], sizes, {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(SEGMENTS)},
                                 regions=1)
        block = op.regions[0].blocks.append(*[ir.IndexType.get()] * (2 * LAUNCH_SIZES))
        with ir.InsertionPoint(block):
            end = ir.Operation.create("gpu.terminator")
    return list(block.arguments), end


def parallel(op: ir.Operation, threads: int) -> None:
    """Launches one thread for each point of the loops; excess threads of the last block do nothing."""
    loop = op.opview
    if len(op.results):
        raise PassFailed("a reduction across threads is not mapped: reduce inside a loop", op)
    rank = len(op.operands) // 3
    lower, upper, step = (list(op.operands)[i * rank:(i + 1) * rank] for i in range(3))
    with ir.InsertionPoint(op), op.location:
        extents = [arith.ceildivsi(arith.subi(u, l), s) for l, u, s in zip(lower, upper, step)]
        total = extents[0]
        for extent in extents[1:]:
            total = arith.muli(total, extent)
        blocks = arith.ceildivsi(total, index(threads))
    arguments, end = launch(op, blocks, threads)
    with ir.InsertionPoint(end), op.location:
        position = arith.addi(arith.muli(arguments[0], index(threads)), arguments[3])
        inside = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, position, total))
    with ir.InsertionPoint(inside.then_block), op.location:
        places = []
        for extent in reversed(extents[1:]):
            places.append(arith.remsi(position, extent))
            position = arith.divsi(position, extent)
        places = [position, *reversed(places)]
        points = [arith.addi(l, arith.muli(p, s)) for l, p, s in zip(lower, places, step)]
        stop = scf.YieldOp([]).operation
    body = loop.regions[0].blocks[0]
    for argument, point in zip(list(body.arguments), points):
        argument.replace_all_uses_with(point)
    for one in list(body.operations)[:-1]:
        one.operation.move_before(stop)
    op.erase()


def single(run: list[ir.Operation]) -> None:
    """Launches one thread that runs the statements."""
    if not run:
        return
    for op in run:
        if any(top_level(use.owner.operation, op.block) not in run for result in op.results for use in result.uses):
            raise PassFailed(f"{op.name} gives a value to what runs elsewhere on the GPU: keep it in memory", op)
    _, end = launch(run[-1], None, 1)
    for op in run:
        op.move_before(end)
