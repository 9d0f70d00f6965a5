"""Patterns of relax-canonicalize: elementwise algebra."""
import numpy as np

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.canonicalize.combined import stands_for
from legato.passes.graph.rewriter import GraphRewriter, attributes, is_float

_REASSOCIATED = {"add": np.add, "multiply": np.multiply}


def neutral(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """x + 0, x - 0, x * 1, x / 1, x ** 1: x. (The only float that this changes is -0.0 + 0.)"""
    x, c = op.operands
    name = op.name.removeprefix("relax.")
    number = 0 if name in ("add", "subtract") else 1
    if r.scalar(c) == number:
        return x
    return c if name in ("add", "multiply") and r.scalar(x) == number else None


def reassociate(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """(x + c) + d: x + (c + d), likewise for factors; if the combined constant is not larger than both."""
    name = op.name.removeprefix("relax.")
    outer = r.split(op)
    inner_op = r.find(outer[0], name, once=True) if outer else None
    inner = r.split(inner_op) if inner_op else None
    if outer is None or inner is None:
        return None
    combined = combine(r, name, inner[1], outer[1])
    return combined and relax.OPS[name].build(inner[0], combined)


def distribute(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """(x * c + d) * e: x * (c * e) + d * e, to combine factors; x * c may be a convolution or a product with constant weights."""
    outer = r.split(op)
    shifted = r.find(outer[0], "add", once=True) if outer else None
    inner = r.split(shifted) if shifted else None
    if outer is None or inner is None or not takes_factor(r, inner[0]):
        return None
    moved = combine(r, "multiply", inner[1], outer[1], as_one=True)
    return moved and relax.add(relax.multiply(inner[0], outer[1]), moved)


def takes_factor(r: GraphRewriter, value: ir.Value) -> bool:
    """Whether a constant factor of this value can be folded into a constant operand of its op."""
    op = r.find(value, "multiply", "conv1d", "conv2d", "conv3d", "matmul", once=True)
    return op is not None and r.is_constant(op.operands[1])


def combine(r: GraphRewriter, name: str, a: ir.Value, b: ir.Value, as_one: bool = False) -> ir.Value | None:
    """The constant a + b or a * b; None if it had more elements than both, or cannot stand for both (``stands_for``)."""
    shape = np.broadcast_shapes(tuple(a.type.shape), tuple(b.type.shape))
    if np.prod(shape) > max(np.prod(a.type.shape), np.prod(b.type.shape)):
        return None
    arrays = present(r.array(a)), present(r.array(b))
    with np.errstate(all="ignore"):
        combined = _REASSOCIATED[name](*arrays)
    return r.constant(combined, a, b) if stands_for(name, combined, *arrays, as_one=as_one) else None


def subtract_constant(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """x - c: x + (-c), for floats."""
    x, c = op.operands
    values = r.array(c)
    if values is None or not is_float(x) or r.is_constant(x):
        return None
    return relax.add(x, r.constant(-values, c))


_POWERS = {2: relax.square, 0.5: relax.sqrt, -0.5: relax.rsqrt, -1: relax.reciprocal}


def power(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """x ** 2, 0.5, -0.5, -1: square, sqrt, rsqrt, reciprocal."""
    x, exponent = op.operands
    number = r.scalar(exponent)
    if number not in _POWERS or not (is_float(x) or number == 2):
        return None
    return _POWERS[number](x)


def maximum_zero(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """max(x, 0): relu."""
    parts = r.split(op)
    return relax.relu(parts[0]) if parts and r.scalar(parts[1]) == 0 else None


def twice(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """f(f(x)): f(x), for relu, abs, sign, rounding."""
    return op.operands[0] if r.find(op.operands[0], op.name.removeprefix("relax.")) else None


def undone(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """f(f(x)): x, for negative and logical or bitwise not."""
    inner = r.find(op.operands[0], op.name.removeprefix("relax."))
    return inner.operands[0] if inner else None


def relu_then_clip(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """clip(relu(x)): one clip; relu(clip(x)) with a lower bound of at least 0: the clip."""
    inner = r.find(op.operands[0], "clip" if op.name == "relax.relu" else "relu")
    if inner is None:
        return None
    if op.name == "relax.relu":
        low = attributes(inner)["min"]
        return inner.results[0] if low is not None and low >= 0 else None
    bounds = attributes(op)
    return relax.clip(inner.operands[0], min=max(bounds["min"] or 0.0, 0.0), max=bounds["max"])


def astype(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A conversion to the element type that x has."""
    return op.operands[0] if op.operands[0].type.element_type == op.results[0].type.element_type else None


def where(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """where with a constant condition that is all true or all false."""
    condition, a, b = op.operands
    known = r.scalar(condition)
    return None if known is None else (a if known else b)


def outer_product(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """A matrix product of a column by a row, whose sums have one term: an elementwise product, which fuses with what is around it. Not that
    of an attention to one key, which is a kernel as a whole."""
    x, y = op.operands
    same = x.type.element_type == y.type.element_type == op.results[0].type.element_type
    ones = same and r.find(x, "softmax") is None and min(x.type.rank, y.type.rank) >= 2 and x.type.shape[-1] == y.type.shape[-2] == 1
    return relax.multiply(x, y) if ones else None


PATTERNS = (
    ("add subtract multiply divide power", neutral),
    ("add multiply", reassociate),
    ("multiply", distribute),
    ("subtract", subtract_constant),
    ("power", power),
    ("maximum", maximum_zero),
    ("relu abs sign ceil floor round trunc", twice),
    ("negative logical_not bitwise_not", undone),
    ("relu clip", relu_then_clip),
    ("astype", astype),
    ("where", where),
    ("matmul", outer_product),
)
