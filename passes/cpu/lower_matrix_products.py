"""tir-lower-matrix-products: contractions of groups of narrow elements become instructions on AMX's tile registers.

Registers 0 to 3 are the sums, two by two; 4 and 5 hold matrices of the first factor, 6 and 7 of the second. They are named, as the
intrinsics with numbers do: LLVM gives tile values registers only where at most eight of them, of any shape, are in one function.
The loops that carried the sums as vectors carry nothing, and the sums lie in registers from the zeros before them to the stores
after them. The shapes of the registers are set before the outermost loop in which they stay the same.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.ir_helpers import ancestors, find, index, only_use, present, splat, terminator
from legato.core.mlir import ir, memref, scf
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.matrices.instructions import address, intrinsic, number, pointer, read_all, register, write_all
from legato.passes.cpu.matrices.products import LANE, SIDE, TRANSFER_WRITE, Access, MatrixProduct
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

LEFT, RIGHT = 4, 6      # the first registers of the factors
FEATURES = {"bf16": "amx-bf16", "u": "amx-int8", "s": "amx-int8"}
CONFIGURATION = 64      # bytes that ldtilecfg reads
# by the number of the factors' parts: of which of them products are summed, 0 being the greatest; those of smaller ones are below the
# precision of the sum of all parts. In an order in which few are loaded twice
PRODUCTS = {1: ((0, 0),), 2: ((0, 1), (0, 0), (1, 0)), 3: ((0, 2), (0, 1), (0, 0), (2, 0), (1, 0), (1, 1))}
Shape = tuple[int, int, int]    # rows, columns, depth


@dataclass(frozen=True)
class LowerMatrixProducts(ModulePass):
    """Contractions of groups of bf16 or bytes become instructions on matrices, where the CPU has them."""

    name: ClassVar[str] = "tir-lower-matrix-products"
    target: TargetText = option("llvm", "the target whose CPU may have AMX")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if not machine.has("amx-tile"):
            return
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                steps = [] if kernel.is_external else find(kernel.operation, "vector.contract")
                found = [product for step in steps if (product := MatrixProduct.of(step)) is not None]
                products = [one for one in found if machine.has(FEATURES[one.left.kind]) and is_alone(one)]
                set_shapes(products, module.module)
                for product in products:
                    with product.outermost.location:
                        Lowering(product).run()


def is_alone(product: MatrixProduct) -> bool:
    """Whether the loops that carry the sums compute no other product."""
    return find(product.outermost, "vector.contract") == [product.step]


# --- shapes of registers ---

def shape_of(product: MatrixProduct) -> Shape:
    """What the shapes of the registers depend on."""
    return product.rows, product.columns, product.depth


def is_part(shape: Shape, other: Shape) -> bool:
    """Whether registers of some shapes can hold a product of fewer matrices of the same."""
    (rows, columns, depth), (other_rows, other_columns, other_depth) = shape, other
    of_rows, of_columns = parts(rows), parts(columns)
    return depth == other_depth and parts(other_rows)[:len(of_rows)] == of_rows and parts(other_columns)[:len(of_columns)] == of_columns


def set_shapes(products: Sequence[MatrixProduct], module: ir.Module) -> None:
    """Sets the registers' shapes before the outermost loops in which they stay the same, and releases the registers at the end
    of the block with these."""
    all_shapes = sorted(map(shape_of, products), reverse=True)
    shapes = {product.outermost: next(shape for shape in all_shapes if is_part(shape_of(product), shape)) for product in products}
    anchors: dict[ir.Operation, Shape] = {}
    for op, shape in shapes.items():
        for loop in ancestors(op):
            inside = {other for product, other in shapes.items() if loop in ancestors(product)}
            if loop.name not in ("scf.for", "scf.if") or len(inside) > 1:
                break
            op = loop if loop.name == "scf.for" else op
        anchors[op] = shape
    anchors = {op: shape for op, shape in anchors.items() if anchors.keys().isdisjoint(ancestors(op))}   # the others are set already
    for op, shape in anchors.items():
        name = f"legato.tiles_{'x'.join(map(str, shape))}"
        type_ = ir.MemRefType.get([CONFIGURATION], ir.IntegerType.get_signless(8))
        with ir.InsertionPoint(op), op.location:
            declare(module, name, type_, shape)
            given = memref.GetGlobalOp(type_, name).result
            intrinsic("ldtilecfg", pointer(memref.ExtractAlignedPointerAsIndexOp(given).result))
    ends: list[ir.Operation] = []
    for op in anchors:
        end = terminator(op.block)
        if end not in ends:
            ends.append(end)
            with ir.InsertionPoint(end), op.location:
                intrinsic("tilerelease")


def declare(module: ir.Module, name: str, type_: ir.Type, shape: Shape) -> None:
    """Adds the constant that ``ldtilecfg`` reads, if the module does not have it."""
    if any("sym_name" in op.attributes and op.attributes["sym_name"].value == name for op in module.body.operations):
        return
    value = ir.DenseElementsAttr.get(configuration(shape), type=type_.element_type, shape=[CONFIGURATION])
    with ir.InsertionPoint.at_block_begin(module.body):
        ir.Operation.create("memref.global", attributes={
            "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"), "type": ir.TypeAttr.get(type_),
            "initial_value": value, "constant": ir.UnitAttr.get(),
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), CONFIGURATION)})


def configuration(shape: Shape) -> np.ndarray:
    """The 64 bytes of ``ldtilecfg``: the palette, from byte 16 on the bytes in a row of each register, from byte 48 on its rows."""
    rows, columns, depth = parts(shape[0]), parts(shape[1]), shape[2]
    registers = {2 * i + j: (height, width) for i, height in enumerate(rows) for j, width in enumerate(columns)}
    registers |= {LEFT + i: (height, depth) for i, height in enumerate(rows)}
    registers |= {RIGHT + j: (depth, width) for j, width in enumerate(columns)}
    made = np.zeros(CONFIGURATION, np.int8)
    made[0] = 1
    for which, (height, width) in registers.items():
        made[16 + 2 * which], made[48 + which] = 4 * width, height
    return made


def parts(size: int) -> list[int]:
    """The rows, or the columns, of the one or two registers that hold ``size`` of them."""
    return [size] if size <= SIDE else [SIDE, size - SIDE]


# --- steps ---

class Lowering:
    """Rewrites one product."""

    def __init__(self, product: MatrixProduct):
        self.product = product
        self.tiles = [(i, j) for i in range(len(parts(product.rows))) for j in range(len(parts(product.columns)))]

    def run(self) -> None:
        """Starts the sums before the outermost loop, multiplies in the innermost one, and stores the sums after."""
        product, outermost = self.product, self.product.outermost
        with ir.InsertionPoint(outermost):
            self._start()
        with ir.InsertionPoint(product.step):
            self._multiply()
        self._store()
        for loop in product.sums.loops:
            drop_carried(loop)
        if not product.sums.loops:
            product.step.erase()

    def _start(self) -> None:
        initial = self.product.sums.initial
        if is_zero(initial):
            for i, j in self.tiles:
                intrinsic("tilezero", register(2 * i + j))
            return
        buffer = self._buffer()
        write_all(initial, buffer)
        self._each_sum("tileloadd64", Access(buffer, (index(0),) * buffer.type.rank, tuple(range(buffer.type.rank))))

    def _multiply(self) -> None:
        product = self.product
        left, right = address(product.left.access, product.bytes), address(product.right.access, product.bytes)
        row = 0 if product.row is None else present(product.left.stride(product.row)) * product.bytes
        step = present(product.right.stride(product.group_loop)) * product.bytes
        strides = (0, 0) if product.parts is None else tuple(
            present(factor.stride(one)) * product.bytes for factor, one in zip((product.left, product.right), product.parts))
        there: dict[int, int] = {}      # the parts that registers hold

        def load(which: int, part: int, place: ir.Value, offset: int, rows: int) -> None:
            if there.get(which) != part:
                there[which] = part
                intrinsic("tileloadd64", register(which), pointer(place, offset), number(rows))

        for first, second in PRODUCTS[1 if product.parts is None else product.left.sizes[product.parts[0]]]:
            for j in range(len(parts(product.columns))):
                load(RIGHT + j, second, right, second * strides[1] + j * SIDE * LANE // 8, step)
            for i in range(len(parts(product.rows))):
                load(LEFT + i, first, left, first * strides[0] + i * SIDE * row, row)
                for j in range(len(parts(product.columns))):
                    intrinsic(product.instruction, register(2 * i + j), register(LEFT + i), register(RIGHT + j))

    def _store(self) -> None:
        """Stores the sums where they are written, or else in a buffer."""
        final = self.product.sums.final
        use = only_use(final)
        write = None if use is None else use.owner.operation
        access = Access.of(write) if write is not None and write.name == TRANSFER_WRITE else None
        if write is not None and access is not None and write.operands[0] == final and self._takes_rows(access, write):
            with ir.InsertionPoint(write):
                self._each_sum("tilestored64", access)
            write.erase()
            return
        with ir.InsertionPoint.after(self.product.outermost):
            buffer = self._buffer()
            zeros = (index(0),) * buffer.type.rank
            self._each_sum("tilestored64", Access(buffer, zeros, tuple(range(buffer.type.rank))))
            final.replace_all_uses_with(read_all(buffer, final.type))

    def _takes_rows(self, access: Access, write: ir.Operation) -> bool:
        """Whether a ``vector.transfer_write`` after the product takes its rows one by one, each contiguous."""
        dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
        dims = [dim for dim, size in zip(access.dims, write.operands[0].type.shape) if size != 1]
        order = dims == sorted(dims) and access.strides[dims[-1]] == 1 and dynamic not in [access.strides[d] for d in dims]
        return order and write.block == self.product.outermost.block and not self._loses_sums_before(write)

    def _loses_sums_before(self, write: ir.Operation) -> bool:
        """Whether another product is computed between this one and what writes it."""
        ops = [op.operation for op in write.block.operations]
        between = ops[ops.index(self.product.outermost) + 1:ops.index(write)]
        return any(find(op, "vector.contract", "llvm.call_intrinsic") for op in between)

    def _each_sum(self, name: str, access: Access) -> None:
        """Loads or stores the sums at a place in memory."""
        long = [dim for dim in access.dims if access.memref.type.shape[dim] != 1]
        dims = access.dims if self.product.row is None else (access.dims if len(access.dims) == 2 else tuple(long))
        stride = 0 if self.product.row is None else access.strides[dims[-2]] * LANE // 8
        start = address(access, LANE // 8)
        for i, j in self.tiles:
            at = pointer(start, i * SIDE * stride + j * SIDE * LANE // 8)
            intrinsic(name, register(2 * i + j), at, number(stride))

    def _buffer(self) -> ir.Value:
        """Memory for the sums, on the stack of the function or of the parallel part."""
        shape = self.product.sums.final.type.shape
        around = next(op for op in ancestors(self.product.outermost) if op.name in ("func.func", "scf.forall", "scf.parallel"))
        with ir.InsertionPoint.at_block_begin(around.regions[0].blocks[0]):
            type_ = ir.MemRefType.get(shape, self.product.sums.final.type.element_type)
            return memref.AllocaOp(type_, [], [], alignment=64).memref


def is_zero(value: ir.Value) -> bool:
    """Whether a vector is the constant 0."""
    given = splat(value, "arith.constant")
    return given is not None and given.get_splat_value().value == 0


def drop_carried(loop: ir.Operation) -> None:
    """Replaces a loop by one that carries nothing; its result has no uses, or is carried by such a loop."""
    with ir.InsertionPoint(loop), loop.location:
        made = scf.ForOp(*list(loop.operands)[:3])
    block, body = loop.regions[0].blocks[0], made.body
    block.arguments[0].replace_all_uses_with(body.arguments[0])
    end = terminator(block)
    with ir.InsertionPoint(body):
        last = scf.YieldOp([]).operation
    end.erase()
    for use in list(block.arguments[1].uses):   # the step
        use.owner.operation.erase()
    for op in [op.operation for op in block.operations]:
        op.move_before(last)
    loop.results[0].replace_all_uses_with(loop.operands[3])     # in the loop around it, which is next
    loop.erase()
