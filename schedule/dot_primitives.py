"""Dot products of four bytes as intrinsics of ``tensorize``."""
from __future__ import annotations

from legato.analysis.accesses import ElementAccess
from legato.analysis.indices.forms import linear
from legato.core.ir_helpers import index
from legato.core.mlir import ir, memref, vector
from legato.dialects.tir.intrinsics import build
from legato.dialects.tir.loops import BlockOp, ForOp
from legato.dialects.tir.matrix_factors import DOT_INTRINSICS, DOT_STEPS
from legato.dialects.tir.walk import blocks, loops
from legato.schedule.matrix_primitives import check_memory, spread_rows, summed
from legato.schedule.reduction_primitives import rebuild
from legato.schedule.state import Kernel, ScheduleError, statements
from legato.schedule.tensor_primitives import blockize


def tensorize_dot(kernel: Kernel, op: ir.Operation, intrinsic: str) -> BlockOp:
    """Replaces a loop of four steps of depth, that multiplies bytes of tiles in shared memory, by one dot product.

    The depth is the last axis of both tiles, whose rows are made longer, so that those of neighbouring threads lie in different banks.
    Returns the block in the place of the loop.
    """
    if op.name != "tir.for":
        raise ScheduleError(f"tensorize: '{intrinsic}' takes a loop, the one over four steps of depth")
    loop: ForOp = op.opview
    own, found = loops(loop.operation), blocks(loop.operation)
    if [one.extent for one in own] != [DOT_STEPS] or len(found) != 1 or [o.name for o in statements(loop.block)] != ["tir.block"]:
        raise ScheduleError(f"tensorize: '{intrinsic}' is a loop of {DOT_STEPS} steps around one block; under {loop.name} are loops of "
                            f"{[one.extent for one in own]} and {len(found)} blocks")
    inner, factors = found[0], DOT_INTRINSICS[intrinsic]
    operands, store, wrong = summed(inner, factors, intrinsic)
    depth = [argument for argument, value in zip(inner.block.arguments, inner.values) if linear(value).coefficient(loop.variable) == 1]
    (left, of_left), (right, of_right) = operands
    if (of_left, of_right) != (factors.left, factors.right):
        left, right, of_left, of_right = right, left, of_right, of_left
    if len(depth) != 1 or (of_left, of_right) != (factors.left, factors.right) or not (
            is_last(left, depth[0]) and is_last(right, depth[0])) or any(depth[0] in linear(v).terms for v in store.indices):
        raise wrong
    check_memory([left, right], store, intrinsic)
    outer = blockize(kernel, loop)
    accesses = [ElementAccess(one.op) for one in (left, right, store)]
    for one in accesses[:2]:
        spread_rows(one.buffer, by_words=False)
    with ir.InsertionPoint(loop.operation), loop.operation.location:
        zeros = {argument: index(0) for argument in inner.block.arguments}
        places = [[rebuild(v, zeros) for v in one.indices] for one in accesses]
        first, second = (word(one.buffer, place) for one, place in zip(accesses[:2], places))
        if factors.left != "u8" and factors.right == "u8":
            first, second, name = second, first, "dot4_u8s8"
        else:
            name = f"dot4_{factors.left}{factors.right}"
        total = accesses[2].buffer
        memref.StoreOp(build(name, first, second, memref.LoadOp(total, places[2]).result), total, places[2])
    kernel.erase(loop.operation)
    return outer


def is_last(access: ElementAccess, depth: ir.Value) -> bool:
    """Whether an access steps by one along its last axis, and along no other, where the depth does."""
    *others, last = (linear(v) for v in access.indices)
    return last.coefficient(depth) == 1 and not any(depth in form.terms for form in others)


def word(buffer: ir.Value, place: list[ir.Value]) -> ir.Value:
    """Four bytes of a buffer as a word."""
    bytes_ = vector.LoadOp(ir.VectorType.get([DOT_STEPS], buffer.type.element_type), buffer, place, alignment=DOT_STEPS).result
    return vector.ExtractOp(vector.BitCastOp(ir.VectorType.get([1], ir.IntegerType.get_signless(32)), bytes_).result, [], [0]).result
