"""tir-lower-vectors: vector ops of any rank become ops on rank 1, as LLVM needs: contractions, reductions, transfers, transposes, masks.

The groups of patterns run one after the other: run together with canonicalization, the lowerings of transposes and shape casts can
undo each other for ever.
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from legato.core import search
from legato.core.ir_helpers import find, kinds
from legato.core.mlir import ir
from legato.core.upstream import run_script
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

GROUPS = (
    ("vector.cast_away_vector_leading_one_dim", "vector.transfer_permutation_patterns",
     'vector.lower_contraction lowering_strategy="outerproduct"',
     'vector.reorder_multi_reduction_dims lowering_strategy="innerreduction"',
     'vector.multi_reduction_flattening lowering_strategy="innerreduction"',
     'vector.multi_reduction_unrolling lowering_strategy="innerreduction"', "canonicalization"),
    ("vector.lower_outerproduct", "vector.lower_masks", "vector.lower_masked_transfers", "vector.lower_transfer max_transfer_rank=1",
     "canonicalization"),
    ('vector.lower_transpose lowering_strategy="shuffle_16x16" avx2_lowering_strategy=true',),    # the latter: 4 x 8 and 8 x 8
    ('vector.lower_transpose lowering_strategy="shuffle_1d"',),
    ("vector.lower_shape_cast",),
    ("vector.lower_create_mask", "vector.lower_broadcast", "canonicalization"),
)
ONLY = {"vector.lower_transpose": "vector.transpose", "vector.lower_shape_cast": "vector.shape_cast"}     # ops of groups of one pattern
# ops that no pattern rewrites where their vectors are of rank 1 and have several elements
KEPT = frozenset(f"vector.{name}" for name in (
    "bitcast", "broadcast", "extract", "fma", "insert", "load", "maskedload", "maskedstore", "reduction", "shuffle", "step", "store"))


@dataclass(frozen=True)
class LowerVectors(ModulePass):
    """Vectors of any rank become vectors of rank 1, by groups of upstream's rewrite patterns.

    Each group is a transform script that runs inside of this pass: no upstream pass applies these patterns one group after the other.
    """

    name: ClassVar[str] = "tir-lower-vectors"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown(), _to_lower(module.module) as functions:
            for group in GROUPS:
                for payload in _payloads(functions, group):
                    run_script(script(group), payload, "the lowering of vectors")


def script(group: Sequence[str]) -> str:
    """The body of a transform script that applies a group to one op."""
    patterns = " ".join(f"transform.apply_patterns.{pattern}" for pattern in group)
    return f"transform.apply_patterns to %root {{ {patterns} }} : !transform.any_op"


@contextmanager
def _to_lower(module: ir.Module) -> Iterator[ir.Module]:
    """Context in which the functions with something to lower are in a module of their own: the rewriter visits every op, and loops that
    are written by hand, most of the ops of a model, have vectors of rank 1 only."""
    ops, apart = list(module.body.operations), ir.Module.create()
    for op in ops:
        if not _is_lowered(op.operation):
            apart.body.append(op)
    try:
        yield apart
    finally:
        for op in ops:
            module.body.append(op)


def _is_lowered(function: ir.Operation) -> bool:
    """Whether a function has only ops and types that the groups leave as they are."""
    if any(op.name.startswith("vector.") and op.name not in KEPT for op in kinds(function)):
        return False
    vectors = [type_ for type_ in search.by.result_types(function) if isinstance(type_, ir.VectorType)]
    return all(one.rank == 1 and one.shape != [1] for one in vectors)


def _payloads(module: ir.Module, group: Sequence[str]) -> list[ir.Operation]:
    """What a group is applied to: the functions with the op of its only pattern, as few have, for the rewriter visits every op.

    Else the module, not each of its functions: for each payload, upstream builds the sets of patterns anew, which takes 0.3 ms with
    canonicalization."""
    op, functions = ONLY.get(group[0].split()[0]), list(module.body.operations)
    return [one.operation for one in functions if find(one, op)] if op else [module.operation] if functions else []
