"""Primitives on buffers: cache_read, cache_write, transform_layout."""
from collections.abc import Sequence
from math import prod

import numpy as np

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.arithmetic import affine_value
from legato.analysis.indices.build import build, constant
from legato.analysis.indices.forms import PLAIN, linear
from legato.analysis.indices.points import Points, Sample
from legato.core.ir_helpers import ancestors, present
from legato.core.mlir import arith, ir, memref
from legato.core.views import root_of
from legato.dialects.tir.loops import SERIAL, SPATIAL, BlockOp, before_end, make_block, make_buffer
from legato.dialects.tir.strides import alignment_of
from legato.dialects.tir.walk import blocks, buffer_name
from legato.schedule.index_map import places_of
from legato.schedule.loop_primitives import nest
from legato.schedule.reach import writes_all
from legato.schedule.state import Kernel, ScheduleError, accesses, holder, may_write, no_view, only_accessed, reads, users, writes


def cached(kernel: Kernel, buffer: ir.Value, scope: str) -> ir.Value:
    """A buffer of the same shape in another scope, allocated at the kernel's beginning."""
    type_ = buffer.type
    owner = buffer.owner
    with ir.InsertionPoint(kernel.top(first_statement(kernel))), owner.operation.location:
        sizes = [memref.DimOp(buffer, constant(d)).result for d in range(type_.rank) if type_.is_dynamic_dim(d)]
        return make_buffer(ir.MemRefType.get(type_.shape, type_.element_type), f"{buffer_name(buffer)}_{scope}", scope, sizes)


def first_statement(kernel: Kernel) -> ir.Operation:
    """The first loop or block of the kernel."""
    return next(op.operation for op in kernel.function.body.blocks[0].operations if op.operation.name in ("tir.for", "tir.block", "scf.if"))


def point_nest(kernel: Kernel, extents: Sequence[int | ir.Value], name: str) -> BlockOp:
    """Loops, at the insertion point, over all points of a space, around a block that does nothing."""
    loops = nest([(e if isinstance(e, int) else (constant(0), e), SERIAL, f"ax{d}", None) for d, e in enumerate(extents)])
    with before_end(loops[-1].block) if loops else ir.InsertionPoint.current:
        return make_block(kernel.unique(name), [f"v{d}" for d in range(len(extents))], [SPATIAL] * len(extents),
                          [e if isinstance(e, int) else None for e in extents], [loop.variable for loop in loops])


def copy_nest(kernel: Kernel, source: ir.Value, target: ir.Value, name: str, sizes: Sequence[int] | None = None) -> BlockOp:
    """Loops that copy a buffer, at the insertion point: the whole, or its first elements, as many as ``sizes`` says."""
    type_ = source.type
    block = point_nest(kernel, sizes or [
        memref.DimOp(source, constant(d)).result if type_.is_dynamic_dim(d) else type_.shape[d] for d in range(type_.rank)], name)
    with before_end(block.block):
        axes = list(block.block.arguments)
        memref.StoreOp(memref.LoadOp(source, axes).result, target, axes)
    return block


def behind(op: ir.Operation) -> ir.InsertionPoint:
    """The insertion point after an op."""
    following = [o.operation for o in op.block.operations]
    return ir.InsertionPoint(following[following.index(op) + 1])


def pick(kernel: Kernel, found: Sequence[ir.Value], at: int | str, block: BlockOp, what: str, does: str) -> ir.Value:
    """One of the buffers that a block reads or writes, by number or name. ScheduleError where there is none, or it is a view."""
    names = [buffer_name(root_of(b)) for b in found]
    if isinstance(at, str) and names.count(at) == 1:
        at = names.index(at)
    if isinstance(at, int) and 0 <= at < len(found):
        no_view(found[at], what)
        return found[at]
    raise ScheduleError(f"{what}: block '{block.name}' {does} no buffer {at!r}; it {does}, from 0: {', '.join(names) or 'none'}")


def redirect(operations: list[ir.Operation], new: ir.Value) -> None:
    """Makes loads and stores access another buffer."""
    for op in operations:
        op.operands[0 if op.name == "memref.load" else 1] = new


def cache_read(kernel: Kernel, readers: Sequence[BlockOp], at: int | str, scope: str) -> BlockOp:
    """Makes blocks read one copy of a buffer, which a new block in front of the first of them computes. Returns that block. ``at``: of the
    first one's buffers."""
    block = readers[0]
    buffer = pick(kernel, reads(block), at, block, "cache_read", "reads")
    for one in readers:
        alone_in_nest(kernel, one, buffer, "cache_read", "written")
    for one in readers[1:]:
        check_later(kernel, block, one, buffer)
    new = cached(kernel, buffer, scope)
    with ir.InsertionPoint(kernel.top(block)), block.operation.location:
        made = copy_nest(kernel, buffer, new, f"{buffer_name(buffer)}_{scope}")
    redirect([op for one in readers for op in accesses(one, "memref.load") if buffer_of(op) == buffer], new)
    return made


def check_later(kernel: Kernel, first: BlockOp, other: BlockOp, buffer: ir.Value) -> None:
    """ScheduleError unless a block reads, after another one, the elements of a buffer as they were before that one."""
    name = buffer_name(buffer)
    if buffer not in reads(other):
        raise ScheduleError(f"cache_read: block '{other.name}' does not read '{name}', of which block '{first.name}' gets a copy")
    top, behind = kernel.top(first), kernel.top(other)
    if top == behind or not top.is_before_in_block(behind):
        raise ScheduleError(f"cache_read: block '{other.name}' is not behind block '{first.name}', in front of which '{name}' is copied")
    for writer in may_write(buffer):
        at = kernel.top(writer)
        if at == top or (top.is_before_in_block(at) and at.is_before_in_block(behind)):
            raise ScheduleError(f"cache_read: '{name}' is written by {holder(writer)} between the blocks '{first.name}' and "
                                f"'{other.name}', which would read one copy")


def keeps(kernel: Kernel, block: BlockOp, buffer: ir.Value, shape: Sequence[int]) -> bool:
    """Whether a block that writes a buffer may leave elements as they were before, or read them. ``shape``: those first elements that
    count."""
    stores, loads = ([op for op in users(buffer, kind) if block.operation in ancestors(op)] for kind in ("memref.store", "memref.load"))
    if buffer.owner.operation.name == "tir.alloc_buffer" and len(stores) == len(users(buffer, "memref.store")):
        return False    # nothing was there before
    return not stores or not writes_all(kernel.function, stores, shape, loads)


def cache_write(kernel: Kernel, block: BlockOp, at: int | str, scope: str) -> BlockOp:
    """Makes the block write a new buffer, which a new block after it copies. Returns that block. Where the block may leave elements of a
    parameter as they are, or reads them, the new buffer begins as a copy."""
    buffer = pick(kernel, writes(block), at, block, "cache_write", "writes")
    others = [b for b in blocks(kernel.function.operation) if b.operation != block.operation and buffer in writes(b)]
    only_accessed(kernel, buffer, "cache_write")
    if others:
        raise ScheduleError(f"cache_write: '{buffer_name(buffer)}' is also written by block '{others[0].name}'")
    alone_in_nest(kernel, block, buffer, "cache_write", "read")
    alone_in_nest(kernel, block, buffer, "cache_write", "written")
    starts = keeps(kernel, block, buffer, buffer.type.shape)
    new = cached(kernel, buffer, scope)
    mine = [op for kind in ("memref.load", "memref.store") for op in accesses(block, kind) if buffer_of(op) == buffer]
    top = kernel.top(block)
    with behind(top), block.operation.location:
        made = copy_nest(kernel, new, buffer, f"{buffer_name(buffer)}_{scope}")
    if starts:
        with ir.InsertionPoint(top), block.operation.location:
            copy_nest(kernel, buffer, new, f"{buffer_name(buffer)}_{scope}_start")
    redirect(mine, new)
    return made


def alone_in_nest(kernel: Kernel, block: BlockOp, buffer: ir.Value, what: str, done: str) -> None:
    """ScheduleError where something else in the same nest accesses the buffer: copies are made before or after the whole nest.
    ``done``: "read" or "written"."""
    around = kernel.top(block)
    for access in users(buffer, "memref.load") if done == "read" else may_write(buffer):
        if kernel.top(access) == around and block.operation not in ancestors(access):
            raise ScheduleError(f"{what}: '{buffer_name(buffer)}' is {done} by {holder(access)} in the same loops as block '{block.name}': "
                                f"{what} comes before the two are put together")


def transform_layout(kernel: Kernel, block: BlockOp, at: int | str, map: ir.AffineMap, side: str = "write") -> None:
    """Changes the layout of a buffer that the block writes (or reads): element (i, j, ...) moves to the map's result."""
    if side not in ("read", "write"):
        raise ScheduleError(f"transform_layout: the buffer is one that the block has on its side 'read' or 'write', not '{side}'")
    buffer = pick(kernel, writes(block) if side == "write" else reads(block), at, block, "transform_layout", f"{side}s")
    made, type_ = kernel.allocation(buffer, "transform_layout"), buffer.type
    only_accessed(kernel, buffer, "transform_layout")
    if alignment_of(made.operation) is not None:
        raise ScheduleError(f"transform_layout: the strides of '{made.name}' are aligned: transform_layout comes before storage_align")
    if not type_.has_static_shape or map.n_dims != type_.rank:
        raise ScheduleError(f"transform_layout: the map takes {map.n_dims} indices, and '{made.name}' is {type_}")
    shape = map_shape(map, list(type_.shape))
    with ir.InsertionPoint(made.operation), made.operation.location:
        new = make_buffer(ir.MemRefType.get(shape, type_.element_type), made.name, made.scope)
    for kind in ("memref.load", "memref.store"):
        for op in users(buffer, kind):
            with ir.InsertionPoint(op), op.location:
                places = [expression(e, indices_of(op)) for e in map.results]
                if kind == "memref.load":
                    op.results[0].replace_all_uses_with(memref.LoadOp(new, places).result)
                else:
                    memref.StoreOp(op.operands[0], new, places)
            kernel.erase(op)
    kernel.erase(made.operation)


def map_shape(index_map: ir.AffineMap, shape: list[int]) -> list[int]:
    """The shape that holds all results of a map. ScheduleError where they are negative or not distinct."""
    total = prod(shape)
    if (ends := places_of(index_map, shape)) is not None and total:
        if min(least for least, _ in ends) < 0:
            raise ScheduleError("transform_layout: the map has negative places")
        return [greatest + 1 for _, greatest in ends]
    if total > 1 << 22:
        raise ScheduleError(f"transform_layout: a buffer of {total} elements is too large for its map to be checked")
    points = Points([], lambda _: False)
    places = [Sample({}, axis.reshape(-1)) for axis in np.indices(shape)]
    found = [affine_value(points, e, places, []) for e in index_map.results]
    mapped = np.stack([np.broadcast_to(present(f).array, [total]) for f in found])
    if mapped.min() < 0:
        raise ScheduleError("transform_layout: the map has negative places")
    if np.unique(mapped, axis=1).shape[1] != total:
        raise ScheduleError("transform_layout: the map puts two elements into one place")
    return [int(m.max()) + 1 for m in mapped]


def expression(e: ir.AffineExpr, indices: list[ir.Value]) -> ir.Value:
    """The value of an affine expression of index values >= 0, at the insertion point."""
    e = e.maybe_downcast() if hasattr(e, "maybe_downcast") else e
    if isinstance(e, ir.AffineDimExpr):
        return indices[e.position]
    if isinstance(e, ir.AffineConstantExpr):
        return constant(e.value)
    a, b = expression(e.lhs, indices), expression(e.rhs, indices)
    if isinstance(e, (ir.AffineModExpr, ir.AffineFloorDivExpr)):
        divide = PLAIN.modulo if isinstance(e, ir.AffineModExpr) else PLAIN.floor_divide
        simple = divide(linear(a), linear(b))
        if simple is not None:
            return build(simple)
    if isinstance(e, ir.AffineCeilDivExpr):
        return arith.CeilDivUIOp(a, b).result
    builders = {ir.AffineAddExpr: arith.AddIOp, ir.AffineMulExpr: arith.MulIOp, ir.AffineModExpr: arith.RemUIOp,
                ir.AffineFloorDivExpr: arith.DivUIOp}
    return builders[type(e)](a, b).result
