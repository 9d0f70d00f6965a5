"""TVM's graph ops outside of ``R.nn``: their names, their arguments and defaults, in relax's ops.

Each function is the op ``R.<its name>``. Sizes are ints and expressions of symbols.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from ...dialects import relax
from ...dialects.relax import dims
from ...mlir import ir
from .source import Problem
from .tvm_values import axes_of, axis_of, dtype_of, element, full_of, ints, numpy_type, sizes, tensor, tensors

UNARY = ("abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp floor isfinite isinf isnan log logical_not negative round "
         "rsqrt sigmoid sign sin sinh square sqrt tan tanh trunc").split()
BINARY = ("add divide floor_divide multiply power subtract equal greater greater_equal less less_equal not_equal maximum minimum "
          "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift").split()
REDUCTIONS = ("max", "mean", "min", "prod", "sum")
MOST = 1 << 24  # elements of a constant that an op makes
SCATTER = {"update": "none"}  # TVM's word


def unary(name: str) -> Any:
    def op(x: Any) -> ir.Value:
        return relax.OPS[name].build(tensor(x))

    return op


def binary(name: str) -> Any:
    def op(x1: Any, x2: Any) -> ir.Value:
        return binary_of(name, x1, x2)

    return op


def binary_of(name: str, a: Any, b: Any, **attributes: Any) -> ir.Value:
    """A binary op; a Python number takes the other operand's type of elements."""
    return relax.OPS[name].build(*tensors(a, b), **attributes)


def mod(x1: Any, x2: Any) -> ir.Value:
    """C's remainder, with the sign of x1."""
    return binary_of("mod", x1, x2, fmod=True)


def floor_mod(x1: Any, x2: Any) -> ir.Value:
    return binary_of("mod", x1, x2)


def log_add_exp(x1: Any, x2: Any) -> ir.Value:
    a, b = tensors(x1, x2)
    return relax.add(relax.maximum(a, b), relax.log1p(relax.exp(relax.negative(relax.abs(relax.subtract(a, b))))))


def ewise_fma(x1: Any, x2: Any, x3: Any) -> ir.Value:
    return binary_of("add", binary_of("multiply", x1, x2), x3)


def reduction(name: str) -> Any:
    def op(x: Any, axis: Any = None, keepdims: bool = False) -> ir.Value:
        x = tensor(x)
        return relax.OPS[name].build(x, axis=axes_of(axis, x), keepdims=keepdims)

    return op


def variance(x: Any, axis: Any = None, keepdims: bool = False) -> ir.Value:
    x = tensor(x)
    axis = axes_of(axis, x)
    return relax.mean(relax.square(relax.subtract(x, relax.mean(x, axis=axis, keepdims=True))), axis=axis, keepdims=keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> ir.Value:
    return relax.sqrt(variance(x, axis, keepdims))


def arg(name: str) -> Any:
    def op(x: Any, axis: int | None = None, keepdims: bool = False) -> ir.Value:
        x = tensor(x)
        if axis is not None:
            return relax.OPS[name].build(x, axis=axis, keepdims=keepdims)
        found = relax.OPS[name].build(flatten(x), axis=0, keepdims=False)
        return relax.reshape(found, [1] * x.type.rank) if keepdims else found

    return op


def cumulative(name: str) -> Any:
    def op(data: Any, axis: int | None = None, dtype: Any = None, exclusive: Any = False) -> ir.Value:
        x = tensor(data)
        if dtype not in (None, "", "void"):
            x = relax.astype(x, dtype_of(dtype))
        x, axis = (flatten(x), 0) if axis is None else (x, axis)
        return relax.OPS[name].build(x, axis=axis, exclusive=bool(exclusive))

    return op


def topk(data: Any, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True, dtype: Any = "int32") -> Any:
    x = tensor(data)
    places = relax.topk(x, k=k, axis=axis, largest=largest)
    values, indices = relax.gather_elements(x, places, axis=axis), relax.astype(places, dtype_of(dtype))
    found = {"both": (values, indices), "values": values, "indices": indices}
    if ret_type not in found:
        raise Problem(f"R.topk gives both, values or indices, not {ret_type!r}")
    return found[ret_type]


def argsort(data: Any, axis: int = -1, descending: bool = False, dtype: Any = "int32") -> ir.Value:
    x = tensor(data)
    axis = axis_of(axis, x)
    size = dims.dims(x.type)[axis]
    if not isinstance(size, int):
        raise Problem("an axis is sorted whose size is a number")
    return relax.astype(relax.topk(x, k=size, axis=axis, largest=descending), dtype_of(dtype))


def sort(x: Any, axis: int = -1, descending: bool = False) -> ir.Value:
    return relax.gather_elements(tensor(x), argsort(x, axis, descending, "int64"), axis=axis)


def clip(x: Any, min: Any, max: Any) -> ir.Value:
    return relax.clip(tensor(x), min=float(min), max=float(max))


def where(condition: Any, x1: Any, x2: Any) -> ir.Value:
    return relax.where(tensor(condition), *tensors(x1, x2))


def masked_fill(x: Any, mask: Any, value: Any) -> ir.Value:
    return where(mask, value, x)


# --- types and creation ---

def astype(x: Any, dtype: Any) -> ir.Value:
    return relax.astype(tensor(x), dtype_of(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> ir.Value:
    return full_of(shape, fill_value, dtype)


def zeros(shape: Any, dtype: Any) -> ir.Value:
    return full_of(shape, 0, dtype)


def ones(shape: Any, dtype: Any) -> ir.Value:
    return full_of(shape, 1, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> ir.Value:
    x = tensor(x)
    return full_of(list(dims.dims(x.type)), fill_value, dtype or element(x))


def zeros_like(x: Any, dtype: Any = None) -> ir.Value:
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None) -> ir.Value:
    return full_like(x, 1, dtype)


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = "float32") -> np.ndarray:
    rows, columns, k = ints([n, n if m is None else m, k])
    if not 0 <= rows * columns <= MOST or rows < 0:
        raise Problem(f"R.eye makes up to {MOST} numbers, not {rows} rows of {columns}")
    return np.eye(rows, columns, k=k, dtype=numpy_type(dtype))


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> np.ndarray:
    start, end = (0, start) if end is None else (start, end)
    if not all(isinstance(v, (int, float)) for v in (start, end, step)):
        raise Problem("R.arange takes numbers; for a size that is a symbol, number the elements in a kernel, R.call_tir(...)")
    if not step or not 0 <= (end - start) / step <= MOST:
        raise Problem(f"R.arange makes up to {MOST} numbers, in steps that are not 0: {start}, {end}, {step}")
    default = "int64" if all(isinstance(v, int) for v in (start, end, step)) else "float32"
    return np.arange(start, end, step).astype(numpy_type(dtype or default))


def tril(x: Any, k: int = 0) -> ir.Value:
    return relax.tril(tensor(x), k=k)


def triu(x: Any, k: int = 0) -> ir.Value:
    return relax.triu(tensor(x), k=k)


# --- elements and parts ---

def take(x: Any, indices: Any, axis: int | None = None, mode: str = "fast") -> ir.Value:
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        x, axis = (x if x.type.rank == 1 else flatten(x)), 0
    if mode == "clip" or mode == "wrap":
        size = dims.dims(x.type)[axis]
        if not isinstance(size, int):
            raise Problem(f"R.take with mode={mode!r} takes an axis whose size is a number")
        indices = relax.clip(indices, min=0.0, max=float(size - 1)) if mode == "clip" else floor_mod(indices, size)
    elif mode != "fast":
        raise Problem(f"R.take has the modes fast, clip and wrap, not {mode!r}")
    return relax.take(x, indices, axis=axis)


def strided_slice(x: Any, axes: Any, begin: Any, end: Any, strides: Any = None, assume_inbound: bool = False) -> ir.Value:
    del assume_inbound
    return relax.strided_slice(tensor(x), sizes(begin), sizes(end), None if strides is None else ints(strides), ints(axes))


def flip(data: Any, axis: int) -> ir.Value:
    x = tensor(data)
    axis = axis_of(axis, x)
    size = dims.dims(x.type)[axis]
    if not isinstance(size, int):
        raise Problem("R.flip takes an axis whose size is a number")
    return relax.strided_slice(x, [size - 1], [-size - 1], [-1], [axis])


def gather_elements(data: Any, indices: Any, axis: int = 0) -> ir.Value:
    return relax.gather_elements(tensor(data), tensor(indices), axis=axis)


def gather_nd(data: Any, indices: Any, batch_dims: int = 0) -> ir.Value:
    return relax.gather_nd(tensor(data), tensor(indices), batch_dims=batch_dims)


def scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "update") -> ir.Value:
    x, updates = tensors(data, updates)
    return relax.scatter_elements(x, tensor(indices), updates, axis=axis, reduction=SCATTER.get(reduction, reduction))


def scatter_nd(data: Any, indices: Any, updates: Any, reduction: str = "update") -> ir.Value:
    x, updates = tensors(data, updates)
    return relax.scatter_nd(x, tensor(indices), updates, reduction=SCATTER.get(reduction, reduction))


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int = -1) -> ir.Value:
    """``on_value``, ``off_value``: R.prim_value(...), or numbers."""
    hot = relax.one_hot(tensor(indices), depth=depth, axis=axis, dtype="i32")
    dtype = "float32" if isinstance(on_value, float) or isinstance(off_value, float) else "int64"
    return relax.where(relax.equal(hot, full_of([], 1, "int32")), full_of([], on_value, dtype), full_of([], off_value, dtype))


# --- shapes ---

def reshape(x: Any, shape: Any) -> ir.Value:
    return relax.reshape(tensor(x), sizes(shape))


def flatten(x: Any) -> ir.Value:
    x = tensor(x)
    shape = dims.dims(x.type)
    return x if len(shape) == 1 else relax.reshape(x, [dims.product(shape)])


def broadcast_to(x: Any, shape: Any) -> ir.Value:
    return relax.broadcast_to(tensor(x), sizes(shape))


def expand_dims(x: Any, axis: Any) -> ir.Value:
    return relax.expand_dims(tensor(x), axis=ints(axis))


def squeeze(x: Any, axis: Any = None) -> ir.Value:
    x = tensor(x)
    return relax.squeeze(x, axis=[n for n, size in enumerate(dims.dims(x.type)) if size == 1] if axis is None else ints(axis))


def permute_dims(x: Any, axes: Any = None) -> ir.Value:
    x = tensor(x)
    return relax.permute_dims(x, list(range(x.type.rank))[::-1] if axes is None else ints(axes))


def concat(tensors: Any, axis: int = 0) -> ir.Value:
    parts = [tensor(t) for t in (tensors if isinstance(tensors, (tuple, list)) else (tensors,))]
    if not parts:
        raise Problem("R.concat takes one tensor or more")
    parts = [flatten(p) for p in parts] if axis is None else parts
    return relax.concat(parts, axis_of(0 if axis is None else axis, parts[0]))


def stack(tensors: Any, axis: int = 0) -> ir.Value:
    parts = [tensor(t) for t in (tensors if isinstance(tensors, (tuple, list)) else (tensors,))]
    if not parts:
        raise Problem("R.stack takes one tensor or more")
    rank = parts[0].type.rank + 1
    place = axis + rank if axis < 0 else axis
    return relax.concat([relax.expand_dims(p, axis=[place]) for p in parts], place)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[ir.Value, ...]:
    x = tensor(x)
    axis = axis_of(axis, x)
    size = dims.dims(x.type)[axis]
    if isinstance(indices_or_sections, int):
        if not isinstance(size, int) or not 1 <= indices_or_sections <= max(size, 1):
            raise Problem(f"{size} cannot be split into {indices_or_sections} parts")
        step = -(-size // indices_or_sections)  # the last part may be smaller
        bounds = [min(part * step, size) for part in range(indices_or_sections + 1)]
    else:
        bounds = [0, *sizes(indices_or_sections), size]
    return tuple(relax.strided_slice(x, [a], [b], axes=[axis]) for a, b in pairwise(bounds))


def tile(data: Any, repeats: Any) -> ir.Value:
    x, repeats = tensor(data), ints(repeats)
    rank = max(x.type.rank, len(repeats))
    if x.type.rank < rank:
        x = relax.reshape(x, [1] * (rank - x.type.rank) + list(dims.dims(x.type)))
    return relax.tile(x, repeats=[1] * (rank - len(repeats)) + repeats)


def repeat(data: Any, repeats: int, axis: int | None = None) -> ir.Value:
    x = tensor(data)
    x, axis = (flatten(x), 0) if axis is None else (x, axis_of(axis, x))
    shape = list(dims.dims(x.type))
    wide = relax.broadcast_to(relax.expand_dims(x, axis=[axis + 1]), [*shape[: axis + 1], repeats, *shape[axis + 1:]])
    return relax.reshape(wide, [*shape[:axis], shape[axis] * repeats, *shape[axis + 1:]])


# --- products ---

def matmul(x1: Any, x2: Any, out_dtype: Any = None) -> ir.Value:
    a, b = tensor(x1), tensor(x2)
    if out_dtype not in (None, "", "void"):
        a, b = (x if element(x) == dtype_of(out_dtype) else relax.astype(x, dtype_of(out_dtype)) for x in (a, b))
    return relax.matmul(a, b)


def linear(data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> ir.Value:
    weight = tensor(weight)
    rank = weight.type.rank
    turned = weight if rank < 2 else relax.permute_dims(weight, [*range(rank - 2), rank - 1, rank - 2])
    y = matmul(data, turned, out_dtype)
    return y if bias is None else binary_of("add", y, bias)


def outer(x1: Any, x2: Any) -> ir.Value:
    return relax.multiply(relax.expand_dims(tensor(x1), axis=[1]), relax.expand_dims(tensor(x2), axis=[0]))


# --- quantized numbers ---

def quantize(data: Any, scale: Any, zero_point: Any, axis: int = -1, out_dtype: str = "int8") -> ir.Value:
    x = tensor(data)
    kept = relax.round(relax.divide(x, along(scale, axis, x)))
    moved = relax.add(kept, relax.astype(along(zero_point, axis, x), element(x)))
    info = np.iinfo(dtype_of(out_dtype))
    return relax.astype(relax.clip(moved, min=float(info.min), max=float(info.max)), dtype_of(out_dtype))


def dequantize(data: Any, scale: Any, zero_point: Any, axis: int = -1, out_dtype: str = "float32") -> ir.Value:
    x = relax.astype(tensor(data), dtype_of(out_dtype))
    moved = relax.subtract(x, relax.astype(along(zero_point, axis, x), dtype_of(out_dtype)))
    return relax.multiply(moved, relax.astype(along(scale, axis, x), dtype_of(out_dtype)))


def along(values: Any, axis: int, x: ir.Value) -> ir.Value:
    """One value, or one for each place of an axis of x, so that it broadcasts to x."""
    values = tensor(values)
    if values.type.rank != 1:
        return values
    place = axis_of(axis, x)
    return relax.reshape(values, [*dims.dims(values.type), *[1] * (x.type.rank - 1 - place)])


# --- no ops at run time ---

def identity(x: Any) -> ir.Value:
    return tensor(x)


def prim_value(value: Any) -> Any:
    return value


OPS: dict[str, Any] = {
    **{n: unary(n) for n in UNARY}, **{n: binary(n) for n in BINARY}, **{n: reduction(n) for n in REDUCTIONS},
    "cumsum": cumulative("cumsum"), "cumprod": cumulative("cumprod"), "argmax": arg("argmax"), "argmin": arg("argmin"),
    "stop_lift_params": identity, "memory_scope_hint": identity,
    **{f.__name__: f for f in (
        mod, floor_mod, log_add_exp, ewise_fma, variance, std, topk, argsort, sort, clip, where, masked_fill, astype, full, zeros, ones,
        full_like, zeros_like, ones_like, eye, arange, tril, triu, take, strided_slice, flip, gather_elements, gather_nd, scatter_elements,
        scatter_nd, one_hot, reshape, flatten, broadcast_to, expand_dims, squeeze, permute_dims, concat, stack, split, tile, repeat,
        matmul, linear, outer, quantize, dequantize, prim_value)},
}
