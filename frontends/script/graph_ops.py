"""The ops of a graph's script: TVM's names and arguments to the builders of relax."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ...dialects import relax
from ...dialects.dtypes import numpy_dtype
from ...dialects.relax import dims
from ...mlir import ir
from .source import Problem
from .types import ShapeInfo, dtype_name, relax_element, sizes_of

# TVM's names of arguments, where they are not relax's
ARGUMENTS = {
    "dilation": "dilations", "pool_size": "kernel", "input": "x", "data": "x", "moving_mean": "mean", "moving_var": "var",
}
DROPPED = ("out_dtype", "out_layout", "sparse", "mask")
NAMES = {"permute_dims": "permute_dims", "transpose": "permute_dims", "floor_mod": "mod", "batch_flatten": "flatten"}


def build_binary(name: str, left: Any, right: Any) -> ir.Value:
    """A binary op on tensors; a Python number takes the other's type of elements."""
    if not isinstance(left, ir.Value) and not isinstance(right, ir.Value):
        raise Problem("one of the operands has to be a tensor")
    like = left if isinstance(left, ir.Value) else right
    left, right = (x if isinstance(x, ir.Value) else number_like(x, like) for x in (left, right))
    return relax.OPS[name].build(left, right)


def number_like(x: Any, like: ir.Value) -> ir.Value:
    if not isinstance(x, (int, float, bool, np.generic)):
        raise Problem(f"{x!r} is neither a tensor nor a number")
    return relax.constant(np.asarray(x, numpy_dtype(like.type.element_type)))


def plain(value: Any) -> Any:
    """An argument as relax's attributes take it."""
    if isinstance(value, ShapeInfo):
        return list(value.sizes)
    return list(value) if isinstance(value, tuple) and not any(isinstance(v, ir.Value) for v in value) else value


def build(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """The value of ``R.<name>(arguments...)``."""
    last = name.rpartition(".")[2]
    last = NAMES.get(last, last)
    keywords = {ARGUMENTS.get(k, k): v for k, v in keywords.items() if not (k in DROPPED and v in (None, "", "void"))}
    if last in COMPOSED:
        return COMPOSED[last](*arguments, **keywords)
    if last not in relax.OPS:
        import difflib

        near = difflib.get_close_matches(last, [*relax.OPS, *COMPOSED], 2)
        raise Problem(f"R.{name} is not supported" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    op = relax.OPS[last]
    arguments = [plain(a) for a in arguments]
    keywords = {k: plain(v) for k, v in keywords.items()}
    if "padding" in op.ATTRIBUTES and "padding" in keywords:
        keywords["padding"] = paddings(last, keywords["padding"])
    for attribute in ("strides", "dilations", "kernel"):
        if attribute in keywords and isinstance(keywords[attribute], int):
            keywords[attribute] = [keywords[attribute]] * spatial_rank(last)
    tensors = [a for a in arguments if isinstance(a, ir.Value)]
    operands = len(op.OPERANDS)
    if tensors:
        arguments = [number_like(a, tensors[0]) if i < operands and isinstance(a, (int, float)) else a for i, a in enumerate(arguments)]
    return op.build(*arguments, **keywords)


def spatial_rank(name: str) -> int:
    return next((int(d) for d in "123" if f"{d}d" in name), 2)


def paddings(name: str, padding: Any) -> list[int]:
    """One number, one for each dimension, or begins and ends."""
    rank = spatial_rank(name)
    padding = [padding] if isinstance(padding, int) else list(padding)
    if len(padding) == 1:
        return padding * 2 * rank
    return padding * 2 if len(padding) == rank else padding


def concat(tensors: Any, axis: int = 0) -> ir.Value:
    return relax.concat(list(tensors), axis)


def split(x: ir.Value, indices_or_sections: Any, axis: int = 0) -> tuple[ir.Value, ...]:
    size = dims.dims(x.type)[axis]
    if isinstance(indices_or_sections, int):
        if not isinstance(size, int) or size % indices_or_sections:
            raise Problem(f"{size} cannot be split into {indices_or_sections} equal parts")
        step = size // indices_or_sections
        bounds = list(range(0, size + 1, step))
    else:
        bounds = [0, *indices_or_sections, size]
    return tuple(relax.strided_slice(x, [a], [b], axes=[axis]) for a, b in pairwise(bounds))


def full(shape: Any, value: Any, dtype: Any = "float32") -> ir.Value:
    sizes = list(shape.sizes if isinstance(shape, ShapeInfo) else sizes_of(shape))
    if isinstance(value, ir.Value):
        return relax.broadcast_to(value, sizes)
    element = relax_element(dtype_name(dtype))
    return relax.broadcast_to(relax.constant(np.asarray(value, numpy_dtype(element))), sizes)


def like(value: float) -> Callable:
    return lambda x, dtype=None: full(dims.dims(x.type), value, dtype or dtype_name(x.type.element_type))


def flatten(x: ir.Value) -> ir.Value:
    sizes = dims.dims(x.type)
    return relax.reshape(x, [dims.product(sizes)] if len(sizes) != 1 else list(sizes))


def linear(x: ir.Value, weight: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    y = relax.matmul(x, relax.permute_dims(weight, list(range(weight.type.rank - 2)) + [weight.type.rank - 1, weight.type.rank - 2]))
    return y if bias is None else relax.add(y, bias)


def permute_dims(x: ir.Value, axes: Any = None) -> ir.Value:
    return relax.permute_dims(x, list(range(x.type.rank))[::-1] if axes is None else list(axes))


COMPOSED: dict[str, Callable] = {
    "concat": concat, "split": split, "full": full, "zeros": lambda shape, dtype="float32": full(shape, 0, dtype),
    "ones": lambda shape, dtype="float32": full(shape, 1, dtype), "zeros_like": like(0), "ones_like": like(1), "flatten": flatten,
    "linear": linear, "permute_dims": permute_dims, "dropout": lambda x, rate=0.5: (x, x),
    "rsqrt": lambda x: relax.rsqrt(x), "identity": lambda x: x, "stop_lift_params": lambda x: x,
}
