"""Gives raised structured ops upstream's named forms, which schedules match."""
import re

from legato.analysis.structured import CONTRACTION, WINDOW, StructuredOp
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import body
from legato.core.mlir import func, ir, linalg
from legato.core.upstream import run_script

MARK = "tir.contraction"
POOLS = {("nhwc", "arith.maximumf"): linalg.PoolingNhwcMaxOp, ("nchw", "arith.maximumf"): linalg.PoolingNchwMaxOp,
         ("nhwc", "arith.addf"): linalg.PoolingNhwcSumOp, ("nchw", "arith.addf"): linalg.PoolingNchwSumOp,
         ("nhwc", "arith.maxsi"): linalg.PoolingNhwcMaxOp, ("nchw", "arith.maxsi"): linalg.PoolingNchwMaxOp,
         ("nhwc", "arith.addi"): linalg.PoolingNhwcSumOp, ("nchw", "arith.addi"): linalg.PoolingNchwSumOp,
         ("nhwc", "arith.minimumf"): linalg.PoolingNhwcMinOp}
EXTENSIONS = ("arith.extf", "arith.extsi")
WINDOWED = re.compile(r"d(\d+)(?: \* (\d+))? \+ d(\d+)(?: \* (\d+))?")


def name_structures(kernel: func.FuncOp) -> None:
    """Replaces sums of products and windows by upstream's named ops (matmul, convolution, pooling); others stay generic."""
    for op in [o.operation for o in kernel.body.blocks[0].operations]:
        if op.name != "linalg.generic" or name_pool(op):
            continue
        structured = StructuredOp(op)
        if structured.kind not in (CONTRACTION, WINDOW) or batches(op) > 1 or not sums_products(structured) or is_turned(op):
            continue
        op.attributes[MARK] = ir.UnitAttr.get()
        try:
            run_script(f"%g = transform.structured.match attributes{{{MARK}}} in %root : (!transform.any_op) -> !transform.any_op\n"
                       "%n = transform.structured.specialize %g : (!transform.any_op) -> !transform.any_op", kernel.operation,
                       "the specialization of a structured op")
        except PassFailed:
            del op.attributes[MARK]


def sums_products(op: StructuredOp) -> bool:
    """Whether an op adds the product of its two inputs, as they are or extended with their sign, to its output.

    Upstream takes any function of one element for a cast: it would name a sum of ``a * tanh(b)`` a matmul.
    """
    product = op.summed_product
    if product is None or len(op.inputs) != 2 or len(op.op.results) != 1:
        return False
    factors = []
    for value in product.operands:
        owner = value.owner
        factors.append(value if isinstance(owner, ir.Block) or owner.name not in EXTENSIONS else owner.operands[0])
    return set(factors) == set(op.scalars[:2])


def index_texts(op: ir.Operation) -> list[list[str]]:
    """The indices of each operand of a structured op, as text."""
    return [[str(e) for e in ir.AffineMapAttr(a).value.results] for a in op.attributes["indexing_maps"]]


def batches(op: ir.Operation) -> int:
    """The number of loops that index all operands of a contraction; upstream's named ops have at most one."""
    return len(set.intersection(*map(set, index_texts(op))))


def is_turned(op: ir.Operation) -> bool:
    """Whether the result of a batched product of two operands is transposed: upstream names it batch_matmul, which has no such result."""
    left, right, result = index_texts(op)
    rows, columns = ([n for n, e in enumerate(result) if (e in left, e in right) == own] for own in ((True, False), (False, True)))
    return batches(op) == 1 and bool(rows and columns) and max(rows) > min(columns)


def name_pool(op: ir.Operation) -> bool:
    """Replaces a maximum, minimum or sum over two-dimensional windows by the named op. Returns whether the op is one."""
    if len(StructuredOp(op).body) != 2 or len(op.operands) != 3 or len(op.results) != 1:
        return False
    combine = body(op.regions[0].blocks[0])[0]
    arguments = op.regions[0].blocks[0].arguments
    if set(combine.operands) != {arguments[0], arguments[2]} or op.regions[0].blocks[0].operations[1].operands[0] != combine.results[0]:
        return False
    maps = index_texts(op)
    for layout, spatial in (("nhwc", (1, 2)), ("nchw", (2, 3))):
        build = POOLS.get((layout, combine.name))
        if build is None or maps[1] != ["d4", "d5"] or maps[2] != ["d0", "d1", "d2", "d3"] or len(maps[0]) != 4:
            continue
        found = [WINDOWED.fullmatch(maps[0][place]) for place in spatial]
        others = [e for n, e in enumerate(maps[0]) if n not in spatial]
        if None in found or others != [f"d{n}" for n in range(4) if n not in spatial]:
            continue
        if any((m[1], m[3]) != (str(place), str(4 + n)) for n, (m, place) in enumerate(zip(found, spatial)) if m is not None):
            continue
        steps = [[int(m[g] or 1) for m in found if m is not None] for g in (2, 4)]
        with ir.InsertionPoint(op), op.location:
            attributes = [dense(s) for s in steps]
            made = build([op.results[0].type], list(op.operands)[:2], [op.operands[2]], strides=attributes[0], dilations=attributes[1])
            linalg.fill_builtin_region(made.operation)
        op.results[0].replace_all_uses_with(made.operation.results[0])
        op.erase()
        return True
    return False


def dense(numbers: list[int]) -> ir.Attribute:
    """An i64 vector attribute."""
    return ir.Attribute.parse(f"dense<[{', '.join(map(str, numbers))}]> : tensor<{len(numbers)}xi64>")
