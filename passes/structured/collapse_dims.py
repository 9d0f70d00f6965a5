"""tir-collapse-dims: loop nests of kernels lose loops that memory does not need.

Loops of one step go, and neighbouring loops become one where every operand goes through them as through one dimension: an elementwise
kernel over ``1x56x56x64`` becomes one loop of 200704, a softmax over ``1x12x128x128`` one of 1536 rows. Schedules then see few, long loops.
Kernels with contractions, windows or pads are left alone: their schedules know the dimensions by their roles.
"""
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from legato.analysis.kind import CONTRACTION, WINDOW, kernel_kind
from legato.core.mlir import func, ir
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.structured.collapse_rewrite import Rewriter

# what may stand in a kernel beside linalg.generic and linalg.fill; other ops see tensors of the original types
NEUTRAL = ("arith.", "math.", "affine.", "tensor.dim", "tensor.empty", "tensor.expand_shape", "tensor.collapse_shape", "tensor.cast",
           "func.return")
GENERALIZED = ("linalg.transpose", "linalg.copy", "linalg.broadcast", "linalg.map")


@dataclass(frozen=True)
class CollapseDims(ModulePass):
    """Drop loops of one step from kernels and merge loops that run through memory as one."""

    name: ClassVar[str] = "tir-collapse-dims"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                collapse_kernel(kernel)


def collapse_kernel(kernel: func.FuncOp) -> bool:
    """Collapses the loop nests of one kernel; True if it changed."""
    if kernel_kind(kernel) in (CONTRACTION, WINDOW):
        return False
    ops = [op.operation for op in kernel.body.blocks[0].operations]
    if not any(op.name.startswith("linalg.") for op in ops) or not all(allowed(op.name) for op in ops):
        return False
    if any(op.name in GENERALIZED for op in ops):
        generalize(kernel)
        ops = [op.operation for op in kernel.body.blocks[0].operations]
    nests = [Nest(op) for op in ops if op.name == "linalg.generic"]
    plan = Plan(nests)
    if not plan.useful(ops):
        return False
    Rewriter(kernel, plan).run()
    run_on(kernel.operation, "canonicalize,cse")
    return True


def allowed(name: str) -> bool:
    return name.startswith(NEUTRAL) or name in ("linalg.generic", "linalg.fill", *GENERALIZED)


def generalize(kernel: func.FuncOp) -> None:
    """Named ops that move elements, as generics; fills keep their name."""
    run_on(kernel.operation, "linalg-generalize-named-ops")


def unit(size: int) -> bool:
    return size == 1


@dataclass
class Nest:
    """One ``linalg.generic``: which loop goes through which dimension of which operand."""

    op: ir.Operation
    maps: list[ir.AffineMap] = field(init=False)
    extents: list[int] = field(init=False)  # of the loops; negative: dynamic
    kinds: list[str] = field(init=False)
    indexed: set[int] = field(init=False)   # loops whose variable is read by the body, or by an index that is a sum

    def __post_init__(self) -> None:
        self.maps = [a.value for a in self.op.attributes["indexing_maps"]]
        self.kinds = [str(a) for a in self.op.attributes["iterator_types"]]
        self.extents = [-1] * len(self.kinds)
        for value, map_ in zip(self.op.operands, self.maps):
            for size, expression in zip(value.type.shape if has_shape(value) else (), map_.results):
                if isinstance(expression, ir.AffineDimExpr) and size >= 0:
                    self.extents[expression.position] = size
        sums = [e for m in self.maps for e in m.results if not isinstance(e, ir.AffineDimExpr)]
        self.indexed = {int(d) for e in sums for d in re.findall(r"\bd(\d+)\b", str(e))}
        self.op.walk(self._see_index)

    def _see_index(self, op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.index":
            self.indexed.add(op.attributes["dim"].value)
        return ir.WalkResult.ADVANCE

    def loops(self) -> list[int]:
        """The loops of more than one step (as far as is known)."""
        return [i for i, e in enumerate(self.extents) if not unit(e)]

    def path(self, operand: int) -> list[int | None]:
        """For each dimension of an operand that is no unit: its loop; None for anything but a plain loop."""
        value = self.op.operands[operand]
        if not has_shape(value):
            return []
        found = []
        for size, expression in zip(value.type.shape, self.maps[operand].results):
            if not unit(size):
                plain = isinstance(expression, ir.AffineDimExpr)
                found.append(expression.position if plain else None)
        return found


def has_shape(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


class Plan:
    """Which neighbouring loops, and which neighbouring dimensions of which tensor, become one.

    ``joined[i]`` holds the pairs of neighbouring loops of nest i that are merged; ``tensors[value]`` those of its dimensions (counted
    without units). Both shrink to the greatest fixed point: a pair of loops goes when one tensor cannot follow, and the other way round.
    """

    def __init__(self, nests: list[Nest]):
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
    def _candidates(nest: Nest) -> set[tuple[int, int]]:
        loops = nest.loops()
        return {(a, b) for a, b in pairwise(loops) if nest.kinds[a] == nest.kinds[b] and not {a, b} & nest.indexed}

    def _shrink(self) -> bool:
        changed = False
        for nest, joined in zip(self.nests, self.joined):
            for i in range(len(nest.op.operands)):
                if i < len(nest.maps):
                    changed |= self._match(nest, joined, nest.op.operands[i], nest.path(i))
            inputs = len(nest.op.operands) - len(nest.op.results)
            for out, result in zip(list(nest.op.operands)[inputs:], nest.op.results):
                if has_shape(result):
                    both = self.tensors[out] & self.tensors[result]
                    changed |= both != self.tensors[out] or both != self.tensors[result]
                    self.tensors[out], self.tensors[result] = set(both), set(both)
        return changed

    def _match(self, nest: Nest, joined: set[tuple[int, int]], value: ir.Value, path: list[int | None]) -> bool:
        """Makes one operand and the loops agree."""
        pairs = {(a, b): i for i, (a, b) in enumerate(pairwise(path))}
        wanted = self.tensors.get(value, set())
        changed = False
        for pair, i in pairs.items():
            if i in wanted and pair not in joined:
                wanted.discard(i)
                changed = True
        for pair in list(joined):
            apart = (pair[0] in path or pair[1] in path) and (pair not in pairs or pairs[pair] not in wanted)
            if apart:
                joined.discard(pair)
                changed = True
        return changed

    def groups(self, value: ir.Value) -> list[list[int]]:
        """The dimensions of a tensor as they are collapsed: neighbours in one list; units beside the dimension before them."""
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
        """The loops of a nest as they are merged, without those of one step."""
        groups: list[list[int]] = []
        loops = self.nests[index].loops()
        for i, loop in enumerate(loops):
            if i and (loops[i - 1], loop) in self.joined[index]:
                groups[-1].append(loop)
            else:
                groups.append([loop])
        return groups

    def useful(self, ops: list[ir.Operation]) -> bool:
        """Whether any nest loses a loop."""
        return any(len(self.loop_groups(i)) < len(nest.extents) for i, nest in enumerate(self.nests))
