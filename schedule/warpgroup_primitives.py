"""Instructions of Hopper's warpgroups as intrinsics of ``tensorize``: products of tiles in shared memory (wgmma), and the tiles' copies by
the device's copy engine (TMA)."""
from __future__ import annotations

from collections.abc import Sequence

from legato.analysis.accesses import ElementAccess, accesses_in
from legato.analysis.indices.forms import linear
from legato.core.ir_helpers import ancestors, constant_number, index, terminator
from legato.core.mlir import arith, ir, memref, vector
from legato.dialects.tir.loops import THREAD, AllocBufferOp, BlockOp, ForOp, before_end
from legato.dialects.tir.markers import FACTOR_TYPES
from legato.dialects.tir.matrix_factors import WARPGROUP_INTRINSICS, MatrixFactors
from legato.dialects.tir.tiles import BULK_COPY, WARPGROUP_PRODUCT
from legato.dialects.tir.walk import blocks, loops
from legato.schedule.loop_primitives import nest
from legato.schedule.matrix_primitives import check_layout, factors, plus, scope_of
from legato.schedule.reduction_primitives import rebuild
from legato.schedule.state import Kernel, ScheduleError, statements
from legato.schedule.tensor_primitives import blockize
from legato.schedule.window_copies import NoWindows, built, windows_of

ROWS = 64                # of a warpgroup's product
MOST_COLUMNS = 256
PANEL = 128              # bytes of a row that lie together in a tile: its layout is made of panels, of 8 rows each
BULK_TILE = "tma_tile"
Test = tuple[ir.Value, ir.Value]


def tensorize_warpgroup(kernel: Kernel, op: ir.Operation, intrinsic: str) -> BlockOp:
    """tensorize by an instruction of a warpgroup, or of the copy engine. Returns the block around it."""
    if op.name != "tir.for":
        raise ScheduleError(f"tensorize: '{intrinsic}' takes a loop, the outermost over a tile")
    loop: ForOp = op.opview
    own, found = loops(loop.operation), blocks(loop.operation)
    if len(found) != 1 or len(own) != (2 if intrinsic == BULK_TILE else 3) or None in [one.extent for one in own] or any(
            [o.name for o in statements(one.block)] != [inner] for one, inner in zip(own, (*["tir.for"] * (len(own) - 1), "tir.block"))):
        raise ScheduleError(f"tensorize: '{intrinsic}' is nested loops of known extents around one block, two of a copy and three of a "
                            f"product; under {loop.name} are {len(own)} loops and {len(found)} blocks")
    extents = [one.extent or 0 for one in own]
    if intrinsic == BULK_TILE:
        return tensorize_copy(kernel, loop, own, found[0], extents)
    return tensorize_product(kernel, loop, own, found[0], extents, intrinsic)


def tensorize_product(kernel: Kernel, loop: ForOp, own: Sequence[ForOp], inner: BlockOp, extents: Sequence[int], intrinsic: str) -> BlockOp:
    """Replaces three loops, over rows, columns and depth, that multiply tiles in shared memory, by wgmma.

    Each 64 rows are a warpgroup's: the threads are new loops of 4 steps for each 64 rows, of 8 and of 4 steps, bound to threadIdx.z, y and
    x. Thread (x, y, z) has of the rows 16 z + y and 16 z + y + 8 the columns 8 j + 2 x and 8 j + 2 x + 1. The operands' tiles are in
    shared memory as the copy engine writes them: both are copied by ``tma_tile``, or both by threads. A left operand of f16 or bf16 may be
    ``local``, of which each thread has the elements that it has of a result.
    """
    multiplied = WARPGROUP_INTRINSICS[intrinsic]
    rows, columns, depth = extents
    if rows % ROWS or not 0 < columns <= MOST_COLUMNS or columns % 8 or depth % multiplied.depth:
        raise ScheduleError(f"tensorize: '{intrinsic}' multiplies multiples of {ROWS} rows, up to {MOST_COLUMNS} columns, a multiple of 8, "
                            f"and multiples of {multiplied.depth} steps of depth; under {loop.name} are loops of {extents}")
    operands = factors(inner, [one.variable for one in own], intrinsic)
    for one, lies in zip(operands[:2], ("left operand", "right operand")):
        if scope_of(one.access) != "local":
            check_tile(one.buffer, f"the {lies} of '{intrinsic}'")
    if multiplied.left == "f32" and (operands[0].turned or not operands[1].turned):
        raise ScheduleError(f"tensorize: '{intrinsic}' takes tiles along whose rows the depth is")
    check_layout(operands, intrinsic)
    outer = blockize(kernel, loop)
    with ir.InsertionPoint(loop.operation), loop.operation.location:
        zeros = {argument: index(0) for argument in inner.block.arguments}
        z, y, x = nest([(rows // 16, THREAD, "z", "threadIdx.z"), (8, THREAD, "y", "threadIdx.y"), (4, THREAD, "x", "threadIdx.x")])
        with before_end(x.block):
            result = ElementAccess(operands[2].access.op)
            begin = [rebuild(v, zeros) for v in result.indices]
            threads = (z.variable, y.variable, x.variable)
            left = operands[0].buffer
            if scope_of(operands[0].access) == "local":
                first = ElementAccess(operands[0].access.op)
                left = own_elements(left, [rebuild(v, zeros) for v in first.indices], threads, depth)
            multiply([left, *(one.buffer for one in operands[1:])], begin, [one.turned for one in operands[:2]], threads, columns,
                     multiplied)
    kernel.erase(loop.operation)
    return outer


def own_elements(buffer: ir.Value, begin: Sequence[ir.Value], thread: Sequence[ir.Value], depth: int) -> ir.Value:
    """A thread's elements of a left operand of halves in a buffer of scope ``local``, from the tile's first one on."""
    z, y, x = thread
    row = plus(begin[-2], plus(arith.MulIOp(z, index(16)).result, y))
    column = plus(begin[-1], arith.MulIOp(x, index(2)).result)
    found = [memref.LoadOp(buffer, [*begin[:-2], plus(row, half), plus(column, step + eight + pair)]).result
             for step in range(0, depth, 16) for eight in (0, 8) for half in (0, 8) for pair in (0, 1)]
    return vector.FromElementsOp(ir.VectorType.get([len(found)], buffer.type.element_type), found).result


def multiply(buffers: Sequence[ir.Value], begin: Sequence[ir.Value], turned: Sequence[bool], thread: Sequence[ir.Value],
             columns: int, factors: MatrixFactors) -> None:
    """One thread's part of a product, at the insertion point. ``buffers``: the operands', or the thread's elements of the left one, and
    the result's; ``begin``: the first element of the result's tile."""
    left, right, result = buffers
    z, y, x = thread
    row = plus(begin[-2], plus(arith.MulIOp(z, index(16)).result, y))
    column = plus(begin[-1], arith.MulIOp(x, index(2)).result)
    places = [[*begin[:-2], plus(row, 8 * half), plus(column, 8 * j + step)]
              for j in range(columns // 8) for half in range(2) for step in range(2)]
    type_ = ir.VectorType.get([len(places)], ir.Type.parse(factors.result))
    old = vector.FromElementsOp(type_, [memref.LoadOp(result, place).result for place in places]).result
    first = arith.MulIOp(arith.DivUIOp(z, index(4)).result, index(ROWS)).result
    attributes: dict[str, ir.Attribute] = {"left_turned": ir.BoolAttr.get(turned[0]), "right_turned": ir.BoolAttr.get(turned[1])}
    if factors.are_bytes:
        attributes[FACTOR_TYPES] = ir.ArrayAttr.get([ir.StringAttr.get(one) for one in (factors.left, factors.right)])
    new = ir.Operation.create(WARPGROUP_PRODUCT, [type_], [left, right, first, old], attributes).results[0]
    for number, place in enumerate(places):
        memref.StoreOp(vector.ExtractOp(new, [], [number]).result, result, place)


def tensorize_copy(kernel: Kernel, loop: ForOp, own: Sequence[ForOp], inner: BlockOp, extents: Sequence[int]) -> BlockOp:
    """Replaces two loops that copy a tile of a global buffer to a shared one, 0 beyond the buffer's ends, by a copy of the copy engine."""
    wrong = ScheduleError(f"tensorize: block '{inner.name}' does not compute what '{BULK_TILE}' does, tile[i, j] = A[..., r + i, ..., "
                          "c + j], or 0 beyond bounds of these two indices")
    found = accesses_in([inner.block])
    stores, loads = [a for a in found if a.writes], [a for a in found if not a.writes]
    if inner.init_block is not None or len(stores) != 1 or len(loads) != 1:
        raise wrong
    store, load = stores[0], loads[0]
    arguments = [[a for a, value in zip(inner.block.arguments, inner.values) if value == one.variable] for one in own]
    if any(len(some) != 1 for some in arguments):
        raise wrong
    (i,), (j,) = arguments
    forms = [linear(v) for v in load.indices]
    check_tile(store.buffer, f"the target of '{BULK_TILE}'")
    check_source(load.buffer, load.buffer.type.element_type.width // 8)
    if list(store.buffer.type.shape) != list(extents):
        raise ScheduleError(f"tensorize: '{BULK_TILE}' fills a whole tile of {store.buffer.type.shape}, and the loops are {list(extents)}")
    if not any(form.coefficient(i) for form in forms) and [linear(v) for v in store.indices] == [linear(i), linear(j)]:
        return tensorize_windows(kernel, loop, inner, store.op, load, (i, j))
    tests = tests_of(store.op.operands[0], load.op)
    if tests is None:
        raise wrong
    rows = [axis for axis, form in enumerate(forms) if form.coefficient(i)]
    last = len(forms) - 1
    moved = [axis for axis, form in enumerate(forms) if form.coefficient(j)]
    if [linear(v) for v in store.indices] != [linear(i), linear(j)] or len(rows) != 1 or moved != [last] or rows == [last] or (
            forms[rows[0]].coefficient(i) != 1 or forms[last].coefficient(j) != 1) or len(forms) > 5:
        raise wrong
    bounds = bounds_of(tests, [forms[rows[0]], forms[last]])
    if bounds is None or any(isinstance(v.owner, ir.Block) and v.owner == inner.block for v in bounds if v is not None):
        raise wrong
    outer = blockize(kernel, loop)
    with ir.InsertionPoint(loop.operation), loop.operation.location:
        zeros = {argument: index(0) for argument in inner.block.arguments}
        load, store = ElementAccess(load.op), ElementAccess(store.op)
        places = [rebuild(v, zeros) for v in load.indices]
        limits = [memref.DimOp(load.buffer, index(axis)).result if bound is None else rebuild(bound, zeros)
                  for axis, bound in zip((rows[0], last), bounds)]
        ir.Operation.create(BULK_COPY, [], [load.buffer, store.buffer, *limits, *places], {
            "rows": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), rows[0])})
    kernel.erase(loop.operation)
    return outer


def tensorize_windows(kernel: Kernel, loop: ForOp, inner: BlockOp, store: ir.Operation, load: ElementAccess,
                      tile: tuple[ir.Value, ir.Value]) -> BlockOp:
    """Replaces two loops that copy a tile of a convolution's windows to a shared buffer, a row for each, by a copy of the copy engine.
    ``tile``: the row and the column."""
    try:
        found = windows_of(inner, store.operands[0], load, *tile)
    except NoWindows as reason:
        raise ScheduleError(f"tensorize: block '{inner.name}' does not copy windows of an image as '{BULK_TILE}' does: {reason}") from None
    outer = blockize(kernel, loop)
    with ir.InsertionPoint(loop.operation), loop.operation.location:
        zeros = {argument: index(0) for argument in inner.block.arguments}
        begins = {argument: arith.MulIOp(tile, index(size or 1)).result
                  for argument, tile, size in zip(inner.block.arguments, outer.block.arguments, inner.extents)}
        bounds, places = built(found, lambda value: begins[value] if value in begins else rebuild(value, zeros), load.buffer)
        shape = list(load.buffer.type.shape)[1:]
        ir.Operation.create(BULK_COPY, [], [load.buffer, store.operands[1], *bounds, *places], {
            "rows": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0),
            "lower": ir.DenseI64ArrayAttr.get([one.lower for one in found.axes]),
            "upper": ir.DenseI64ArrayAttr.get([one.upper(size) for one, size in zip(found.axes, shape)]),
            "strides": ir.DenseI64ArrayAttr.get([one.stride for one in found.axes])})
    kernel.erase(loop.operation)
    return outer


def tests_of(value: ir.Value, load: ir.Operation) -> list[Test] | None:
    """The comparisons that have to hold for a value to be the load; it is 0 otherwise. None for another value."""
    if value == load.results[0]:
        return []
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or op.name != "scf.if" or len(op.results) != 1 or op not in ancestors(load):
        return None
    then, other = (terminator(region.blocks[0]).operands[0] for region in op.regions)
    if constant_number(other) != 0 or then != load.results[0]:
        return None
    return compared(op.operands[0])


def compared(test: ir.Value) -> list[Test] | None:
    """The values and bounds of a conjunction of "less than"."""
    op = None if isinstance(test.owner, ir.Block) else test.owner.operation
    if op is not None and op.name == "arith.andi":
        parts = [compared(v) for v in op.operands]
        return None if None in parts else [one for part in parts for one in part or ()]
    if op is None or op.name != "arith.cmpi" or op.attributes["predicate"].value != arith.CmpIPredicate.slt:
        return None
    return [(op.operands[0], op.operands[1])]


def bounds_of(tests: Sequence[Test], forms: Sequence) -> list[ir.Value | None] | None:
    """The bound of each index, None where there is none. None where a test is of something else."""
    bounds: list[ir.Value | None] = [None, None]
    for value, bound in tests:
        form = linear(value)
        place = next((n for n, one in enumerate(forms) if one == form), None)
        if place is None or bounds[place] is not None:
            return None
        bounds[place] = bound
    return bounds


def check_tile(buffer: ir.Value, what: str) -> None:
    """ScheduleError unless a buffer is a tile in shared memory, of panels of 128 bytes."""
    owner = buffer.owner
    made: AllocBufferOp | None = None
    if not isinstance(owner, ir.Block) and owner.operation.name == "tir.alloc_buffer":
        made = owner.operation.opview
    type_ = buffer.type
    if made is None or made.scope != "shared" or type_.rank != 2:
        raise ScheduleError(f"tensorize: {what} is a buffer of two axes in scope 'shared', not {made.name if made else 'an argument'}")
    if type_.shape[0] % 8 or type_.shape[1] * type_.element_type.width // 8 % PANEL:
        raise ScheduleError(f"tensorize: {what} has multiples of 8 rows, of multiples of {PANEL} bytes each; '{made.name}' is {type_}")


def check_source(buffer: ir.Value, width: int) -> None:
    """ScheduleError unless the steps of a buffer's axes are multiples of 16 bytes, as the copy engine has them."""
    shape = list(buffer.type.shape)
    if shape[-1] < 0 or shape[-1] * width % 16:
        raise ScheduleError(f"tensorize: '{BULK_TILE}' copies from buffers whose rows are multiples of 16 bytes, so that the last size is "
                            f"known; this one is {buffer.type}")


