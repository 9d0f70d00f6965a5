"""Whether the steps of a producer reach all that a block which reads it computes, and no more: moved to these steps, the block would lose
the rest, or run where it did not."""
from collections.abc import Sequence
from typing import Any

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.coverage.boxes import covers
from legato.analysis.coverage.stores import StoredBox, follows_store, left_out
from legato.analysis.indices.forms import PLAIN, depends, in_loops, moving
from legato.analysis.indices.linear import Linear
from legato.analysis.kernel_sizes import DYNAMIC, KernelSizes, UnknownSizeError, sizes_of
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import arith, func, ir
from legato.dialects.tir.loops import BlockOp, constant_of, loop_of
from legato.dialects.tir.walk import buffer_name
from legato.schedule.order import place_of
from legato.schedule.state import ScheduleError

SLT = int(arith.CmpIPredicate.slt)


def has_choices(block: BlockOp, loads: Sequence[ir.Operation]) -> bool:
    """Whether a block may do without what these loads read: it has branches, or selects something else by a condition on something else."""
    read = {load.results[0] for load in loads}
    selections = [[depends(operand, read) for operand in op.operands] for op in find(block.operation, "arith.select")]
    return bool(find(block.operation, "scf.if")) or any(not test and not (one and other) for test, one, other in selections)


def writes_all(kernel: func.FuncOp, stores: Sequence[ir.Operation], shape: Sequence[int], loads: Sequence[ir.Operation] = ()) -> bool:
    """Whether stores are certain to write the first elements of their buffer, as many as ``shape`` says (DYNAMIC: all along a dimension),
    and to do so before these loads."""
    buffer = buffer_of(stores[0])
    try:
        sizes = sizes_of(kernel)
        sized = [sizes.shapes[buffer][d] if size == DYNAMIC else size for d, size in enumerate(shape)]
        return left_out(stores, sized, sizes) is None and all(follows_store(load, stores, sized, sizes) for load in loads)
    except UnknownSizeError:
        return False


def check_runs_for_all(kernel: func.FuncOp, block: BlockOp, axes: Sequence[int | None], stores: Sequence[ir.Operation], what: str) -> None:
    """ScheduleError where a block that reads a buffer, dimension by dimension by these of its axes, may not run for all that these stores
    write to it: in their steps, it would."""
    buffer = buffer_of(stores[0])
    used = [(dimension, axis) for dimension, axis in enumerate(axes) if axis is not None]
    try:
        sizes = sizes_of(kernel)
        shape = [domain_end(block, axis, sizes, sizes.shapes[buffer][d]) for d, axis in used]
        runs = StoredBox(block.operation, shape, sizes, False, indices=[block.values[axis] for _, axis in used])
        if runs.box is not None and covers([runs.box], shape):
            return
        known, written = runs.points(), [StoredBox(s, shape, sizes, False, indices=[indices_of(s)[d] for d, _ in used]) for s in stores]
        if known is not None and all((points := one.points()) is not None and not (points & ~known).any() for one in written):
            return
    except UnknownSizeError:
        pass
    raise ScheduleError(f"{what}: block '{block.name}' may not run for all elements of '{buffer_name(buffer)}' that its producer writes: "
                        "its loops, or a condition, may leave some out. In the producer's steps it would run for all")


def domain_end(block: BlockOp, axis: int, sizes: KernelSizes, otherwise: Any) -> Any:
    """The extent of a block's axis, which is that of its loop where the block does not say it; ``otherwise`` where neither is known."""
    loop = loop_of(block.values[axis])
    own = block.extents[axis] if loop is None or block.extents[axis] is not None else sizes.of(loop.bounds[1])
    return otherwise if own is None else own


def reaches(store: ir.Operation, dimension: int, block: BlockOp, axis: int, at: ir.Operation) -> bool:
    """Whether a store writes, along a dimension of its buffer, for each value of a block's axis, in the steps of ``at``: the loop, or the
    store, at which the block is to stand."""
    form, extent, found = place_of(store, dimension), block.extents[axis], ends(at)
    forms = [place_of(store, d) for d in range(len(indices_of(store)))]
    together = any(d != dimension and set(other.terms) & set(form.terms) for d, other in enumerate(forms))    # a diagonal, say
    if together or found is None or any(tested not in forms for tested, _ in found):
        return False
    if extent is not None:
        end = end_of(store, dimension, at)
        return end is not None and end >= extent and is_dense(form)
    loops = [loop_of(value) for value in (*form.terms, block.values[axis]) if isinstance(value, ir.Value)]
    bounds = [in_loops(loop.bounds[1]) for loop in loops if loop is not None and constant_of(loop.bounds[0]) == 0]
    is_one = len(form.terms) == 1 and form == Linear(dict.fromkeys(form.terms, 1))
    return is_one and not found and len(bounds) == 2 and bounds[0] == bounds[1]


def end_of(store: ir.Operation, dimension: int, at: ir.Operation) -> int | None:
    """One more than the greatest index along a dimension that a store writes in the steps of ``at``; None where it is not known."""
    index, form = indices_of(store)[dimension], place_of(store, dimension)
    block = next((a.opview for a in ancestors(store) if a.name == "tir.block"), None)
    bounds = PLAIN.bounds(in_loops(index))
    known = [end for tested, end in ends(at) or () if tested == form]
    known += [size for size in [buffer_of(store).type.shape[dimension]] if size != DYNAMIC]
    known += [bounds[1] + 1] if bounds is not None and isinstance(bounds[1], int) else []
    if block is not None and index in (arguments := list(block.block.arguments)):
        known += [extent for extent in [block.extents[arguments.index(index)]] if extent is not None]
    return min(known, default=None)


def is_dense(form: Linear) -> bool:
    """Whether an index takes each value from 0 to its greatest."""
    count = 1
    for term, factor in sorted(form.terms.items(), key=lambda item: item[1]):
        loop = loop_of(term) if isinstance(term, ir.Value) else None
        if loop is None or loop.extent is None or constant_of(loop.bounds[0]) != 0 or not 0 < factor <= count:
            return False
        count += factor * (loop.extent - 1)
    return form.constant == 0


def ends(at: ir.Operation) -> list[tuple[Linear, int]] | None:
    """The conditions around an op, each as an index and what it is less than: so has a split its partial step. None where there are
    others."""
    found = []
    inside = at
    for around in ancestors(at):
        if around.name == "scf.if":
            todo = [around.operands[0]]
            if any(op.operation == inside for region in list(around.regions)[1:] for block in region.blocks for op in block.operations):
                return None
            while todo:
                value = todo.pop()
                op = None if isinstance(value.owner, ir.Block) else value.owner.operation
                if op is not None and op.name == "arith.andi":
                    todo += op.operands
                    continue
                is_end = op is not None and op.name == "arith.cmpi" and ir.IntegerAttr(op.attributes["predicate"]).value == SLT
                if op is None or not is_end or (end := constant_of(op.operands[1])) is None:
                    return None
                found.append((moving(in_loops(op.operands[0], quotients=False)), end))
        inside = around
    return found
