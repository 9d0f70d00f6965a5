"""tir-prepare-parallel: brings kernels on buffers into the form that upstream makes parallel loops of."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core import fills
from legato.core.ir_helpers import everything
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.schedule.structured import contract


@dataclass(frozen=True)
class PrepareParallel(ModulePass):
    """Turns copies into linalg.copy, and puts the parallel loops of a linalg.generic before its reductions. Products and sums may be fused
    from here on."""

    name: ClassVar[str] = "tir-prepare-parallel"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                prepare_parallel(kernel)


def prepare_parallel(kernel: func.FuncOp) -> None:
    """Rewrites the statements of one kernel."""
    for op in [op.operation for op in kernel.body.blocks[0].operations]:
        if op.name == "memref.copy":
            with ir.InsertionPoint(op), op.location:
                fills.copy(op.operands[0], op.operands[1])
            op.erase()
            continue
        if op.name == "linalg.generic":
            reductions_last(op)
        if op.name.startswith("linalg."):
            for one in everything(op):
                contract(one)


def reductions_last(op: ir.Operation) -> None:
    """Puts the parallel loops of a ``linalg.generic`` before its reductions."""
    kinds = list(op.attributes["iterator_types"])
    order = sorted(range(len(kinds)), key=lambda loop: "reduction" in str(kinds[loop]))
    if order == sorted(order):
        return
    place = [order.index(loop) for loop in range(len(order))]
    permutation = ir.AffineMap.get(len(order), 0, [ir.AffineExpr.get_dim(p) for p in place])
    maps = [ir.AffineMap.get(len(order), 0, [e.compose(permutation) for e in m.value.results]) for m in op.attributes["indexing_maps"]]
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in order])
    for inner in op.regions[0].blocks[0].operations:
        if inner.operation.name == "linalg.index":
            old = inner.operation.attributes["dim"]
            inner.operation.attributes["dim"] = ir.IntegerAttr.get(old.type, place[old.value])
