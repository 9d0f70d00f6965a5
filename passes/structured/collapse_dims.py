"""tir-collapse-dims: merges loops of kernels that walk memory as one, and drops loops of one step.

Neighbouring loops are merged where every operand has their dimensions next to each other: an elementwise kernel over ``1x56x56x64``
becomes one loop of 200704, a softmax over ``1x12x128x128`` one of 1536 rows. Schedules then see few, long loops. Kernels with
contractions, windows or pads, attentions, and pools of channels-first images are left alone: their schedules depend on the roles of
their dimensions.

Upstream's linalg-fold-unit-extent-dims drops loops of one step too (it merges none), but in every kernel: between a convolution and the
elementwise op fused with it come reshapes, in ResNet-50 110 instead of 7. With it before this pass ResNet-50 runs as long, ShuffleNet 9%
longer.
"""
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from legato.analysis.structured import CONTRACTION, WINDOW, StructuredKernels, StructuredOp
from legato.analysis.structured.pool import PoolForm
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.structured.collapse_rewrite import CollapseRewriter
from legato.passes.structured.fit_windows import has_loose_windows

# ops allowed in a kernel beside linalg.generic and linalg.fill; they keep tensors of the original types
NEUTRAL = ("arith.", "math.", "affine.", "tensor.dim", "tensor.empty", "tensor.expand_shape", "tensor.collapse_shape", "tensor.cast",
           "func.return")
GENERALIZE = "linalg-generalize-named-ops"  # leaves fills as they are
GENERALIZED = ("linalg.transpose", "linalg.copy", "linalg.broadcast", "linalg.map")


@dataclass(frozen=True)
class CollapseDims(ModulePass):
    """Drops loops of one step from kernels and merges loops that walk memory as one.

    Runs linalg-generalize-named-ops inside, on the kernels that are collapsed and have ops that move elements: schedules look for the named
    ops of the others. Leaves pairs of reshapes for func.func(canonicalize).
    """

    name: ClassVar[str] = "tir-collapse-dims"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                collapse_kernel(kernel, context.kernels)


def collapse_kernel(kernel: func.FuncOp, kernels: StructuredKernels) -> None:
    """Collapses the loop nests of one kernel."""
    found = kernels.of(kernel)
    if found.kind in (CONTRACTION, WINDOW) or not found.structured or not all(allowed(op.name) for op in found.ops):
        return
    if found.attention is not None or PoolForm.of(found) is not None:
        return
    if any(has_loose_windows(op) for op in found.structured):
        return
    if any(op.op.name in GENERALIZED for op in found.structured):
        run_on(kernel.operation, GENERALIZE)
        kernels.drop(kernel)
        found = kernels.of(kernel)
    plan = CollapsePlan([op for op in found.structured if op.op.name == "linalg.generic"])
    if not plan.useful():
        return
    CollapseRewriter(kernel, plan).run()
    fold_expanded_sizes(kernel)
    kernels.drop(kernel)


def fold_expanded_sizes(kernel: func.FuncOp) -> None:
    """Replaces the sizes of expanded tensors by the operands that say them, which upstream's canonicalization leaves: tiles of one tensor
    are recognized by equal sizes."""
    for op in find(kernel.operation, "tensor.dim"):
        expanded, axis = op.operands[0], constant_of(op.operands[1])
        made = expanded.owner
        if axis is None or isinstance(made, ir.Block) or made.name != "tensor.expand_shape" or not expanded.type.is_dynamic_dim(axis):
            continue
        number = sum(expanded.type.is_dynamic_dim(before) for before in range(axis))
        op.results[0].replace_all_uses_with(made.opview.output_shape[number])
        op.erase()


def allowed(name: str) -> bool:
    """Whether a kernel with an op of this name can be collapsed."""
    return name.startswith(NEUTRAL) or name in ("linalg.generic", "linalg.fill", *GENERALIZED)


def unit(size: int) -> bool:
    """Whether a size is 1."""
    return size == 1


def has_shape(value: ir.Value) -> bool:
    """Whether a value is a tensor."""
    return isinstance(value.type, ir.RankedTensorType)


def long_loops(nest: StructuredOp) -> list[int]:
    """The loops whose extent is not known to be 1."""
    return [i for i, e in enumerate(nest.extents) if not unit(e)]


def path(nest: StructuredOp, operand: int) -> list[int | None]:
    """The loop of each dimension of an operand, without dimensions of size 1; None for one that is not indexed by a single loop."""
    value = nest.op.operands[operand]
    return [loop for size, loop in zip(value.type.shape, nest.loops_of(operand)) if not unit(size)] if has_shape(value) else []


class CollapsePlan:
    """Which neighbouring loops of each nest, and which neighbouring dimensions of each tensor, are merged.

    ``joined[i]`` holds the pairs of neighbouring loops of nest i that are merged; ``tensors[value]`` the first dimensions of the merged
    pairs of a tensor (counted without sizes of 1). Both shrink to the greatest fixed point: a pair of loops is dropped where the
    dimensions of an operand cannot be merged, and the reverse.
    """

    def __init__(self, nests: list[StructuredOp]):
        self.nests = nests
        self.joined = [self._candidates(nest) for nest in nests]
        self.tensors: dict[ir.Value, set[int]] = {}
        for nest in nests:
            for value in [*nest.op.operands, *nest.op.results]:
                if has_shape(value):
                    count = sum(not unit(s) for s in value.type.shape)
                    self.tensors.setdefault(value, set(range(count - 1)))
        while self._shrink():
            pass

    @staticmethod
    def _candidates(nest: StructuredOp) -> set[tuple[int, int]]:
        kinds = nest.iterator_types
        return {(a, b) for a, b in pairwise(long_loops(nest)) if kinds[a] == kinds[b] and not {a, b} & nest.indexed_loops}

    def _shrink(self) -> bool:
        changed = False
        for nest, joined in zip(self.nests, self.joined):
            for i in range(len(nest.op.operands)):
                if i < len(nest.maps):
                    changed |= self._match(nest, joined, nest.op.operands[i], path(nest, i))
            inputs = len(nest.op.operands) - len(nest.op.results)
            for out, result in zip(list(nest.op.operands)[inputs:], nest.op.results):
                if has_shape(result):
                    both = self.tensors[out] & self.tensors[result]
                    changed |= both != self.tensors[out] or both != self.tensors[result]
                    self.tensors[out], self.tensors[result] = set(both), set(both)
        return changed

    def _match(self, nest: StructuredOp, joined: set[tuple[int, int]], value: ir.Value, loops: list[int | None]) -> bool:
        """Drops the pairs of loops and of an operand's dimensions that disagree. Returns whether any was dropped."""
        pairs = list(pairwise(loops))
        wanted = self.tensors.get(value, set())
        changed = False
        for i, pair in enumerate(pairs):
            if i in wanted and pair not in joined:
                wanted.discard(i)
                changed = True
        for pair in list(joined):
            together = sum(found == pair and i in wanted for i, found in enumerate(pairs))
            if any(loops.count(loop) != together for loop in pair):   # a loop may index several dimensions: a diagonal
                joined.discard(pair)
                changed = True
        return changed

    def groups(self, value: ir.Value) -> list[list[int]]:
        """The dimensions of a tensor in groups that are merged; sizes of 1 go with the dimension before them."""
        shape, joined = value.type.shape, self.tensors.get(value, set())
        groups: list[list[int]] = []
        lead: list[int] = []
        seen = -1
        for axis, size in enumerate(shape):
            if unit(size):
                (groups[-1] if groups else lead).append(axis)
                continue
            if seen >= 0 and seen in joined:
                groups[-1].append(axis)
            else:
                groups.append([axis])
            seen += 1
        if groups:
            groups[0] = lead + groups[0]
        return groups

    def loop_groups(self, index: int) -> list[list[int]]:
        """The loops of a nest in groups that are merged, without loops of one step."""
        groups: list[list[int]] = []
        loops = long_loops(self.nests[index])
        for i, loop in enumerate(loops):
            if i and (loops[i - 1], loop) in self.joined[index]:
                groups[-1].append(loop)
            else:
                groups.append([loop])
        return groups

    def useful(self) -> bool:
        """Whether any nest loses a loop."""
        return any(len(self.loop_groups(i)) < len(nest.extents) for i, nest in enumerate(self.nests))
