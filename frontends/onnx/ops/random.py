"""Ops that draw random numbers, by the keys of ``random_keys``; and Dropout, which draws them in training.

Numbers of a key are those that JAX draws by it: ``jax.random.uniform``, and ``jax.random.normal`` up to the error of its inverse error
function.
"""
from collections.abc import Sequence

import ml_dtypes
import numpy as np
from onnx import TensorProto

from legato.core.dtypes import kind, spelling
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Malformed
from legato.frontends.onnx.tensors import dtype_of

F32, F64, I32, U32, U64 = (np.dtype(name) for name in ("float32", "float64", "int32", "uint32", "uint64"))
RATIO = 0.5     # of Dropout, by default
BITS_OF_HALVES = {np.dtype(np.float16): (7, 10), np.dtype(ml_dtypes.bfloat16): (15, 7)}
"""How far to the left the random bits that become the highest ones of an f32's fraction are shifted, and how many they are."""


def _key(node: OnnxNode) -> ir.Value:
    seed = node.integer if node.op_type == "Dropout" else node.number
    return node.random.key(seed("seed") if node.has("seed") else None)


def unit(key: ir.Value, shape: Sequence[Size], dtype: np.dtype) -> ir.Value:
    """Floats of 0 or more and less than 1, all equally likely: random bits as the fraction of a number from 1 to 2, less 1. Those of halves
    are made as floats, which hold them, and have as many bits as halves do."""
    wide = F64 if dtype == F64 else F32
    word, width, fraction = (U64, 64, 52) if wide == F64 else (U32, 32, 23)
    bits = relax.random_bits(key, shape=shape, dtype=word)

    def number(value: int) -> ir.Value:
        return relax.constant(np.array(value, word))

    if dtype in BITS_OF_HALVES:
        distance, count = BITS_OF_HALVES[dtype]
        bits = relax.bitwise_and(relax.left_shift(bits, number(distance)), number((1 << count) - 1 << fraction - count))
    else:
        bits = relax.right_shift(bits, number(width - fraction))
    ones = relax.bitwise_or(bits, number(int(np.ones((), wide).view(word))))
    return _in(relax.subtract(relax.bitcast(ones, dtype=wide), relax.constant(np.ones((), wide))), dtype)


def uniform(key: ir.Value, shape: Sequence[Size], dtype: np.dtype, low: float, high: float) -> ir.Value:
    """Floats from ``low`` to below ``high``."""
    first, end = np.array(low, dtype), np.array(high, dtype)
    with np.errstate(over="ignore"):
        span = end - first
    values = unit(key, shape, dtype)
    if not np.isfinite(span.astype(F64)):   # of numbers so great that no float is as great as their difference
        rest = relax.subtract(relax.constant(np.ones((), dtype)), values)
        values = relax.add(relax.multiply(rest, relax.constant(first)), relax.multiply(values, relax.constant(end)))
    else:
        values = _moved(values, span, first)
    if first < end and not (first == 0 and end == 1):     # which rounding may reach
        values = relax.minimum(values, relax.constant(np.nextafter(end, first)))
    return values


def normal(key: ir.Value, shape: Sequence[Size], dtype: np.dtype) -> ir.Value:
    """Numbers of the normal distribution of mean 0 and deviation 1: its inverse of uniform ones from -1 to 1."""
    one = np.ones((), dtype)
    low = np.nextafter(-one, np.zeros((), dtype))
    between = _moved(unit(key, shape, dtype), np.asarray(one - low, dtype), low)
    return relax.multiply(relax.constant(np.array(np.sqrt(2), dtype)), relax.erfinv(between))


def _moved(x: ir.Value, scale: np.ndarray, shift: np.ndarray) -> ir.Value:
    """``x * scale + shift``, without what changes nothing."""
    x = x if scale == 1 else relax.multiply(x, relax.constant(scale))
    return x if shift == 0 else relax.add(x, relax.constant(shift))


def _in(x: ir.Value, dtype: np.dtype) -> ir.Value:
    return x if relax.TensorType.of(x.type).dtype == dtype else relax.astype(x, dtype=dtype)


def _float(dtype: np.dtype) -> np.dtype:
    if kind(dtype) != "float":
        raise Malformed(f"its numbers are floats, not {spelling(dtype)}")
    return dtype


def _declared(node: OnnxNode) -> tuple[list[int], np.dtype]:
    """The shape and the element type that attributes say."""
    shape = node.integers("shape")
    if any(size < 0 for size in shape):
        raise Malformed(f"there is no tensor of the shape {shape}")
    return shape, _float(dtype_of(node.integer("dtype", TensorProto.FLOAT)))


def _like(node: OnnxNode) -> tuple[Sequence[Size], np.dtype]:
    """The shape of the input, and its element type unless the attribute says another."""
    return node.dims(), _float(dtype_of(node.integer("dtype")) if node.has("dtype") else node.dtype())


def _uniform(node: OnnxNode, shape: Sequence[Size], dtype: np.dtype) -> ir.Value:
    return uniform(_key(node), shape, dtype, node.number("low", 0.0), node.number("high", 1.0))


def _normal(node: OnnxNode, shape: Sequence[Size], dtype: np.dtype) -> ir.Value:
    mean, scale = (np.array(node.number(name, default), dtype) for name, default in (("mean", 0.0), ("scale", 1.0)))
    return _moved(normal(_key(node), shape, dtype), scale, mean)


@op("RandomUniform", 1, 22)
def random_uniform(node):
    """RandomUniform."""
    return _uniform(node, *_declared(node))


@op("RandomUniformLike", 1, 22)
def random_uniform_like(node):
    """RandomUniformLike."""
    return _uniform(node, *_like(node))


@op("RandomNormal", 1, 22)
def random_normal(node):
    """RandomNormal."""
    return _normal(node, *_declared(node))


@op("RandomNormalLike", 1, 22)
def random_normal_like(node):
    """RandomNormalLike."""
    return _normal(node, *_like(node))


@op("Bernoulli", 15, 22)
def bernoulli(node):
    """Bernoulli: whether a uniform number is less than the input. Halves are compared as floats, of which there are more."""
    dtype = dtype_of(node.integer("dtype")) if node.has("dtype") else node.dtype()
    wide = F64 if node.dtype() == F64 else F32
    return _in(relax.less(unit(_key(node), node.dims(), wide), _in(node.x(0), wide)), dtype)


@op("Multinomial", 7, 22)
def multinomial(node):
    """Multinomial: the first class up to which the sum of the classes' weights exceeds a uniform number of the sum of all. A weight of 0 is
    never drawn, however the sums are rounded."""
    batch, classes = node.dims(0, 2)
    dtype = dtype_of(node.integer("dtype", TensorProto.INT32))
    if kind(dtype) != "int":
        raise Malformed(f"the numbers of its classes are integers, not {spelling(dtype)}")
    node.require_at_least(classes, 1, "a class to draw")
    wide = F64 if node.dtype() == F64 else F32
    weights = _weights(_in(node.x(0), wide))
    sums = relax.cumsum(weights, axis=1)
    total = relax.strided_slice(sums, begin=[classes - 1], end=[classes], axes=[1])
    at = relax.multiply(unit(_key(node), [batch, node.integer("sample_size", 1)], wide), total)
    can_be = relax.greater(weights, relax.constant(np.zeros((), wide)))
    numbers = _in(run_time.counted(classes), I32)
    last = relax.max(relax.where(can_be, numbers, relax.constant(np.zeros((), I32))), axis=[1], keepdims=True)
    exceeds = relax.greater(relax.expand_dims(sums, axis=[1]), relax.expand_dims(at, axis=[2]))
    could = relax.logical_and(exceeds, relax.expand_dims(can_be, axis=[1]))
    first = relax.min(relax.where(could, numbers, relax.constant(np.array(np.iinfo(I32).max, I32))), axis=[2])
    return _in(relax.minimum(first, last), dtype)


def _weights(x: ir.Value) -> ir.Value:
    """Of each row the shares of its classes, of which the greatest is 1: exp(x - the greatest x). NaN is no share; an infinity is all,
    and so is each class of a row without a share."""
    lowest, zero = (relax.constant(np.array(value, relax.TensorType.of(x.type).dtype)) for value in (-np.inf, 0))
    x = relax.where(relax.isnan(x), lowest, x)
    greatest = relax.max(x, axis=[1], keepdims=True)
    return relax.exp(relax.where(relax.equal(x, greatest), zero, relax.subtract(x, greatest)))


@op("Dropout", 7, 10, 12, 13, 22)
def dropout(node):
    """Dropout. At inference the input, and a mask that is true everywhere. In training elements are 0 where a uniform number is less than
    the ratio, and the others grow by as much as the sum loses."""
    ratio = _ratio(node)
    mask_type = np.dtype(np.bool_) if node.version >= 10 else node.dtype()
    if ratio is None:
        node.ignore("seed")
        return node.value(0), _ones(node, mask_type) if any(node.used[1:]) else None
    dtype = node.dtype()
    wide = F64 if dtype == F64 else F32
    mask = relax.greater_equal(unit(_key(node), node.dims(), F32), _in(ratio, F32))
    one, zero = (relax.constant(np.array(value, wide)) for value in (1, 0))
    kept = relax.multiply(_in(node.x(0), wide), relax.divide(one, relax.subtract(one, _in(ratio, wide))))
    return _in(relax.where(mask, kept, zero), dtype), mask


def _ratio(node: OnnxNode) -> ir.Value | None:
    """The share of elements that become 0, a tensor without dimensions, which is 0 where a call does not train; None if no call does."""
    if node.version < 12:
        node.ignore("ratio")
        return None
    trains, known = node.by_data(2), node.given(1) and not node.by_data(1)
    if not trains and not (node.given(2) and node.scalar(2, "the training_mode")):
        node.ignore_input(1)
        return None
    if known and node.scalar(1, "the ratio") == 0:
        node.ignore_input(2)
        return None
    ratio = relax.reshape(node.x(1), shape=[]) if node.given(1) else relax.constant(np.array(RATIO, np.float32))
    if not trains:
        return ratio
    none = relax.constant(np.zeros((), relax.TensorType.of(ratio.type).dtype))
    return relax.where(relax.reshape(node.x(2), shape=[]), ratio, none)


def _ones(node: OnnxNode, dtype: np.dtype):
    sizes = node.dims()
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes):
        return np.broadcast_to(np.ones((), dtype), known)
    return relax.broadcast_to(node.literal(1, dtype), shape=sizes)


ENTRIES = (random_uniform, random_uniform_like, random_normal, random_normal_like, bernoulli, multinomial, dropout)
