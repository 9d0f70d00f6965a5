"""The primitive reindex: a block accesses, by plain axes, a copy of a buffer whose dimensions are axes of the block."""
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.build import constant
from legato.analysis.indices.forms import Forms, at_most
from legato.analysis.indices.linear import Linear, Quotient, quotients, variables
from legato.core.ir_helpers import ancestors
from legato.core.mlir import arith, ir, memref, scf
from legato.dialects.tir.loops import DYNAMIC, SPATIAL, BlockOp, before_end, constant_of, loop_of, make_buffer
from legato.dialects.tir.walk import buffer_name
from legato.schedule.block_primitives import bound_of, hoist_size, is_outside_loops
from legato.schedule.buffer_primitives import alone_in_nest, behind, first_statement, pick, point_nest
from legato.schedule.index_map import reaches_of
from legato.schedule.reach import writes_all
from legato.schedule.reduction_primitives import conditional, rebuild
from legato.schedule.state import Kernel, ScheduleError, accesses, drop_unused, only_accessed, reads, users, writes

MOST_PLACES = 1 << 22
ENDLESS = 1 << 60   # more than the values of any axis


class UsedAxis(NamedTuple):
    """An axis of a block that indices depend on: its number in the block, its argument, and how many values it has: known, or a value of
    the kernel's body."""

    number: int
    argument: ir.Value
    extent: int | ir.Value


class PlaceOnDimension(NamedTuple):
    """An index of an access: its value, and its form, with the numbers of axes as variables. Whether it may be below 0, and whether beyond
    the end, where nothing is accessed."""

    value: ir.Value
    form: Linear
    may_be_below: bool
    may_be_beyond: bool


class IndexedAccess(NamedTuple):
    """How a block accesses a buffer: by a place on each dimension, and the axes that these depend on, in the block's order."""

    places: list[PlaceOnDimension]
    axes: list[UsedAxis]

    @property
    def extents(self) -> list[int | ir.Value]:
        """Of the axes."""
        return [axis.extent for axis in self.axes]


def reindex(kernel: Kernel, block: BlockOp, at: int | str, side: str | None = None) -> BlockOp:
    """Makes the block read (``side`` "read") or write ("write") a new buffer instead of one of its buffers, with a dimension for each axis
    of the block that the indices depend on, in the block's order. Returns the block that copies. A name needs no side."""
    found = {"read": reads(block), "write": writes(block)}
    if side is None and isinstance(at, str):
        side = "write" if at in map(buffer_name, found["write"]) else "read"
    if side not in found:
        raise ScheduleError(f"reindex: a buffer is named by its name, or by \"read\" or \"write\" and its number; not {(side, at)!r}")
    buffer = pick(kernel, found[side], at, block, "reindex", f"{side}s")
    only_accessed(kernel, buffer, "reindex")
    alone_in_nest(kernel, block, buffer, "reindex", "written")
    if side == "write":
        alone_in_nest(kernel, block, buffer, "reindex", "read")
    touching = [op for kind in ("memref.load", "memref.store") for op in accesses(block, kind) if buffer_of(op) == buffer]
    access = indexed(block, buffer, touching)
    if side == "write":
        check_distinct(block, buffer, access)
    others = [op for op in users(buffer, "memref.store") if op not in touching]
    new, name, top = like_axes(kernel, block, buffer, access), f"{buffer_name(buffer)}_reindex", kernel.top(block)
    moved = [redirected(kernel, block, op, new, [axis.number for axis in access.axes]) for op in touching]
    stores, loads = ([op for op in moved if op.name == kind] for kind in ("memref.store", "memref.load"))
    with ir.InsertionPoint(top) if side == "read" else behind(top), block.operation.location:
        made = transfer(kernel, name, access, buffer, new, back=side == "write")
    was_empty = buffer.owner.operation.name == "tir.alloc_buffer" and not others
    if side == "write" and not was_empty and not writes_all(kernel.function, stores, list(new.type.shape), loads):
        with ir.InsertionPoint(top), block.operation.location:
            transfer(kernel, f"{name}_start", access, buffer, new)
    drop_unused(kernel, block.operation)
    return made


def indexed(block: BlockOp, buffer: ir.Value, touching: Sequence[ir.Operation]) -> IndexedAccess:
    """How a block accesses a buffer, which is the same in all accesses. ScheduleError where it is not, or an index is no arithmetic of the
    block's axes."""
    name, static = buffer_name(buffer), {n: extent for n, extent in enumerate(block.extents) if extent is not None}
    readers = [Forms(static, {a: Linear({n: 1}) for n, a in enumerate(arguments_at(op, block))}) for op in touching]
    forms = [[reader.form(place) for place in indices_of(op)] for reader, op in zip(readers, touching)]
    if any(one != forms[0] for one in forms):
        raise ScheduleError(f"reindex: block '{block.name}' accesses '{name}' at several places in one step; it has to be one")
    used = set().union(*map(variables, forms[0])) if forms[0] else set()
    if not all(isinstance(one, int) or is_outside_loops(one) for one in used):
        raise ScheduleError(f"reindex: an index of '{name}' in block '{block.name}' is not computed by +, -, *, // and % from the block's "
                            "axes alone")
    arguments = arguments_at(touching[0], block)
    axes = [UsedAxis(n, arguments[n], static[n] if n in static else bound_of(block, n, "reindex"))
            for n in sorted(one for one in used if isinstance(one, int))]
    sure = all(is_whole(block, axis.number) for axis in axes) and not any(
        a.name not in ("tir.for", "tir.block", "func.func") for op in touching for a in ancestors(op))
    ends = [(False, False) if sure else beyond(readers[0], form, size) for form, size in zip(forms[0], buffer.type.shape)]
    places = [PlaceOnDimension(value, form, *end) for value, form, end in zip(indices_of(touching[0]), forms[0], ends)]
    return IndexedAccess(places, axes)


def arguments_at(op: ir.Operation, block: BlockOp) -> list[ir.Value]:
    """The axes of a block as an op in its init, or in its body, sees them."""
    inside = next(one for one in (op, *ancestors(op)) if one.parent == block.operation)
    return list(inside.block.arguments)


def is_whole(block: BlockOp, axis: int) -> bool:
    """Whether an axis takes each of its values: it is a loop over them."""
    loop = loop_of(block.values[axis])
    return loop is not None and constant_of(loop.bounds[0]) == 0 and loop.extent == block.extents[axis]


def beyond(reader: Forms, form: Linear, size: int) -> tuple[bool, bool]:
    """Whether an index may be below 0, and whether it may be beyond the end of a dimension."""
    low, high = reader.bounds(form) or (None, None)
    return low is None or at_most(0, low) is not True, size == DYNAMIC or high is None or at_most(high, size - 1) is not True


def check_distinct(block: BlockOp, buffer: ir.Value, access: IndexedAccess) -> None:
    """ScheduleError unless a block writes another element for each value of the axes that say where."""
    name = buffer_name(buffer)
    if any(block.kinds[axis.number] != SPATIAL for axis in access.axes):
        raise ScheduleError(f"reindex: block '{block.name}' writes '{name}' along an axis that is not spatial")
    if not are_distinct(access):
        raise ScheduleError(f"reindex: block '{block.name}' may write one element of '{name}' for several values of "
                            f"{', '.join(block.axes[axis.number] for axis in access.axes)}")


def are_distinct(access: IndexedAccess) -> bool:
    """Whether the indices are different for any two values of the axes; False where that is not known."""
    sizes = [extent if isinstance(extent, int) else ENDLESS for extent in access.extents]
    forms, axes = [place.form for place in access.places], [axis.number for axis in access.axes]
    if not any(map(quotients, forms)):
        rows = [[*map(form.coefficient, axes), 0] for form in forms]
        if reaches_of(rows, sizes) is not None:
            return True
    total = prod(sizes)
    if total > MOST_PLACES or not all(isinstance(v, int) for form in forms for v in variables(form)):
        return False
    values = dict(zip(axes, (axis.reshape(-1) for axis in np.indices(sizes))))
    places = np.stack([np.broadcast_to(sampled(form, values), [total]) for form in forms])
    return np.unique(places, axis=1).shape[1] == total


def sampled(form: Linear, values: dict[int, np.ndarray]) -> np.ndarray:
    """The value of a form where its variables have these values."""
    total = np.asarray(form.constant)
    for term, factor in form.terms.items():
        total = total + factor * (sampled(term.numerator, values) // term.divisor if isinstance(term, Quotient) else values[term])
    return total


def like_axes(kernel: Kernel, block: BlockOp, buffer: ir.Value, access: IndexedAccess) -> ir.Value:
    """A buffer, allocated at the kernel's beginning, with a dimension for each axis."""
    first = kernel.top(first_statement(kernel))
    sizes = [extent for extent in access.extents if not isinstance(extent, int)]
    for size in sizes:
        hoist_size(size, first)
    made = buffer.owner.operation
    shape = [extent if isinstance(extent, int) else DYNAMIC for extent in access.extents]
    with ir.InsertionPoint(first), block.operation.location:
        return make_buffer(ir.MemRefType.get(shape, buffer.type.element_type), f"{buffer_name(buffer)}_reindex",
                           made.opview.scope if made.name == "tir.alloc_buffer" else "global", sizes)


def redirected(kernel: Kernel, block: BlockOp, op: ir.Operation, new: ir.Value, axes: Sequence[int]) -> ir.Operation:
    """Replaces an access by one to the new buffer."""
    places = [arguments_at(op, block)[n] for n in axes]
    with ir.InsertionPoint(op), op.location:
        made = memref.LoadOp(new, places) if op.name == "memref.load" else memref.StoreOp(op.operands[0], new, places)
    if op.name == "memref.load":
        op.results[0].replace_all_uses_with(made.result)
    kernel.erase(op)
    return made.operation


def transfer(kernel: Kernel, name: str, access: IndexedAccess, buffer: ir.Value, new: ir.Value, back: bool = False) -> BlockOp:
    """Loops, at the insertion point, that copy what a block accesses to the new buffer, or ``back``."""
    block = point_nest(kernel, access.extents, name)
    axes, element = list(block.block.arguments), buffer.type.element_type
    with before_end(block.block):
        places = [rebuild(place.value, {axis.argument: own for axis, own in zip(access.axes, axes)}) for place in access.places]
        tests = []
        for d, place in enumerate(access.places):
            if place.may_be_below:
                tests.append(arith.CmpIOp(arith.CmpIPredicate.sge, places[d], constant(0)).result)
            if place.may_be_beyond:
                size = buffer.type.shape[d]
                end = memref.DimOp(buffer, constant(d)).result if size == DYNAMIC else constant(size)
                tests.append(arith.CmpIOp(arith.CmpIPredicate.slt, places[d], end).result)
        test = tests[0] if tests else None
        for other in tests[1:]:
            test = arith.AndIOp(test, other).result
        if back:
            value = memref.LoadOp(new, axes).result
            with before_end(conditional(test)) if test is not None else ir.InsertionPoint.current:
                memref.StoreOp(value, buffer, places)
            return block
        if test is None:
            value = memref.LoadOp(buffer, places).result
        else:
            chosen = scf.IfOp(test, [element], has_else=True)
            with ir.InsertionPoint(chosen.then_block):
                scf.YieldOp([memref.LoadOp(buffer, places).result])
            with ir.InsertionPoint(chosen.else_block):
                scf.YieldOp([arith.ConstantOp(element, 0.0 if isinstance(element, ir.FloatType) else 0).result])
            value = chosen.results[0]
        memref.StoreOp(value, new, axes)
    return block
