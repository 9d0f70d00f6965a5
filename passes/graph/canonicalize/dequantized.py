"""Patterns of relax-canonicalize: what picks elements of dequantized tensors picks bytes, which are dequantized afterwards."""
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.rewriter import GraphRewriter, attributes, dtype_of


def pool_of_narrow(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """max_pool of functions of integers that never decrease (astype, add, subtract, relu, multiply by a positive number), each with no
    other use: these functions of the max_pool of the integers, where those are narrower."""
    attrs = attributes(op)
    if any(step != 1 for step in attrs["dilations"]):
        return None     # a window may take no element, whose greatest is of the type
    steps: list[ir.Operation] = []
    value, narrow = op.operands[0], None
    while (step := r.find(value, "astype", "add", "subtract", "multiply", "relu", once=True)) is not None and _increases(r, step):
        steps.insert(0, step)
        value = step.operands[0]
        if dtype_of(value).kind in "iu" and dtype_of(value).itemsize < dtype_of(op.operands[0]).itemsize:
            narrow = value, len(steps)
    if narrow is None:
        return None
    made, count = present(relax.op_class(op)).build(narrow[0], **attrs), narrow[1]
    for step in steps[len(steps) - count:]:
        made = present(relax.op_class(step)).build(made, *list(step.operands)[1:], **attributes(step))
    return made


def _increases(r: GraphRewriter, op: ir.Operation) -> bool:
    """Whether an op's result never decreases, element by element, where its first operand grows."""
    name, dtype = op.name.removeprefix("relax."), dtype_of(op.results[0])
    if op.operands[0].type.shape != op.results[0].type.shape:
        return False
    if name == "astype":
        given = dtype_of(op.operands[0])
        return given.kind in "iu" and (dtype.kind == "f" or (dtype.kind == "i" and dtype.itemsize > given.itemsize))
    if name == "relu":
        return True
    number = r.scalar(op.operands[1])
    if name == "multiply":
        return number is not None and dtype.kind == "f" and 0 < number < float("inf")
    return number is not None and dtype.kind == "i" and dtype.itemsize > 2 and abs(number) < 1 << 16    # of bytes, without wrapping


PATTERNS = (("max_pool1d max_pool2d max_pool3d", pool_of_narrow),)
