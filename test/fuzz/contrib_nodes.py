"""Random nodes of the domain com.microsoft: what their inputs and attributes may be, as exporters and quantizers write them."""
from typing import Any

import numpy as np
from drawn_nodes import Array, Draw, DrawnNode, Make

# --- activations, products, norms ---


def activation(d: Draw) -> DrawnNode:
    op, shape, last = d.rng.choice(("Gelu", "QuickGelu", "BiasGelu", "FastGelu")), d.shape(), d.width()
    inputs: list[Array | None] = [d.normal(*shape, last) * d.dtype.type(d.rng.choice((1, 6)))]
    if op == "BiasGelu" or (op == "FastGelu" and d.some()):
        inputs.append(d.weight(last))
    alpha = {"alpha": d.rng.choice((1.0, 0.5, 2.0, -1.0))} if op == "QuickGelu" and d.some() else {}
    return DrawnNode(op, inputs, d.kept(1) if len(inputs) > 1 else (), tolerance=d.tolerance, attributes=alpha)


def fused_matmul(d: Draw) -> DrawnNode:
    m, k, n = d.size(), d.width(), d.size()
    batch = [d.size() for _ in range(d.rng.choice((0, 0, 1, 2)))]
    sides: list[list[int]] = []
    flags: dict[str, int] = {}
    for letter, shape in (("A", [m, k]), ("B", [k, n])):
        across, moved = d.some(0.3), bool(batch) and d.some(0.3)   # with transBatch, the axis before the last stands first
        first, last = reversed(shape) if across else shape
        sides.append([first, *batch, last] if moved else [*batch, first, last])
        flags |= {f"trans{letter}": int(across), f"transBatch{letter}": int(moved)}
    alpha = {"alpha": d.rng.choice((0.5, 2.0, -1.0))} if d.some() else {}
    return DrawnNode("FusedMatMul", [d.normal(*sides[0]), d.normal(*sides[1])], tolerance=d.tolerance, attributes=flags | alpha)


ACTIVATIONS: dict[str, tuple[dict[str, float], ...]] = {
    "Relu": ({},), "Tanh": ({},), "Sigmoid": ({},), "LeakyRelu": ({}, {"alpha": 0.3}), "HardSigmoid": ({"alpha": 0.3, "beta": 0.4},)}


def fused_gemm(d: Draw) -> DrawnNode:
    m, k, n = d.size(), d.width(), d.width()
    across = [int(d.some(0.4)), int(d.some(0.4))]
    a = d.normal(*((k, m) if across[0] else (m, k)))
    b = d.weight(*((n, k) if across[1] else (k, n)))
    bias = d.weight(*d.rng.choice(([n], [1], [1, n], []))) if d.some(0.7) else None
    name = d.rng.choice(tuple(ACTIVATIONS))
    attributes: dict[str, Any] = {"transA": across[0], "transB": across[1], "activation": name}
    attributes |= {f"activation_{word}": value for word, value in d.rng.choice(ACTIVATIONS[name]).items()}
    attributes |= {word: d.rng.choice((0.5, 2.0, 1.0)) for word in ("alpha", "beta") if d.some(0.3)}
    kept = d.kept(1, *([2] if bias is not None else []))
    return DrawnNode("FusedGemm", [a, b, bias], kept, tolerance=d.tolerance, attributes=attributes)


def fused_conv(d: Draw) -> DrawnNode:
    rank, groups = d.rng.choice((1, 2, 2, 2)), d.rng.choice((1, 1, 1, 2, 4))
    channels, out = groups * d.width(1, 2, 3, 4), groups * d.width(1, 2, 4, 8)
    kernel = [d.width(1, 2, 3) for _ in range(rank)]
    strides, dilations = [d.width(1, 1, 2) for _ in range(rank)], [d.width(1, 1, 2) for _ in range(rank)]
    pads = [d.width(0, 0, 1) for _ in range(2 * rank)]
    sizes = [d.size(5, 6, 7, 9, 12) for _ in range(rank)]
    batch = d.size(1, 2, 3)
    x, w = d.normal(batch, channels, *sizes), d.weight(out, channels // groups, *kernel)
    bias = d.weight(out) if d.some(0.7) else None
    reach = [(k - 1) * s + 1 for k, s in zip(kernel, dilations)]
    results = [(size + pads[i] + pads[rank + i] - reach[i]) // strides[i] + 1 for i, size in enumerate(sizes)]
    added = d.normal(batch, out, *results) if d.some(0.3) else None
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "group": groups}
    name = d.rng.choice(("", *ACTIVATIONS, "Clip"))
    if name:
        attributes["activation"] = name
    parameters = {"LeakyRelu": [0.3], "HardSigmoid": [0.3, 0.4], "Clip": [-0.5, 0.5]}.get(name)
    attributes |= {"activation_params": parameters} if parameters else {}
    inputs = [x, w, bias, added] if added is not None else [x, w, bias]
    return DrawnNode("FusedConv", inputs, d.kept(1, *([2] if bias is not None else [])), attributes=attributes, tolerance=d.tolerance)


def skip_norm(d: Draw) -> DrawnNode:
    simple, width = d.some(), d.width(2, 3, 8, 16, 33)
    shape = [d.size() for _ in range(d.rng.choice((1, 2, 2)))] + [width]
    skip = d.rng.choice((shape, shape, [1, *shape[1:]] if len(shape) == 3 else shape, shape[1:] if len(shape) == 3 else shape))
    inputs: list[Array | None] = [d.normal(*shape), d.normal(*skip), d.weight(width)]
    inputs += [] if simple else [d.weight(width) if d.some() else None]
    inputs += [d.weight(width) if d.some() else None]
    op = "SkipSimplifiedLayerNormalization" if simple else "SkipLayerNormalization"
    kept = [i for i in range(2, len(inputs)) if inputs[i] is not None]
    return DrawnNode(op, inputs, d.kept(*kept), ("y", "", "", "total") if d.some() else ("y",), tolerance=d.tolerance,
                       attributes={"epsilon": d.rng.choice((1e-3, 1e-5))})


def simplified_norm(d: Draw) -> DrawnNode:
    shape = [*d.shape(0, 2), d.width(2, 3, 8, 33), d.width(2, 5, 8, 16)]
    axis = d.rng.choice((-1, -2))
    return DrawnNode("SimplifiedLayerNormalization", [d.normal(*shape), d.weight(*shape[axis:])], d.kept(1), domain="",
                       attributes={"axis": axis, "epsilon": 1e-4}, tolerance=d.tolerance)


def embed_norm(d: Draw) -> DrawnNode:
    width, batch, rows = d.width(2, 8, 16, 33), d.size(1, 2, 3), d.size(1, 2, 4, 6)
    words, places, segments = d.weight(20, width), d.weight(6, width), d.weight(2, width)
    ids = d.data.integers(0, 20, (batch, rows)).astype(np.int32)
    which = d.data.integers(0, 2, (batch, rows)).astype(np.int32) if d.some(0.7) else None
    mask = d.data.integers(0, 2, (batch, rows)).astype(np.int32) if d.some() else None
    if mask is not None:
        mask = np.sort(mask, axis=1)[:, ::-1].copy()
    at = d.data.integers(0, 6, (batch, rows)).astype(np.int32) if d.some() else None
    inputs = [ids, which, words, places, segments if which is not None else None, d.weight(width), d.weight(width), mask, at]
    outputs = ("y", "index", "sum") if d.some() else ("y", "index")
    kept = [2, 3, *([4] if which is not None else []), 5, 6]
    return DrawnNode("EmbedLayerNormalization", inputs, kept, outputs, tolerance=d.tolerance, attributes={"epsilon": 1e-4})


# --- integers of 8 bits ---


def quantized_binary(d: Draw) -> DrawnNode:
    op, dtype, shape = d.rng.choice(("QLinearAdd", "QLinearMul", "QLinearWhere")), d.byte(), d.shape(1, 3)
    a, b = d.quantized(dtype, *shape), d.quantized(dtype, *d.broadcast(shape))
    if d.some():
        a, b = b, a
    inputs = [*a, *b, d.scale(), d.zero(dtype)]
    if op == "QLinearWhere":
        return DrawnNode(op, [np.asarray(d.data.random(d.broadcast(shape)) > 0.5), *inputs], d.kept(2, 3, 5, 6, 7, 8), unit=1)
    return DrawnNode(op, inputs, d.kept(1, 2, 4, 5, 6, 7), unit=1)


def quantized_unary(d: Draw) -> DrawnNode:
    op, dtype = d.rng.choice(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")), d.byte()
    shape = d.shape(1, 4)
    out = np.array(d.rng.choice((1 / 256, 0.01, 0.05)), np.float32)
    attributes: dict[str, Any] = {}
    if op == "QLinearLeakyRelu":
        attributes["alpha"] = d.rng.choice((0.2, 0.01, 1.5, -0.5))
    if op == "QLinearSoftmax":
        attributes |= {"opset": d.rng.choice((13, 13, 11)), "axis": d.rng.randrange(-len(shape), len(shape))}
    return DrawnNode(op, [*d.quantized(dtype, *shape), out, d.zero(dtype)], d.kept(1, 2, 3, 4), unit=1, attributes=attributes)


def quantized_concat(d: Draw) -> DrawnNode:
    dtype, shape = d.byte(), d.shape(1, 3)
    axis, inputs, kept = d.rng.randrange(-len(shape), len(shape)), [d.scale(), d.zero(dtype)], [0, 1]
    for _ in range(d.rng.randint(1, 3)):
        own = [*shape]
        own[axis] = d.size()
        kept += [len(inputs) + 1, len(inputs) + 2]
        inputs += d.quantized(dtype, *own)
    return DrawnNode("QLinearConcat", inputs, d.kept(*kept), unit=1, attributes={"axis": axis})


def quantized_pool(d: Draw) -> DrawnNode:
    dtype, last = d.byte(), d.some(0.4)
    batch, channels, sizes = d.size(1, 2, 3), d.width(1, 3, 8, 16), [d.size(6, 7, 8, 11), d.size(6, 7, 9)]
    shape = [batch, *sizes, channels] if last else [batch, channels, *sizes]
    inputs = [*d.quantized(dtype, *shape), np.array(d.rng.choice((0.02, 0.1)), np.float32), d.zero(dtype)]
    attributes: dict[str, Any] = {"channels_last": int(last)}
    if d.some(0.3):
        return DrawnNode("QLinearGlobalAveragePool", inputs, d.kept(1, 2, 3, 4), unit=1, attributes=attributes)
    kernel = [d.width(1, 2, 3), d.width(1, 2, 3)]
    attributes |= {"kernel_shape": kernel, "strides": [d.width(1, 2), d.width(1, 2)],
                   "pads": [d.rng.randrange(k) for k in (*kernel, *kernel)], "ceil_mode": int(d.some(0.3)),
                   "count_include_pad": int(d.some(0.3))}
    if attributes["ceil_mode"]:     # onnxruntime then divides by what lies beyond the padding, too; by its own AveragePool it does not
        attributes["count_include_pad"] = 0
    return DrawnNode("QLinearAveragePool", inputs, d.kept(1, 2, 3, 4), unit=1, attributes=attributes)


def qgemm(d: Draw) -> DrawnNode:
    m, k, n = d.size(), d.width(), d.width()
    across, weight = [int(d.some(0.4)), int(d.some(0.4))], d.byte()
    first = np.uint8 if weight is np.uint8 or d.some(0.7) else np.int8
    a = [d.bytes_of(first, (k, m) if across[0] else (m, k), halved=True), d.scale(), d.zero(first)]
    each = d.some()
    b = [d.bytes_of(weight, (n, k) if across[1] else (k, n), fixed=True, halved=True),
         d.positive(n) if each else d.scale(), d.fixed.integers(0, 9, n).astype(weight) if each else d.zero(weight)]
    bias = d.fixed.integers(-500, 500, n).astype(np.int32) if d.some() else None
    whole = d.some(0.6)
    out = [np.array(d.rng.choice((1.5, 8.0)), np.float32), d.zero(first)] if whole else []
    attributes: dict[str, Any] = {"transA": across[0], "transB": across[1]}
    attributes |= {"alpha": d.rng.choice((0.5, 2.0))} if d.some(0.3) else {}
    kept = [1, 2, 3, 4, 5, *([6] if bias is not None else []), *([7, 8] if whole else [])]
    return DrawnNode("QGemm", [*a, *b, bias, *out], kept, unit=1 if whole else 0, attributes=attributes)


def integer_product(d: Draw) -> DrawnNode:
    k, n, weight = d.width(), d.width(), d.byte()
    rows = d.shape(1, 3)
    each = d.some()
    w, scale = d.bytes_of(weight, (k, n), fixed=True, halved=True), d.positive(n) if each else d.scale()
    zero = None if d.some(0.3) else d.fixed.integers(0, 9, n).astype(weight) if each else d.zero(weight)
    bias = d.fixed.standard_normal(n).astype(np.float32) if d.some() else None
    if d.some():
        x = (d.data.standard_normal((*rows, k)) * d.rng.choice((1, 10)) + d.rng.choice((0, 3))).astype(np.float32)
        # where a number lies between two integers, its quantum goes to one or the other
        return DrawnNode("DynamicQuantizeMatMul", [x, w, scale, zero, bias],
                           d.kept(1, 2, *([3] if zero is not None else []), *([4] if bias is not None else [])), tolerance=1e-2)
    first = np.uint8 if weight is np.uint8 or d.some(0.7) else np.int8
    a = d.bytes_of(first, (*rows, k), halved=True)
    inputs = [a, w, d.scale(), scale, d.zero(first) if d.some(0.7) else None, zero, bias]
    kept = [i for i in (1, 3, 5, 6) if inputs[i] is not None]
    return DrawnNode("MatMulIntegerToFloat", inputs, d.kept(*kept))


def quantize(d: Draw) -> DrawnNode:
    dtype, shape = d.rng.choice((np.uint8, np.int8, np.uint16, np.int16)), d.shape(1, 3)
    axis = d.rng.randrange(len(shape))
    each = d.some(0.4)
    if each:
        shape[axis] = d.width(2, 4, 7)
        scale, zero = d.positive(shape[axis]), d.fixed.integers(0, 9, shape[axis]).astype(dtype)
    else:
        scale, zero = d.scale(), d.zero(dtype)
    attributes = {"axis": axis} if each else {}
    if d.some():
        x = (d.data.standard_normal(shape) * d.rng.choice((1, 50, 1e4))).astype(np.float32)
        return DrawnNode("QuantizeLinear", [x, scale, zero], d.kept(1, 2), unit=1, attributes=attributes)
    return DrawnNode("DequantizeLinear", [d.bytes_of(dtype, shape), scale, zero], d.kept(1, 2), attributes=attributes)


CONTRIB_NODES: tuple[Make, ...] = (activation, fused_matmul, fused_gemm, fused_conv, skip_norm, simplified_norm, embed_norm,
                                   quantized_binary, quantized_unary, quantized_concat, quantized_pool, qgemm, integer_product, quantize)
