"""Matrix instructions of NVIDIA's warps as intrinsics of ``tensorize``: mma.sync on fragments that ldmatrix loads from shared memory."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.analysis.accesses import ElementAccess, accesses_in
from legato.analysis.indices.forms import linear, roots
from legato.analysis.products import maker, multiplied_as
from legato.core.ir_helpers import body, index
from legato.core.mlir import arith, ir, memref, vector
from legato.dialects.tir.loops import THREAD, AllocBufferOp, BlockOp, ForOp, before_end
from legato.dialects.tir.markers import FACTOR_TYPES
from legato.dialects.tir.matrices import SubgroupIntrinsic
from legato.dialects.tir.matrix_factors import DOT_INTRINSICS, FLOAT8, MATRIX_INTRINSICS, WARPGROUP_INTRINSICS, MatrixFactors
from legato.dialects.tir.strides import ALIGN
from legato.dialects.tir.walk import blocks, loops
from legato.schedule.loop_primitives import nest
from legato.schedule.reduction_primitives import rebuild
from legato.schedule.state import Kernel, ScheduleError, statements
from legato.schedule.tensor_primitives import blockize

ROWS, COLUMNS = 16, 8         # of one mma.sync; the loops that are replaced are two of them, whose columns one ldmatrix loads
WORKGROUP = "#gpu.address_space<workgroup>"
SEGMENT = 16                  # bytes: a row of the matrices that ldmatrix loads, which have eight
HALVES = ("f16", "bf16")      # whose fragments on the left have the elements that a thread has of two results
BANKS = 128                   # bytes that are loaded from shared memory at once


@dataclass(frozen=True)
class TileAccess:
    """An operand or the result of a tile's product. ``turned``: whether its last index but one is the column (the depth, of the left
    operand) rather than the last one."""

    access: ElementAccess
    turned: bool

    @property
    def buffer(self) -> ir.Value:
        """The buffer."""
        return self.access.buffer


def tensorize_mma(kernel: Kernel, op: ir.Operation, intrinsic: str) -> BlockOp:
    """Replaces three loops, of 16 rows, 16 columns and 16 steps of depth, that multiply tiles in shared memory by two mma.sync.

    The operands are f16 or bf16, the local result f32; f32 operands, in 8 steps of depth, are rounded to tf32, to 11 bits; floats of 8
    bits, which are bytes in memory, and integers of 8 bits, with a result of i32, are multiplied in 32 steps of depth, along which their
    tiles' rows are. A left operand of f16 or bf16 may be ``local``, of which each thread has the elements that it has of a result: results
    become factors without shared memory. The threads of a warp are new loops of 8 and of 4 steps, bound to threadIdx.y and threadIdx.x;
    each has the elements of the result that the instruction gives it: in a tile of 16 x 16, of rows y and y + 8 the columns 2x, 2x + 1,
    2x + 8, 2x + 9. The rows of the operands' buffers are made longer, so that the eight rows of a matrix lie in different banks. Returns
    the block with the loops over threads.
    """
    if op.name != "tir.for":
        raise ScheduleError(f"tensorize: '{intrinsic}' takes a loop, the one over the rows")
    loop: ForOp = op.opview
    own, found = loops(loop.operation), blocks(loop.operation)
    tile = [ROWS, 2 * COLUMNS, MATRIX_INTRINSICS[intrinsic].depth]
    if [one.extent for one in own] != tile or len(found) != 1 or any(
            [o.name for o in statements(one.block)] != [inner] for one, inner in zip(own, ("tir.for", "tir.for", "tir.block"))):
        raise ScheduleError(f"tensorize: '{intrinsic}' is nested loops of {tile} steps around one block; under {loop.name} are loops "
                            f"of {[one.extent for one in own]} and {len(found)} blocks")
    operands = factors(found[0], [one.variable for one in own], intrinsic)
    check_layout(operands, intrinsic)
    outer = blockize(kernel, loop)
    inner = found[0]
    operands = [TileAccess(ElementAccess(one.access.op), one.turned) for one in operands]
    for one, whole in zip(operands, (not operands[0].turned, operands[1].turned)):
        if scope_of(one.access) == "local":
            continue
        spread_rows(one.buffer, by_words=one.buffer.type.element_type.width == 32 and not whole)
    with ir.InsertionPoint(loop), loop.operation.location:
        zeros = {argument: value for argument, value in zip(inner.block.arguments, [index(0)] * len(inner.kinds))}
        y, x = nest([(8, THREAD, "y", "threadIdx.y"), (4, THREAD, "x", "threadIdx.x")])
        with before_end(x.block):
            begins = [[rebuild(v, zeros) for v in one.access.indices] for one in operands]
            multiply(operands, begins, y.variable, x.variable, intrinsic)
    kernel.erase(loop.operation)
    return outer


def factors(block: BlockOp, variables: Sequence[ir.Value], intrinsic: str) -> list[TileAccess]:
    """The left and the right operand of a block that multiplies tiles, and its result. ScheduleError for any other block.

    ``variables``: the loops over rows, columns and depth.
    """
    multiplied = factors_of(intrinsic)
    known, store, wrong = summed(block, multiplied, intrinsic)
    m, n, k = ([argument for argument, value in zip(block.block.arguments, block.values) if variable in roots(value)]
               for variable in variables)
    if not all(len(one) == 1 for one in (m, n, k)):
        raise wrong
    for (left, of_left), (right, of_right) in (known, known[::-1]):
        if multiplied.are_bytes and (of_left, of_right) != (multiplied.left, multiplied.right):
            continue    # of other types the buffers tell
        places = [turned(one, *axes) for one, axes in ((left, (m, k)), (right, (k, n)), (store, (m, n)))]
        if None not in places and not places[2]:
            check_memory([left, right], store, intrinsic, own=not places[0] and multiplied.left in HALVES)
            return [TileAccess(one, bool(place)) for one, place in zip((left, right, store), places)]
    raise wrong


def summed(block: BlockOp, multiplied: MatrixFactors,
           intrinsic: str) -> tuple[list[tuple[ElementAccess, str]], ElementAccess, ScheduleError]:
    """The accesses whose products a block adds up, with the types as which an instruction takes them; the access that writes the sum; and
    the error for a block that computes something else, which is raised for one that adds up no products."""
    wrong = ScheduleError(f"tensorize: block '{block.name}' does not compute what '{intrinsic}' does, result[m, n] += "
                          f"{multiplied.result}(left[m, k]) * {multiplied.result}(right[k, n]): tile_product(..., unconverted=True) makes "
                          "such a block")
    found = accesses_in([block.block])
    stores = [a for a in found if a.writes]
    if block.init_block is not None or len(stores) != 1 or len(found) != 4 or any(len(o.regions) for o in body(block.block)):
        raise wrong
    add, multiply_ = ("arith.addi", "arith.muli") if multiplied.result == "i32" else ("arith.addf", "arith.mulf")
    total = maker(stores[0].op.operands[0], add)
    loads = {a.op.results[0]: a for a in found if not a.writes}
    old = [v for v in (total.operands if total else ()) if v in loads and loads[v].buffer == stores[0].buffer]
    if total is None or len(old) != 1 or any(linear(a) != linear(b) for a, b in zip(loads[old[0]].indices, stores[0].indices)):
        raise wrong
    term = maker(next(v for v in total.operands if v != old[0]), multiply_)
    known = [(loads[v], type_) for factor in (term.operands if term else ()) for v, type_ in [multiplied_as(factor)] if v in loads]
    if len(known) != 2 or str(old[0].type) != multiplied.result:
        raise wrong
    return known, stores[0], wrong


def factors_of(intrinsic: str) -> MatrixFactors:
    """What an instruction of a thread, a warp, a warpgroup or a subgroup multiplies."""
    own = SubgroupIntrinsic.of(intrinsic)
    return own.shape.factors if own is not None else (MATRIX_INTRINSICS | WARPGROUP_INTRINSICS | DOT_INTRINSICS)[intrinsic]


def check_layout(operands: Sequence[TileAccess], intrinsic: str) -> None:
    """ScheduleError where an instruction on bytes is given tiles along whose rows the depth is not."""
    if factors_of(intrinsic).are_bytes and (operands[0].turned or not operands[1].turned):
        raise ScheduleError(f"tensorize: '{intrinsic}' takes tiles along whose rows the depth is: tile_product(..., unconverted=True, "
                            "depth_last=True) makes them")


def turned(access: ElementAccess, row: list[ir.Value], column: list[ir.Value]) -> bool | None:
    """Whether the last two indices of an access step by a column and a row, in this order; None where they are not a row and a column."""
    forms = [linear(v) for v in access.indices]
    if len(forms) < 2 or any(v in form.terms for form in forms[:-2] for v in (*row, *column)):
        return None
    for value, (first, last) in ((False, (row, column)), (True, (column, row))):
        if forms[-2].coefficient(first[0]) == forms[-1].coefficient(last[0]) == 1 and last[0] not in forms[-2].terms and (
                first[0] not in forms[-1].terms):
            return value
    return None


def check_memory(operands: Sequence[ElementAccess], result: ElementAccess, intrinsic: str, own: bool = False) -> None:
    """ScheduleError for operands of another type, or buffers of other scopes. ``own``: whether the left operand may be ``local``."""
    for number, one in enumerate(operands):
        scope = "local" if own and number == 0 and scope_of(one) == "local" else "shared"
        check_scope(one, scope, factors_of(intrinsic).memory, intrinsic, "multiplies")
    check_scope(result, "local", factors_of(intrinsic).result, intrinsic, "adds to")


def scope_of(access: ElementAccess) -> str | None:
    """The scope of an access's buffer, where it is one of the kernel's own."""
    owner = access.buffer.owner
    return None if isinstance(owner, ir.Block) or owner.operation.name != "tir.alloc_buffer" else owner.operation.opview.scope


def check_scope(one: ElementAccess, scope: str, type_: str, intrinsic: str, does: str) -> None:
    """ScheduleError unless the buffer of an access is of that scope and that element type. ``does``: what the intrinsic does to it."""
    owner = one.buffer.owner
    made = None if isinstance(owner, ir.Block) or owner.operation.name != "tir.alloc_buffer" else owner.operation.opview
    if made is None or made.scope != scope or str(one.buffer.type.element_type) != type_:
        what = f"'{made.name}' of {one.buffer.type.element_type} in scope '{made.scope}'" if made else f"of {one.buffer.type}"
        raise ScheduleError(f"tensorize: '{intrinsic}' {does} buffers of {type_} in scope '{scope}' only; this buffer is {what}")


def spread_rows(buffer: ir.Value, by_words: bool) -> None:
    """Makes the rows of a buffer longer where accesses of a warp would meet in the banks of shared memory: those to eight rows, of 16 bytes
    each, or, ``by_words``, those to eight words in each of four rows.

    The buffer's type then says that it is in shared memory, as ldmatrix wants it. A storage_align of the buffer ends.
    """
    made: AllocBufferOp = buffer.owner.operation.opview
    old = buffer.type
    *outer, row = old.shape
    width = old.element_type.width // 8
    units = -(-row * width // SEGMENT)
    while units % (BANKS // SEGMENT) not in ((2, 6) if by_words else (1, 3, 5, 7)):
        units += 1
    with ir.InsertionPoint(made.operation), made.operation.location:
        type_ = ir.MemRefType.get([*outer, units * SEGMENT // width], old.element_type, memory_space=ir.Attribute.parse(WORKGROUP))
        new = ir.Operation.create("tir.alloc_buffer", [type_], list(made.operation.operands),
                                  {name: made.operation.attributes[name] for name in made.operation.attributes if name != ALIGN})
    buffer.replace_all_uses_with(new.results[0])
    made.operation.erase()


def multiply(operands: Sequence[TileAccess], begins: Sequence[Sequence[ir.Value]], y: ir.Value, x: ir.Value, intrinsic: str) -> None:
    """One lane's part of two instructions, at the insertion point. ``begins``: the tiles' first elements; ``y``, ``x``: the lane is
    4 y + x."""
    left, right, result = operands
    element = left.buffer.type.element_type
    if element.width == 32:
        first = rounded(words(left.buffer, begins[0], x, y, 1) if left.turned
                        else fragments(left.buffer, begins[0], y, x, across=False, transpose=False))
        second = rounded(fragments(right.buffer, begins[1], y, x, across=True, transpose=False) if right.turned
                         else words(right.buffer, begins[1], x, y, 0))
    else:
        first = (own_elements(left.buffer, begins[0], y, x) if scope_of(left.access) == "local" else
                 fragments(left.buffer, begins[0], y, x, across=left.turned, transpose=left.turned))
        second = fragments(right.buffer, begins[1], y, x, across=right.turned, transpose=not right.turned)
    each = first.type.shape[1]
    multiplied = MATRIX_INTRINSICS[intrinsic]
    if multiplied.left in FLOAT8:
        element = ir.Type.parse(multiplied.left)
        first, second = (arith.BitcastOp(ir.VectorType.get([4, each], element), v).result for v in (first, second))
    attributes: dict[str, ir.Attribute] = {"mmaShape": ir.ArrayAttr.get(
        [ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size) for size in (ROWS, COLUMNS, 8 * each)])}
    if element.width == 32:
        attributes["tf32Enabled"] = ir.UnitAttr.get()
    if multiplied.are_integers:
        attributes[FACTOR_TYPES] = ir.ArrayAttr.get([ir.StringAttr.get(one) for one in (multiplied.left, multiplied.right)])
    sums = ir.Type.parse(multiplied.result)
    for column in (0, COLUMNS):
        half = vector.ExtractStridedSliceOp(ir.VectorType.get([2, each], element), second, [column // 4, 0], [2, each], [1, 1]).result
        places = [[*begins[2][:-2], plus(begins[2][-2], plus(y, row)), plus(begins[2][-1], plus(doubled(x), column + step))]
                  for row in (0, 8) for step in (0, 1)]
        old = vector.FromElementsOp(ir.VectorType.get([2, 2], sums),
                                    [memref.LoadOp(result.buffer, place).result for place in places]).result
        new = ir.Operation.create("nvgpu.mma.sync", [old.type], [first, half, old], attributes).results[0]
        for number, place in enumerate(places):
            memref.StoreOp(vector.ExtractOp(new, [], [number // 2, number % 2]).result, result.buffer, place)


def fragments(buffer: ir.Value, begin: Sequence[ir.Value], y: ir.Value, x: ir.Value, across: bool, transpose: bool) -> ir.Value:
    """What a lane gets of four matrices of eight rows of 16 bytes. ``across``: whether the second matrix lies beside the first one in
    memory, and not below; ``transpose``: whether matrices are transposed on their way.

    Each lane says where a row of a matrix is: the lanes 0 to 7 those of the first, and so on.
    """
    eight, lanes = index(8), SEGMENT * 8 // buffer.type.element_type.width
    lane = arith.AddIOp(arith.MulIOp(y, index(4)).result, x).result
    inner, upper = arith.RemUIOp(lane, eight).result, arith.DivUIOp(lane, eight).result
    even, half = arith.RemUIOp(upper, index(2)).result, arith.DivUIOp(upper, index(2)).result
    down, right = (half, even) if across else (even, half)
    row = arith.AddIOp(arith.MulIOp(down, eight).result, inner).result
    place = [*begin[:-2], plus(begin[-2], row), plus(begin[-1], arith.MulIOp(right, index(lanes)).result)]
    return ir.Operation.create("nvgpu.ldmatrix", [ir.VectorType.get([4, lanes // 4], buffer.type.element_type)], [buffer, *place], {
        "transpose": ir.BoolAttr.get(transpose), "numTiles": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4)}).results[0]


def own_elements(buffer: ir.Value, begin: Sequence[ir.Value], y: ir.Value, x: ir.Value) -> ir.Value:
    """The fragments of a left operand of halves in a buffer of scope ``local``: a lane multiplies the elements that it has of a result."""
    found = [memref.LoadOp(buffer, [*begin[:-2], plus(begin[-2], plus(y, row)), plus(begin[-1], plus(doubled(x), column + step))]).result
             for column in (0, COLUMNS) for row in (0, 8) for step in (0, 1)]
    return vector.FromElementsOp(ir.VectorType.get([4, 2], buffer.type.element_type), found).result


def words(buffer: ir.Value, begin: Sequence[ir.Value], x: ir.Value, y: ir.Value, first: int) -> ir.Value:
    """What a lane gets of elements of 32 bits that lie transposed, which ldmatrix cannot load: of the rows x and x + 4 the columns y and
    y + 8. ``first``: 1 where the columns change first, 0 where the rows do."""
    found = []
    for number in range(4):
        row, column = (number // 2, number % 2) if first else (number % 2, number // 2)
        place = [*begin[:-2], plus(begin[-2], plus(x, 4 * row)), plus(begin[-1], plus(y, 8 * column))]
        found.append(memref.LoadOp(buffer, place).result)
    return vector.FromElementsOp(ir.VectorType.get([4, 1], buffer.type.element_type), found).result


def rounded(values: ir.Value) -> ir.Value:
    """Elements of f32 as the nearest ones of tf32."""
    nearest, i32 = ir.Attribute.parse("#nvvm.fp_rnd_mode<rna>"), ir.IntegerType.get_signless(32)
    found = []
    for number in range(values.type.shape[0]):
        one = vector.ExtractOp(values, [], [number, 0]).result
        bits = ir.Operation.create("nvvm.convert.float.to.tf32", [i32], [one], {"rnd": nearest}).results[0]
        found.append(arith.BitcastOp(one.type, bits).result)
    return vector.FromElementsOp(values.type, found).result


def plus(value: ir.Value, number: int | ir.Value) -> ir.Value:
    """A sum of indices, at the insertion point."""
    if isinstance(number, int):
        return value if number == 0 else arith.AddIOp(value, index(number)).result
    return arith.AddIOp(value, number).result


def doubled(value: ir.Value) -> ir.Value:
    """Twice an index, at the insertion point."""
    return arith.MulIOp(value, index(2)).result
