"""tir-materialize-factors: computes the factors of a sum of products first, where they are computed from elements.

``Y[i, j] += E[i, k] / S[i] * V[k, j]`` is a matmul whose first factor is computed again for each ``j``. Schedules take sums of products of
plain elements: the quotients become a tensor of their own.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import REDUCTION, StructuredKernel, StructuredOp
from legato.analysis.structured.ops import PARALLEL
from legato.core.ir_helpers import copy, index
from legato.core.mlir import ir, linalg, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class MaterializeFactors(ModulePass):
    """Makes sums of products of computed factors sums of products of elements, where a factor does not depend on all loops."""

    name: ClassVar[str] = "tir-materialize-factors"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = context.kernels.of(kernel)
                if any([materialize(op) for op in _sums(found)]):
                    context.kernels.drop(kernel)


def _sums(kernel: StructuredKernel) -> list[StructuredOp]:
    return [op for op in kernel.structured if op.op.name == "linalg.generic" and op.kind == REDUCTION and len(op.op.results) == 1
            and op.writes_plainly]


@dataclass(frozen=True)
class Factor:
    """One factor of a product: the ops of the body that compute it, the inputs that they read, and the loops that index those."""

    value: ir.Value
    ops: tuple[ir.Operation, ...]
    inputs: tuple[int, ...]
    loops: tuple[int, ...]


def materialize(op: StructuredOp) -> bool:
    """Replaces one sum of products whose factors are computed. Returns whether it is one."""
    product = op.summed_product
    if product is None:
        return False
    factors = [factor_of(op, value) for value in product.operands]
    if None in factors:
        return False
    left, right = (factor for factor in factors if factor is not None)
    worth = [bool(factor.ops) and len(factor.loops) < len(op.iterator_types) for factor in (left, right)]
    if not any(worth) or any(factor.ops and not taken for factor, taken in zip((left, right), worth)):
        return False
    with ir.InsertionPoint(op.op), op.op.location:
        operands = [tensor_of(op, factor) if taken else (op.op.operands[factor.inputs[0]], op.maps[factor.inputs[0]])
                    for factor, taken in zip((left, right), worth)]
        rebuild(op, product, operands)
    return True


def factor_of(op: StructuredOp, value: ir.Value) -> Factor | None:
    """How a factor is computed; None where that takes more than arithmetic on elements indexed by loops."""
    ops: list[ir.Operation] = []
    inputs: set[int] = set()

    def visit(one: ir.Value) -> bool:
        if one in op.scalars:
            inputs.add(op.scalars.index(one))
            return True
        owner = one.owner
        if isinstance(owner, ir.Block) or owner.operation not in op.body:
            return True  # a constant of the kernel
        if not owner.name.startswith(("arith.", "math.")) or not all(map(visit, owner.operands)):
            return False
        if owner.operation not in ops:
            ops.append(owner.operation)
        return True

    if not visit(value) or not inputs:
        return None
    computed = any(None in op.loops_of(number) for number in inputs)
    if ops and computed:
        return None
    loops = sorted({loop for number in inputs for loop in op.loops_of(number) if loop is not None})
    return Factor(value, tuple(ops), tuple(sorted(inputs)), tuple(loops))


def tensor_of(op: StructuredOp, factor: Factor) -> tuple[ir.Value, ir.AffineMap]:
    """The tensor of a factor's values, one for each step of its loops, and how the sum reads it."""
    rank = len(factor.loops)
    place = {loop: ir.AffineExpr.get_dim(number) for number, loop in enumerate(factor.loops)}
    inputs = [op.op.operands[number] for number in factor.inputs]
    maps = [ir.AffineMap.get(rank, 0, [place[loop] for loop in op.loops_of(number) if loop is not None]) for number in factor.inputs]
    out = tensor.EmptyOp([size_of(op, factor, loop) for loop in factor.loops], factor.value.type).result
    kinds = ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank)
    texts = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in (*maps, ir.AffineMap.get_identity(rank))])
    made = linalg.GenericOp([out.type], inputs, [out], texts, kinds)
    block = made.regions[0].blocks.append(*[v.type.element_type for v in (*inputs, out)])
    with ir.InsertionPoint(block):
        mapping: dict[ir.Value, ir.Value] = dict(zip([op.scalars[number] for number in factor.inputs], block.arguments))
        linalg.YieldOp([copy(factor.ops, mapping)[factor.value]])
    loops = [ir.AffineExpr.get_dim(loop) for loop in factor.loops]
    return made.results[0], ir.AffineMap.get(len(op.iterator_types), 0, loops)


def size_of(op: StructuredOp, factor: Factor, loop: int) -> int | ir.Value:
    """The extent of one loop of a factor."""
    if op.extents[loop] >= 0:
        return op.extents[loop]
    number = next(n for n in factor.inputs if loop in op.loops_of(n))
    dim = op.loops_of(number).index(loop)
    return tensor.DimOp(op.op.operands[number], index(dim)).result


def rebuild(op: StructuredOp, product: ir.Operation, operands: list[tuple[ir.Value, ir.AffineMap]]) -> None:
    """Replaces an op by the sum of the products of two tensors."""
    out = op.outputs[0]
    maps = [*(map_ for _, map_ in operands), op.maps[-1]]
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{'parallel' if kind == PARALLEL else 'reduction'}>") for kind in op.iterator_types]
    texts = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
    made = linalg.GenericOp([out.type], [value for value, _ in operands], [out], texts, ir.ArrayAttr.get(kinds))
    block = made.regions[0].blocks.append(*[v.type.element_type for v, _ in operands], out.type.element_type)
    total = op.body[-1].operands[0].owner.operation
    with ir.InsertionPoint(block):
        mapping = {**dict(zip(product.operands, block.arguments)), op.scalars[-1]: block.arguments[2]}
        linalg.YieldOp([copy([product, total], mapping)[total.results[0]]])
    op.op.results[0].replace_all_uses_with(made.results[0])
    op.op.erase()
