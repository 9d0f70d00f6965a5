"""TVM's ops of ``R.nn``, with TVM's names, arguments and defaults, built from relax's ops. Each function implements ``R.nn.<its
name>``."""

import math
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.tvm.ops import UNARY, identity, unary
from legato.frontends.script.tvm.shapes import flatten, reshape
from legato.frontends.script.tvm.values import axes_of, axis_of, dtype_of, element, full_of, ints, number_like, numpy_type, tensor

LAYOUTS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}
NO_DTYPE = (None, "", "void")


# --- convolutions and pools ---

def per_axis(value: Any, rank: int, what: str) -> list[int]:
    """A number for each spatial axis; one number holds for all. Misuse for another count."""
    found = ints(value)
    found = found * rank if len(found) == 1 else found
    if len(found) != rank:
        raise Misuse(f"{what} has {rank} numbers, or one; {len(found)} are given")
    return found


def paddings(padding: Any, rank: int) -> list[int]:
    """Begins, then ends, of all axes: given as one number, as one for each axis, or as begins and ends."""
    found = ints(padding)
    found = found * rank if len(found) == 1 else found
    if len(found) not in (rank, 2 * rank):
        raise Misuse(f"padding has 1, {rank} or {2 * rank} numbers; {len(found)} are given")
    return found * 2 if len(found) == rank else found


def check_out_layout(out_layout: Any, layout: str) -> None:
    """Misuse where ``out_layout`` differs from the input's layout."""
    if out_layout not in (None, "", layout):
        raise Misuse(f"out_layout={out_layout!r}: the result has the layout of the input, {layout}; R.permute_dims turns it")


def accumulated(a: ir.Value, b: ir.Value, out_dtype: Any) -> tuple[ir.Value, ir.Value]:
    """The operands cast to ``out_dtype`` where it is given."""
    if out_dtype in NO_DTYPE:
        return a, b
    wanted = dtype_of(out_dtype)
    left, right = (x if element(x) == wanted else relax.astype(x, wanted) for x in (a, b))
    return left, right


def conv(rank: int) -> Any:
    """Makes the function for ``R.nn.conv<rank>d``."""
    data, kernel = LAYOUTS[rank]

    def op(data: Any, weight: Any, strides: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, data_layout: str = data,
           kernel_layout: str = kernel, out_layout: Any = None, out_dtype: Any = None) -> ir.Value:
        check_out_layout(out_layout, data_layout)
        x, w = accumulated(tensor(data), tensor(weight), out_dtype)
        return relax.OPS[f"conv{rank}d"].build(
            x, w, strides=per_axis(strides, rank, "strides"), padding=paddings(padding, rank),
            dilations=per_axis(dilation, rank, "dilation"), groups=groups, data_layout=data_layout, kernel_layout=kernel_layout)

    return op


def conv_transpose(rank: int) -> Any:
    """Makes the function for ``R.nn.conv<rank>d_transpose``, with channels first only."""
    data = LAYOUTS[rank][0]
    kernel = f"IO{data[2:]}"

    def op(data: Any, weight: Any, strides: Any = 1, padding: Any = 0, output_padding: Any = 0, dilation: Any = 1, groups: int = 1,
           data_layout: str = data, kernel_layout: str = kernel, out_layout: Any = None, out_dtype: Any = None) -> ir.Value:
        check_out_layout(out_layout, data_layout)
        if (data_layout, kernel_layout) != (LAYOUTS[rank][0], kernel):
            raise Misuse(f"R.nn.conv{rank}d_transpose has the layouts {LAYOUTS[rank][0]} and {kernel}, not {data_layout} and "
                         f"{kernel_layout}: R.permute_dims turns a tensor")
        x, w = accumulated(tensor(data), tensor(weight), out_dtype)
        return relax.OPS[f"conv{rank}d_transpose"].build(
            x, w, strides=per_axis(strides, rank, "strides"), padding=paddings(padding, rank),
            output_padding=per_axis(output_padding, rank, "output_padding"), dilations=per_axis(dilation, rank, "dilation"), groups=groups)

    return op


def pool(kind: str, rank: int) -> Any:
    """Makes the function for ``R.nn.<kind>_pool<rank>d``, ``kind`` max or avg."""
    layout_ = LAYOUTS[rank][0]
    counted = kind == "avg" and rank != 2  # TVM's defaults

    def op(data: Any, pool_size: Any = 1, strides: Any = 1, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
           count_include_pad: bool = counted, layout: str = layout_, out_layout: Any = None) -> ir.Value:
        check_out_layout(out_layout, layout)
        more = {"count_include_pad": bool(count_include_pad)} if kind == "avg" else {}
        return relax.OPS[f"{kind}_pool{rank}d"].build(
            tensor(data), kernel=per_axis(pool_size, rank, "pool_size"), strides=per_axis(strides, rank, "strides"),
            padding=paddings(padding, rank), dilations=per_axis(dilation, rank, "dilation"), ceil_mode=bool(ceil_mode), layout=layout,
            **more)

    return op


def adaptive_avg_pool(rank: int) -> Any:
    """Makes the function for ``R.nn.adaptive_avg_pool<rank>d``; input sizes must be multiples of the output sizes."""
    layout_ = LAYOUTS[rank][0]

    def op(data: Any, output_size: Any = None, layout: str = layout_, out_layout: Any = None) -> ir.Value:
        check_out_layout(out_layout, layout)
        x = tensor(data)
        if sorted(layout) != sorted(layout_) or x.type.rank != rank + 2:
            raise Misuse(f"R.nn.adaptive_avg_pool{rank}d takes a tensor of layout {layout_}, not {layout!r} of rank {x.type.rank}")
        spatial = [layout.index(letter) for letter in layout_[2:]]
        shape = dims.dims(x.type)
        wanted = [shape[a] for a in spatial] if output_size is None else per_axis(output_size, rank, "output_size")
        if all(size == 1 for size in wanted):
            return relax.mean(x, axis=spatial, keepdims=True)
        if any(not isinstance(shape[a], int) or shape[a] % size for a, size in zip(spatial, wanted)):
            raise Misuse(f"R.nn.adaptive_avg_pool{rank}d makes equal windows only: the sizes {[str(shape[a]) for a in spatial]} are no "
                          f"multiples of {wanted}")
        window = [shape[a] // size for a, size in zip(spatial, wanted)]
        return relax.OPS[f"avg_pool{rank}d"].build(x, kernel=window, strides=window, layout=layout)

    return op


_PAD_MODES = {"replicate": "edge", "circular": "wrap"}    # TVM's name: relax's name


def pad(data: Any, pad_width: Any, pad_mode: str = "constant", pad_value: Any = 0.0) -> ir.Value:
    """Pads by ``pad_width``: begin and end of each axis in turn, flat or as pairs. Modes have TVM's names, or relax's."""
    nested = isinstance(pad_width, (tuple, list)) and any(isinstance(p, (tuple, list)) for p in pad_width)
    flat = [n for pair in pad_width for n in ints(pair)] if nested else ints(pad_width)
    x = tensor(data)
    if len(flat) != 2 * x.type.rank:
        raise Misuse(f"pad_width has a begin and an end for each of {x.type.rank} axes; {len(flat)} numbers are given")
    return relax.pad(x, pads=flat[0::2] + flat[1::2], mode=_PAD_MODES.get(pad_mode, pad_mode), value=float(pad_value))


def pixel_shuffle(data: Any, upscale_factor: int) -> ir.Value:
    """[N, C*r*r, H, W] as [N, C, H*r, W*r] for the factor r."""
    return relax.depth_to_space(tensor(data), block=upscale_factor, mode="CRD")


# --- activations ---

def relu6(data: Any) -> ir.Value:
    """Limits elements to [0, 6]."""
    return relax.clip(tensor(data), min=0.0, max=6.0)


def leakyrelu(data: Any, alpha: float = 0.01) -> ir.Value:
    """x where it is positive, alpha * x elsewhere."""
    return relax.leaky_relu(tensor(data), alpha=float(alpha))


def gelu_tanh(data: Any) -> ir.Value:
    """GELU in the tanh approximation."""
    return relax.gelu(tensor(data), approximate="tanh")


def softplus(data: Any, beta: float = 1.0, threshold: float = 20.0) -> ir.Value:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold (equal in f32 for the default threshold)."""
    x = tensor(data)
    scaled = x if beta == 1.0 else relax.multiply(x, number_like(float(beta), x))
    curve = relax.softplus(scaled)
    curve = curve if beta == 1.0 else relax.divide(curve, number_like(float(beta), x))
    return relax.where(relax.greater(scaled, number_like(float(threshold), x)), x, curve)


def softmax(data: Any, axis: int = -1) -> ir.Value:
    """exp(x) divided by its sum along an axis."""
    return relax.softmax(tensor(data), axis=axis)


def log_softmax(data: Any, axis: int = -1) -> ir.Value:
    """The logarithm of ``softmax``."""
    return relax.log_softmax(tensor(data), axis=axis)


def prelu(data: Any, alpha: Any, axis: int = 1) -> ir.Value:
    """x where it is positive, alpha * x elsewhere; ``alpha`` is a scalar or one slope for each index of ``axis``."""
    x, slope = tensor(data), tensor(alpha)
    place = axis_of(axis, x) if x.type.rank > 1 else 0
    if slope.type.rank == 1:
        slope = relax.reshape(slope, [*dims.dims(slope.type), *[1] * (x.type.rank - 1 - place)])
    return relax.prelu(x, slope)


def dropout(data: Any, rate: float = 0.5) -> tuple[ir.Value, ir.Value]:
    """At inference: data unchanged, and a mask of ones."""
    del rate
    x = tensor(data)
    return x, full_of(list(dims.dims(x.type)), 1, element(x))


# --- norms ---

def batch_norm(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: int, epsilon: float = 1e-5, center: bool = True,
               scale: bool = True, momentum: float = 0.1, training: bool = False) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Normalizes by the moving mean and variance (inference only). Returns the result and both moments unchanged."""
    del momentum
    if training:
        raise Misuse("R.nn.batch_norm is for inference here, by the moving mean and variance: training=False")
    x, mean, var = tensor(data), tensor(moving_mean), tensor(moving_var)
    gamma, beta = affine(gamma, beta, center, scale)
    return relax.batch_norm(x, gamma, beta, mean, var, axis=axis, epsilon=float(epsilon)), mean, var


def affine(gamma: Any, beta: Any, center: bool, scale: bool) -> tuple[ir.Value, ir.Value]:
    """gamma, or ones without ``scale``; beta, or zeros without ``center``."""
    gamma, beta = tensor(gamma), tensor(beta)
    ones, zeros = (full_of(list(dims.dims(gamma.type)), n, element(gamma)) for n in (1, 0))
    return gamma if scale else ones, beta if center else zeros


def layer_norm(data: Any, gamma: Any, beta: Any, axes: Any, epsilon: float = 1e-5, center: bool = True, scale: bool = True) -> ir.Value:
    """Normalizes over ``axes`` by mean and variance, then scales and shifts."""
    gamma, beta = affine(gamma, beta, center, scale)
    return relax.layer_norm(tensor(data), gamma, beta, axes=ints(axes), epsilon=float(epsilon))


def rms_norm(data: Any, weight: Any, axes: Any = -1, epsilon: float = 1e-5) -> ir.Value:
    """Divides by the root of the mean square over ``axes``, then scales."""
    return relax.rms_norm(tensor(data), tensor(weight), axes=ints(axes), epsilon=float(epsilon))


def group_norm(data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5, center: bool = True,
               scale: bool = True) -> ir.Value:
    """Normalizes groups of channels of [N, C, spatial...]. Misuse for another channel axis."""
    x = tensor(data)
    check_channels("R.nn.group_norm", x, channel_axis, axes)
    return relax.group_norm(x, *affine(gamma, beta, center, scale), num_groups=num_groups, epsilon=float(epsilon))


def instance_norm(data: Any, gamma: Any, beta: Any, channel_axis: int, axes: Any, epsilon: float = 1e-5, center: bool = True,
                  scale: bool = True) -> ir.Value:
    """Normalizes each channel of [N, C, spatial...] over its spatial axes. Misuse for another channel axis."""
    x = tensor(data)
    check_channels("R.nn.instance_norm", x, channel_axis, axes)
    return relax.instance_norm(x, *affine(gamma, beta, center, scale), epsilon=float(epsilon))


def check_channels(name: str, x: ir.Value, channel_axis: Any, axes: Any) -> None:
    """Misuse unless channels are axis 1 and ``axes`` are all spatial axes."""
    if axis_of(channel_axis, x) != 1 or sorted(axes_of(axes, x) or []) != list(range(2, x.type.rank)):
        raise Misuse(f"{name} takes [N, C, spatial...], normalized over all spatial axes: channel_axis=1, "
                      f"axes={list(range(2, x.type.rank))}")


# --- losses and attention ---

def cross_entropy_with_logits(predictions: Any, labels: Any) -> ir.Value:
    """``-sum(predictions * labels)``, divided by the number of rows."""
    x = tensor(predictions)
    total = relax.negative(relax.sum(relax.multiply(x, tensor(labels))))
    if x.type.rank == 1:
        return total
    rows = dims.dims(x.type)[0]
    if not isinstance(rows, int):
        raise Misuse("R.nn.cross_entropy_with_logits takes a number of rows that is known")
    return relax.divide(total, number_like(rows, x))


def attention(query: Any, key: Any, value: Any, bias: Any = None, scale: Any = None, causal_mask: Any = None,
              window_size: Any = None) -> ir.Value:
    """query [B, S, heads, D], key [B, S_k, heads, D], value [B, S_k, heads, D_v]; bias broadcasts to [B, heads, S, S_k]."""
    q, k, v = (relax.permute_dims(tensor(x), [0, 2, 1, 3]) for x in (query, key, value))
    depth = dims.dims(q.type)[-1]
    if window_size is not None or not (isinstance(depth, int) or scale is not None):
        raise Misuse("R.nn.attention has no window_size; scale is given where the depth of a head is a symbol")
    factor = float(scale) if scale is not None else 1 / math.sqrt(depth)
    scores = relax.matmul(relax.multiply(q, number_like(factor, q)), relax.permute_dims(k, [0, 1, 3, 2]))
    if bias is not None:
        scores = relax.add(scores, tensor(bias))
    if causal_mask is not None:
        scores = relax.add(scores, relax.constant(causal(causal_mask, *dims.dims(scores.type)[-2:], numpy_type(element(scores)))))
    return relax.permute_dims(relax.matmul(relax.softmax(scores, axis=-1), v), [0, 2, 1, 3])


def causal(kind: Any, rows: Any, columns: Any, dtype: np.dtype) -> np.ndarray:
    """A mask [rows, columns] to add to scores: 0 where a query may attend, a large negative number elsewhere."""
    if kind not in ("TopLeft", "BottomRight") or not isinstance(rows, int) or not isinstance(columns, int):
        raise Misuse("causal_mask is TopLeft or BottomRight, for lengths that are numbers; for others give the mask as bias")
    ahead = np.arange(columns)[None, :] > np.arange(rows)[:, None] + (columns - rows if kind == "BottomRight" else 0)
    return np.where(ahead, np.array(-1e4 if dtype.itemsize == 2 else -1e30, dtype), np.array(0, dtype)).astype(dtype)


def batch_flatten(data: Any) -> ir.Value:
    """[N, ...] as [N, product of the other sizes]."""
    shape = dims.dims(tensor(data).type)
    return flatten(data) if len(shape) < 2 else reshape(data, [shape[0], dims.product(shape[1:])])


OPS: dict[str, Any] = {
    **{f"conv{n}d": conv(n) for n in LAYOUTS}, **{f"conv{n}d_transpose": conv_transpose(n) for n in LAYOUTS},
    **{f"{kind}_pool{n}d": pool(kind, n) for kind in ("max", "avg") for n in LAYOUTS},
    **{f"adaptive_avg_pool{n}d": adaptive_avg_pool(n) for n in LAYOUTS}, **{n: unary(n) for n in ("relu", "gelu", "selu", "silu")},
    **{n: unary(n) for n in UNARY if n in ("sigmoid", "tanh")}, "leaky_relu": leakyrelu, "attention_bias": attention, "identity": identity,
    **{f.__name__: f for f in (
        pad, pixel_shuffle, relu6, leakyrelu, gelu_tanh, softplus, softmax, log_softmax, prelu, dropout, batch_norm,
        layer_norm, rms_norm, group_norm, instance_norm, cross_entropy_with_logits, attention, batch_flatten)},
}
