"""TVM's graph ops outside of ``R.nn``, with TVM's names, arguments and defaults, built from relax's ops.

Each function implements the op ``R.<its name>``. Sizes are ints and expressions of symbols.
"""

from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.distinct import distinct
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.tvm import shapes as tvm_shapes
from legato.frontends.script.tvm.shapes import flatten
from legato.frontends.script.tvm.values import axes_of, axis_of, dtype_of, element, full_of, ints, numpy_type, tensor, tensors

UNARY = ("abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp floor isfinite isinf isnan log logical_not negative round "
         "rsqrt sigmoid sign sin sinh square sqrt tan tanh trunc").split()
BINARY = ("add divide floor_divide multiply power subtract equal greater greater_equal less less_equal not_equal maximum minimum "
          "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift").split()
REDUCTIONS = ("max", "mean", "min", "prod", "sum")
MOST = 1 << 24  # elements of a constant made by R.eye or R.arange


def unary(name: str) -> Any:
    """Makes the function for ``R.<name>`` of one operand."""
    def op(x: Any) -> ir.Value:
        return relax.OPS[name].build(tensor(x))

    return op


def binary(name: str) -> Any:
    """Makes the function for ``R.<name>`` of two operands that broadcast."""
    def op(x1: Any, x2: Any) -> ir.Value:
        return binary_of(name, x1, x2)

    return op


def binary_of(name: str, a: Any, b: Any, **attributes: Any) -> ir.Value:
    """Builds a binary op; a Python number takes the other operand's element type."""
    return relax.OPS[name].build(*tensors(a, b), **attributes)


def mod(x1: Any, x2: Any) -> ir.Value:
    """Remainder as in C, with the sign of x1."""
    return binary_of("mod", x1, x2, fmod=True)


def floor_mod(x1: Any, x2: Any) -> ir.Value:
    """Remainder with the sign of x2."""
    return binary_of("mod", x1, x2)


def log_add_exp(x1: Any, x2: Any) -> ir.Value:
    """log(exp(x1) + exp(x2)), computed without overflow."""
    a, b = tensors(x1, x2)
    return relax.add(relax.maximum(a, b), relax.log1p(relax.exp(relax.negative(relax.abs(relax.subtract(a, b))))))


def ewise_fma(x1: Any, x2: Any, x3: Any) -> ir.Value:
    """x1 * x2 + x3 by elements, rounded after each of the two ops."""
    return binary_of("add", binary_of("multiply", x1, x2), x3)


def reduction(name: str) -> Any:
    """Makes the function for ``R.<name>``, a reduction; ``axis=None`` reduces over all axes."""
    def op(x: Any, axis: Any = None, keepdims: bool = False) -> ir.Value:
        x = tensor(x)
        return relax.OPS[name].build(x, axis=axes_of(axis, x), keepdims=keepdims)

    return op


def variance(x: Any, axis: Any = None, keepdims: bool = False) -> ir.Value:
    """Population variance over ``axis``; None: over all elements."""
    x = tensor(x)
    axis = axes_of(axis, x)
    return relax.mean(relax.square(relax.subtract(x, relax.mean(x, axis=axis, keepdims=True))), axis=axis, keepdims=keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> ir.Value:
    """Standard deviation: the square root of ``variance``."""
    return relax.sqrt(variance(x, axis, keepdims))


def arg(name: str) -> Any:
    """Makes the function for ``R.argmax`` or ``R.argmin``; ``axis=None`` gives the index in the flattened tensor."""
    def op(x: Any, axis: int | None = None, keepdims: bool = False) -> ir.Value:
        x = tensor(x)
        if axis is not None:
            return relax.OPS[name].build(x, axis=axis, keepdims=keepdims)
        found = relax.OPS[name].build(flatten(x), axis=0, keepdims=False)
        return relax.reshape(found, [1] * x.type.rank) if keepdims else found

    return op


def cumulative(name: str) -> Any:
    """Makes the function for ``R.cumsum`` or ``R.cumprod``; ``axis=None`` runs over the flattened tensor."""
    def op(data: Any, axis: int | None = None, dtype: Any = None, exclusive: Any = False) -> ir.Value:
        x = tensor(data)
        if dtype not in (None, "", "void"):
            x = relax.astype(x, dtype_of(dtype))
        x, axis = (flatten(x), 0) if axis is None else (x, axis)
        return relax.OPS[name].build(x, axis=axis, exclusive=bool(exclusive))

    return op


def topk(data: Any, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True, dtype: Any = "int32") -> Any:
    """The k greatest or least elements along an axis, sorted: values, indices (of ``dtype``), or both as a tuple, by ``ret_type``."""
    x = tensor(data)
    places = relax.topk(x, k=k, axis=axis, largest=largest)
    values, indices = relax.gather_elements(x, places, axis=axis), relax.astype(places, dtype_of(dtype))
    found = {"both": (values, indices), "values": values, "indices": indices}
    if ret_type not in found:
        raise Misuse(f"R.topk gives both, values or indices, not {ret_type!r}")
    return found[ret_type]


def argsort(data: Any, axis: int = -1, descending: bool = False, dtype: Any = "int32") -> ir.Value:
    """The indices that sort an axis."""
    x = tensor(data)
    axis = axis_of(axis, x)
    size = dims.dims(x.type)[axis]
    return relax.astype(relax.topk(x, k=size, axis=axis, largest=descending), dtype_of(dtype))


def sort(x: Any, axis: int = -1, descending: bool = False) -> ir.Value:
    """The elements in order along an axis."""
    return relax.gather_elements(tensor(x), argsort(x, axis, descending, "int64"), axis=axis)


def clip(x: Any, min: Any, max: Any) -> ir.Value:
    """Limits elements to [min, max]."""
    return relax.clip(tensor(x), min=float(min), max=float(max))


def where(condition: Any, x1: Any, x2: Any) -> ir.Value:
    """x1 where the condition holds, x2 elsewhere; the three broadcast."""
    return relax.where(tensor(condition), *tensors(x1, x2))


def masked_fill(x: Any, mask: Any, value: Any) -> ir.Value:
    """``value`` where the mask holds, x elsewhere."""
    return where(mask, value, x)


# --- types and creation ---

def astype(x: Any, dtype: Any) -> ir.Value:
    """Casts elements to ``dtype``."""
    return relax.astype(tensor(x), dtype_of(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> ir.Value:
    """A tensor of ``shape`` filled with ``fill_value``; without ``dtype`` f32 for a float, i32 for an int."""
    return full_of(shape, fill_value, dtype)


def zeros(shape: Any, dtype: Any) -> ir.Value:
    """A tensor of zeros."""
    return full_of(shape, 0, dtype)


def ones(shape: Any, dtype: Any) -> ir.Value:
    """A tensor of ones."""
    return full_of(shape, 1, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> ir.Value:
    """A tensor of x's shape, and of its element type without ``dtype``, filled with ``fill_value``."""
    x = tensor(x)
    return full_of(list(dims.dims(x.type)), fill_value, dtype or element(x))


def zeros_like(x: Any, dtype: Any = None) -> ir.Value:
    """A tensor of zeros with x's shape."""
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None) -> ir.Value:
    """A tensor of ones with x's shape."""
    return full_like(x, 1, dtype)


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = "float32") -> np.ndarray:
    """A constant [n, m] with ones on the k-th diagonal. Misuse for more than ``MOST`` elements."""
    rows, columns, k = ints([n, n if m is None else m, k])
    if not 0 <= rows * columns <= MOST or rows < 0:
        raise Misuse(f"R.eye makes up to {MOST} numbers, not {rows} rows of {columns}")
    return np.eye(rows, columns, k=k, dtype=numpy_type(dtype))


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> np.ndarray | ir.Value:
    """The numbers from start to end by step: a constant, or to a symbol those that the call gives. Misuse for another symbol, and for more
    than ``MOST`` elements of a constant."""
    start, end = (0, start) if end is None else (start, end)
    if isinstance(end, dims.Dim):
        return arange_to(start, end, step, dtype)
    if not all(isinstance(v, (int, float)) for v in (start, end, step)):
        raise Misuse("R.arange takes numbers, and a symbol as the end of integers")
    if not step or not 0 <= (end - start) / step <= MOST:
        raise Misuse(f"R.arange makes up to {MOST} numbers, in steps that are not 0: {start}, {end}, {step}")
    default = "int64" if all(isinstance(v, int) for v in (start, end, step)) else "float32"
    return np.arange(start, end, step).astype(numpy_type(dtype or default))


def arange_to(start: Any, end: dims.Dim, step: Any, dtype: Any) -> ir.Value:
    """R.arange to an end that the call gives. Misuse where the start or the step is no integer."""
    if not isinstance(start, int) or not isinstance(step, int) or step == 0:
        raise Misuse(f"R.arange to a symbol takes integers, and a step that is not 0: {start}, {end}, {step}")
    first, apart = (relax.constant(np.array(number).astype(numpy_type(dtype or "int64"))) for number in (start, step))
    return relax.arange(first, apart, shape=[dims.steps_between(start, end, step)])


def tril(x: Any, k: int = 0) -> ir.Value:
    """The lower triangle, up to the k-th diagonal; zeros elsewhere."""
    return relax.tril(tensor(x), k=k)


def triu(x: Any, k: int = 0) -> ir.Value:
    """The upper triangle, from the k-th diagonal on; zeros elsewhere."""
    return relax.triu(tensor(x), k=k)


# --- products ---

def matmul(x1: Any, x2: Any, out_dtype: Any = None) -> ir.Value:
    """Matrix product of operands cast to ``out_dtype`` first, where it is given."""
    a, b = tensor(x1), tensor(x2)
    if out_dtype not in (None, "", "void"):
        a, b = (x if element(x) == dtype_of(out_dtype) else relax.astype(x, dtype_of(out_dtype)) for x in (a, b))
    return relax.matmul(a, b)


def linear(data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> ir.Value:
    """data @ weight^T + bias, weight [out, in]."""
    weight = tensor(weight)
    rank = weight.type.rank
    turned = weight if rank < 2 else relax.permute_dims(weight, [*range(rank - 2), rank - 1, rank - 2])
    y = matmul(data, turned, out_dtype)
    return y if bias is None else binary_of("add", y, bias)


def outer(x1: Any, x2: Any) -> ir.Value:
    """The outer product [n, m] of vectors [n] and [m]."""
    return relax.multiply(relax.expand_dims(tensor(x1), axis=[1]), relax.expand_dims(tensor(x2), axis=[0]))


# --- quantized numbers ---

def quantize(data: Any, scale: Any, zero_point: Any, axis: int = -1, out_dtype: str = "int8") -> ir.Value:
    """round(data / scale) + zero_point, saturated to ``out_dtype``; ``scale`` and ``zero_point`` are scalars or per ``axis``."""
    x = tensor(data)
    kept = relax.round(relax.divide(x, along(scale, axis, x)))
    moved = relax.add(kept, relax.astype(along(zero_point, axis, x), element(x)))
    info = np.iinfo(dtype_of(out_dtype))
    return relax.astype(relax.clip(moved, min=float(info.min), max=float(info.max)), dtype_of(out_dtype))


def dequantize(data: Any, scale: Any, zero_point: Any, axis: int = -1, out_dtype: str = "float32") -> ir.Value:
    """(data - zero_point) * scale in ``out_dtype``; ``scale`` and ``zero_point`` are scalars or per ``axis``."""
    x = relax.astype(tensor(data), dtype_of(out_dtype))
    moved = relax.subtract(x, relax.astype(along(zero_point, axis, x), dtype_of(out_dtype)))
    return relax.multiply(moved, relax.astype(along(scale, axis, x), dtype_of(out_dtype)))


def along(values: Any, axis: int, x: ir.Value) -> ir.Value:
    """A scalar as it is; a vector over an axis of x reshaped so that it broadcasts to x."""
    values = tensor(values)
    if values.type.rank != 1:
        return values
    place = axis_of(axis, x)
    return relax.reshape(values, [*dims.dims(values.type), *[1] * (x.type.rank - 1 - place)])


def unique(x: Any, sorted: bool = True, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None) -> Any:
    """The distinct elements in order, and the index, inverse and counts that are asked for. The size of the result depends on data."""
    x = tensor(x)
    if axis is not None and (x.type.rank != 1 or axis_of(axis, x) != 0):
        raise Misuse("R.unique is of all elements, not along an axis")
    values, *others = distinct(x if x.type.rank == 1 else flatten(x))
    chosen = [o for o, wanted in zip(others, (return_index, return_inverse, return_counts)) if wanted]
    return (values, *chosen) if chosen else values


# --- ops without effect at run time ---

def identity(x: Any) -> ir.Value:
    """x itself, for ops that only give TVM a hint."""
    return tensor(x)


def prim_value(value: Any) -> Any:
    """The number itself."""
    return value


OPS: dict[str, Any] = {
    **{n: unary(n) for n in UNARY}, **{n: binary(n) for n in BINARY}, **{n: reduction(n) for n in REDUCTIONS},
    "cumsum": cumulative("cumsum"), "cumprod": cumulative("cumprod"), "argmax": arg("argmax"), "argmin": arg("argmin"),
    "stop_lift_params": identity, "memory_scope_hint": identity, **tvm_shapes.OPS,
    **{f.__name__: f for f in (
        mod, floor_mod, log_add_exp, ewise_fma, variance, std, topk, argsort, sort, unique, clip, where, masked_fill, astype, full,
        zeros, ones, full_like, zeros_like, ones_like, eye, arange, tril, triu, matmul, linear, outer, quantize, dequantize, prim_value)},
}
