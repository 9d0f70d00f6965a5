"""tir-split-masks: reads and writes of a known number of lanes, on CPUs that have no masks for their elements, become some without a mask.

LLVM reads and writes such lanes one by one. The first 27 lanes are 16, 8, 2 and 1 neighbouring elements.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import ir
from legato.core.vector_loops import Vectors
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

LOAD, STORE = "vector.maskedload", "vector.maskedstore"


@dataclass(frozen=True)
class SplitMasks(ModulePass):
    """Masked loads and stores whose mask is a constant of first lanes become loads and stores of powers of two neighbours, where the
    target has no masks for elements of this width."""

    name: ClassVar[str] = "tir-split-masks"
    target: TargetText = option("llvm", "whose CPU may have masks")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for op in find(module.module.operation, LOAD, STORE):
                bits = 8 * element_bytes(op.operands[0].type.element_type)
                lanes = first_lanes(mask_of(op))
                if lanes is not None and not machine.masks(bits):
                    with ir.InsertionPoint(op), op.location:
                        split(op, lanes)


def mask_of(op: ir.Operation) -> ir.Value:
    """The mask of a masked load or store: behind the buffer and its indices."""
    return op.operands[1 + op.operands[0].type.rank]


def first_lanes(mask: ir.Value) -> int | None:
    """How many of the first lanes a constant mask has; None for another mask."""
    op = defining_op(mask)
    if op is None or op.name not in ("arith.constant", "vector.constant_mask"):
        return None
    if op.name == "vector.constant_mask":
        return next(iter(op.attributes["mask_dim_sizes"])) if mask.type.rank == 1 else None
    lanes = [bool(lane) for lane in op.attributes["value"]]
    count = sum(lanes)
    return count if all(lanes[:count]) else None


def split(op: ir.Operation, lanes: int) -> None:
    """Replaces one load or store of the first lanes."""
    buffer, *indices = list(op.operands)[:1 + op.operands[0].type.rank]
    if op.name == LOAD:
        others = op.operands[len(op.operands) - 1]
        loaded = Vectors(others.type.shape[0]).load_first(lanes, others, buffer, *indices)
        op.results[0].replace_all_uses_with(loaded)
    else:
        value = op.operands[len(op.operands) - 1]
        Vectors(value.type.shape[0]).store_first(lanes, value, buffer, *indices)
    op.erase()
