"""Random ONNX models of one op or a short chain, with many sizes of 1 and symbolic sizes, and what onnxruntime computes of them."""
from dataclasses import dataclass, field
from random import Random

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ort.set_default_logger_severity(4)


@dataclass
class RandomModel:
    """``shape``: of the input, in numbers; ``steps``: the ops, for messages."""

    model: onnx.ModelProto
    shape: list[int]
    steps: list[str]
    array: np.ndarray = field(repr=False)

    def expected(self) -> np.ndarray:
        """The output, by onnxruntime. ValueError where it refuses the model."""
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = ort.InferenceSession(self.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            return np.asarray(session.run(None, {"x": self.array})[0])
        except Exception as error:  # its exceptions have no common class
            raise ValueError(str(error)) from error


class _Writer:
    def __init__(self, rng: Random):
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.shape = [rng.choice((1, 1, 2, 3, 4, 5, 8, 17)) for _ in range(rng.choice((2, 3, 4, 4, 4, 5)))]
        self.value = "x"
        self.origins = [{n} for n in range(len(self.shape))]  # the input's dimensions that each size depends on
        self.pinned: set[int] = set()                         # of the input's dimensions: those that weights need to be numbers

    def pin(self, *axes: int) -> None:
        """Makes the sizes of these axes numbers."""
        self.pinned.update(*(self.origins[axis] for axis in axes))

    def weight(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def floats(self, *shape: int) -> str:
        numbers = np.random.default_rng(self.rng.randrange(1 << 30))
        return self.weight(numbers.standard_normal(shape).astype(np.float32))

    def ints(self, *values: int) -> str:
        return self.weight(np.array(values, np.int64))

    def node(self, op: str, shape: list[int], *others: str, origins: list[set[int]] | None = None, **attributes) -> None:
        """Appends an op on the value so far and on weights. ``origins``: of the result, where its axes are not those of the operand."""
        self.origins = self.origins if origins is None else origins
        assert len(self.origins) == len(shape), op
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.value, *others], [name], **attributes))
        self.value, self.shape = name, shape


def window(w: _Writer, dilated: bool = True) -> tuple[dict, list[int], list[int]]:
    """Attributes of a window over the spatial axes, the kernel, and the sizes of the output."""
    kernel, strides, dilations, begins, ends, sizes = [], [], [], [], [], []
    for size in w.shape[2:]:
        k, d = w.rng.choice((1, 1, 2, 2, 3)), w.rng.choice((1, 1, 1, 2)) if dilated else 1
        begin, end = (w.rng.randint(0, k - 1) if w.rng.random() < 0.3 else 0 for _ in range(2))
        room = size + begin + end - (k - 1) * d - 1
        if room < 0:
            k, d, begin, end, room = 1, 1, 0, 0, size - 1
        kernel.append(k)
        strides.append(w.rng.choice((1, 1, 2, 3)))
        dilations.append(d)
        begins.append(begin)
        ends.append(end)
        sizes.append(room // strides[-1] + 1)
    found = {"strides": strides, "pads": begins + ends}
    return (found | {"dilations": dilations} if dilated else found), kernel, sizes


def conv(w: _Writer) -> bool:
    if not 3 <= len(w.shape) <= 5:
        return False
    attributes, kernel, sizes = window(w)
    channels = w.shape[1]
    group = w.rng.choice([g for g in range(1, channels + 1) if channels % g == 0])
    w.pin(1)
    filters = group * w.rng.choice((1, 1, 2, 3))
    others = [w.floats(filters, channels // group, *kernel)] + ([w.floats(filters)] if w.rng.random() < 0.6 else [])
    w.node("Conv", [w.shape[0], filters, *sizes], *others, group=group, **attributes)
    return True


def pool(w: _Writer) -> bool:
    if not 3 <= len(w.shape) <= 5:
        return False
    op = w.rng.choice(("MaxPool", "AveragePool"))
    attributes, kernel, sizes = window(w, dilated=op == "MaxPool")
    if op == "AveragePool":
        attributes["count_include_pad"] = w.rng.randint(0, 1)
    w.node(op, [*w.shape[:2], *sizes], kernel_shape=kernel, **attributes)
    return True


def unary(w: _Writer) -> bool:
    w.node(w.rng.choice(("Relu", "Neg", "Sigmoid", "Abs", "Tanh")), w.shape)
    return True


def binary(w: _Writer) -> bool:
    first = w.rng.randrange(len(w.shape))
    shape = [s if w.rng.random() < 0.6 else 1 for s in w.shape[first:]]
    w.pin(*(first + n for n, size in enumerate(shape) if size > 1))
    w.node(w.rng.choice(("Add", "Mul", "Sub", "Max")), w.shape, w.floats(*shape))
    return True


def reduce(w: _Writer) -> bool:
    axes = sorted(w.rng.sample(range(len(w.shape)), w.rng.randint(1, max(len(w.shape) - 1, 1))))
    keep = w.rng.randint(0, 1)
    shape = [1 if n in axes else s for n, s in enumerate(w.shape) if keep or n not in axes]
    if not shape:
        return False
    origins = [set() if n in axes else o for n, o in enumerate(w.origins) if keep or n not in axes]
    op = w.rng.choice(("ReduceSum", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceL2"))
    w.node(op, shape, w.ints(*axes), origins=origins, keepdims=keep)
    return True


def softmax(w: _Writer) -> bool:
    w.node("Softmax", w.shape, axis=w.rng.randrange(len(w.shape)))
    return True


def matmul(w: _Writer) -> bool:
    columns = w.rng.choice((1, 2, 5, 16))
    w.pin(-1)
    w.node("MatMul", [*w.shape[:-1], columns], w.floats(w.shape[-1], columns), origins=[*w.origins[:-1], set()])
    return True


def transpose(w: _Writer) -> bool:
    order = w.rng.sample(range(len(w.shape)), len(w.shape))
    w.node("Transpose", [w.shape[n] for n in order], origins=[w.origins[n] for n in order], perm=order)
    return True


def cut(w: _Writer) -> bool:
    axis = w.rng.randrange(len(w.shape))
    size, step = w.shape[axis], w.rng.choice((1, 1, 2, -1, -2))
    begin = w.rng.randrange(size)
    end = w.rng.choice((1 << 40, size)) if step > 0 else -(1 << 40)
    if step < 0:
        w.pin(axis)
    count = len(range(size)[slice(begin, None, step)])
    w.node("Slice", [count if n == axis else s for n, s in enumerate(w.shape)], *map(w.ints, (begin, end, axis, step)))
    return True


def pad(w: _Writer) -> bool:
    ends = [w.rng.choice((0, 0, 0, 1, 2)) for _ in range(2 * len(w.shape))]
    shape = [s + a + b for s, a, b in zip(w.shape, ends, ends[len(w.shape):])]
    w.node("Pad", shape, w.ints(*ends), w.weight(np.array(0.5, np.float32)))
    return True


def concat(w: _Writer) -> bool:
    axis = w.rng.randrange(len(w.shape))
    extra = w.rng.choice((1, 2))
    w.pin(*(n for n in range(len(w.shape)) if n != axis))
    other = w.floats(*(extra if n == axis else s for n, s in enumerate(w.shape)))
    w.node("Concat", [s + extra if n == axis else s for n, s in enumerate(w.shape)], other, axis=axis)
    return True


def unsqueeze(w: _Writer) -> bool:
    if len(w.shape) > 4:
        return False
    axis = w.rng.randint(0, len(w.shape))
    w.node("Unsqueeze", [*w.shape[:axis], 1, *w.shape[axis:]], w.ints(axis), origins=[*w.origins[:axis], set(), *w.origins[axis:]])
    return True


def flatten(w: _Writer) -> bool:
    if len(w.shape) < 2:
        return False
    axis = w.rng.randint(1, len(w.shape) - 1)
    origins = [set().union(*w.origins[:axis]), set().union(*w.origins[axis:])]
    w.node("Flatten", [int(np.prod(w.shape[:axis])), int(np.prod(w.shape[axis:]))], origins=origins, axis=axis)
    return True


def gather(w: _Writer) -> bool:
    axis = w.rng.randrange(len(w.shape))
    places = [w.rng.randrange(w.shape[axis]) for _ in range(w.rng.choice((1, 2, 3)))]
    w.node("Gather", [len(places) if n == axis else s for n, s in enumerate(w.shape)], w.ints(*places), axis=axis)
    return True


def norm(w: _Writer) -> bool:
    w.pin(-1)
    w.node("LayerNormalization", w.shape, w.floats(w.shape[-1]), w.floats(w.shape[-1]), axis=-1)
    return True


STEPS = (conv, conv, conv, pool, pool, unary, binary, reduce, softmax, matmul, transpose, cut, pad, concat, unsqueeze, flatten, gather,
         norm)


def random_model(seed: int, steps=STEPS) -> RandomModel:
    """A model by its number. ``steps``: what its ops are drawn from."""
    rng = Random(seed)
    w = _Writer(rng)
    shape = list(w.shape)
    wanted, names = rng.choice((1, 1, 2, 3)), []
    while len(names) < wanted:
        step = rng.choice(steps)
        before = list(w.shape)
        if step(w):
            names.append(f"{w.nodes[-1].op_type} {before} -> {w.shape}")
            w.shape = list(w.shape)
    free = [f"n{n}" if rng.random() < 0.4 and n not in w.pinned else s for n, s in enumerate(shape)]
    graph = helper.make_graph(w.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, free)],
                              [helper.make_tensor_value_info(w.value, TensorProto.FLOAT, [None] * len(w.shape))], w.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    array = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return RandomModel(model, shape, [f"x {free}", *names], array)
