"""Placement of a launch's buffers: shared ones in workgroup memory, local ones on each thread, global ones as workspaces."""
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, find, index
from legato.core.mlir import ir, memref
from legato.dialects.tir.loops import AllocBufferOp, constant_of
from legato.dialects.tir.markers import BUFFER_NAME as NAME
from legato.dialects.tir.markers import SHARED_NAMES
from legato.dialects.tir.walk import FIRST_INDEX
from legato.passes.gpu.threads.launch import Launch
from legato.passes.gpu.threads.memory import GLOBAL, LOCAL, SHARED, WHOLE, scope_of
from legato.passes.gpu.threads.windows import compact
from legato.passes.loops.buffers import allocated, size_of

WORKGROUP = "#gpu.address_space<workgroup>"
ALIGNMENT = 64
LOCAL_BYTES = 512 << 10  # per thread


def place_global(kernel: ir.Operation) -> None:
    """Turns a kernel's global buffers into memref.alloc; extraction of workspaces makes arguments of them later."""
    for op in find(kernel, "tir.alloc_buffer"):
        made: AllocBufferOp = op.opview
        if scope_of(op.results[0]) != GLOBAL:
            continue
        if any(a.name == "gpu.launch" for a in ancestors(op)):
            raise PassFailed(f"the buffer {made.name} is global, and made inside of loops bound to threads: give it the scope shared or "
                             "local, or make it before the loops", op)
        with ir.InsertionPoint(op), op.location:
            new = memref.AllocOp(allocated(made, op.results[0].type), list(op.operands), [], alignment=ALIGNMENT)
            new.operation.attributes[NAME] = ir.StringAttr.get(made.name)
        op.results[0].replace_all_uses_with(new.result)
        op.erase()


def place_buffers(kernel: ir.Operation, launches: list[Launch], shared_bytes: int) -> None:
    """Moves shared and local buffers into the launches that use them. PassFailed, with the sizes, where memory is exceeded."""
    used: dict[int, list[tuple[str, int]]] = {}
    spent: dict[int, list[tuple[str, int]]] = {}
    for op in find(kernel, "tir.alloc_buffer"):
        made: AllocBufferOp = op.opview
        scope = scope_of(op.results[0])
        if scope != GLOBAL:
            resolve_sizes(made)
        users = [u.owner.operation for u in op.results[0].uses]
        if not users:
            op.erase()
            continue
        homes = {next((n for n, one in enumerate(launches) if one.operation in ancestors(u)), -1) for u in users}
        if homes == {-1}:
            continue  # used outside of launches only
        if len(homes) > 1:
            raise PassFailed(f"the {scope} buffer {made.name} is used in several nests of loops bound to threads: each of them is a launch "
                             "of its own, and only global buffers outlive a launch", op)
        number = homes.pop()
        kept = spent if scope == SHARED else used
        kept.setdefault(number, []).append((made.name, place(launches[number], made, scope, users)))
    for sizes, most, what in ((spent, shared_bytes, "shared buffers of a block"), (used, LOCAL_BYTES, "local buffers of a thread")):
        for number, each in sizes.items():
            total = sum(size for _, size in each)
            if total > most:
                raise PassFailed(f"the {what} take {total} bytes ({', '.join(f'{n}: {s}' for n, s in each)}), and there are {most}",
                                 launches[number].operation)


def resolve_sizes(made: AllocBufferOp) -> None:
    """Replaces ``memref.dim`` of a buffer by the size it was allocated with, before its shape is compacted."""
    shape = list(made.operation.results[0].type.shape)
    dynamic = [axis for axis, s in enumerate(shape) if s == ir.ShapedType.get_dynamic_size()]
    for op in [u.owner.operation for u in made.operation.results[0].uses]:
        axis = constant_of(op.operands[1]) if op.name == "memref.dim" else None
        if axis is not None:
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(made.operation.operands[dynamic.index(axis)] if axis in dynamic else index(shape[axis]))
            op.erase()


def place(launch: Launch, made: AllocBufferOp, scope: str, users: list[ir.Operation]) -> int:
    """Puts one buffer into a launch, shrunk to the region that is accessed. Returns its bytes."""
    buffer = made.operation.results[0]
    type_ = buffer.type
    accesses = [u for u in users if u.name in FIRST_INDEX]
    others = [u for u in users if u not in accesses]
    refused = [u for u in others if u.name not in WHOLE]
    if refused and scope == SHARED:
        raise PassFailed(f"{refused[0].name} takes the shared buffer {made.name} as a whole: its elements can be read and written",
                         refused[0])
    shape = list(type_.shape) if others else compact(launch, made, accesses, private=scope == LOCAL)
    if any(s == ir.ShapedType.get_dynamic_size() for s in shape):
        raise PassFailed(f"the size of the {scope} buffer {made.name}, {type_}, is not known when the kernel is compiled", made.operation)
    space = ir.Attribute.parse(WORKGROUP) if scope == SHARED else None
    new_type = allocated(made, ir.MemRefType.get(shape, type_.element_type, memory_space=space))
    if scope == SHARED:
        new = launch.block.add_argument(new_type, made.operation.location)
        attributes = launch.operation.attributes
        names = [*(attributes[SHARED_NAMES] if SHARED_NAMES in attributes else ()), ir.StringAttr.get(made.name)]
        attributes[SHARED_NAMES] = ir.ArrayAttr.get(names)
        attributes["workgroup_attributions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(names))
    else:
        with ir.InsertionPoint.at_block_begin(launch.block), made.operation.location:
            new = memref.AllocaOp(new_type, [], [], alignment=16).result
    buffer.replace_all_uses_with(new)
    made.operation.erase()
    return size_of(new_type)
