"""The buffers of a launch: shared ones in the memory of a block, local ones on each thread, global ones as workspaces."""
from math import prod

import numpy as np

from ...dialects.tir.linear import Linear, build, linear
from ...dialects.tir.loops import AllocBufferOp, index
from ...dialects.tir.walk import ancestors, find
from ...mlir import ir, memref
from ..base import PassFailed
from .indices import MOST_POINTS, Form, Points, can_count, conditions
from .launch import Launch
from .memory import FIRST_INDEX, GLOBAL, LOCAL, NAME, SHARED, SHARED_NAMES, scope_of

WORKGROUP = "#gpu.address_space<workgroup>"
ALIGNMENT = 64
LOCAL_BYTES = 512 << 10  # of a thread


def place_global(kernel: ir.Operation) -> None:
    """Global buffers of a kernel become allocations, which later become workspaces."""
    for op in find(kernel, "tir.alloc_buffer"):
        made: AllocBufferOp = op.opview
        if scope_of(op.results[0]) != GLOBAL:
            continue
        if any(a.name == "gpu.launch" for a in ancestors(op)):
            raise PassFailed(f"the buffer {made.name} is global, and made inside of loops bound to threads: give it the scope shared or "
                             "local, or make it in front of the loops", op)
        with ir.InsertionPoint(op), op.location:
            new = memref.AllocOp(op.results[0].type, list(op.operands), [], alignment=ALIGNMENT)
            new.operation.attributes[NAME] = ir.StringAttr.get(made.name)
        op.results[0].replace_all_uses_with(new.result)
        op.erase()


def place_buffers(kernel: ir.Operation, launches: list[Launch], shared_bytes: int) -> None:
    """Shared and local buffers move into the launches that use them. PassFailed, with the numbers, where there is no room."""
    used: dict[int, list[tuple[str, int]]] = {}
    spent: dict[int, list[tuple[str, int]]] = {}
    for op in find(kernel, "tir.alloc_buffer"):
        made: AllocBufferOp = op.opview
        scope = scope_of(op.results[0])
        users = [u.owner.operation for u in op.results[0].uses]
        if not users:
            op.erase()
            continue
        homes = {next((n for n, one in enumerate(launches) if one.operation in ancestors(u)), -1) for u in users}
        if homes == {-1}:
            continue  # of loops that are not bound to threads
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


def place(launch: Launch, made: AllocBufferOp, scope: str, users: list[ir.Operation]) -> int:
    """Puts one buffer into a launch, as large as what is touched of it. Returns its bytes."""
    buffer = made.operation.results[0]
    type_ = buffer.type
    accesses = [u for u in users if u.name in FIRST_INDEX]
    others = [u for u in users if u.name not in FIRST_INDEX and u.name != "memref.dim"]
    if others and scope == SHARED:
        raise PassFailed(f"{others[0].name} takes the shared buffer {made.name} as a whole: its elements can be read and written",
                         others[0])
    for op in users:
        if op.name == "memref.dim":
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(index(type_.shape[op.operands[1].owner.attributes["value"].value])
                                                    if type_.has_static_shape else op.results[0])
    shape = list(type_.shape) if others else compact(launch, made, scope, accesses)
    if any(s == ir.ShapedType.get_dynamic_size() for s in shape):
        raise PassFailed(f"the size of the {scope} buffer {made.name}, {type_}, is not known when the kernel is compiled", made.operation)
    new_type = ir.MemRefType.get(shape, type_.element_type, memory_space=ir.Attribute.parse(WORKGROUP) if scope == SHARED else None)
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
    width = 64 if isinstance(type_.element_type, ir.IndexType) else type_.element_type.width
    return prod(shape) * max(1, width // 8)


def compact(launch: Launch, made: AllocBufferOp, scope: str, accesses: list[ir.Operation]) -> list[int]:
    """The shape of what one block, or one thread, touches of a buffer during one step of the loops around all its users; the accesses
    are changed to begin at 0."""
    buffer = made.operation.results[0]
    full = list(buffer.type.shape)
    around = [[a for a in reversed(ancestors(u)) if a.name == "tir.for" and launch.operation in ancestors(a)] for u in accesses]
    common = 0
    while all(len(c) > common for c in around) and all(c[common] == around[0][common] for c in around):
        common += 1
    outer_loops = [op.opview for op in around[0][:common]] if around else []
    private = scope == LOCAL
    ids = {a.id for a in launch.axes.values() if private or not a.is_thread}
    outer = ids | {loop.variable for loop in outer_loops}
    shape: list[int] = []
    for axis in range(len(full)):
        forms = [linear(list(a.operands)[FIRST_INDEX[a.name] + axis]) for a in accesses]
        found = window(launch, accesses, forms, around, common, outer) if forms else None
        if found is None:
            check_private(launch, made, accesses, axis, forms) if private else None
            shape.append(full[axis])
            continue
        base, ranges = found
        low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
        if not base.terms and full[axis] != ir.ShapedType.get_dynamic_size() and high - low + 1 >= full[axis]:
            shape.append(full[axis])
            continue
        if not carried_nothing(launch, made, base, accesses, ranges, {loop.variable for loop in outer_loops}, private):
            shape.append(full[axis])
            continue
        shape.append(high - low + 1)
        for access, form in zip(accesses, forms):
            with ir.InsertionPoint(access), access.location:
                access.operands[FIRST_INDEX[access.name] + axis] = build(form - base - Linear({}, low))
    return shape


def window(launch: Launch, accesses: list[ir.Operation], forms: list[Linear], around: list[list[ir.Operation]], common: int,
           outer: set[ir.Value]) -> tuple[Linear, list[tuple[int, int]]] | None:
    """What all accesses have in common along one axis, and the range of the rest of each; None where it is not seen."""
    base = forms[0].only(outer)
    ranges = []
    for access, form, chain in zip(accesses, forms, around):
        if form.only(outer).terms != base.terms:
            return None
        points = Points([a for a in launch.threads if a.id not in outer], [op.opview for op in chain[common:] if can_count(op.opview)],
                        lambda _: False)
        if points.count > MOST_POINTS:
            return None
        total = Form({}, np.zeros(points.shape, np.int64))
        for value, factor in (form - base).terms.items():
            term = points.evaluate(value)
            if term is None:
                return None
            total = total.plus(term.times(factor))
        touched = total.array[points.mask(conditions(access, launch.operation))[0]]
        low, high = (int(touched.min()), int(touched.max())) if touched.size else (0, 0)
        ranges.append((low + form.constant, high + form.constant))
    return base, ranges


def carried_nothing(launch: Launch, made: AllocBufferOp, base: Linear, accesses: list[ir.Operation], ranges: list[tuple[int, int]],
                    loops: set[ir.Value], private: bool) -> bool:
    """Whether what is read in a step of the loops around is what was written in it, so that each step can use the same place.

    PassFailed for a local buffer of which a thread reads what another wrote."""
    writes = [r for a, r in zip(accesses, ranges) if a.name == "memref.store"]
    reads = [(a, r) for a, r in zip(accesses, ranges) if a.name == "memref.load"]
    inside = bool(writes) and all(min(w[0] for w in writes) <= r[0] and r[1] <= max(w[1] for w in writes) for _, r in reads)
    threads = {a.id for a in launch.threads}
    if private and set(base.terms) & threads and not inside:
        raise PassFailed(f"the local buffer {made.name} is read where another thread writes it: each thread has its own; give it the scope "
                         "shared", reads[0][0])
    width = max(r[1] for r in ranges) - min(r[0] for r in ranges) + 1
    moving = [f for v, f in base.terms.items() if v in loops]
    if all(abs(f) >= width for f in moving):
        return inside or not moving  # steps touch different places
    first = next(op for op in ordered(launch, accesses))
    return inside and first.name == "memref.store"


def ordered(launch: Launch, accesses: list[ir.Operation]) -> list[ir.Operation]:
    """The accesses in the order of the program."""
    return [op for op in find(launch.operation, *FIRST_INDEX) if op in accesses]


def check_private(launch: Launch, made: AllocBufferOp, accesses: list[ir.Operation], axis: int, forms: list[Linear]) -> None:
    """PassFailed where threads would use each other's elements of a local buffer."""
    threads = {a.id for a in launch.threads}
    by_thread = [f.only(threads).terms for f in forms]
    if any(t != by_thread[0] for t in by_thread):
        raise PassFailed(f"the local buffer {made.name} is used at indices that depend on the thread in different ways: a thread would "
                         "read what another wrote, and each has its own; give it the scope shared", accesses[0])
