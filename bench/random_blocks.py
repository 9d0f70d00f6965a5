"""Random parts of networks, of a few layers each, as exporters write them: normalizations, attentions, gated products, recurrences and
convolutions of sequences. Kinds of ``bench.random_layers``.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .draw import SIDES, Draw, Layer

MICROSOFT = "com.microsoft"


def scalar(draw: Draw, value: float) -> str:
    """A constant number of the layer's element type."""
    return draw.weight(np.array(value, draw.dtype))


def gated(draw: Draw, value: str, op: str) -> str:
    """An activation as exporters write it, of several ops."""
    if op == "silu":
        return draw.node("Mul", [value, draw.node("Sigmoid", [value])])
    if op == "mish":
        return draw.node("Mul", [value, draw.node("Tanh", [draw.node("Softplus", [value])])])
    if op == "hardswish":
        return draw.node("Mul", [value, draw.node("HardSigmoid", [value], alpha=1 / 6, beta=0.5)])
    if op == "gelu":
        error = draw.node("Erf", [draw.node("Div", [value, scalar(draw, 2**0.5)])])
        return draw.node("Mul", [draw.node("Mul", [value, draw.node("Add", [error, scalar(draw, 1)])]), scalar(draw, 0.5)])
    if op == "tanh gelu":
        cube = draw.node("Mul", [draw.node("Pow", [value, scalar(draw, 3)]), scalar(draw, 0.044715)])
        bent = draw.node("Tanh", [draw.node("Mul", [draw.node("Add", [value, cube]), scalar(draw, (2 / np.pi)**0.5)])])
        return draw.node("Mul", [draw.node("Mul", [value, scalar(draw, 0.5)]), draw.node("Add", [bent, scalar(draw, 1)])])
    return draw.node("Relu", [value])


ACTIVATIONS = ("silu", "mish", "hardswish", "gelu", "tanh gelu", "relu")


def norm(draw: Draw, value: str, op: str, width: int, axis: int = -1) -> str:
    """A normalization of several ops along an axis, or one op along the last."""
    if op == "layer":
        return draw.node("LayerNormalization", [value, draw.weight(draw.array(width)), draw.weight(draw.array(width))], axis=-1)
    axes, shape = draw.numbers(axis), (width,) if axis == -1 else (width, 1, 1)
    if op != "rms":
        value = draw.node("Sub", [value, draw.node("ReduceMean", [value, axes])])
    square = draw.node("Mul", [value, value]) if draw.maybe() else draw.node("Pow", [value, scalar(draw, 2)])
    deviation = draw.node("Sqrt", [draw.node("Add", [draw.node("ReduceMean", [square, axes]), scalar(draw, 1e-5)])])
    value = draw.node("Div", [value, deviation]) if draw.maybe() else draw.node("Mul", [value, draw.node("Reciprocal", [deviation])])
    value = draw.node("Mul", [value, draw.weight(draw.array(*shape))])
    return value if op == "rms" else draw.node("Add", [value, draw.weight(draw.array(*shape))])


def normalized(draw: Draw) -> Layer:
    """A residual and a normalization as exporters write them, of images along channels too; group norms with an activation."""
    op = draw.among(("layer", "rms", "composed", "channels", "group", "instance", "batch", "unit", "adaptive"))
    rows, width = draw.size(1, 800), draw.size(4, 1500)
    if op in ("layer", "rms", "composed"):
        total = draw.node("Add", [draw.input(1, rows, width), draw.input(1, rows, width)])
        return draw.layer(f"{op} {rows}x{width}", norm(draw, total, op, width))
    if op == "adaptive":
        scale, shift = draw.input(1, 1, width), draw.input(1, 1, width)
        value = draw.node("LayerNormalization", [draw.input(1, rows, width), draw.weight(np.ones(width, draw.dtype))], axis=-1)
        return draw.layer(f"{op} {rows}x{width}",
                          draw.node("Add", [draw.node("Mul", [value, draw.node("Add", [scale, scalar(draw, 1)])]), shift]))
    if op == "unit":
        x = draw.input(rows, width)
        length = draw.node("ReduceL2", [x, draw.numbers(-1)])
        return draw.layer(f"{op} {rows}x{width}", draw.node("Div", [x, draw.node("Max", [length, scalar(draw, 1e-6)])]))
    channels, side = draw.size(1, 24) * 8, draw.size(4, 64, SIDES)
    x, label = draw.input(1, channels, side, side), f"{op} {channels} of {side}"
    parts = [draw.weight(draw.array(channels)) for _ in range(2)]
    if op == "channels":
        return draw.layer(label, norm(draw, x, "composed", channels, 1))
    if op == "batch":
        mean, variance = draw.weight(draw.array(channels)), draw.weight(np.abs(draw.array(channels)) + draw.dtype(1))
        return draw.layer(label, gated(draw, draw.node("BatchNormalization", [x, *parts, mean, variance]), draw.among(ACTIVATIONS)))
    if op == "instance":
        length = draw.size(4, 3000)
        cut = draw.input(1, channels, min(length, 1_000_000 // channels))
        draw.inputs.pop(x)
        return draw.layer(f"{op} {channels} of {length}", draw.node("InstanceNormalization", [cut, *parts]))
    groups = draw.among((4, 8, channels))
    value = draw.node("GroupNormalization", [x, *parts], num_groups=groups)
    return draw.layer(f"{label} by {groups}", gated(draw, value, draw.among(ACTIVATIONS)), shape=(1, channels, side, side))


def dense(draw: Draw, value: str, depth: int, columns: int) -> str:
    """A product by a constant, with bias. In models of 8 bits the operand is rounded."""
    value = draw.quantized(value, 0.03) if draw.precision == "int8" else value
    return draw.node("Add", [draw.node("MatMul", [value, draw.filter(depth, columns, axis=1)]), draw.weight(draw.array(columns))])


def feed(draw: Draw) -> Layer:
    """Feed-forward parts of transformers: norm, product, gate or activation, product, residual."""
    rows, depth, inner = draw.size(1, 256), draw.size(8, 768), draw.size(8, 1536)
    rows = max(1, min(rows, 100_000_000 // (depth * inner)))
    x, op = draw.input(1, rows, depth), draw.among((*ACTIVATIONS, "glu", "swiglu"))
    value = norm(draw, x, draw.among(("layer", "rms", "composed")), depth)
    if op == "glu":
        draw.node("Split", [dense(draw, value, depth, 2 * inner)], axis=-1, num_outputs=2)
        first = draw.nodes[-1].output[0]
        draw.nodes[-1].output.append("gate")
        value = draw.node("Mul", [first, draw.node("Sigmoid", ["gate"])])
    elif op == "swiglu":
        value = draw.node("Mul", [gated(draw, dense(draw, value, depth, inner), "silu"), dense(draw, value, depth, inner)])
    else:
        value = gated(draw, dense(draw, value, depth, inner), op)
    return draw.layer(f"{rows}x{depth}x{inner} {op}", draw.node("Add", [x, dense(draw, value, inner, depth)]))


def heads(draw: Draw) -> Layer:
    """Attention as models have it: from one product, with shared keys, masks, rotated positions, a cache, in windows."""
    op = draw.among(("packed", "packed", "shared", "causal", "cache", "rotary", "windows", "operator", "linear", "channels"))
    groups, shared, depth = draw.among((1, 2, 4)), draw.among((1, 2, 4)), draw.among((16, 24, 32, 48, 64, 96, 128))
    count, rows, past = groups * shared, draw.size(1, 320), draw.size(1, 500)
    width = count * depth
    scale = scalar(draw, depth**-0.5)
    if op == "windows":
        batch, rows = draw.size(1, 32), draw.among((16, 49, 64))
        query, key, value = (draw.input(batch, count, rows, depth) for _ in range(3))
        scores = draw.node("Mul", [draw.node("MatMul", [query, draw.node("Transpose", [key], perm=[0, 1, 3, 2])]), scale])
        scores = draw.node("Add", [scores, draw.weight(draw.array(1, count, rows, rows))])
        label = f"{op} {batch} of {count}x{rows}x{depth}"
        return draw.layer(label, merged(draw, draw.node("MatMul", [draw.node("Softmax", [scores], axis=-1), value]), width))
    label = f"{op} {rows}x{width} by {count}, {groups} of keys"
    if op == "packed":
        packed = draw.node("Reshape", [dense(draw, draw.input(1, rows, width), width, 3 * width), draw.numbers(1, rows, 3, count, depth)])
        packed = draw.node("Transpose", [packed], perm=[2, 0, 3, 1, 4])
        query, key, value = (draw.node("Gather", [packed, draw.weight(np.int64(i))], axis=0) for i in range(3))
        scores = draw.node("MatMul", [draw.node("Mul", [query, scale]), draw.node("Transpose", [key], perm=[0, 1, 3, 2])])
        return draw.layer(label, merged(draw, draw.node("MatMul", [draw.node("Softmax", [scores], axis=-1), value]), width))
    if op == "operator":
        query, keys = draw.input(1, count, rows, depth), [draw.input(1, groups, rows, depth) for _ in range(2)]
        return draw.layer(label, draw.node("Attention", [query, *keys], is_causal=int(draw.maybe())))
    query, key, value = draw.input(1, count, rows, depth), draw.input(1, groups, rows, depth), draw.input(1, groups, rows, depth)
    if op in ("linear", "channels"):
        key, value = draw.input(1, count, rows, depth), draw.input(1, count, rows, depth)
        for name in list(draw.inputs)[1:3]:
            draw.inputs.pop(name)
        turned = draw.node("Transpose", [key], perm=[0, 1, 3, 2])
        if op == "channels":
            scores = draw.node("Softmax", [draw.node("Mul", [draw.node("MatMul", [turned, query]), scale])], axis=-1)
            return draw.layer(label, draw.node("MatMul", [value, scores]))
        return draw.layer(label, draw.node("MatMul", [draw.node("Relu", [query]), draw.node("MatMul", [turned, value])]))
    if op == "rotary":
        query, key = (rotated(draw, part, rows, depth) for part in (query, key))
    if op == "cache":
        label = f"{op} {past} past, {count}x{depth}, {groups} of keys"
        draw.inputs = {name: np.ascontiguousarray(array[:, :, :1]) for name, array in draw.inputs.items()}
        key, value = (draw.node("Concat", [draw.input(1, groups, past, depth), part], axis=2) for part in (key, value))
        keys = past + 1
    else:
        keys = rows
    if shared > 1:
        key, value = (draw.node("Reshape", [draw.node("Expand", [draw.node("Unsqueeze", [part, draw.numbers(2)]),
                                                                 draw.numbers(1, groups, shared, keys, depth)]),
                                            draw.numbers(1, count, keys, depth)]) for part in (key, value))
    scores = draw.node("Mul", [draw.node("MatMul", [query, draw.node("Transpose", [key], perm=[0, 1, 3, 2])]), scale])
    if op in ("causal", "rotary"):
        mask = np.where(np.tri(rows, dtype=bool), 0, -1e4).astype(draw.dtype)
        scores = draw.node("Add", [scores, draw.weight(mask)])
    return draw.layer(label, merged(draw, draw.node("MatMul", [draw.node("Softmax", [scores], axis=-1), value]), width))


def merged(draw: Draw, value: str, width: int) -> str:
    """Heads beside each other."""
    return draw.node("Reshape", [draw.node("Transpose", [value], perm=[0, 2, 1, 3]), draw.numbers(0, -1, width)])


def rotated(draw: Draw, value: str, rows: int, depth: int) -> str:
    """Rotated positions of [1, heads, rows, depth]."""
    high, low = (draw.node("Slice", [value, draw.numbers(a), draw.numbers(b), draw.numbers(3)])
                 for a, b in ((depth // 2, depth), (0, depth // 2)))
    other = draw.node("Concat", [draw.node("Neg", [high]), low], axis=3)
    angles = [draw.weight(draw.array(rows, depth)) for _ in range(2)]
    return draw.node("Add", [draw.node("Mul", [value, angles[0]]), draw.node("Mul", [other, angles[1]])])


def sequence(draw: Draw) -> Layer:
    """Parts of models of sound and text: dilated and gated convolutions, recurrences with states, batches first."""
    op = draw.among(("causal", "gated", "rnn", "states", "first", "conformer", "mix", "state space"))
    steps, width = draw.size(2, 400), draw.size(4, 32) * 8
    if op in ("rnn", "states", "first"):
        steps, hidden, rows = min(steps, 64), draw.size(8, 200), draw.size(1, 8)
        kind = "RNN" if op == "rnn" else draw.among(("LSTM", "GRU"))
        gates, x = {"RNN": 1, "LSTM": 4, "GRU": 3}[kind] * hidden, draw.input(*((rows, steps) if op == "first" else (steps, rows)), width)
        value = draw.node("Transpose", [x], perm=[1, 0, 2]) if op == "first" else x
        factors = [draw.array(1, gates, depth, scale=depth**-0.5) for depth in (width, hidden)]
        operands = [value, *map(draw.weight, factors), draw.weight(draw.array(1, 2 * gates))]
        if op == "states":
            operands += ["", *(draw.input(1, rows, hidden) for _ in range(2 if kind == "LSTM" else 1))]
        value = draw.node("Squeeze", [draw.node(kind, operands, hidden_size=hidden), draw.numbers(1)])
        value = draw.node("Transpose", [value], perm=[1, 0, 2]) if op == "first" else value
        return draw.layer(f"{op} {kind} {steps} of {rows}x{width} to {hidden}", value)
    x, kernel, dilation = draw.input(1, width, steps), draw.among((2, 3, 5)), draw.among((1, 2, 4, 8))
    past, label = dilation * (kernel - 1), f"{op} {width} of {steps}"

    def line(value: str, channels: int, features: int, size: int = 1, step: int = 1, pads: Sequence[int] = (0, 0), group: int = 1) -> str:
        operands = [value, draw.filter(features, channels // group, size), draw.weight(draw.array(features))]
        return draw.node("Conv", operands, kernel_shape=[size], dilations=[step], pads=pads, group=group)

    if op == "causal":
        return draw.layer(label, draw.node("Add", [draw.node("Relu", [line(x, width, width, kernel, dilation, (past, 0))]), x]))
    if op == "gated":
        ways = [line(x, width, width, kernel, dilation, (past, 0)) for _ in range(2)]
        both = draw.node("Mul", [draw.node("Tanh", [ways[0]]), draw.node("Sigmoid", [ways[1]])])
        return draw.layer(label, draw.node("Add", [line(both, width, width), x]))
    if op == "conformer":
        draw.node("Split", [line(x, width, 2 * width)], axis=1, num_outputs=2)
        first = draw.nodes[-1].output[0]
        draw.nodes[-1].output.append("gate")
        value = line(draw.node("Mul", [first, draw.node("Sigmoid", ["gate"])]), width, width, 15, 1, (7, 7), width)
        return draw.layer(label, line(gated(draw, value, "silu"), width, width))
    if op == "mix":
        turned = draw.node("Transpose", [norm(draw, x, "layer", steps)], perm=[0, 2, 1])
        return draw.layer(label, draw.node("Add", [x, draw.node("Transpose", [dense(draw, turned, width, width)], perm=[0, 2, 1])]))
    value = gated(draw, line(x, width, width, 4, 1, (3, 0), width), "silu")
    value = dense(draw, draw.node("Transpose", [value], perm=[0, 2, 1]), width, 48)
    return draw.layer(label, draw.node("Softplus", [dense(draw, value, 48, width)]))


def nbits(draw: Draw) -> Layer:
    """A product by a weight of 4 or 8 bits in blocks, dequantized within the product (onnxruntime's)."""
    rows, depth, columns = draw.size(1, 64), draw.size(1, 64) * 32, draw.size(8, 2048)
    bits, size = draw.among((4, 4, 8)), draw.among((32, 32, 64, 128))
    blocks = -(-depth // size)
    operands = [draw.input(rows, depth), draw.weight(draw.rng.integers(0, 256, (columns, blocks, size * bits // 8), np.uint8)),
                draw.weight((draw.rng.random((columns, blocks)) * 0.02).astype(draw.dtype))]
    if draw.maybe():
        operands.append(draw.weight(draw.rng.integers(0, 256, (columns, -(-blocks * bits // 8)), np.uint8)))
    result = draw.node("MatMulNBits", operands, domain=MICROSOFT, K=depth, N=columns, bits=bits, block_size=size)
    label = f"{rows}x{depth}x{columns} {bits} bits by {size}{' zeros' if len(operands) > 3 else ''}"
    return draw.layer(label, result, shape=(rows, columns))
