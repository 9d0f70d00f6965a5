"""The ops of one kernel: their kinds, the kernel's kind, its heart and its loop nests."""
from __future__ import annotations

from functools import cached_property

from legato.analysis.structured.ops import CONTRACTION, ELEMENTWISE, OPAQUE, REDUCTION, WINDOW, WINDOW_OPS, StructuredOp
from legato.core.mlir import func, ir
from legato.dialects.tir.state import state_of

NEUTRAL = {"tensor.expand_shape", "tensor.collapse_shape", "tensor.cast", "tensor.empty", "tensor.dim", "tensor.pad", "linalg.fill",
           "func.return"}
NEUTRAL_DIALECTS = ("arith", "math", "affine")

NESTS = ("linalg.generic", "linalg.fill", "linalg.matmul", "linalg.batch_matmul")


class KernelOps:
    """The classified ops of one kernel, valid until the kernel is rewritten. Properties are computed on first use."""

    def __init__(self, function: func.FuncOp):
        self.function = function

    @cached_property
    def ops(self) -> list[ir.Operation]:
        """The ops of the kernel's block, the return included, without nested ones."""
        return [op.operation for op in self.function.body.blocks[0].operations]

    @cached_property
    def structured(self) -> list[StructuredOp]:
        """The ``linalg`` ops on tensors of the kernel's block."""
        return [StructuredOp(op) for op in self.ops if op.name.startswith("linalg.") and len(op.results)]

    def op(self, op: ir.Operation) -> StructuredOp | None:
        """The classification of one of the kernel's ops; None for one that is not structured."""
        return self._by_op.get(op)

    @cached_property
    def _by_op(self) -> dict[ir.Operation, StructuredOp]:
        return {structured.op: structured for structured in self.structured}

    # --- kind ---

    @cached_property
    def kind(self) -> str:
        """ELEMENTWISE, CONTRACTION, WINDOW (pooling, depthwise), REDUCTION (softmax and norms too) or OPAQUE."""
        if state_of(self.function) is not None:
            return OPAQUE
        found = set()
        for op in self.ops:
            if op.name in NEUTRAL or op.name.split(".")[0] in NEUTRAL_DIALECTS:
                continue
            structured = self.op(op)
            found.add(OPAQUE if structured is None else structured.kind)
        if not found or OPAQUE in found or {CONTRACTION, REDUCTION} <= found:
            return OPAQUE
        for kind in (CONTRACTION, WINDOW, REDUCTION):
            if kind in found:
                return kind
        return OPAQUE if self.pads else ELEMENTWISE

    @cached_property
    def heart(self) -> StructuredOp | None:
        """The op that determines the schedule: the contraction, else the window op, else the reduction.

        None where there are several of that kind, or only elementwise ops.
        """
        for kind in (CONTRACTION, WINDOW, REDUCTION):
            found = [op for op in self.structured if not op.is_fill and op.kind == kind]
            if found:
                return found[0] if len(found) == 1 else None
        return None

    @cached_property
    def pads(self) -> bool:
        """Whether the kernel pads a tensor."""
        return any(op.name == "tensor.pad" for op in self.ops)

    # --- loop nests ---

    @cached_property
    def nests(self) -> list[StructuredOp]:
        """The ops that schedules treat as loop nests (generics, fills, matmuls, window ops), in order, nested ones included."""
        return self._everything[0]

    @property
    def is_flat(self) -> bool:
        """Whether all nests are in the kernel's own block."""
        return all(self.op(nest.op) is nest for nest in self.nests)

    @property
    def has_strange_ops(self) -> bool:
        """Whether there are pads, or ``linalg`` ops that are not among the nests."""
        return self._everything[1]

    @cached_property
    def _everything(self) -> tuple[list[StructuredOp], bool]:
        nests: list[StructuredOp] = []
        strange = False

        def see(ops: list[ir.Operation]) -> None:
            nonlocal strange
            for op in ops:
                if len(op.results) and (op.name in NESTS or op.name in WINDOW_OPS):
                    nests.append(self.op(op) or StructuredOp(op))
                elif op.name == "tensor.pad" or op.name.startswith("linalg."):
                    strange = True
                else:
                    for region in op.regions:
                        for block in region.blocks:
                            see([inner.operation for inner in block.operations])

        see(self.ops)
        return nests, strange

    def readers(self, nest: StructuredOp) -> list[StructuredOp]:
        """The nests that read a nest's results."""
        found = {reader for value in nest.op.results for reader in self._readers.get(value, ())}
        return [n for n in self.nests if n in found]

    @cached_property
    def _readers(self) -> dict[ir.Value, list[StructuredOp]]:
        """The nests that read a value."""
        found: dict[ir.Value, list[StructuredOp]] = {}
        for nest in self.nests:
            for value in nest.op.operands:
                found.setdefault(value, []).append(nest)
        return found

    def leaves(self, nest: StructuredOp) -> bool:
        """Whether a nest's results have users other than nests: the return, or insertion into a larger tensor."""
        readers = [n.op for n in self.readers(nest)]
        return any(use.owner.operation not in readers for value in nest.op.results for use in value.uses)

    @property
    def roots(self) -> list[StructuredOp]:
        """The nests whose results no other nest reads."""
        return [n for n in self.nests if not self.readers(n)]
