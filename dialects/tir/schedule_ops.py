"""The steps of schedules as ops of transform scripts: each is a primitive of TensorIR, on handles to blocks and loops of one kernel.

    module attributes {transform.with_named_sequence} {
      transform.named_sequence @schedule(%kernel: !transform.any_op {transform.readonly}) {
        %0 = "tir.sch_get_block"(%kernel) {name = "C"} : (!transform.any_op) -> !transform.any_op
        %1:3 = "tir.sch_get_loops"(%0) : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
        %2:2 = "tir.sch_split"(%1#1) {factors = array<i64: -1, 16>} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
        "tir.sch_vectorize"(%2#1) : (!transform.any_op) -> ()
        transform.yield
      }
    }
"""

import types
from collections.abc import Sequence
from typing import Any

from ...mlir import ext, ir, transform
from .dialect import Tir
from .verify import Problem, verified

# name: (number of handles or None for any, attributes, what it does)
STEPS: dict[str, tuple[int | None, tuple[str, ...], str]] = {
    "get_block": (1, ("name",), "The block of that name."),
    "get_loops": (1, (), "The loops around a block, outermost first."),
    "split": (1, ("factors",), "Nested loops in the place of one; a factor of -1 is what is left."),
    "fuse": (None, (), "One loop in the place of several that stand directly in each other."),
    "reorder": (None, (), "Puts loops of one nest into this order."),
    "parallel": (1, (), "The steps of the loop run on several cores."),
    "vectorize": (1, (), "The steps of the loop become lanes of vectors."),
    "unroll": (1, (), "The body of the loop is copied for each step."),
    "bind": (1, ("thread",), "The steps of the loop are threads of a device: blockIdx.x, threadIdx.x, ..."),
    "cache_read": (1, ("at", "scope"), "The block reads a copy, in a scope, of the buffer that it reads as number ``at``."),
    "cache_write": (1, ("at", "scope"), "The block writes a buffer of its own, from which another block copies."),
    "set_scope": (1, ("at", "scope"), "Says where a buffer that the block writes lies."),
    "compute_at": (2, (), "The block (first handle) is computed inside the loop of its readers."),
    "reverse_compute_at": (2, (), "The block (first handle) runs inside the loop of what it reads."),
    "compute_inline": (1, (), "Each read of what the block computes computes it itself."),
    "reverse_compute_inline": (1, (), "The block that makes what this one reads does its work too."),
    "decompose_reduction": (2, (), "The init of the block (first handle) becomes a block in front of the loop."),
    "rfactor": (1, ("axis",), "Each step of the loop of a reduction adds up into a place of its own."),
    "transform_layout": (1, ("at", "map"), "The buffer that the block writes gets another layout."),
    "blockize": (1, (), "What stands under the loop becomes one block, with axes for the loops around it."),
    "tensorize": (1, ("intrinsic",), "What stands under the loop is done by an intrinsic of the device."),
    "pad": (1, ("sizes",), "The block works on sizes that are multiples of these; what is beyond is neutral."),
    "pack": (1, ("at", "tiles"), "The block reads a copy, in blocks, of the buffer that it reads as number ``at``."),
}


class _Step(transform.TransformOpInterface):
    """What upstream's interpreter may ask of a step: it cannot run one, as steps replace ops behind its back."""

    @staticmethod
    def apply(op: ir.OpView, rewriter: Any, results: Any, state: Any) -> Any:
        op.operation.location.emit_error("steps of schedules are run by legato.Schedule and by the pass tir-apply-schedules")
        return transform.DiagnosedSilenceableFailure.DefiniteFailure

    @staticmethod
    def allow_repeated_handle_operands(op: ir.OpView) -> bool:
        return True


class _Effects(ir.MemoryEffectsOpInterface):
    @staticmethod
    def get_effects(op: ir.OpView, effects: Any) -> None:
        transform.only_reads_handle(op.op_operands, effects)
        transform.produces_handle(op.results, effects)
        transform.modifies_payload(effects)


def _define(step: str, handles: int | None, attributes: tuple[str, ...], doc: str) -> type:
    def check(self: Any) -> None:
        found = len(self.operation.operands)
        if handles is not None and found != handles:
            raise Problem(f"takes {handles} handle{'s' if handles != 1 else ''}, has {found}")
        for name in self.operation.attributes:
            if name not in attributes and "." not in name:
                raise Problem(f"has no attribute '{name}'" + (f"; it has: {', '.join(attributes)}" if attributes else ""))
        for name in attributes:
            if name not in self.operation.attributes:
                raise Problem(f"needs the attribute '{name}'")

    body = {"__doc__": doc, "__module__": __name__, "check": check, "__annotations__": {
        "handles": Sequence[ext.Operand[Any]], "made": Sequence[ext.Result[Any]]}}
    name = "".join(part.capitalize() for part in step.split("_"))
    made = types.new_class(f"{name}Step", (Tir.Operation,), {"name": f"sch_{step}", "traits": [_Step, _Effects]}, lambda n: n.update(body))
    made._ODS_OPERAND_SEGMENTS = made._ODS_RESULT_SEGMENTS = None
    return verified(made)


for _name, _spec in STEPS.items():
    _define(_name, *_spec)
