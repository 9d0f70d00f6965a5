"""Patterns of relax-canonicalize: recognizes ops that exporters decompose.

They expect the form that other patterns produce: divisions by constants are products, powers of 2 and 0.5 are square and sqrt.
"""
import math
from collections.abc import Iterator

import numpy as np

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import dims
from legato.passes.graph.canonicalize.combined import keeps_factors
from legato.passes.graph.rewriter import GraphRewriter, attributes, dtype_of

# Exporters write constants such as sqrt(2) with as few as six digits. In f64 a result shows that: there they mean what they say.
TOLERANCE = 1e-5
TOLERANCE_OF_DOUBLES = 1e-14


def _close(number: float | None, wanted: float, of: ir.Value) -> bool:
    """Whether a number beside a value of this element type is meant to be the other."""
    tolerance = TOLERANCE_OF_DOUBLES if dtype_of(of) == np.float64 else TOLERANCE
    return number is not None and math.isclose(number, wanted, rel_tol=tolerance)


def _product(r: GraphRewriter, value: ir.Value, root: bool = True) -> tuple[float, list[ir.Value]]:
    """A value as a number times variables, looking through inner products without other uses; (1, [value]) if it is not a product."""
    op = r.find(value, "multiply", once=not root)
    if op is None:
        number = r.scalar(value)
        return (1.0, [value]) if number is None else (number, [])
    (a, left), (b, right) = (_product(r, operand, False) for operand in op.operands)
    return a * b, left + right


def _scaled(r: GraphRewriter, value: ir.Value) -> tuple[float, ir.Value | None]:
    """(c, x) for x * c with a number c; x is None if it is a product itself."""
    number, variables = _product(r, value)
    return number, variables[0] if len(variables) == 1 else None


def _plus(r: GraphRewriter, value: ir.Value, number: float) -> ir.Value | None:
    """x if value is x + number."""
    op = r.find(value, "add")
    parts = r.split(op) if op else None
    return parts[0] if parts and _close(r.scalar(parts[1]), number, value) else None


def gated(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """x times a function of x: silu, mish, hard_swish, and gelu by erf or tanh."""
    number, variables = _product(r, op.results[0])
    if len(variables) != 2:
        return None
    for x, gate in (variables, variables[::-1]):
        for name, argument, scale in _gates(r, gate):
            if argument == x and _close(number, scale, x):
                kind, _, approximate = name.partition(" ")
                return relax.OPS[kind].build(x, **({"approximate": approximate} if approximate else {}))
    return None


def _gates(r: GraphRewriter, gate: ir.Value) -> Iterator[tuple[str, ir.Value, float]]:
    """(op, x, number) such that op(x) is x * gate * number."""
    if (inner := r.find(gate, "sigmoid")) is not None:
        yield "silu", inner.operands[0], 1.0
    if (inner := r.find(gate, "hard_sigmoid")) is not None:
        slope = attributes(inner)
        if _close(slope["alpha"], 1 / 6, gate) and _close(slope["beta"], 0.5, gate):
            yield "hard_swish", inner.operands[0], 1.0
    if (inner := r.find(gate, "clip")) is not None:
        bounds, x = attributes(inner), _plus(r, inner.operands[0], 3.0)
        if x is not None and (bounds["min"], bounds["max"]) == (0.0, 6.0):
            yield "hard_swish", x, 1 / 6
    if (inner := r.find(gate, "tanh")) is not None and (soft := r.find(inner.operands[0], "softplus")) is not None:
        yield "mish", soft.operands[0], 1.0
    # 1 + erf, or 0.5 + 0.5 * erf if the factor 0.5 has been distributed
    for shift in (1.0, 0.5):
        shifted = _plus(r, gate, shift)
        scale, bell = (0.0, None) if shifted is None else _scaled(r, shifted)
        if bell is None or not _close(scale, shift, bell):
            continue
        if (inner := r.find(bell, "erf")) is not None:
            number, x = _scaled(r, inner.operands[0])
            if _close(number, math.sqrt(0.5), bell):
                yield "gelu none", x, 0.5 / shift
        if (inner := r.find(bell, "tanh")) is not None and (x := _cubic(r, inner.operands[0])) is not None:
            yield "gelu tanh", x, 0.5 / shift


def _cubic(r: GraphRewriter, value: ir.Value) -> ir.Value | None:
    """x if value is sqrt(2 / pi) * (x + 0.044715 * x ** 3)."""
    number, total = _scaled(r, value)
    op = r.find(total, "add") if total is not None else None
    if op is None or not _close(number, math.sqrt(2 / math.pi), value):
        return None
    for x, rest in (op.operands, list(op.operands)[::-1]):
        number, cube = _product(r, rest)
        if _close(number, 0.044715, value) and _is_cube(r, cube, x):
            return x
    return None


def _is_cube(r: GraphRewriter, factors: list[ir.Value], x: ir.Value) -> bool:
    """Whether the factors are x ** 3, or x and a square of x, or x three times."""
    exponent = 0
    for factor in factors:
        op = r.find(factor, "square", "power")
        if factor == x:
            exponent += 1
        elif op is None or op.operands[0] != x:
            return False
        else:
            exponent += 2 if op.name == "relax.square" else r.scalar(op.operands[1]) or 0
    return exponent == 3


def normalize(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """(x - mean) / sqrt(mean of its square + epsilon): layer_norm; x / sqrt(mean(x ** 2) + epsilon): rms_norm; with gamma 1, beta 0."""
    for centered, inverse in _quotients(r, op):
        shifted = r.find(inverse, "add")
        parts = r.split(shifted) if shifted else None
        epsilon = r.scalar(parts[1]) if parts else None
        variance = r.find(parts[0], "mean") if parts and epsilon is not None else None
        if epsilon is None or variance is None or not _is_square(r, variance.operands[0], centered):
            continue
        axes = _axes(variance)
        if axes is None:
            continue
        subtraction = r.find(centered, "subtract")
        mean = r.find(subtraction.operands[1], "mean") if subtraction else None
        if subtraction is not None and mean is not None and mean.operands[0] == subtraction.operands[0] and _axes(mean) == axes:
            return _norm(r, relax.layer_norm, subtraction.operands[0], axes, epsilon, (1, 0))
        return _norm(r, relax.rms_norm, centered, axes, epsilon, (1,))
    return None


def _quotients(r: GraphRewriter, op: ir.Operation) -> Iterator[tuple[ir.Value, ir.Value]]:
    """(a, b) such that the op is a / sqrt(b)."""
    pairs = [tuple(op.operands)] if op.name == "relax.divide" else [tuple(op.operands), tuple(op.operands)[::-1]]
    for a, other in pairs:
        if op.name == "relax.divide":
            root = r.find(other, "sqrt")
        elif (root := r.find(other, "rsqrt")) is None and (inverse := r.find(other, "reciprocal", "divide")) is not None:
            if inverse.name == "relax.divide" and r.scalar(inverse.operands[0]) != 1:
                continue
            root = r.find(inverse.operands[-1], "sqrt")
        if root is not None:
            yield a, root.operands[0]


def _is_square(r: GraphRewriter, value: ir.Value, x: ir.Value) -> bool:
    op = r.find(value, "square", "multiply")
    return op is not None and all(operand == x for operand in op.operands)


def _axes(reduction: ir.Operation) -> list[int] | None:
    """The axes of a reduction that keeps dimensions, sorted; None if it does not."""
    attrs, rank = attributes(reduction), reduction.operands[0].type.rank
    if not attrs["keepdims"]:
        return None
    return sorted(axis % rank for axis in (range(rank) if attrs["axis"] is None else attrs["axis"]))


def _norm(r: GraphRewriter, build, x: ir.Value, axes: list[int], epsilon: float, fills: tuple[int, ...]) -> ir.Value | None:
    shape = [size for axis in axes if isinstance(size := dims(x.type)[axis], int)]
    if len(shape) < len(axes):
        return None
    parameters = [r.constant(np.full(shape, fill, dtype_of(x))) for fill in fills]
    return build(x, *parameters, axes=axes, epsilon=epsilon)


def scale_norm(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """layer_norm or rms_norm times or plus a constant that varies along the normalized axes only: into gamma, beta."""
    parts = r.split(op)
    norm = r.find(parts[0], "layer_norm", "rms_norm", once=True) if parts else None
    if parts is None or norm is None or (op.name == "relax.add" and norm.name == "relax.rms_norm"):
        return None
    if op.results[0].type != norm.results[0].type:      # the constant repeats an axis of one element
        return None
    x, *parameters = norm.operands
    arrays, constant, attrs = r.arrays(parameters), present(r.array(parts[1])), attributes(norm)
    rank = x.type.rank
    axes = sorted(axis % rank for axis in attrs["axes"])
    shape = (1,) * (rank - constant.ndim) + constant.shape
    if arrays is None or any(size != 1 for axis, size in enumerate(shape) if axis not in axes):
        return None
    along = np.broadcast_to(constant.reshape([shape[axis] for axis in axes]), arrays[0].shape)
    if op.name == "relax.multiply":
        given = arrays
        with np.errstate(all="ignore"):
            arrays = [array * along for array in given]
        if not all(keeps_factors(made, array, along, as_one=True) for made, array in zip(arrays, given, strict=True)):
            return None
    else:
        arrays[1] = arrays[1] + along
    return present(relax.op_class(norm)).build(x, *(r.constant(array, parts[1]) for array in arrays), **attrs)


def softmax(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """exp(x) / sum(exp(x)) along one axis: softmax of x, or of y if x is y minus its maximum."""
    exponential, total = op.operands
    exp, sum_ = r.find(exponential, "exp"), r.find(total, "sum")
    if exp is None or sum_ is None or sum_.operands[0] != exponential:
        return None
    axes = _axes(sum_)
    if axes is None or len(axes) != 1:
        return None
    x = exp.operands[0]
    shifted = r.find(x, "subtract")
    highest = r.find(shifted.operands[1], "max") if shifted else None
    if shifted is not None and highest is not None and highest.operands[0] == shifted.operands[0] and _axes(highest) == axes:
        x = shifted.operands[0]
    return relax.softmax(x, axis=axes[0])


PATTERNS = (
    ("multiply", gated),
    ("divide multiply", normalize),
    ("multiply add", scale_norm),
    ("divide", softmax),
)
