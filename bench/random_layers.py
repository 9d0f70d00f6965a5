"""Single layers of random kinds and sizes, as ONNX models with inputs: what ``bench.sweep`` measures. A layer is drawn from a seed."""
from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from onnx import TensorProto

from . import random_blocks, random_images, random_moves
from .draw import SIDES, Draw, Layer

QUANTIZED = ("matmul", "batch", "conv1d", "conv2d", "conv3d", "depthwise", "grouped", "pool", "block", "feed")
ELEMENTWISE = ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Sqrt", "Softplus", "HardSwish", "Mish", "Gelu", "Neg", "Abs", "Floor",
               "Reciprocal", "Elu", "LeakyRelu", "Selu", "Sin", "Cos", "Log", "Round", "Sign", "HardSigmoid")
MOVEMENT = ("Transpose", "Concat", "Slice", "Pad", "Gather", "Resize", "DepthToSpace", "Tile", "Expand", "Split", "Where", "TopK")


def matmul(draw: Draw) -> Layer:
    """A product by a constant, with bias and activation at times."""
    rows, depth, columns = draw.size(1, 600), draw.size(8, 3072), draw.size(8, 3072)
    rows = max(1, min(rows, 250_000_000 // (depth * columns)))
    result = draw.node("MatMul", [draw.input(rows, depth), draw.filter(depth, columns, axis=1)])
    return draw.layer(f"{rows}x{depth}x{columns}", epilogue(draw, result, (columns,)))


def batch(draw: Draw) -> Layer:
    """A product of two inputs, in batches."""
    heads, rows, depth, columns = draw.size(1, 32), draw.size(1, 400), draw.size(8, 256), draw.size(8, 400)
    result = draw.node("MatMul", [draw.input(heads, rows, depth), draw.input(heads, depth, columns)])
    return draw.layer(f"{heads} times {rows}x{depth}x{columns}", result)


def epilogue(draw: Draw, value: str, bias: tuple[int, ...]) -> str:
    """A bias and an activation, each at times."""
    if draw.maybe():
        value = draw.node("Add", [value, draw.weight(draw.array(*bias))])
    return draw.node(draw.among(("Relu", "Sigmoid", "HardSwish")), [value]) if draw.maybe() else value


def convolution(draw: Draw, dimensions: int, groups: str = "one", transposed: bool = False) -> Layer:
    """A convolution of one to three dimensions. ``groups``: one, each (depthwise), or some."""
    most = {1: 512, 2: 512, 3: 96}[dimensions]
    channels, features = draw.size(1, most), draw.size(1, most)
    count = 1
    if groups == "each":
        features, count = channels, channels
    elif groups == "some":
        count = draw.among((2, 3, 4, 8, 16, 32))
        channels, features = (max(1, size // count) * count for size in (channels, features))
    longest = {1: 3000, 2: 128, 3: 28}[dimensions]
    sides = [draw.size(4, longest, SIDES) for _ in range(dimensions)]
    if draw.maybe(0.7):
        sides = [sides[0]] * dimensions
    kernel = [draw.among((1, 2, 3, 3, 3, 4, 5, 7)[: 8 if dimensions < 3 else 5])] * dimensions
    stride = [draw.among((1, 1, 1, 2, 2, 3))] * dimensions
    dilation = [1 if transposed or draw.maybe(0.8) else 2] * dimensions
    work = 2 * np.prod(sides) * np.prod(kernel) * channels * features / count / (1 if transposed else np.prod(stride))
    while work > 1e9 and max(sides) > 8:
        work /= 2 ** dimensions
        sides = [max(4, side // 2) for side in sides]
    sides = [max(side, dilation[0] * (kernel[0] - 1) + 1) for side in sides]
    pads = [dilation[0] * (kernel[0] - 1) // 2] * (2 * dimensions)
    shape = (features, channels // count, *kernel) if not transposed else (channels, features // count, *kernel)
    axis = 1 if transposed and count == 1 else 0
    result = draw.node("ConvTranspose" if transposed else "Conv", [draw.input(1, channels, *sides), draw.filter(*shape, axis=axis)],
                       kernel_shape=kernel, strides=stride, dilations=dilation, pads=pads, group=count)
    text = f"{channels}->{features} of {'x'.join(map(str, sides))} k{kernel[0]} s{stride[0]} d{dilation[0]} g{count}"
    return draw.layer(text, epilogue(draw, result, (features, *[1] * dimensions)))


def pool(draw: Draw) -> Layer:
    """A pool of images."""
    channels, side = draw.size(1, 512), draw.size(6, 128, SIDES)
    kernel = draw.among((2, 3, 3, 5, 7))
    side = max(side if channels * side * side < 2_000_000 else 28, kernel)
    stride, op = draw.among((1, 2, 2, 3)), draw.among(("MaxPool", "AveragePool", "AveragePool", "GlobalAveragePool"))
    x = draw.input(1, channels, side, side)
    if op == "GlobalAveragePool":
        return draw.layer(f"{op} {channels} of {side}", draw.node(op, [x]))
    pads = [kernel // 2 if draw.maybe() else 0] * 4
    result = draw.node(op, [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
    return draw.layer(f"{op} {channels} of {side} k{kernel} s{stride} p{pads[0]}", result)


def shape_of(draw: Draw, most: int = 1_500_000) -> tuple[int, ...]:
    """A shape of two to four axes."""
    shape = [draw.size(1, 512) for _ in range(draw.among((2, 3, 3, 4)))]
    while np.prod(shape) > most:
        shape[int(np.argmax(shape))] //= 2
    return tuple(shape)


def reduction(draw: Draw) -> Layer:
    """A reduction along one or two axes, ArgMax and CumSum among them."""
    shape = shape_of(draw)
    op = draw.among(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd", "ArgMax", "CumSum"))
    axis = int(draw.rng.integers(len(shape)))
    x, label = draw.input(*shape), f"{op} {shape} axis {axis}"
    if op == "ArgMax":
        return draw.layer(label, draw.node(op, [x], axis=axis), TensorProto.INT64)
    return draw.layer(label, draw.node(op, [x, draw.weight(np.array([axis], np.int64) if op != "CumSum" else np.int64(axis))]))


def normalization(draw: Draw) -> Layer:
    """Layer, instance and group norms, softmax, LRN."""
    op = draw.among(("LayerNormalization", "Softmax", "LogSoftmax", "InstanceNormalization", "GroupNorm", "LRN", "LpNormalization"))
    if op in ("LayerNormalization", "Softmax", "LogSoftmax", "LpNormalization"):
        shape = shape_of(draw)
        axis = -1 if op == "LayerNormalization" or draw.maybe(0.7) else int(draw.rng.integers(len(shape)))
        operands = [draw.input(*shape)]
        if op == "LayerNormalization":
            operands += [draw.weight(draw.array(shape[-1])), draw.weight(draw.array(shape[-1]))]
        return draw.layer(f"{op} {shape} axis {axis}", draw.node(op, operands, axis=axis))
    groups = draw.among((4, 8, 32))
    channels, side = draw.size(1, 16) * groups, draw.size(4, 80, SIDES)
    x = draw.input(1, channels, side, side)
    label = f"{op} {channels} of {side}"
    if op == "LRN":
        return draw.layer(label, draw.node(op, [x], size=5))
    if op == "InstanceNormalization":
        return draw.layer(label, draw.node(op, [x, draw.weight(draw.array(channels)), draw.weight(draw.array(channels))]))
    flat = draw.node("Reshape", [x, draw.weight(np.array([0, groups, -1], np.int64))])
    ones, zeros = (draw.weight(np.full(groups, value, draw.dtype)) for value in (1, 0))
    normal = draw.node("InstanceNormalization", [flat, ones, zeros])
    normal = draw.node("Reshape", [normal, draw.weight(np.array([1, channels, side, side]))])
    parts = [draw.weight(draw.array(channels, 1, 1)) for _ in range(2)]
    return draw.layer(f"{label} by {groups}", draw.node("Add", [draw.node("Mul", [normal, parts[0]]), parts[1]]))


def chain(draw: Draw) -> Layer:
    """Three to six elementwise ops, some with a second operand that is broadcast."""
    shape = shape_of(draw)
    value, ops = draw.input(*shape), []
    for _ in range(int(draw.rng.integers(3, 7))):
        if draw.maybe(0.4):
            ops.append(draw.among(("Add", "Mul", "Sub", "Max", "Div", "PRelu")))
            other = tuple(size if draw.maybe() else 1 for size in shape)
            operand = draw.input(*other) if draw.maybe(0.4) and ops[-1] != "PRelu" else draw.weight(draw.array(*other))
            value = draw.node(ops[-1], [value, operand])
        else:
            ops.append(draw.among(ELEMENTWISE))
            value = draw.node(ops[-1], [draw.node("Abs", [value])] if ops[-1] in ("Sqrt", "Log") else [value])
    return draw.layer(f"{shape} {' '.join(ops)}", value)


def movement(draw: Draw) -> Layer:
    """Ops that only move elements, and resizes."""
    op = draw.among([op for op in MOVEMENT if (op, draw.precision) != ("TopK", "bf16")])     # onnx has none of bf16
    if op in ("Resize", "DepthToSpace"):
        return _images(draw, op)
    shape = shape_of(draw)
    rank, axis = len(shape), int(draw.rng.integers(len(shape)))
    x, label = draw.input(*shape), f"{op} {shape}"
    if op == "Transpose":
        order = [int(i) for i in draw.rng.permutation(rank)]
        return draw.layer(f"{label} {order}", draw.node(op, [x], perm=order))
    if op == "Concat":
        other = tuple(draw.size(1, size) if i == axis else size for i, size in enumerate(shape))
        return draw.layer(f"{label} {other} axis {axis}", draw.node(op, [x, draw.input(*other), x], axis=axis))
    if op == "Slice":
        starts, steps = [size // 5 for size in shape], [draw.among((1, 1, 2, 3)) for _ in shape]
        operands = [draw.weight(np.array(value, np.int64)) for value in (starts, [2**31] * rank, range(rank), steps)]
        return draw.layer(f"{label} from {starts} by {steps}", draw.node(op, [x, *operands]))
    if op == "Pad":
        mode = draw.among(("constant", "reflect", "edge"))
        pads = [int(draw.rng.integers(0, min(size, 4))) for size in shape] * 2
        return draw.layer(f"{label} {pads} {mode}", draw.node(op, [x, draw.weight(np.array(pads, np.int64))], mode=mode))
    if op == "Gather":
        indices = draw.rng.integers(0, shape[axis], draw.size(1, 1000))
        return draw.layer(f"{label} {len(indices)} of axis {axis}", draw.node(op, [x, draw.weight(indices)], axis=axis))
    if op == "TopK":
        k = draw.size(1, shape[axis])
        draw.node(op, [x, draw.weight(np.array([k], np.int64))], axis=axis)
        draw.nodes[-1].output.append("indices")
        return draw.layer(f"{label} k {k} axis {axis}", draw.nodes[-1].output[0])
    if op == "Where":
        return draw.layer(label, draw.node(op, [draw.node("Greater", [x, draw.input(*shape)]), x, draw.weight(draw.array(*shape[-1:]))]))
    if op == "Split":
        if shape[axis] < 2:
            return draw.layer(f"{label} whole", draw.node("Identity", [x]))
        draw.node(op, [x], axis=axis, num_outputs=2)
        draw.nodes[-1].output.append("rest")
        return draw.layer(f"{label} axis {axis}", draw.node("Neg", [draw.nodes[-1].output[0]]))
    if op == "Tile":
        repeats = [draw.among((1, 1, 2)) for _ in shape]
        return draw.layer(f"{label} {repeats}", draw.node(op, [x, draw.weight(np.array(repeats, np.int64))]))
    target = np.array([draw.among((2, 3)), *shape], np.int64)
    return draw.layer(f"{label} to {target.tolist()}", draw.node(op, [x, draw.weight(target)]))


def _images(draw: Draw, op: str) -> Layer:
    channels, side = draw.size(1, 64) * 4, draw.size(4, 64, SIDES)
    x = draw.input(1, channels, side, side)
    if op == "DepthToSpace":
        return draw.layer(f"{op} {channels} of {side}", draw.node(op, [x], blocksize=2, mode=draw.among(("DCR", "CRD"))))
    mode, scale = draw.among(("nearest", "linear", "cubic")), draw.among((0.5, 1.5, 2.0, 2.0, 3.0))
    result = draw.node(op, [x, "", draw.weight(np.array([1, 1, scale, scale], np.float32))], mode=mode,
                       coordinate_transformation_mode=draw.among(("half_pixel", "asymmetric", "align_corners")))
    return draw.layer(f"{op} {channels} of {side} by {scale} {mode}", result)


def recurrence(draw: Draw) -> Layer:
    """An LSTM or a GRU."""
    op = draw.among(("LSTM", "GRU"))
    steps, rows, depth, hidden = draw.size(1, 64), draw.size(1, 16), draw.size(8, 256), draw.size(8, 256)
    gates, both = (4 if op == "LSTM" else 3) * hidden, draw.maybe(0.3)
    ways = 2 if both else 1
    operands = [draw.input(steps, rows, depth), draw.weight(draw.array(ways, gates, depth, scale=depth**-0.5)),
                draw.weight(draw.array(ways, gates, hidden, scale=hidden**-0.5)), draw.weight(draw.array(ways, 2 * gates))]
    attributes = {"linear_before_reset": 1} if op == "GRU" else {}
    result = draw.node(op, operands, hidden_size=hidden, direction="bidirectional" if both else "forward", **attributes)
    return draw.layer(f"{op} {steps} steps {rows}x{depth} to {hidden}{' both ways' if both else ''}", result)


def attention(draw: Draw) -> Layer:
    """Products with keys, softmax, and the product with values."""
    heads, rows, keys, depth = draw.size(1, 16), draw.size(1, 400), draw.size(4, 400), draw.among((16, 32, 40, 64, 80, 128))
    query, key, value = draw.input(1, heads, rows, depth), draw.input(1, heads, keys, depth), draw.input(1, heads, keys, depth)
    scores = draw.node("MatMul", [query, draw.node("Transpose", [key], perm=[0, 1, 3, 2])])
    scores = draw.node("Mul", [scores, draw.weight(np.array(depth**-0.5).astype(draw.dtype))])
    if draw.maybe():
        scores = draw.node("Add", [scores, draw.input(1, 1, rows, keys)])
    return draw.layer(f"{heads} heads {rows}x{keys}x{depth}", draw.node("MatMul", [draw.node("Softmax", [scores], axis=-1), value]))


KINDS: Mapping[str, Callable[[Draw], Layer]] = {
    "matmul": matmul, "batch": batch, "conv1d": lambda draw: convolution(draw, 1), "conv2d": lambda draw: convolution(draw, 2),
    "conv3d": lambda draw: convolution(draw, 3), "depthwise": lambda draw: convolution(draw, 2, "each"),
    "grouped": lambda draw: convolution(draw, draw.among((1, 2, 2, 3)), "some"),
    "transposed": lambda draw: convolution(draw, draw.among((1, 2, 2, 3)), draw.among(("one", "one", "each", "some")), True),
    "pool": pool, "reduction": reduction, "normalization": normalization, "chain": chain, "movement": movement,
    "recurrence": recurrence, "attention": attention, "indexing": random_moves.indexing, "sampling": random_moves.sampling,
    "reshuffle": random_moves.reshuffle, "einsum": random_moves.einsum, "statistics": random_moves.statistics, "masks": random_moves.masks,
    "normalized": random_blocks.normalized, "feed": random_blocks.feed, "heads": random_blocks.heads, "block": random_images.block,
    "sequence": random_blocks.sequence, "nbits": random_blocks.nbits,
}


def kinds(precision: str) -> tuple[str, ...]:
    """The kinds that a precision has."""
    if precision == "int8":
        return QUANTIZED
    return tuple(kind for kind in KINDS if (kind, precision) != ("einsum", "bf16"))     # onnx has none


def layer(kind: str, seed: int, precision: str) -> Layer:
    """The layer of a kind, seed and precision, always the same."""
    return KINDS[kind](Draw(seed, precision))
