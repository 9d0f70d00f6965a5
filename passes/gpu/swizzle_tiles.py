"""tir-swizzle-tiles: tiles that warpgroups multiply and threads copy have the layout in which wgmma looks for elements (NVIDIA's sm_90a).

Kernels whose tiles the copy engine copies are those of ``tir-specialize-warps``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find, index
from legato.core.mlir import arith, ir, memref
from legato.dialects.module import Module
from legato.dialects.tir.tiles import WARPGROUP_PRODUCT
from legato.passes.gpu import warpgroup_code as code
from legato.passes.gpu.align_shared import SHARED_ALIGNMENT
from legato.passes.gpu.dynamic_shared import shared_buffers
from legato.passes.gpu.warpgroup_code import SharedTile
from legato.passes.pipeline.base import ModulePass, PassContext

COPY, BARRIER, VIEW = "nvgpu.device_async_copy", "gpu.barrier", "memref.subview"
STORES = ("memref.store", "vector.store")


@dataclass(frozen=True)
class SwizzleTiles(ModulePass):
    """Lowers what is left of ``tir.warpgroup_product``. Stores to its tiles, and asynchronous copies, go to where the 128-byte swizzle has
    the elements, and in front of each barrier a thread makes its own known to wgmma."""

    name: ClassVar[str] = "tir-swizzle-tiles"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "gpu.func"):
                products = find(kernel, WARPGROUP_PRODUCT)
                if products:
                    swizzle(kernel, products)


def swizzle(kernel: ir.Operation, products: Sequence[ir.Operation]) -> None:
    """Rewrites one kernel."""
    buffers = shared_buffers(kernel)
    tiles: dict[ir.Value, SharedTile] = {}
    for product in products:
        for operand in list(product.operands)[:2]:
            if isinstance(operand.type, ir.MemRefType):
                buffer = whole(operand)
                if buffer not in buffers:
                    raise PassFailed("what warpgroups multiply is a shared buffer of the kernel", product)
                tiles[buffer] = SharedTile.of(operand.type)
    for product in products:
        lower(product)
    for buffer, tile in tiles.items():
        for use in list(buffer.uses):
            move(use.owner.operation, buffer, tile)
    for barrier in find(kernel, BARRIER):
        with ir.InsertionPoint(barrier), barrier.location:
            code.publish_stores()
    number = ir.IntegerType.get_signless(64)
    kernel.attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({
        "llvm.align": ir.IntegerAttr.get(number, code.GROUP if one in tiles else SHARED_ALIGNMENT)}) for one in buffers])


def whole(value: ir.Value) -> ir.Value:
    """The buffer of which a tile is a part."""
    return value if isinstance(value.owner, ir.Block) or value.owner.operation.name != VIEW else value.owner.operation.operands[0]


def address(value: ir.Value) -> ir.Value:
    """The address of a tile's first byte, at the insertion point."""
    buffer = whole(value)
    begin = memref.extract_aligned_pointer_as_index(buffer)
    if buffer == value:
        return begin
    return code.plus(begin, arith.MulIOp(value.owner.operation.operands[1], index(SharedTile.of(value.type).size)).result)


def lower(product: ir.Operation) -> None:
    """Puts instructions in the place of a product."""
    left, right, row, sums = product.operands
    turned, types = code.multiplied(product)
    with ir.InsertionPoint(product), product.location:
        tile = SharedTile.of(right.type)
        if isinstance(left.type, ir.VectorType):
            new = code.multiply_own(left, tile, address(right), turned[1], sums, types)
        else:
            new = code.multiply(SharedTile.of(left.type), tile, (address(left), address(right)), turned, row, sums, types)
    product.results[0].replace_all_uses_with(new)
    views = [one.owner.operation for one in (left, right) if isinstance(one.type, ir.MemRefType) and whole(one) != one]
    product.erase()
    for view in views:
        if not list(view.results[0].uses):
            view.erase()


def move(op: ir.Operation, buffer: ir.Value, tile: SharedTile) -> None:
    """Lets an op that writes elements of a tile write them where the layout has them. A tile's address is no element, and stays."""
    if op.name == "memref.extract_aligned_pointer_as_index":
        return
    if op.name == COPY:
        first, lanes = 1, op.attributes["dstElements"].value
    elif op.name in STORES:
        type_ = op.operands[0].type
        first, lanes = 2, type_.shape[0] if isinstance(type_, ir.VectorType) else 1
    else:
        raise PassFailed(f"{op.name} touches a tile that warpgroups multiply: these are copied, and else only multiplied", op)
    last = first + buffer.type.rank - 1
    if lanes * tile.width > code.PIECE:
        raise PassFailed(f"a store of {lanes} elements to a tile that warpgroups multiply is of more than {code.PIECE} bytes", op)
    with ir.InsertionPoint(op), op.location:
        op.operands[last - 1], op.operands[last] = place(tile, op.operands[last - 1], op.operands[last])


def place(tile: SharedTile, row: ir.Value, column: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The row and the column at which a buffer's elements lie where those of a tile do: a panel's rows follow each other, of 128 bytes."""
    across, piece = code.PANEL // tile.width, code.PIECE // tile.width
    turn = arith.RemUIOp(row, index(code.GROUP // code.PANEL)).result
    inside = arith.RemUIOp(column, index(across)).result
    moved = arith.XOrIOp(arith.DivUIOp(inside, index(piece)).result, turn).result
    new = code.plus(arith.MulIOp(moved, index(piece)).result, arith.RemUIOp(column, index(piece)).result)
    if tile.panels == 1:
        return row, new
    line = code.plus(arith.MulIOp(arith.DivUIOp(column, index(across)).result, index(tile.rows)).result, row)
    first = arith.DivUIOp(line, index(tile.panels)).result
    return first, code.plus(arith.MulIOp(arith.RemUIOp(line, index(tile.panels)).result, index(across)).result, new)
