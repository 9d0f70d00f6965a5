"""tir-lower-vectors: vector ops of any rank become ops on rank 1, as LLVM needs: contractions, reductions, transfers, transposes, masks.

The groups of patterns run one after the other: run together with canonicalization, the lowerings of transposes and shape casts can
undo each other for ever.
"""
from dataclasses import dataclass
from typing import ClassVar

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


@dataclass(frozen=True)
class LowerVectors(ModulePass):
    """Vectors of any rank become vectors of rank 1, by groups of upstream's rewrite patterns.

    The groups are a transform script that runs inside of this pass: no upstream pass applies these patterns one group after the other.
    """

    name: ClassVar[str] = "tir-lower-vectors"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            run_script(script(), module.module.operation, "the lowering of vectors")


def script() -> str:
    """The body of a transform script that applies the groups to a module.

    Not to each of its functions: for each op that they are applied to, upstream builds the sets of patterns anew, which takes 0.3 ms.
    """
    groups = [" ".join(f"transform.apply_patterns.{pattern}" for pattern in group) for group in GROUPS]
    return "\n".join(f"transform.apply_patterns to %root {{ {patterns} }} : !transform.any_op" for patterns in groups)
