"""Whether a block may run at another place, or its steps in another order: what runs in between must not touch what it reads and writes,
and the init of a sum comes first."""
from collections.abc import Callable, Collection, Iterator, Mapping

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.forms import in_loops, linear, moving, roots
from legato.analysis.indices.linear import Linear
from legato.core.ir_helpers import ancestors, everything
from legato.core.mlir import ir
from legato.dialects.tir.loops import REDUCE, BlockOp, ForOp, loop_of
from legato.dialects.tir.walk import blocks, buffer_name
from legato.schedule.state import ScheduleError, accesses, plain_axes, reads, writes

HARMLESS = ("memref.dim", "bufferization.to_tensor", "tir.dealloc_buffer")


def beside(first: ir.Operation, last: ir.Operation) -> tuple[ir.Operation, ir.Operation]:
    """The ops of one block that contain two ops of a kernel, or are these."""
    chain, other = ([one, *(a for a in ancestors(one) if a.name != "func.func")] for one in (first, last))   # a function may stand alone
    return next((a, b) for a in chain for b in other if a.block == b.block)


def between(first: ir.Operation, last: ir.Operation) -> Iterator[ir.Operation]:
    """The ops that may run after ``first`` and before ``last`` in one step of the loops around both: other steps of the loops around one
    of them, too."""
    a, b = beside(first, last)
    if a == b:
        yield from everything(a)
        return
    early, late = (a, b) if a.is_before_in_block(b) else (b, a)
    inside = False
    for op in early.block.operations:
        inside = inside or op.operation == early
        if inside:
            yield from everything(op.operation)
        if op.operation == late:
            return


def check_moved(block: BlockOp, first: ir.Operation, last: ir.Operation, what: str, *, apart: Collection[ir.Value] = (),
                in_step: Callable[[ir.Operation], bool] = lambda op: False) -> None:
    """ScheduleError where an op between two places writes what a block reads or writes, or reads what it writes. The block moves from one
    place to the other.

    ``apart``: buffers that do not count; ``in_step``: whether a store comes before the block in each step as in the kernel.
    """
    touched, written = {*reads(block), *writes(block)} - {*apart}, {*writes(block)} - {*apart}
    for op in between(first, last):
        if block.operation in ancestors(op):
            continue
        is_read = op.name == "memref.load"
        for value in ([buffer_of(op)] if op.name in ("memref.load", "memref.store") else op.operands if op.name not in HARMLESS else ()):
            if value not in (written if is_read else touched) or (op.name == "memref.store" and in_step(op)):
                continue
            around = next((a.opview.name for a in ancestors(op) if a.name == "tir.block"), None)
            who = f"block '{around}'" if around is not None and around != block.name else op.name
            raise ScheduleError(f"{what}: block '{block.name}' {'writes' if value in written else 'reads'} '{buffer_name(value)}', which "
                                f"{who} {'reads' if is_read else 'writes'} before it runs, or after it at its new place: their order would "
                                "change")


def place_of(access: ir.Operation, axis: int) -> Linear:
    """An index of an access as a form of loop variables, through the axes of the blocks around."""
    return moving(in_loops(indices_of(access)[axis], quotients=False))


def own_reads(block: BlockOp) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """The loads of a block, each with each store to the same buffer in its body."""
    initial = block.init_block
    for load in accesses(block, "memref.load"):
        for store in accesses(block, "memref.store"):
            if buffer_of(load) == buffer_of(store) and (initial is None or store.block != initial):
                yield load, store


def carried(block: BlockOp, loop: ForOp) -> ir.Value | None:
    """A buffer of which a block may read what another step of a loop has written: its loads and stores have no place in common that moves
    with the loop. None where there is none, and for a block of blocks."""
    if len(blocks(block.operation)) > 1:
        return None
    for load, store in own_reads(block):
        buffer = buffer_of(load)
        pairs = [(place_of(load, axis), place_of(store, axis)) for axis in range(len(indices_of(load)))]
        same = [place for place, written in pairs if place == written]
        if len(same) < len(pairs) and not any(loop.variable in place.terms for place in same):
            own = all(loop.operation in ancestors(use.owner.operation) for use in buffer.uses)    # each step has memory of its own
            differing = [index for axis, pair in enumerate(pairs) if pair[0] != pair[1] for index in (indices_of(load)[axis],
                                                                                                     indices_of(store)[axis])]
            if not own or any(takes(index, block, loop) for index in differing):
                return buffer
    return None


def takes(index: ir.Value, block: BlockOp, loop: ForOp) -> bool:
    """Whether an index in a block is computed with the variable of a loop around it."""
    bodies = [body for body in (block.init_block, block.block) if body is not None]
    values = {argument: value for body in bodies for argument, value in zip(body.arguments, block.values)}
    return any(loop.variable in roots(values.get(root, root)) for root in roots(index))


def check_carried(loops: list[ForOp], order: list[ForOp]) -> None:
    """ScheduleError where a block reads what other steps of several loops have written, and these come in another order."""
    for block in blocks(loops[-1].operation):
        found = {loop.operation: buffer for loop in loops if (buffer := carried(block, loop)) is not None}
        before, after = ([loop.operation for loop in some if loop.operation in found] for some in (loops, order))
        if before != after:
            raise ScheduleError(f"reorder: block '{block.name}' may read of '{buffer_name(found[before[0]])}' what other steps of "
                                f"{' and '.join(one.opview.name for one in before)} have written: their order matters")


def check_recurrence(block: BlockOp, moved: Collection[int], what: str) -> None:
    """ScheduleError where a block reads what it has written for other values of axes, if one of these is ``moved``, and takes its values
    in another order, or there are several."""
    arguments = list(block.block.arguments)
    for load, store in own_reads(block):
        apart = [one for one in zip(indices_of(load), indices_of(store)) if linear(one[0]) != linear(one[1])]
        axes = [n for n, axis in enumerate(arguments) if any(axis in roots(place) for one in apart for place in one)]
        if len(axes) > 1 or {*axes} & {*moved}:
            raise ScheduleError(f"{what}: block '{block.name}' reads of '{buffer_name(buffer_of(load))}' what it has written for other "
                                f"values of {', '.join(block.axes[n] for n in axes)}: their order would change")


def is_first(store: ir.Operation, other: ir.Operation) -> bool:
    """Whether a store comes before an op in each step of the loops around both."""
    a, b = beside(store, other)
    return a != b and a.is_before_in_block(b)


def loops_around_both(a: ir.Operation, b: ir.Operation) -> list[ForOp]:
    """The loops around two ops."""
    return [one.opview for one in ancestors(a) if one.name == "tir.for" and one in ancestors(b)]


def outlasts(store: ir.Operation, block: BlockOp, reader: ir.Operation) -> bool:
    """Whether what a store has written when a block runs is still there where ``reader`` runs: it comes before the block, and writes other
    elements in each step of the loops around both that are not around the reader."""
    left = [one for one in loops_around_both(store, block.operation) if one.operation not in ancestors(reader)]
    places = [place for dimension in range(len(indices_of(store))) if is_distinct(place := place_of(store, dimension))]
    return is_first(store, block.operation) and all(any(one.variable in place.terms for place in places) for one in left)


def is_distinct(place: Linear, beyond: int = 0) -> bool:
    """Whether a sum of multiples of loop variables differs for all their values: each factor exceeds what the smaller ones reach.
    ``beyond``: the parts that begin there, and end so many elements beyond, have no element in common."""
    reach: int | None = beyond
    for term, factor in sorted(place.terms.items(), key=lambda item: abs(item[1])):
        loop = loop_of(term) if isinstance(term, ir.Value) else None
        if reach is None or abs(factor) <= reach or loop is None:
            return False
        reach = None if loop.extent is None else reach + abs(factor) * (loop.extent - 1)
    return True


def precedes(store: ir.Operation, block: BlockOp, loop: ForOp, parts: Mapping[int, tuple[Linear, int]]) -> bool:
    """Whether a store in a loop around ``loop`` comes before a block at the end of ``loop``, and writes what the block then reads.

    ``parts``: the region of axes of the block. Each loop around both must move the store's element along a dimension in which the block
    reads the element of the step.
    """
    if not is_first(store, loop.operation):
        return False
    reading = [op for op in accesses(block, "memref.load") if buffer_of(op) == buffer_of(store)]
    if not reading:
        return False
    axes = plain_axes(reading[0], block, "reverse_compute_at")
    if any(plain_axes(op, block, "reverse_compute_at") != axes for op in reading):
        return False
    here = [(parts[axis][0], place_of(store, dimension)) for dimension, axis in enumerate(axes) if axis in parts and parts[axis][1] == 1]
    same = [place for begin, place in here if begin.terms == place.terms and begin.constant == place.constant]
    return all(any(one.variable in place.terms for place in same) for one in loops_around_both(store, loop.operation))


def check_starts(loops: list[ForOp], order: list[ForOp]) -> None:
    """ScheduleError where a sum would not begin with its first term, at which its init is run. Loops over reduce axes alone are 0 there in
    any order. A loop over reduce and spatial axes, fused, has another first step for each element, which the loops with it decide."""
    for block in blocks(loops[-1].operation):
        if block.init_block is None:
            continue
        found = [(kind, roots(value)) for kind, value in zip(block.kinds, block.values)]
        over = set().union(*(variables for kind, variables in found if kind == REDUCE))
        shared = [variables for kind, variables in found if kind != REDUCE and variables & over]
        kept = over.union(*shared)
        before, after = ([loop for loop in some if loop.variable in kept] for some in (loops, order))
        if shared and [loop.variable for loop in before] != [loop.variable for loop in after]:
            names = ", ".join(loop.name for loop in before)
            raise ScheduleError(f"reorder: a loop over spatial and reduce axes of block '{block.name}' is among {names}: in another order "
                                "its init would not come first; decompose_reduction makes it a block of its own")
