"""The plain lowering of vectors: every op becomes one on rank 1 that LLVM has."""
from __future__ import annotations

import re

from legato.core.ir_helpers import body, everything, find
from legato.core.mlir import arith, ir
from legato.core.upstream import run_script

GROUPS = (  # of patterns, one after the other: together, transposes and shape casts undo each other for ever
    ("transfer_permutation_patterns", 'lower_contraction lowering_strategy="outerproduct"',
     'reorder_multi_reduction_dims lowering_strategy="innerreduction"', 'multi_reduction_flattening lowering_strategy="innerreduction"',
     'multi_reduction_unrolling lowering_strategy="innerreduction"'),
    ("lower_outerproduct", "lower_masks", "lower_masked_transfers", "lower_transfer max_transfer_rank=1"),
    ('lower_transpose lowering_strategy="shuffle_1d"',),
    ("lower_shape_cast",),
    ("lower_create_mask", "lower_broadcast"),
)
REDUCTIONS = ("vector.reduction", "vector.multi_reduction")
NEUTRAL = {  # what a masked lane adds to a reduction; upstream's lowering takes the number next to 0 for maximumf
    "add": 0, "mul": 1, "maximumf": -float("inf"), "minimumf": float("inf"), "maxnumf": float("nan"), "minnumf": float("nan"),
    "or": 0, "xor": 0, "and": -1, "maxui": 0, "minui": -1,
}


def lower_vectors(operation: ir.Operation) -> None:
    """Lowers the vectors under an op. PassFailed if a script fails."""
    if not any(isinstance(r.type, ir.VectorType) for op in everything(operation) for r in op.results):
        return
    for op in find(operation, "vector.mask"):
        unmask_reduction(op)
    script = "\n".join(f"transform.apply_patterns to %root {{ {' '.join(f'transform.apply_patterns.vector.{one}' for one in group)} }} "
                       ": !transform.any_op" for group in GROUPS)
    run_script(script, operation, "the plain lowering of vectors")


def unmask_reduction(op: ir.Operation) -> None:
    """Replaces a masked reduction by one of a vector whose other lanes are neutral."""
    inner = body(op.regions[0].blocks[0])[0]
    if inner.name not in REDUCTIONS or len(op.operands) != 1:
        return
    kind = re.search(r"<(\w+)>", str(inner.attributes["kind"]))
    source = inner.operands[0]
    element = source.type.element_type
    number = neutral(kind[1] if kind else "", element)
    if number is None:
        return
    with ir.InsertionPoint(op), op.location:
        constant = arith.ConstantOp(source.type, ir.DenseElementsAttr.get_splat(source.type, number)).result
        lanes = arith.SelectOp(op.operands[0], source, constant).result
        made = inner.clone()
    made.operands[0] = lanes
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()


def neutral(kind: str, element: ir.Type) -> ir.Attribute | None:
    """The neutral element of a kind of reduction; None for an unknown kind."""
    if isinstance(element, ir.FloatType):
        return ir.FloatAttr.get(element, float(NEUTRAL[kind])) if kind in NEUTRAL else None
    width = element.width
    limits = {"maxsi": -(1 << (width - 1)), "minsi": (1 << (width - 1)) - 1}
    return ir.IntegerAttr.get(element, int(limits.get(kind, NEUTRAL.get(kind, 0)))) if kind in limits or kind in NEUTRAL else None
