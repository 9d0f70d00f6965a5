"""Placement of the buffers of loop kernels: each is allocated in the innermost block around all its users, as large as what they
access."""
from collections.abc import Iterable, Mapping
from math import prod

from legato.analysis.accesses import buffer_of, indices_of, one_step_only, varies
from legato.analysis.indices.build import build
from legato.analysis.indices.forms import linear, place
from legato.analysis.indices.linear import Linear
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import ir, memref
from legato.dialects.tir.loops import AllocBufferOp, ForOp
from legato.dialects.tir.strides import aligned_type, alignment_of
from legato.dialects.tir.walk import FIRST_INDEX

ALIGNMENT = 64


def size_of(type_: ir.MemRefType) -> int:
    """The bytes that a buffer takes; each element takes at least one."""
    element = type_.element_type
    return prod(type_.shape) * max(1, (64 if isinstance(element, ir.IndexType) else element.width) // 8)


def place_buffers(kernel: ir.Operation, limits: Mapping[str, int] | None = None) -> None:
    """Replaces every ``tir.alloc_buffer`` of a kernel, whose blocks are inlined already, by an allocation. ``limits``: the most bytes that
    the buffers of a scope may take together, by its name; PassFailed where they take more."""
    taken: dict[str, int] = {}
    for op in find(kernel, "tir.alloc_buffer"):
        name, scope = op.opview.name, op.opview.scope
        limit = (limits or {}).get(scope)
        type_ = place_buffer(op.opview)
        if limit is None or type_ is None:
            continue
        if not type_.has_static_shape:
            raise PassFailed(f"the buffer '{name}' is of a size that is not known when the kernel is compiled, and its scope '{scope}' has "
                             f"{limit} bytes", kernel)
        taken[scope] = taken.get(scope, 0) + size_of(type_)
        if taken[scope] > limit:
            raise PassFailed(f"the buffers of scope '{scope}' take {taken[scope]} bytes with '{name}' of {size_of(type_)}, and it has "
                             f"{limit}: copy smaller tiles (split, compute_at)", kernel)


def place_buffer(made: AllocBufferOp) -> ir.MemRefType | None:
    """Replaces one ``tir.alloc_buffer`` by a memref.alloc. Returns the type of that; None where nothing reads or writes the buffer."""
    buffer = made.operation.results[0]
    users = [use.owner.operation for use in buffer.uses]
    if not users:
        made.operation.erase()
        return None
    home = common_block(made, users)
    accesses = [u for u in users if u.name in FIRST_INDEX]
    type_ = buffer.type
    shrunk = shrink(home, accesses) if len(accesses) == len(users) and type_.has_static_shape else None
    if shrunk is not None:
        shape, parts = shrunk
        type_ = ir.MemRefType.get(shape, type_.element_type)
        for access, indices in zip(accesses, parts):
            with ir.InsertionPoint(access), access.location:
                for number, form in enumerate(indices):
                    access.operands[FIRST_INDEX[access.name] + number] = build(form)
    type_ = allocated(made, type_)
    first = next(u for u in home.operations if any(u.operation == o or u.operation in ancestors(o) for o in users))
    with ir.InsertionPoint(first), made.operation.location:
        new = memref.AllocOp(type_, list(made.operation.operands), [], alignment=ALIGNMENT)
    buffer.replace_all_uses_with(new.result)
    made.operation.erase()
    return type_


def allocated(made: AllocBufferOp, type_: ir.MemRefType) -> ir.MemRefType:
    """The type that holds a buffer, or a part of it of this type: a larger one where its strides are to be aligned. PassFailed where they
    are, and ops would not see it."""
    if alignment_of(made.operation) is not None:
        for use in made.operation.results[0].uses:
            name = use.owner.operation.name
            if name not in (*FIRST_INDEX, "memref.dim"):
                raise PassFailed(f"{name} takes the buffer {made.name} as a whole, whose strides are aligned (storage_align)",
                                 use.owner.operation)
    return aligned_type(made.operation, type_)


def common_block(made: AllocBufferOp, users: list[ir.Operation]) -> ir.Block:
    """The innermost loop body around all users whose iterations do not need what others wrote, or the block of the allocation."""
    chains = [[op for op in reversed(ancestors(u)) if op.name in ("tir.for", "func.func")] for u in users]
    depth = 0
    while all(len(c) > depth for c in chains) and all(c[depth] == chains[0][depth] for c in chains):
        if chains[0][depth].name == "tir.for" and carries_over(chains[0][depth].opview, made, users):
            break
        depth += 1
    holder = chains[0][depth - 1]
    return made.operation.block if holder.name == "func.func" else holder.regions[0].blocks[0]


def carries_over(loop: ForOp, made: AllocBufferOp, users: list[ir.Operation]) -> bool:
    """Whether an iteration of a loop may read what another one wrote."""
    if loop.extent == 1:
        return False
    accesses = [u for u in users if u.name in FIRST_INDEX]
    if len(accesses) != len(users):
        return any(u.name != "memref.dim" for u in users) and not begins_anew(loop, made, accesses)
    forms = dict(enumerate(map(places, accesses)))
    stores = [n for n, a in enumerate(accesses) if a.name == "memref.store"]
    apart = all(any(is_apart(f, g, loop, accesses[s], accesses[n]) for f, g in zip(forms[s], forms[n])) for s in stores for n in forms)
    return not apart and not begins_anew(loop, made, accesses)


def places(access: ir.Operation) -> list[Linear]:
    """The indices of an access as linear forms."""
    return [place(v) for v in indices_of(access)]


def is_apart(f: Linear, g: Linear, loop: ForOp, *accesses: ir.Operation) -> bool:
    """Whether two indices are equal in the same iteration of a loop only."""
    factor = f.coefficient(loop.variable)
    if factor == 0 or g.coefficient(loop.variable) != factor:
        return False
    inner = inner_extents(loop, accesses)
    rests = [form.without([loop.variable]) for form in (f, g)]
    outer = {v for rest in rests for v in rest.terms if v not in inner}
    if any(rests[0].coefficient(v) != rests[1].coefficient(v) or varies(v, loop.operation) for v in outer):
        return False
    first, second = (rest.without(outer).range(inner) for rest in rests)
    return first is not None and second is not None and one_step_only(first, second, factor)


def inner_extents(loop: ForOp, accesses: Iterable[ir.Operation]) -> dict[ir.Value, int]:
    """The extents of loops between a loop and accesses in it, for those from 0 with constant extent."""
    found = {}
    for access in accesses:
        for op in ancestors(access):
            if op == loop.operation:
                break
            if op.name == "tir.for" and op.opview.extent is not None and linear(op.opview.bounds[0]) == Linear({}):
                found[op.opview.variable] = op.opview.extent
    return found


def begins_anew(loop: ForOp, made: AllocBufferOp, accesses: list[ir.Operation]) -> bool:
    """Whether each iteration first writes all of the buffer that it accesses."""
    order = [op for op in find(loop.operation, *FIRST_INDEX) if op in accesses]
    first = order[0] if order else None
    if first is None or first.name != "memref.store":
        return False
    for op in ancestors(first):
        if op == loop.operation:
            break
        if op.name != "tir.for":
            return False
    inner = inner_extents(loop, [first])
    others = [places(a) for a in accesses]
    for axis, (form, size) in enumerate(zip(places(first), made.operation.results[0].type.shape)):
        variable = form.variable
        covers = variable is not None and variable in inner and inner[variable] == size
        changes = any(varies(v, loop.operation, during_step=True) for v in form.terms)
        if not covers and (changes or any(other[axis] != form for other in others)):
            return False
    return True


def shrink(home: ir.Block, accesses: list[ir.Operation]) -> tuple[list[int], list[list[Linear]]] | None:
    """The shape of the region accessed in one run of ``home``, and the indices in it; None where it is not known."""
    extents: dict[ir.Value, int] = {}
    inner: set[ir.Value] = set()
    holder = home.owner.operation
    for access in accesses:
        for op in ancestors(access):
            if op.name != "tir.for":
                continue
            loop: ForOp = op.opview
            if holder == op or op in ancestors(holder):
                break
            if loop.extent is None or linear(loop.bounds[0]) != Linear({}):
                return None
            inner.add(loop.variable)
            extents[loop.variable] = loop.extent
    forms = [places(a) for a in accesses]
    shape, rebased = [], [[] for _ in accesses]
    for axis in range(len(forms[0])):
        outer = [Linear(form[axis].without(inner).terms) for form in forms]
        if any(o.terms != outer[0].terms or any(varies(v, holder, during_step=True) for v in o.terms) for o in outer):
            return None
        parts = [form[axis] - o for form, o in zip(forms, outer)]
        ranges = [p.range(extents) for p in parts]
        known = [r for r in ranges if r is not None]
        if len(known) < len(ranges):
            return None
        low, high = min(r[0] for r in known), max(r[1] for r in known)
        full = buffer_of(accesses[0]).type.shape[axis]
        if high - low + 1 >= full:
            for mine, form in zip(rebased, forms):
                mine.append(form[axis])
            shape.append(full)
            continue
        shape.append(high - low + 1)
        for mine, part in zip(rebased, parts):
            mine.append(part - Linear({}, low))
    return shape, rebased
