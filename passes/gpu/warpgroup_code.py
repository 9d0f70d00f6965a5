"""Instructions of Hopper's warpgroups and copy engine, as ops of the dialect nvvm at the insertion point: mbarriers, bulk copies by tensor
maps (TMA), products (wgmma). Addresses are indices, in bytes of a block's shared memory.

A tile of rows x columns lies in panels of 128 bytes of columns, one after the other; a panel has its rows one after the other, and the
16-byte pieces of each eight rows are exchanged ("128-byte swizzle"), so that no two of a column are in the same bank. Tiles begin at
multiples of 1024 bytes.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir, llvm, memref, vector
from legato.dialects.tir.markers import FACTOR_TYPES

PANEL = 128          # bytes
PIECE = 16           # bytes of a panel's row that stay together
GROUP = 8 * PANEL    # eight rows of a panel
TURNS = 10_000_000   # nanoseconds, about, that a thread sleeps at most before it looks at a barrier again
LAYOUT = 1 << 62     # of a matrix's description: the 128-byte swizzle
ALONG = {False: "row", True: "col"}
TYPES = {"f16": ("f16", 16), "bf16": ("bf16", 16), "f32": ("tf32", 8), "f8E4M3FN": ("e4m3", 32),
         "f8E5M2": ("e5m2", 32), "s8": ("s8", 32), "u8": ("u8", 32)}    # by a factor's type: that of wgmma, its steps of depth
SUMS = {"f32": "f32", "i32": "s32"}     # the types of wgmma


@dataclass(frozen=True)
class SharedTile:
    """A tile in shared memory: its shape, and its elements' type."""

    rows: int
    columns: int
    element: ir.Type

    @staticmethod
    def of(type_: ir.MemRefType) -> SharedTile:
        """The tile of a buffer's type."""
        rows, columns = type_.shape
        return SharedTile(rows, columns, type_.element_type)

    @property
    def width(self) -> int:
        """The bytes of an element."""
        return self.element.width // 8

    @property
    def size(self) -> int:
        """The bytes of the tile."""
        return self.rows * self.columns * self.width

    @property
    def panels(self) -> int:
        """The number of panels."""
        return self.columns * self.width // PANEL

    @property
    def panel_size(self) -> int:
        """The bytes of a panel."""
        return self.rows * PANEL


def multiplied(product: ir.Operation) -> tuple[list[bool], list[str]]:
    """Whether each tile of a ``tir.warpgroup_product`` is turned, and the types as which the operands are multiplied."""
    turned = [ir.BoolAttr(product.attributes[f"{side}_turned"]).value for side in ("left", "right")]
    if FACTOR_TYPES in product.attributes:
        return turned, [one.value for one in product.attributes[FACTOR_TYPES]]
    return turned, [str(one.type.element_type) for one in list(product.operands)[:2]]


def dynamic_memory() -> ir.Value:
    """The address of a block's dynamic shared memory, rounded up to where tiles can begin."""
    type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], ir.IntegerType.get_signless(8),
                              memory_space=ir.Attribute.parse("#gpu.address_space<workgroup>"))
    buffer = ir.Operation.create("gpu.dynamic_shared_memory", [type_]).results[0]
    address = memref.extract_aligned_pointer_as_index(buffer)
    return arith.MulIOp(arith.DivUIOp(plus(address, GROUP - 1), index(GROUP)).result, index(GROUP)).result


def plus(value: ir.Value, number: int | ir.Value) -> ir.Value:
    """A sum of indices."""
    if isinstance(number, int):
        return value if number == 0 else arith.AddIOp(value, index(number)).result
    return arith.AddIOp(value, number).result


def integer(width: int, value: int) -> ir.Value:
    """A constant."""
    return arith.ConstantOp(ir.IntegerType.get_signless(width), value).result


def as_integer(width: int, value: ir.Value) -> ir.Value:
    """An index as an integer."""
    return arith.IndexCastOp(ir.IntegerType.get_signless(width), value).result


def shared_pointer(address: ir.Value, space: int = 3) -> ir.Value:
    """A pointer to shared memory; space 7: as one to a cluster's."""
    made = ir.Operation.create("llvm.inttoptr", [ir.Type.parse("!llvm.ptr<3>")], [as_integer(64, address)]).results[0]
    return made if space == 3 else ir.Operation.create("llvm.addrspacecast", [ir.Type.parse(f"!llvm.ptr<{space}>")], [made]).results[0]


def make_barrier(address: ir.Value, count: int) -> None:
    """Makes an mbarrier, whose phase is over when so many threads have arrived, and all bytes that they expect."""
    ir.Operation.create("nvvm.mbarrier.init", [], [shared_pointer(address), integer(32, count)])


def publish_barriers() -> None:
    """Makes fresh mbarriers known to the copy engine; a barrier of the block has to follow."""
    ir.Operation.create("nvvm.fence.mbarrier.init")


def wait_for(barrier: ir.Value, parity: ir.Value) -> None:
    """Waits until the mbarrier's phase of this parity, an index, is over."""
    ir.Operation.create("nvvm.mbarrier.try_wait.parity", [], [shared_pointer(barrier), as_integer(32, parity), integer(32, TURNS)])


def arrive(barrier: ir.Value) -> None:
    """The thread arrives at an mbarrier."""
    ir.Operation.create("nvvm.mbarrier.arrive", [ir.IntegerType.get_signless(64)], [shared_pointer(barrier)], in_block())


def expect(barrier: ir.Value, size: int) -> None:
    """The thread arrives at an mbarrier, whose phase lasts until so many bytes more have come."""
    ir.Operation.create("nvvm.mbarrier.arrive.expect_tx", [], [shared_pointer(barrier), integer(32, size)], in_block())


def in_block() -> dict[str, ir.Attribute]:
    """Attributes of an arrival in the block's own barrier."""
    return {"relaxed": ir.BoolAttr.get(False), "scope": ir.Attribute.parse("#nvvm.mem_scope<cta>")}


def set_registers(count: int, more: bool) -> None:
    """Gives the registers of a warpgroup's threads back, down to ``count``, or takes more."""
    action = "increase" if more else "decrease"
    ir.Operation.create("nvvm.setmaxregister", [], [], {"action": ir.Attribute.parse(f"#nvvm<action {action}>"),
                                                        "regCount": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)})


def copy_tile(tile: SharedTile, to: ir.Value, tensor_map: ir.Value, places: Sequence[ir.Value], barrier: ir.Value, rank: int) -> None:
    """Begins the copies of a tile's panels. ``places``: the index of the tile's first element on each of the source's ``rank`` axes, of
    which the last one is along the tile's columns, and behind them, where rows are windows, the elements of the windows."""
    inside = [as_integer(16, one) for one in reversed(places[rank:])]
    mode = "im2col" if inside else "tile"
    for number in range(tile.panels):
        last = plus(places[rank - 1], number * (PANEL // tile.width))
        coordinates = [as_integer(32, one) for one in (last, *reversed(places[:rank - 1]))]
        target = shared_pointer(plus(to, number * tile.panel_size), space=7)
        operands = [target, tensor_map, *coordinates, shared_pointer(barrier), *inside]
        ir.Operation.create("nvvm.cp.async.bulk.tensor.shared.cluster.global", [], operands, {
            "isCTAOnly": ir.BoolAttr.get(False), "mode": ir.Attribute.parse(f"#nvvm.tma_load_mode<{mode}>"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, len(coordinates), 1, len(inside), 0, 0, 0])})


def store_in_tile(tile: SharedTile, at: ir.Value, row: ir.Value, column: ir.Value, value: ir.Value) -> None:
    """Stores an element, or a vector of neighbours, whose number is a power of two and divides their column, where a tile's layout has
    it."""
    lanes = value.type.shape[0] if isinstance(value.type, ir.VectorType) else 1
    piece = min(lanes, PIECE // tile.width)
    across = PANEL // tile.width
    line = plus(plus(at, arith.MulIOp(row, index(PANEL)).result), arith.MulIOp(
        arith.DivUIOp(column, index(across)).result, index(tile.panel_size)).result)
    turn = arith.RemUIOp(row, index(GROUP // PANEL)).result
    for begin in range(0, lanes, piece):
        byte = arith.MulIOp(arith.RemUIOp(plus(column, begin), index(across)).result, index(tile.width)).result
        place = arith.MulIOp(arith.XOrIOp(arith.DivUIOp(byte, index(PIECE)).result, turn).result, index(PIECE)).result
        address = plus(line, plus(place, arith.RemUIOp(byte, index(PIECE)).result))
        part = value if piece == lanes else vector.ExtractStridedSliceOp(
            ir.VectorType.get([piece], value.type.element_type), value, [begin], [piece], [1]).result
        ir.Operation.create("llvm.store", [], [part, shared_pointer(address)], {
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), piece * tile.width)})


def publish_stores() -> None:
    """Makes a thread's stores to shared memory known to wgmma; what says that they are there has to follow."""
    ir.Operation.create("nvvm.fence.proxy", [], [], {"kind": ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"),
                                                     "space": ir.Attribute.parse("#nvvm.shared_space<cta>")})


def multiply(left: SharedTile, right: SharedTile, at: Sequence[ir.Value], turned: Sequence[bool], row: ir.Value,
             sums: ir.Value, types: Sequence[str]) -> ir.Value:
    """The sums of a thread, a vector, with the products of 64 rows of the left tile, from ``row`` on, by the right one, for which it waits.

    ``at``: the tiles' addresses; ``turned``: whether a row of the left tile is a step of the depth, and one of the right a column;
    ``types``: those of the factors.
    """
    (of_left, deep), (of_right, _) = (TYPES[one] for one in types)
    count, summed = sums.type.shape[0], str(sums.type.element_type)
    type_ = ir.Type.parse(f"!llvm.struct<({', '.join([summed] * count)})>")
    value = ir.Operation.create("llvm.mlir.undef", [type_]).results[0]
    for number in range(count):
        value = ir.Operation.create("llvm.insertvalue", [type_], [value, vector.ExtractOp(sums, [], [number]).result], {
            "position": ir.DenseI64ArrayAttr.get([number])}).results[0]
    depth = left.rows if turned[0] else left.columns
    offset = arith.MulIOp(arith.DivUIOp(row, index(PANEL // left.width)).result, index(left.panel_size)).result if turned[0] else (
        arith.MulIOp(row, index(PANEL)).result)
    first, second = matrix(left, plus(at[0], offset), turned[0]), matrix(right, at[1], not turned[1])
    ir.Operation.create("nvvm.wgmma.fence.aligned")
    for step in range(0, depth, deep):
        operands = [arith.AddIOp(one, integer(64, step_of(tile, step, across) >> 4)).result
                    for one, tile, across in ((first, left, turned[0]), (second, right, not turned[1]))]
        value = ir.Operation.create("nvvm.wgmma.mma_async", [type_], [value, *operands], {
            "shape": ir.Attribute.parse(f"#nvvm.shape<m = 64, n = {2 * count}, k = {deep}>"),
            "typeA": ir.Attribute.parse(f"#nvvm.wgmma_type<{of_left}>"), "typeB": ir.Attribute.parse(f"#nvvm.wgmma_type<{of_right}>"),
            "typeD": ir.Attribute.parse(f"#nvvm.wgmma_type<{SUMS[summed]}>"), "scaleD": ir.Attribute.parse("#nvvm.wgmma_scale_out<one>"),
            "scaleA": ir.Attribute.parse("#nvvm.wgmma_scale_in<one>"), "scaleB": ir.Attribute.parse("#nvvm.wgmma_scale_in<one>"),
            "layoutA": ir.Attribute.parse(f"#nvvm.mma_layout<{ALONG[turned[0]]}>"),
            "layoutB": ir.Attribute.parse(f"#nvvm.mma_layout<{ALONG[turned[1]]}>")}).results[0]
    return awaited(value, sums.type)


def awaited(value: ir.Value, type_: ir.VectorType) -> ir.Value:
    """A vector of the numbers of a product that was begun, when it is there."""
    ir.Operation.create("nvvm.wgmma.commit.group.sync.aligned")
    ir.Operation.create("nvvm.wgmma.wait.group.sync.aligned", [], [], {"group": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)})
    found = [ir.Operation.create("llvm.extractvalue", [type_.element_type], [value], {
        "position": ir.DenseI64ArrayAttr.get([number])}).results[0] for number in range(type_.shape[0])]
    return vector.FromElementsOp(type_, found).result


def matrix(tile: SharedTile, address: ir.Value, across: bool) -> ir.Value:
    """The description of a matrix in a tile. ``across``: whether the tile's rows are steps of the depth: then the panels are one leading
    dimension apart, and else that is not looked at; in both cases groups of eight rows follow each other."""
    leading = tile.panel_size if across else 16
    constant = LAYOUT | (GROUP >> 4) << 32 | (leading >> 4) << 16
    place = arith.AndIOp(as_integer(64, address), integer(64, (1 << 18) - 1)).result
    return arith.OrIOp(arith.ShRUIOp(place, integer(64, 4)).result, integer(64, constant)).result


def step_of(tile: SharedTile, step: int, across: bool) -> int:
    """How far from a matrix's beginning a step of its depth is, in bytes."""
    if across:
        return step * PANEL
    panel, inside = divmod(step * tile.width, PANEL)
    return panel * tile.panel_size + inside


def multiply_own(left: ir.Value, right: SharedTile, at: ir.Value, turned: bool, sums: ir.Value, types: Sequence[str]) -> ir.Value:
    """As ``multiply``, by the elements of 64 rows that the threads of a warpgroup have: ``left`` are a thread's, as
    ``tir.warpgroup_product`` has them. Upstream's op takes a left operand in shared memory only."""
    (of_left, deep), (of_right, _) = (TYPES[one] for one in types)
    count, steps = sums.type.shape[0], left.type.shape[0] // (deep // 2)
    i32 = ir.IntegerType.get_signless(32)
    pair = ir.VectorType.get([2], left.type.element_type)
    words = [vector.ExtractOp(vector.BitCastOp(ir.VectorType.get([1], i32), vector.ExtractStridedSliceOp(
        pair, left, [place], [2], [1]).result).result, [], [0]).result for place in range(0, left.type.shape[0], 2)]
    first = matrix(right, at, not turned)
    matrices = [arith.AddIOp(first, integer(64, step_of(right, step * deep, not turned) >> 4)).result for step in range(steps)]
    own = [vector.ExtractOp(sums, [], [number]).result for number in range(count)]
    lines, each = ["{", ".reg .pred p;", "setp.eq.u32 p, 0, 0;"], deep // 4
    result = ", ".join(f"${number}" for number in range(count))
    for step in range(steps):
        given = ", ".join(f"${2 * count + step * each + number}" for number in range(each))
        lines.append(f"wgmma.mma_async.sync.aligned.m64n{2 * count}k{deep}.f32.{of_left}.{of_right} {{{result}}}, {{{given}}}, "
                     f"${2 * count + steps * each + step}, p, 1, 1, {int(not turned)};")
    ir.Operation.create("nvvm.wgmma.fence.aligned")
    type_ = ir.Type.parse(f"!llvm.struct<({', '.join(['f32'] * count)})>")
    value = llvm.inline_asm(type_, [*own, *words, *matrices], "\n".join([*lines, "}"]), ",".join(
        [*["=f"] * count, *map(str, range(count)), *["r"] * len(words), *["l"] * steps]), has_side_effects=True)
    return awaited(value, sums.type)
