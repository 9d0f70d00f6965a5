"""Matrices of subgroups (Vulkan's cooperative matrices) as intrinsics of ``tensorize``: a tile that is filled, multiplied, or stored."""
from __future__ import annotations

from collections.abc import Sequence

from legato.analysis.accesses import ElementAccess, accesses_in
from legato.analysis.indices.forms import linear
from legato.core.ir_helpers import body, constant_number, index
from legato.core.mlir import ir
from legato.dialects.tir.loops import THREAD, BlockOp, ForOp, before_end
from legato.dialects.tir.markers import FACTOR_TYPES
from legato.dialects.tir.matrices import FILL, LOAD_MATRIX, MULTIPLY, MULTIPLY_MATRICES, STORE_MATRIX, SubgroupIntrinsic
from legato.dialects.tir.walk import blocks, loops
from legato.schedule.loop_primitives import nest
from legato.schedule.matrix_primitives import TileAccess, check_scope, factors, spread_rows, turned
from legato.schedule.reduction_primitives import rebuild
from legato.schedule.state import Kernel, ScheduleError, statements
from legato.schedule.tensor_primitives import blockize


def tensorize_subgroup(kernel: Kernel, op: ir.Operation, intrinsic: SubgroupIntrinsic) -> BlockOp:
    """Replaces loops over rows and columns of a tile, and over its depth for a product, by matrices of a subgroup.

    A product takes tiles in shared memory and adds to one in a local buffer, whose elements are in matrices of the subgroup: it has to be
    filled, multiplied and stored (to shared memory) by such intrinsics only. The subgroup's threads are a new loop, bound to threadIdx.x;
    its blocks have that many threads on this axis. Returns the block around the new loop.
    """
    if op.name != "tir.for":
        raise ScheduleError(f"tensorize: '{intrinsic}' takes a loop, the one over the rows")
    loop: ForOp = op.opview
    shape, own, found = intrinsic.shape, loops(loop.operation), blocks(loop.operation)
    tile = [shape.rows, shape.columns, *([shape.depth] if intrinsic.does == MULTIPLY else [])]
    if [one.extent for one in own] != tile or len(found) != 1 or any(
            [o.name for o in statements(one.block)] != [inner]
            for one, inner in zip(own, (*["tir.for"] * (len(own) - 1), "tir.block"))):
        raise ScheduleError(f"tensorize: '{intrinsic}' is nested loops of {tile} steps around one block; under {loop.name} are loops of "
                            f"{[one.extent for one in own]} and {len(found)} blocks")
    variables = [one.variable for one in own]
    inner = found[0]
    multiplies = intrinsic.does == MULTIPLY
    accesses, value = (factors(inner, variables, str(intrinsic)), None) if multiplies else moved(inner, variables, intrinsic)
    outer = blockize(kernel, loop)
    inner = blocks(loop.operation)[0]
    accesses = [TileAccess(ElementAccess(one.access.op), one.turned) for one in accesses]
    if multiplies:
        for one in accesses[:2]:
            spread_rows(one.buffer, by_words=False)
    elif intrinsic.does != FILL:
        spread_rows(accesses[1].buffer, by_words=False)
    with ir.InsertionPoint(loop.operation), loop.operation.location:
        zeros = {argument: index(0) for argument in inner.block.arguments}
        (lanes,) = nest([(intrinsic.threads, THREAD, "x", "threadIdx.x")])
        with before_end(lanes.block):
            begins = [[rebuild(v, zeros) for v in one.access.indices] for one in accesses]
            compute(intrinsic, accesses, begins, value)
    kernel.erase(loop.operation)
    return outer


def compute(intrinsic: SubgroupIntrinsic, accesses: Sequence[TileAccess], begins: Sequence[Sequence[ir.Value]],
            value: float | None) -> None:
    """What a subgroup does with tiles, at the insertion point. ``begins``: their first elements; ``value``: what fills one."""
    shape = intrinsic.shape
    sizes = ([shape.rows, shape.depth], [shape.depth, shape.columns], [shape.rows, shape.columns])
    last = accesses[-1].buffer
    if intrinsic.does == FILL:
        type_ = ir.VectorType.get(sizes[2], last.type.element_type)
        element = type_.element_type
        is_float, number = isinstance(element, ir.FloatType), value or 0.0
        splat = ir.FloatAttr.get(element, number) if is_float else ir.IntegerAttr.get(element, int(number))
        filled = ir.DenseElementsAttr.get_splat(type_, splat)
        made = ir.Operation.create("arith.constant", [type_], [], {"value": filled}).results[0]
    elif intrinsic.does == MULTIPLY:
        given = [load(one, begin, size) for one, begin, size in zip(accesses, begins, sizes)]
        types = ir.ArrayAttr.get([ir.StringAttr.get(one) for one in (shape.left, shape.right)])
        made = ir.Operation.create(MULTIPLY_MATRICES, [given[2].type], given, {FACTOR_TYPES: types}).results[0]
    else:
        made = load(accesses[0], begins[0], sizes[2])
    ir.Operation.create(STORE_MATRIX, [], [made, last, *begins[-1]])


def load(tile: TileAccess, begin: Sequence[ir.Value], size: Sequence[int]) -> ir.Value:
    """The matrix of a size that begins at a place of a buffer, at the insertion point."""
    type_ = ir.VectorType.get(list(size), tile.buffer.type.element_type)
    return ir.Operation.create(LOAD_MATRIX, [type_], [tile.buffer, *begin], {"turned": ir.BoolAttr.get(tile.turned)}).results[0]


def moved(block: BlockOp, variables: Sequence[ir.Value], intrinsic: SubgroupIntrinsic) -> tuple[list[TileAccess], float | None]:
    """The local tile that a block fills, and with what; or the local tile and the shared one that it is copied to. ScheduleError for any
    other block."""
    fills = intrinsic.does == FILL
    does = "tile[m, n] = a constant, to a buffer of scope 'local'" if fills else "shared[m, n] = local[m, n]"
    wrong = ScheduleError(f"tensorize: block '{block.name}' does not compute what '{intrinsic}' does, {does}: tile_product(..., "
                          "unconverted=True, through_shared=True) makes such a block")
    found = accesses_in([block.block])
    stores, loads = [a for a in found if a.writes], [a for a in found if not a.writes]
    if block.init_block is not None or len(stores) != 1 or len(loads) != (0 if fills else 1) or any(
            len(o.regions) for o in body(block.block)):
        raise wrong
    stored = stores[0].op.operands[0]
    number = constant_number(stored)
    if (number is None) if fills else (stored != loads[0].op.results[0]):
        raise wrong
    m, n = ([a for a, value in zip(block.block.arguments, block.values) if variable in linear(value).terms] for variable in variables)
    if len(m) != 1 or len(n) != 1 or any(turned(one, m, n) is not False for one in found):
        raise wrong
    ordered = [*loads, *stores]
    for one, scope in zip(ordered, ("local",) if fills else ("local", "shared")):
        check_scope(one, scope, intrinsic.shape.result, str(intrinsic), "fills" if fills else "copies")
    return [TileAccess(one, False) for one in ordered], number
