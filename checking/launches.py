"""Launches of GPU kernels on the CPU: a function for a thread, and one that runs the threads of block after block.

A thread is a coroutine (``coroutines``). It runs to its next barrier or shuffle, writes down what it waits for, and is resumed when all
threads of its block, or of its warp, wait for the same. A launch can run in the opposite order of its blocks and threads: what then differs
depended on an order that a GPU does not keep. Shared memory of a block begins with what nobody should read.
"""
from __future__ import annotations

from legato.checking.launch_text import BARRIER, COMMON, DONE, IDS, SHUFFLE, STATES, SUSPEND, WARP, launch_text
from legato.core.errors import LegatoError
from legato.core.ir_helpers import find, index
from legato.core.mlir import arith, func, ir, memref, scf
from legato.core.upstream import run_on
from legato.dialects.module import Module

SIZES = 6                        # operands of a launch before its arguments: of the grid, and of a block
COPY = "nvgpu.device_async_copy"
COPY_GROUPS = ("nvvm.cp.async.commit.group", "nvvm.cp.async.wait.group")
ATOMIC = ("memref.atomic_rmw", "memref.generic_atomic_rmw")


def order_matters(module: Module) -> set[str]:
    """The names of functions with launches whose results must not depend on the order of threads: without atomic updates, which add up in
    any order."""
    if find(module.operation, *ATOMIC):
        return set()
    return {f.name.value for f in module.functions() if find(f.operation, "gpu.launch", "gpu.launch_func")}


def emulate_launches(module: Module) -> list[str]:
    """Puts calls in the places of launches. Returns the names of the functions that are to become coroutines, one for each kernel that is
    launched. LegatoError for a launch of another kind."""
    operation = module.operation
    if find(operation, "gpu.launch"):
        run_on(operation, "gpu-kernel-outlining")
    launches = find(operation, "gpu.launch_func")
    if not launches:
        return []
    drop_memory_spaces(operation)
    append(module, COMMON)
    made: dict[str, str] = {}
    for launch in launches:
        home, name = ir.SymbolRefAttr(launch.attributes["kernel"]).value
        if f"{home}.{name}" not in made:
            made[f"{home}.{name}"] = threads_of(module, home, name)
        replace_launch(launch, f"{home}.{name}.launch")
    for holder in find(operation, "gpu.module"):
        holder.erase()
    return list(made.values())


def append(module: Module, text: str) -> None:
    """Appends to a module what a text defines, and what it declares where the module does not have it."""
    names = {ir.StringAttr(op.attributes["sym_name"]).value for op in module.body.operations if "sym_name" in op.attributes}
    for op in ir.Module.parse(text).body.operations:
        if ir.StringAttr(op.attributes["sym_name"]).value not in names:
            module.body.append(op.operation.clone(ip=False))


def drop_memory_spaces(root: ir.Operation) -> None:
    """All memory is of one kind on the CPU."""
    def visit(op: ir.Operation) -> ir.WalkResult:
        blocks = [block for region in op.regions for block in region.blocks]
        for value in (*op.results, *(argument for block in blocks for argument in block.arguments)):
            type_ = value.type
            if isinstance(type_, ir.MemRefType) and type_.memory_space is not None:
                value.set_type(ir.MemRefType.get(type_.shape, type_.element_type, type_.layout))
        return ir.WalkResult.ADVANCE

    root.walk(visit)


def threads_of(module: Module, home: str, name: str) -> str:
    """Makes the two functions of a kernel. Returns the name of the one that is a thread."""
    holder = next(m for m in find(module.operation, "gpu.module") if ir.StringAttr(m.attributes["sym_name"]).value == home)
    kernel = next((f for f in find(holder, "gpu.func") if ir.StringAttr(f.attributes["sym_name"]).value == name), None)
    if kernel is None:
        raise LegatoError(f"the GPU's kernel @{name} is code for the device already")
    names = {f.name.value for f in module.functions()}
    for op in [one.operation for one in holder.regions[0].blocks[0].operations]:
        if op.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value not in names:
            module.body.append(op.clone(ip=False))
    given = len(ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs)
    shared = ir.IntegerAttr(kernel.attributes["workgroup_attributions"]).value if "workgroup_attributions" in kernel.attributes else 0
    thread = thread_function(kernel, f"{home}.{name}.thread", given + shared)
    module.body.append(thread)
    types = [str(argument.type) for argument in thread.regions[0].blocks[0].arguments]
    append(module, launch_text(f"{home}.{name}", types[:given], types[given:given + shared]))
    return f"{home}.{name}.thread"


def thread_function(kernel: ir.Operation, name: str, kept: int) -> ir.Operation:
    """The kernel as a function of one thread: after its arguments and shared buffers (``kept``) it takes the twelve ids and sizes, its
    number in its block, and the block's states and words."""
    blocks = list(kernel.regions[0].blocks)
    entry, location = blocks[0], kernel.location
    with ir.InsertionPoint.at_block_begin(entry), location:
        for argument in list(entry.arguments)[kept:]:
            argument.replace_all_uses_with(memref.alloca(argument.type, [], []))
    while len(entry.arguments) > kept:
        entry.erase_argument(kept)
    words = ir.Type.parse(STATES)
    ids = [entry.add_argument(ir.IndexType.get(), location) for _ in range(3 * len(IDS))]
    me, states, exchange = (entry.add_argument(type_, location) for type_ in (ir.IndexType.get(), words, words))
    for op in find(kernel, *IDS):
        axis = "xyz".index(str(op.attributes["dimension"])[-2])
        op.results[0].replace_all_uses_with(ids[3 * IDS.index(op.name) + axis])
        op.erase()
    for op in find(kernel, "gpu.barrier"):
        with ir.InsertionPoint(op), op.location:
            wait(BARRIER, me, states)
        op.erase()
    for op in find(kernel, "gpu.shuffle"):
        with ir.InsertionPoint(op), op.location:
            replace_shuffle(op, me, states, exchange)
        op.erase()
    for op in find(kernel, COPY):
        with ir.InsertionPoint(op), op.location:
            copy_at_once(op)
    for op in [*find(kernel, *COPY_GROUPS), *find(kernel, COPY)]:
        op.erase()
    for op in find(kernel, "gpu.return"):
        with ir.InsertionPoint(op), op.location:
            memref.store(number(64, DONE), states, [me])
            func.ReturnOp([number(64, 0)])
        op.erase()
    type_ = ir.FunctionType.get([argument.type for argument in entry.arguments], [ir.IntegerType.get_signless(64)])
    made = ir.Operation.create("func.func", attributes={
        "sym_name": ir.StringAttr.get(name), "function_type": ir.TypeAttr.get(type_), "sym_visibility": ir.StringAttr.get("private"),
    }, regions=1, loc=location, ip=False)
    for block in blocks:
        block.append_to(made.regions[0])
    return made


def copy_at_once(op: ir.Operation) -> None:
    """An asynchronous copy, made where it begins: elements beyond those that it reads become 0."""
    _, to, _, at, counted = op.attributes["operandSegmentSizes"]
    operands, lanes = list(op.operands), ir.IntegerAttr(op.attributes["dstElements"]).value
    target, source = operands[0], operands[1 + to]
    written, read = operands[1:1 + to], operands[2 + to:2 + to + at]
    count = operands[-1] if counted else index(lanes)
    element = ir.MemRefType(source.type).element_type
    for lane in range(lanes):
        branch = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.ult, index(lane), count).result, [element], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp([memref.load(source, [*read[:-1], arith.AddIOp(read[-1], index(lane)).result])])
        with ir.InsertionPoint(branch.else_block):
            zero = ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, 0)
            scf.YieldOp([arith.ConstantOp(element, zero).result])
        memref.store(branch.results[0], target, [*written[:-1], arith.AddIOp(written[-1], index(lane)).result])


def number(width: int, value: int) -> ir.Value:
    """An integer constant at the insertion point."""
    return arith.ConstantOp(ir.IntegerType.get_signless(width), value).result


def wait(reason: int, me: ir.Value, states: ir.Value) -> None:
    """The thread writes down what it waits for, and lets the others run."""
    memref.store(number(64, reason), states, [me])
    func.CallOp([], ir.FlatSymbolRefAttr.get(SUSPEND), [])


def replace_shuffle(op: ir.Operation, me: ir.Value, states: ir.Value, exchange: ir.Value) -> None:
    """All lanes write down their values, then all of them read those of their partners. A lane without a partner keeps its value."""
    value, offset, width = op.operands
    type_, i64, i32 = value.type, ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(32)
    bits = type_.width
    word = arith.bitcast(ir.IntegerType.get_signless(bits), value) if isinstance(type_, ir.FloatType) else value
    memref.store(word if bits == 64 else arith.extui(i64, word), exchange, [me])
    wait(SHUFFLE, me, states)
    thread = arith.index_cast(i32, me)
    lane = arith.remui(thread, number(32, WARP))
    first = arith.subi(lane, arith.remui(lane, width))
    mode = next(m for m in ("xor", "up", "down", "idx") if m in str(op.attributes["mode"]))
    partner = {"xor": lambda: arith.xori(lane, offset), "up": lambda: arith.subi(lane, offset), "down": lambda: arith.addi(lane, offset),
               "idx": lambda: arith.addi(first, arith.remui(offset, width))}[mode]()
    other = arith.addi(arith.subi(thread, lane), partner)
    count = arith.index_cast(i32, memref.dim(exchange, index(0)))
    inside = arith.andi(arith.cmpi(arith.CmpIPredicate.ult, arith.subi(partner, first), width),
                        arith.cmpi(arith.CmpIPredicate.ult, other, count))
    found = memref.load(exchange, [arith.index_castui(ir.IndexType.get(), arith.select(inside, other, thread))])
    wait(SHUFFLE, me, states)
    narrow = found if bits == 64 else arith.trunci(ir.IntegerType.get_signless(bits), found)
    op.results[0].replace_all_uses_with(arith.bitcast(type_, narrow) if isinstance(type_, ir.FloatType) else narrow)
    op.results[1].replace_all_uses_with(inside)


def replace_launch(launch: ir.Operation, function: str) -> None:
    """Puts a call in the place of a launch. LegatoError for one with clusters, dynamic shared memory, or in a stream."""
    segments = [int(n) for n in launch.attributes["operandSegmentSizes"]]
    operands = list(launch.operands)
    given = max(range(len(segments)), key=lambda n: segments[n] if n > SIZES else -1)   # the kernel's arguments
    if segments[0] or segments[1:1 + SIZES] != [1] * SIZES or sum(segments) != SIZES + segments[given] or len(launch.results):
        raise LegatoError("a launch with clusters, dynamic shared memory or streams is not emulated")
    with ir.InsertionPoint(launch), launch.location:
        func.CallOp([], ir.FlatSymbolRefAttr.get(function), operands)
    launch.erase()
