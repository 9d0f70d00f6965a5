"""What each relax op should compute, by somebody else's code: onnxruntime, onnx's reference evaluator, scipy or numpy."""

import math

import numpy as np
import onnx
import onnxruntime
import scipy.special
from onnx import helper
from onnx.reference import ReferenceEvaluator

OPSET = 22


def onnx_op(op_type, arrays, attrs=None, opset=OPSET, runtime=False, output=0):
    """An output of one ONNX node, run by the reference evaluator or by onnxruntime. None among the arrays leaves an optional input out."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    given = {name: np.asarray(a) for name, a in zip(names, arrays) if name}
    attrs = {k: v for k, v in (attrs or {}).items() if v is not None}
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()]
    if runtime:
        node = helper.make_node(op_type, names, [*(f"unused{i}" for i in range(output)), "y"], **attrs)
        inferred = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(op_type, opset), node, {i.name: i.type for i in infos}, opset_imports=[helper.make_opsetid("", opset)]
        )
        graph = helper.make_graph([node], "g", infos, [helper.make_value_info("y", inferred["y"])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)[0]
    y = helper.make_value_info("y", helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))
    graph = helper.make_graph([helper.make_node(op_type, names, ["y"], **attrs)], "g", infos, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return ReferenceEvaluator(model).run(None, given)[0]


def _onnx(op_type, rename=None, runtime=False, opset=OPSET, **fixed):
    """An ONNX op that takes relax's operands and attributes, some by another name, others not at all (None)."""

    def run(*arrays, **attrs):
        given = {(rename or {}).get(k, k): v for k, v in attrs.items() if (rename or {}).get(k, k) is not None}
        given = {k: int(v) if isinstance(v, bool) else v for k, v in given.items()}
        return onnx_op(op_type, arrays, {**given, **fixed}, opset, runtime)

    return run


def _conv(x, w, strides, padding, dilations, groups, data_layout, kernel_layout):
    last = data_layout.endswith("C")
    x = np.moveaxis(x, -1, 1) if last else x
    if kernel_layout.endswith("IO"):
        w = np.moveaxis(w, (-1, -2), (0, 1))
    elif kernel_layout.endswith("I"):
        w = np.moveaxis(w, -1, 1)
    y = onnx_op("Conv", [x, w], {"strides": strides, "pads": padding, "dilations": dilations, "group": groups}, runtime=True)
    return np.moveaxis(y, 1, -1) if last else y


def _conv_transpose(x, w, strides, padding, output_padding, dilations, groups):
    attrs = {"strides": strides, "pads": padding, "dilations": dilations, "group": groups, "output_padding": output_padding}
    return onnx_op("ConvTranspose", [x, w], attrs, runtime=True)


def _running(op_type):
    opset = max(OPSET, onnx.defs.get_schema(op_type).since_version)
    return lambda x, axis, exclusive, reverse: onnx_op(
        op_type, [x, np.array(axis)], {"exclusive": int(exclusive), "reverse": int(reverse)}, opset=opset
    )


def _pool(op_type):
    def run(x, kernel, strides, padding, dilations, ceil_mode, layout, count_include_pad=None):
        x = np.moveaxis(x, -1, 1) if layout.endswith("C") else x
        attrs = {"kernel_shape": kernel, "strides": strides, "pads": padding, "dilations": dilations, "ceil_mode": int(ceil_mode)}
        if count_include_pad is not None:
            attrs["count_include_pad"] = int(count_include_pad)
        y = onnx_op(op_type, [x], attrs, runtime=True)
        return np.moveaxis(y, 1, -1) if layout.endswith("C") else y

    return run


def _arg_pool(x, kernel, strides, padding, dilations, ceil_mode):
    attrs = {"kernel_shape": kernel, "strides": strides, "pads": padding, "dilations": dilations, "ceil_mode": int(ceil_mode)}
    places = onnx_op("MaxPool", [x], attrs, runtime=True, output=1)
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
    return places - planes * np.prod(x.shape[2:], dtype=np.int64)


def _roi_align(x, regions, images, size, scale, sampling, aligned, mode, channels_last):
    """By onnxruntime, which takes the numbers of images from 0 on, and no points in a region whose corners are exchanged."""
    x = np.moveaxis(x, 3, 1) if channels_last else x
    if aligned and not sampling:
        regions = np.where((regions[:, 2:] < regions[:, :2]).any(1, keepdims=True), regions.dtype.type(0), regions)
    attrs = {"output_height": size[0], "output_width": size[1], "spatial_scale": scale, "sampling_ratio": sampling, "mode": mode,
             "coordinate_transformation_mode": "half_pixel" if aligned else "output_half_pixel"}
    made = onnx_op("RoiAlign", [x, regions, images.astype(np.int64) % len(x)], attrs, opset=16, runtime=True)
    return np.moveaxis(made, 1, 3) if channels_last else made


def _roi_pool(x, regions, images, size, scale, channels_last):
    """By onnxruntime, which takes the numbers of images from 0 on."""
    x = np.moveaxis(x, 3, 1) if channels_last else x
    rois = np.concatenate([(images % len(x))[:, None].astype(x.dtype), regions], 1)
    made = onnx_op("MaxRoiPool", [x, rois], {"pooled_shape": size, "spatial_scale": scale}, opset=16, runtime=True)
    return np.moveaxis(made, 1, 3) if channels_last else made


def _gather_weighted(x, indices, weights):
    """Row by row, in double."""
    found = np.zeros((len(x), indices.shape[2], x.shape[2]))
    indices, weights = (np.broadcast_to(taps, (len(x), *taps.shape[1:])) for taps in (indices, weights))
    for batch, tap, place in np.ndindex(*indices.shape):
        found[batch, place] += np.float64(weights[batch, tap, place]) * x[batch, indices[batch, tap, place]]
    return found.astype(x.dtype)


def _non_max_suppression(boxes, scores, candidates, threshold, k):
    """By onnxruntime, which sorts corners, and takes a threshold of scores in place of a mask."""
    without_area = (boxes[..., :2] > boxes[..., 2:]).any(-1, keepdims=True)
    boxes = np.where(without_area, np.tile(boxes[..., :2], 2), boxes)
    scores, least = np.where(candidates, scores, np.float32(-np.inf)), np.array([np.finfo(np.float32).min])
    # a threshold is from 0 to 1: below 0 all boxes that overlap at all go, and above 1 none
    limit = np.clip(threshold, 0, 1).reshape(1)
    rows = np.asarray(onnx_op("NonMaxSuppression", [boxes, scores, np.array([k]), limit, least], runtime=True))
    result = np.full((*scores.shape[:2], k), -1, np.int64)
    for batch, category in np.ndindex(*scores.shape[:2]):
        found = rows[(rows[:, 0] == batch) & (rows[:, 1] == category), 2]
        result[batch, category, : len(found)] = found
    return result


def _reduce(op_type):
    def run(x, axis, keepdims):
        axes = list(range(x.ndim)) if axis is None else axis
        return onnx_op(op_type, [x, np.array(axes, np.int64)], {"keepdims": int(keepdims), "noop_with_empty_axes": 1})

    return run


def _slice(x, begin, end, strides, axes):
    axes = range(len(begin)) if axes is None else axes
    i64 = [np.array(v, np.int64) for v in (begin, end, axes, strides or [1] * len(begin))]
    return onnx_op("Slice", [x, *i64], runtime=True)


def _matmul_quantized(x, weight, scale, zero, bits, columns, rows_in_bytes):
    _, blocks, rows, width = weight.shape
    per = 1 if bits == 8 else 32 // bits
    matrix = np.zeros((blocks * rows * per, columns), np.float32)
    for k, n in np.ndindex(matrix.shape):
        panel, lane, block = n // width, n % width, k // (rows * per)
        q = int(weight[panel, block, k // per % rows, lane]) >> bits * (k % per) & (1 << bits) - 1
        q -= q >> bits - 1 << bits
        matrix[k, n] = (np.float32(q) - (zero[panel, block, lane] if zero.size else 0)) * scale[panel, block, lane]
    return x @ matrix


def _layer_norm(x, gamma, beta, axes, epsilon):
    return onnx_op("LayerNormalization", [x, gamma, beta], {"axis": min(a % x.ndim for a in axes), "epsilon": epsilon}, runtime=True)


def _batch_norm(x, gamma, beta, mean, var, axis, epsilon):
    y = onnx_op("BatchNormalization", [np.moveaxis(x, axis, 1), gamma, beta, mean, var], {"epsilon": epsilon}, runtime=True)
    return np.moveaxis(y, 1, axis)


def _one_hot(indices, depth, axis, dtype):
    return onnx_op("OneHot", [indices, np.array(depth), np.array([0, 1], dtype)], {"axis": axis})


def _group_norm(x, gamma, beta, num_groups, epsilon):
    return onnx_op("GroupNormalization", [x, gamma, beta], {"num_groups": num_groups, "epsilon": epsilon})


def _lrn(x, size, alpha, beta, bias, axis):
    if size % 2:
        return onnx_op("LRN", [x], {"size": size, "alpha": alpha, "beta": beta, "bias": bias}, runtime=True)
    y = np.empty_like(x)  # onnxruntime takes odd sizes only; this is the formula of ONNX's document
    for c in range(x.shape[1]):
        around = x[:, max(0, c - (size - 1) // 2) : c + -(-(size - 1) // 2) + 1]
        y[:, c] = x[:, c] / (bias + alpha / size * np.sum(around**2, axis=1)) ** beta
    return y


def _i64(op_type, **kwargs):
    """An ONNX op whose relax attribute is its second input."""
    return lambda x, value, **attrs: onnx_op(op_type, [x, np.array(value, np.int64)], {**attrs, **kwargs})


def _arange(start, step, shape):
    zero, count, one = (np.array(number, start.dtype) for number in (0, shape[0], 1))
    return onnx_op("Add", [start, onnx_op("Mul", [onnx_op("Range", [zero, count, one], runtime=True), step], runtime=True)], runtime=True)


def _threefry(key, count):
    """Threefry-2x32 with 20 rounds, round by round on Python's integers, as the paper has it."""
    most = (1 << 32) - 1
    key, (high, low) = ([int(number) >> 32, int(number) & most] for number in (key, count))
    key.append(0x1BD11BDA ^ key[0] ^ key[1])
    x, y = (high + key[0]) & most, (low + key[1]) & most
    for number in range(20):
        x, bits = (x + y) & most, (13, 15, 26, 6, 17, 29, 16, 24)[number % 8]
        y = x ^ ((y << bits | y >> 32 - bits) & most)
        if number % 4 == 3:
            group = number // 4 + 1
            x, y = (x + key[group % 3]) & most, (y + key[(group + 1) % 3] + group) & most
    return x, y


def _random_bits(key, shape, dtype):
    hashes = [_threefry(key, number) for number in range(int(np.prod(shape)))]
    return np.array([x ^ y if dtype == np.uint32 else _joined(x, y) for x, y in hashes], dtype).reshape(shape)


def _joined(high, low):
    return np.array(high << 32 | low, np.uint64)


def _col2im(x, size, strides, padding, dilations):
    rank = len(size)
    blocks = x.reshape(x.shape[0], -1, int(np.prod(x.shape[2 + rank:])))
    sizes = [np.array(one, np.int64) for one in (size, x.shape[2:2 + rank])]
    return onnx_op("Col2Im", [blocks, *sizes], {"strides": strides, "pads": padding, "dilations": dilations})


def _trilu(upper):
    return lambda x, k: onnx_op("Trilu", [x, np.array(k, np.int64)], {"upper": upper}, runtime=True)


ORACLES = {
    **{
        name: _onnx(name.capitalize())
        for name in (
            "exp",
            "log",
            "sqrt",
            "reciprocal",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "asinh",
            "acosh",
            "atanh",
            "relu",
            "mish",
            "softplus",
            "ceil",
            "floor",
            "sign",
            "abs",
        )
    },
    "log2": lambda x: scipy.special.xlogy(1 / math.log(2), x),
    "log10": lambda x: scipy.special.xlogy(1 / math.log(10), x),
    "log1p": scipy.special.log1p,
    "expm1": scipy.special.expm1,
    "rsqrt": lambda x: np.reciprocal(np.sqrt(x.astype(np.float64))),
    "tanh": _onnx("Tanh", runtime=True),
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfinv": lambda x: scipy.special.erfinv(x).astype(x.dtype),
    "lgamma": lambda x: np.where(np.isinf(x), np.inf, scipy.special.gammaln(x)).astype(x.dtype),
    "sigmoid": scipy.special.expit,
    "silu": lambda x: x * scipy.special.expit(x),
    "gelu": _onnx("Gelu", runtime=True),
    "leaky_relu": _onnx("LeakyRelu", runtime=True),
    "elu": _onnx("Elu", runtime=True),
    "softsign": _onnx("Softsign", runtime=True),
    "selu": _onnx("Selu", runtime=True),
    "celu": _onnx("Celu", runtime=True),
    "hard_sigmoid": _onnx("HardSigmoid", runtime=True),
    "hard_swish": _onnx("HardSwish", runtime=True),
    "thresholded_relu": _onnx("ThresholdedRelu", runtime=True),
    "round": _onnx("Round", runtime=True),
    "negative": _onnx("Neg", runtime=True),
    "square": lambda x: np.power(x, x.dtype.type(2)),
    "trunc": np.fix,
    "isnan": _onnx("IsNaN"),
    "isinf": _onnx("IsInf"),
    "isfinite": lambda x: ~(np.isnan(x) | np.isinf(x)),
    "logical_not": _onnx("Not", runtime=True),
    "bitwise_not": _onnx("BitwiseNot"),
    "add": _onnx("Add", {"contract": None}, runtime=True),
    "subtract": _onnx("Sub", runtime=True),
    "multiply": _onnx("Mul", {"contract": None}, runtime=True),
    "divide": _onnx("Div", runtime=True),
    "power": _onnx("Pow", runtime=True),
    "maximum": _onnx("Max", runtime=True),
    "minimum": _onnx("Min", runtime=True),
    "mod": lambda a, b, fmod: (np.fmod(a, b) if fmod else a - b * np.floor(a / b)).astype(a.dtype),
    "floor_divide": lambda a, b: np.floor(a / b),
    "equal": _onnx("Equal"),
    "not_equal": lambda a, b: ~np.asarray(onnx_op("Equal", [a, b])),
    "less": _onnx("Less", runtime=True),
    "less_equal": _onnx("LessOrEqual", runtime=True),
    "greater": _onnx("Greater", runtime=True),
    "greater_equal": _onnx("GreaterOrEqual", runtime=True),
    "logical_and": _onnx("And"),
    "logical_or": _onnx("Or"),
    "logical_xor": _onnx("Xor"),
    "bitwise_and": _onnx("BitwiseAnd"),
    "bitwise_or": _onnx("BitwiseOr"),
    "bitwise_xor": _onnx("BitwiseXor"),
    "left_shift": lambda a, b: np.where(b < 0, 0, a.astype(object) * 2 ** np.maximum(b, 0).astype(object)).astype(np.int64).astype(a.dtype),
    "right_shift": lambda a, b: np.floor(a * 0.5 ** np.where(b < 0, 99, b)).astype(a.dtype),
    "where": _onnx("Where", runtime=True),
    "prelu": lambda x, s: np.where(x < 0, s * x, x + 0 * s),
    "astype": lambda x, dtype, contract: x.astype(dtype),
    "bitcast": lambda x, dtype: np.frombuffer(x.tobytes(), dtype).reshape(x.shape),
    "clip": lambda x, min, max: onnx_op("Clip", [x, *(None if b is None else np.array(b, x.dtype) for b in (min, max))], runtime=True),
    "matmul": np.matmul,
    "matmul_turned": lambda a, b: np.matmul(a, b.swapaxes(-1, -2)),
    "matmul_integer": lambda a, b, kernel_layout: np.matmul(
        a.astype(np.int32), (b if kernel_layout == "IO" else b.swapaxes(-1, -2)).astype(np.int32)),
    "matmul_float8": lambda a, b: np.matmul(a.astype(np.float32), b.astype(np.float32).swapaxes(-1, -2)),
    "matmul_quantized": _matmul_quantized,
    "conv2d_integer": lambda x, w, strides, padding, dilations, groups, data_layout, kernel_layout, pad_value, of_bytes: np.asarray(_conv(
        x.astype(np.float32) - pad_value, w.astype(np.float32), strides, padding, dilations, groups, data_layout, kernel_layout)
        + pad_value * w.astype(np.float32).sum(axis=tuple(i for i, letter in enumerate(kernel_layout) if letter != "O")).reshape(
            [-1 if letter == "C" else 1 for letter in data_layout])).astype(np.int32),
    "softmax": _onnx("Softmax", runtime=True),
    "log_softmax": scipy.special.log_softmax,
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
    "lrn": _lrn,
    "rms_norm": lambda x, gamma, axes, epsilon: x * np.power(np.mean(x**2, tuple(axes), keepdims=True) + epsilon, -0.5) * gamma,
    "instance_norm": _onnx("InstanceNormalization", runtime=True),
    **{f"conv{rank}d": _conv for rank in (1, 2, 3)},
    **{f"conv{rank}d_transpose": _conv_transpose for rank in (1, 2, 3)},
    **{f"arg_max_pool{rank}d": _arg_pool for rank in (1, 2, 3)},
    "non_max_suppression": _non_max_suppression,
    "roi_align": _roi_align,
    "roi_pool": _roi_pool,
    **{f"max_pool{rank}d": _pool("MaxPool") for rank in (1, 2, 3)},
    **{f"avg_pool{rank}d": _pool("AveragePool") for rank in (1, 2, 3)},
    **{name: _reduce(f"Reduce{name.capitalize()}") for name in ("sum", "prod", "max", "min")},
    "mean": lambda x, axis, keepdims: (
        np.trunc(np.mean(x, None if axis is None else tuple(axis), keepdims=keepdims)).astype(x.dtype)
        if x.dtype.kind != "f"
        else _reduce("ReduceMean")(x, axis, keepdims)
    ),
    "argmax": _onnx("ArgMax", {"select_last": "select_last_index"}, runtime=True),
    "argmin": _onnx("ArgMin", {"select_last": "select_last_index"}, runtime=True),
    **{name: _running(op) for name, op in (("cumsum", "CumSum"), ("cumprod", "CumProd"))},
    "topk": lambda x, k, axis, largest: onnx_op(
        "TopK", [x, np.array([k])], {"axis": axis, "largest": int(largest)}, runtime=True, output=1
    ),
    "size_of": lambda x, sizes: np.zeros((*x.ravel().tolist(), 0), np.int8),
    "name_sizes": lambda x, sizes: onnx_op("Identity", [x]),
    "nonzero": lambda x, size: onnx_op("NonZero", [x]),
    "reshape": lambda x, shape: onnx_op("Reshape", [x, np.array(shape, np.int64)], {"allowzero": 1}),
    "permute_dims": lambda x, axes: onnx_op("Transpose", [x], {"perm": [a % x.ndim for a in axes]}),
    "expand_dims": lambda x, axis: _i64("Unsqueeze")(x, axis),
    "squeeze": lambda x, axis: _i64("Squeeze")(x, axis),
    "broadcast_to": lambda x, shape: _i64("Expand")(x, shape),
    "arange": _arange,
    "random_bits": _random_bits,
    "fold_in": lambda key, data: _joined(*_threefry(key, data)),
    "col2im": _col2im,
    "dynamic_broadcast_to": lambda x, shape: _i64("Expand")(x, shape),
    "tile": lambda x, repeats: _i64("Tile")(x, repeats),
    "concat": lambda *xs, axis: onnx_op("Concat", xs, {"axis": axis}),
    "strided_slice": _slice,
    "pad": lambda x, pads, mode, value: onnx_op(
        "Pad", [x, np.array(pads, np.int64), np.array(value, x.dtype)], {"mode": mode}, runtime=True
    ),
    "triu": _trilu(1),
    "tril": _trilu(0),
    "depth_to_space": _onnx("DepthToSpace", {"block": "blocksize"}, runtime=True),
    "space_to_depth": _onnx("SpaceToDepth", {"block": "blocksize"}, runtime=True),
    "take": _onnx("Gather", runtime=True),
    "gather_elements": _onnx("GatherElements", runtime=True),
    "gather_nd": _onnx("GatherND", runtime=True),
    "gather_weighted": _gather_weighted,
    "one_hot": _one_hot,
    "scatter_elements": _onnx("ScatterElements", runtime=True),
    "scatter_nd": _onnx("ScatterND", runtime=True),
}
