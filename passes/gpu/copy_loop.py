"""The loop of a kernel that multiplies tiles by warpgroups: where it copies tiles, computes others, and multiplies."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, body, everything, find
from legato.core.mlir import ir
from legato.dialects.tir.tiles import BULK_COPY, WARPGROUP_PRODUCT

BARRIER = "gpu.barrier"
STORES = ("vector.store", "memref.store")
PURE = ("arith.", "math.", "vector.broadcast", "vector.splat", "memref.dim", "gpu.block_id", "gpu.thread_id", "gpu.block_dim",
        "gpu.grid_dim", "affine.")


@dataclass(frozen=True)
class CopyLoop:
    """The loop of a kernel that copies and multiplies. ``first``, ``second``: the barriers in front of the copies, and behind them;
    ``guard``: the condition around the copies, that the thread is the first one; ``fills``: the ops by which threads compute the elements
    of other tiles, between the barriers; ``early``: copies in front of the loop, by the first thread too, of tiles that each step
    multiplies."""

    loop: ir.Operation
    first: ir.Operation
    guard: ir.Operation
    second: ir.Operation
    copies: list[ir.Operation]
    products: list[ir.Operation]
    fills: list[ir.Operation]
    early: list[ir.Operation]

    @property
    def tiles(self) -> list[ir.Value]:
        """The shared buffers of a step that are multiplied, those that are copied first."""
        multiplied = [v for op in self.products for v in factors(op) if v not in self.lasting]
        return list(dict.fromkeys([*(op.operands[1] for op in self.copies), *multiplied]))

    @property
    def lasting(self) -> list[ir.Value]:
        """The shared buffers that all steps multiply."""
        return [op.operands[1] for op in self.early]


def factors(product: ir.Operation) -> list[ir.Value]:
    """The shared buffers that a product multiplies."""
    return [v for v in list(product.operands)[:2] if isinstance(v.type, ir.MemRefType)]


def copy_loop(kernel: ir.Operation) -> CopyLoop:
    """The loop of a kernel. PassFailed for one of another form."""
    found, products = find(kernel, BULK_COPY), find(kernel, WARPGROUP_PRODUCT)
    barriers = find(kernel, BARRIER)
    loop = barriers[0].parent.operation if barriers else None
    copies = [op for op in found if loop is None or loop in ancestors(op)]
    early = [op for op in found if op not in copies]
    inside = body(loop.regions[0].blocks[0]) if loop is not None and loop.name == "scf.for" else []
    guards = [op for op in inside if op.name == "scf.if" and find(op, BULK_COPY)]
    if loop is None or len(barriers) != 2 or len(guards) != 1 or any(op not in inside for op in (*barriers, *products)) or (
            loop.parent.operation != kernel or not products):
        raise PassFailed("a kernel whose tiles are copied by tma_tile is one loop of several steps, with copies before a barrier, and "
                         f"products after it, and has no barriers elsewhere; this one has {len(copies)} copies, {len(products)} products, "
                         f"{len(barriers)} barriers, and {len(guards)} places of copies: each operand of a product by wgmma is copied in "
                         "its loop", (found or products)[0])
    guard, = guards
    order = [inside.index(op) for op in (barriers[0], guard, barriers[1], *products)]
    before = list(dict.fromkeys(op.parent.operation for op in early))
    extra = [op for one in (guard, *before) for op in everything(one)
             if op != one and op.name not in (BULK_COPY, "scf.yield") and not op.name.startswith(PURE)]
    buffers = {v for op in products for v in factors(op)} - {op.operands[1] for op in early}
    fills = filling(inside[inside.index(barriers[0]) + 1:inside.index(barriers[1])], buffers)
    stored = [op.operands[1] for one in fills for op in everything(one) if op.name in STORES]
    together = {*(op.operands[1] for op in copies), *stored} == buffers and all(op.parent.operation == guard for op in copies)
    if any(one.name != "scf.if" or one.block != loop.block or not one.is_before_in_block(loop) for one in before):
        raise PassFailed("what is copied by tma_tile outside of a kernel's loop is copied in front of it", before[0])
    if order != sorted(order) or extra or not together:
        raise PassFailed("what is copied by tma_tile is multiplied in the same step of the loop, and nothing else is written in front of "
                         "the product" + (f"; here is {extra[0].name}" if extra else ""), (extra or copies)[0])
    return CopyLoop(loop, barriers[0], guard, barriers[1], copies, products, fills, early)


def filling(ops: Sequence[ir.Operation], buffers: set[ir.Value]) -> list[ir.Operation]:
    """Those of a block's ops that store to buffers, and those that compute what they store and where."""
    found: set[ir.Operation] = set()
    for op in reversed(ops):
        if any(inner.name in STORES and inner.operands[1] in buffers for inner in everything(op)) or any(
                use.owner.operation in found or any(one in found for one in ancestors(use.owner.operation))
                for result in op.results for use in result.uses):
            found.add(op)
    return [op for op in ops if op in found]
