"""ONNX graphs that grow node by node: each node is evaluated as it is added, so that what is added is well typed and defined.

Floats are evaluated in 64 bits, whatever their declared type is, by the operators of ONNX's reference, one call after another: at each call
the symbolic sizes have other values, and a shape is a list of sizes by call. A node whose result is not finite in its declared type at
some call is not added.
"""
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from onnx import NodeProto, defs, helper, shape_inference
from onnx.reference import ReferenceEvaluator

OPSET = 21
BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = (np.dtype(name) for name in ("float16", "float32", "float64"))
FLOATS = (F16, BF16, F32, F64)
I64, I32, BOOL = np.dtype("int64"), np.dtype("int32"), np.dtype("bool")
INTS = tuple(np.dtype(name) for name in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"))
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17)
TYPES = {"float32": "float", "float64": "double"}   # ONNX's names where they are not numpy's
LARGEST = 3000   # elements of a tensor


def is_float(dtype: np.dtype) -> bool:
    return dtype in FLOATS


@dataclass
class Value:
    """A tensor: what it holds at each call, floats in 64 bits."""

    name: str
    dtype: np.dtype
    arrays: list[np.ndarray]
    constant: bool = False

    @property
    def rank(self) -> int:
        return self.arrays[0].ndim

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        """Each axis' size by call."""
        return list(zip(*(array.shape for array in self.arrays))) if self.rank else []

    def fixed(self, *axes: int) -> bool:
        """Whether the sizes of these axes (none: of all) are the same at all calls."""
        sizes = self.sizes
        return all(len(set(sizes[axis])) == 1 for axis in axes or range(self.rank))

    @property
    def shape(self) -> tuple[int, ...]:
        """At the first call; the shape where it is fixed."""
        return self.arrays[0].shape

    def empty(self) -> bool:
        """Whether it has no elements at some call."""
        return any(array.size == 0 for array in self.arrays)


@dataclass
class Node:
    """A node and what evaluates it: from the arrays of ``reads`` (captured values of bodies behind the inputs) to its outputs."""

    proto: NodeProto
    reads: list[Value]
    outputs: list[Value]
    evaluate: Callable[[Sequence[np.ndarray]], list[np.ndarray]]


def sliced(x: np.ndarray, starts: np.ndarray, ends: np.ndarray, axes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Slice, with the starts and ends clamped as ONNX says."""
    for start, end, axis, step in zip(*(numbers.tolist() for numbers in (starts, ends, axes, steps)), strict=True):
        size = x.shape[axis]
        start, end = (place + size if place < 0 else place for place in (start, end))
        low, high = (0, size) if step > 0 else (-1, size - 1)
        places = range(min(max(start, 0), high), min(max(end, low), high), step)
        x = np.take(x, np.array(places, np.int64), axis)
    return x


def pooled(x: np.ndarray, reduce: np.ufunc, fill: float, beyond: float, kernel_shape: Sequence[int], pads: Sequence[int] = (),
           strides: Sequence[int] = (), dilations: Sequence[int] = (), ceil_mode: int = 0) -> np.ndarray:
    """Windows of an image reduced. ``fill``: what the pads hold; ``beyond``: what is read behind them, with ``ceil_mode``."""
    ends = pads or [0] * 2 * len(kernel_shape)
    images, x = x.shape, np.pad(x, [(0, 0), (0, 0), *zip(ends[:len(kernel_shape)], ends[len(kernel_shape):])], constant_values=fill)
    for n, kernel in enumerate(kernel_shape):
        stride, dilation = (strides[n] if strides else 1), (dilations[n] if dilations else 1)
        size, reach = x.shape[n + 2], (kernel - 1) * dilation + 1
        count = (size - reach) // stride + 1
        if ceil_mode and (size - reach) % stride and count * stride < images[n + 2] + ends[n]:   # a window begins in the image
            count += 1
        rest = max(0, (count - 1) * stride + reach - size)
        x = np.pad(x, [(0, rest if axis == n + 2 else 0) for axis in range(x.ndim)], constant_values=beyond)
        x = reduce.reduce([np.take(x, np.arange(count) * stride + at * dilation, n + 2) for at in range(kernel)])
    return x


def max_pooled(x: np.ndarray, **window: Any) -> np.ndarray:
    """MaxPool."""
    least = -np.inf if is_float(x.dtype) else np.iinfo(x.dtype).min
    return pooled(x, np.maximum, least, least, **window)


def averaged(x: np.ndarray, count_include_pad: int = 0, **window: Any) -> np.ndarray:
    """AveragePool. What is read behind the pads does not count."""
    return pooled(x, np.add, 0, 0, **window) / pooled(np.ones(x.shape), np.add, count_include_pad, 0, **window)


def local_response(x: np.ndarray, size: int, alpha: float) -> np.ndarray:
    """LRN with the default beta and bias: each element over a power of the sum of squares of ``size`` channels around it."""
    before = (size - 1) // 2
    squares = np.pad(x * x, [(0, 0), (before, size - 1 - before)] + [(0, 0)] * (x.ndim - 2))
    total = sum(squares[:, shift:shift + x.shape[1]] for shift in range(size))
    return x / (1 + alpha / size * total) ** 0.75


# The reference's own (onnx 1.23): GlobalMaxPool is right for rank 4 only, LpNormalization adds signed numbers up for p=1, Erf computes in
# 32 bits, Slice with a negative step that starts before the axis is empty, where ONNX has it start at the first element, MaxPool of
# step 1 takes its pads in another order, AveragePool with ceil_mode moves its windows, and LRN normalizes as many channels as there are
# images.
INSTEAD: dict[str, Callable[..., np.ndarray]] = {
    "AveragePool": averaged,
    "GlobalMaxPool": lambda x: x.max(tuple(range(2, x.ndim)), keepdims=True),
    "LpNormalization": lambda x, axis, p: x / (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p),
    "LRN": local_response,
    "MaxPool": max_pooled,
    "Slice": sliced,
    "Erf": lambda x: np.vectorize(math.erf, otypes=[np.float64])(x),
}


def evaluator(proto: NodeProto, reads: Sequence[Value]) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """The reference's operator for a node; ``reads``: its inputs and what its bodies capture."""
    if proto.op_type in INSTEAD:
        attributes = {one.name: helper.get_attribute_value(one) for one in proto.attribute}
        return lambda arrays: [INSTEAD[proto.op_type](*arrays, **attributes)]
    names, domains = [value.name for value in reads], [helper.make_opsetid("", OPSET)]
    try:
        run = ReferenceEvaluator(helper.make_function("fuzz", "one", names, list(proto.output), [proto], domains))
    except RuntimeError:   # a function of ONNX whose body depends on the types
        types = [helper.np_dtype_to_tensor_dtype(F64 if is_float(value.dtype) else value.dtype) for value in reads]
        infos = [helper.make_tensor_value_info(value.name, one, [None] * value.rank) for one, value in zip(types, reads)]
        whole = helper.make_graph([proto], "one", infos, [helper.make_empty_tensor_value_info(name) for name in proto.output])
        run = ReferenceEvaluator(shape_inference.infer_shapes(helper.make_model(whole, opset_imports=domains)))

    def evaluate(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [np.asarray(one) for one in run.run(None, dict(zip(names, arrays)), attributes={})]

    return evaluate


def takes(op: str, inputs: Sequence[Value | None]) -> bool:
    """Whether ONNX defines the op for operands of these types."""
    schema = defs.get_schema(op, OPSET, "")
    for number, value in enumerate(inputs):
        allowed = schema.inputs[min(number, len(schema.inputs) - 1)].types
        if value and f"tensor({TYPES.get(value.dtype.name, value.dtype.name)})" not in allowed:
            return False
    return True


def in_range(array: np.ndarray, dtype: np.dtype) -> bool:
    """Whether the numbers are finite, and far from the ends of their type."""
    if not is_float(dtype):
        return True
    return bool(np.isfinite(array).all()) and (not array.size or float(np.abs(array).max()) < float(ml_dtypes.finfo(dtype).max) / 64)


@dataclass
class Graph:
    """``calls``: how many; ``symbols``: name to its value at each call; ``values``: those that nodes may read."""

    rng: Random
    calls: int
    symbols: dict[str, tuple[int, ...]]
    floats: Sequence[np.dtype]
    values: list[Value] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    constants: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def size(self) -> tuple[int, ...]:
        """A size by call: a number, or one of the symbols."""
        if self.symbols and self.rng.random() < 0.45:
            return self.rng.choice(list(self.symbols.values()))
        return (self.rng.choice(SIZES),) * self.calls

    def numbers(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """Numbers that the type holds exactly. Floats are a mix of round ones, small ones and normally distributed ones."""
        numpy = np.random.default_rng(self.rng.randrange(1 << 40))
        if dtype == BOOL:
            return numpy.random(tuple(shape)) < 0.5
        if not is_float(dtype):
            low = 0 if dtype.kind == "u" else -9
            return numpy.integers(low, 10, tuple(shape)).astype(dtype)
        kind = self.rng.random()
        if kind < 0.15:
            array = numpy.integers(-3, 4, tuple(shape)).astype(np.float64)
        elif kind < 0.3:
            array = numpy.random(tuple(shape)) + 0.1
        else:
            array = numpy.standard_normal(tuple(shape))
        return array.astype(dtype).astype(np.float64)

    def input(self, dtype: np.dtype, sizes: Sequence[tuple[int, ...]], arrays: Sequence[np.ndarray] | None = None) -> Value:
        """A new input. ``sizes``: of each axis, by call."""
        shapes = list(zip(*sizes)) if sizes else [()] * self.calls
        made = Value(self.name(), dtype, list(arrays or (self.numbers(shape, dtype) for shape in shapes)))
        self.inputs.append(made)
        self.values.append(made)
        return made

    def constant(self, array: np.ndarray, dtype: np.dtype | None = None) -> Value:
        """An initializer. ``dtype``: the declared one, for floats."""
        array = np.asarray(array)
        made = Value(self.name(), dtype or array.dtype, [array] * self.calls, constant=True)
        self.constants.append(made)
        return made

    def ints(self, *numbers: int) -> Value:
        """An initializer of 64-bit integers, of rank 1."""
        return self.constant(np.array(numbers, np.int64))

    def fresh(self, dtype: np.dtype, sizes: Sequence[tuple[int, ...]]) -> Value:
        """A new operand of a shape: an input, or an initializer where the sizes are fixed."""
        if all(len(set(size)) == 1 for size in sizes) and self.rng.random() < 0.6:
            return self.constant(self.numbers([size[0] for size in sizes], dtype), dtype)
        return self.input(dtype, sizes)

    def weight(self, dtype: np.dtype, *shape: int) -> Value:
        """A new operand of a fixed shape."""
        return self.fresh(dtype, [(size,) * self.calls for size in shape])

    def pick(self, test: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value that passes, late ones more often; None if there is none."""
        fitting = [value for value in self.values if test(value)]
        if not fitting:
            return None
        return fitting[-1] if self.rng.random() < 0.4 else self.rng.choice(fitting)

    def float_value(self, test: Callable[[Value], bool] = lambda value: True) -> Value | None:
        return self.pick(lambda value: is_float(value.dtype) and test(value))

    def of_shape(self, like: Value, dtype: np.dtype | None = None, broadcast: bool = True) -> Value:
        """An operand that fits ``like``: a value of the same shape, or one that broadcasts, or a new one."""
        dtype = dtype or like.dtype
        fitting = [v for v in self.values if v.dtype == dtype and v.sizes == like.sizes]
        if fitting and self.rng.random() < 0.6:
            return self.rng.choice(fitting)
        sizes = like.sizes
        if broadcast and self.rng.random() < 0.6:
            sizes = [size if self.rng.random() < 0.6 else (1,) * self.calls for size in sizes[self.rng.randint(0, len(sizes)):]]
        return self.fresh(dtype, sizes)

    def add(self, op: str, inputs: Sequence[Value | None], *dtypes: np.dtype, captured: Sequence[Value] = (),
            **attributes: Any) -> list[Value]:
        """Appends a node; its outputs, of these types, or nothing where its result is not defined at some call."""
        outputs = [self.name() for _ in dtypes]
        proto = helper.make_node(op, [value.name if value else "" for value in inputs], outputs, name=f"{op}_{len(self.nodes)}",
                                 **attributes)
        reads = list({value.name: value for value in (*inputs, *captured) if value}.values())
        if not takes(op, inputs):
            return []
        evaluate = evaluator(proto, reads)
        results: list[list[np.ndarray]] = [[] for _ in dtypes]
        for call in range(self.calls):
            try:
                found = evaluate([value.arrays[call] for value in reads])
            except Exception:   # whatever the reference raises: it takes no such node
                return []
            for one, array, dtype in zip(results, found, dtypes, strict=True):
                wide = array.astype(np.float64) if is_float(dtype) else array
                if array.size > LARGEST or not in_range(wide, dtype) or (not is_float(dtype) and array.dtype != dtype):
                    return []
                one.append(wide)
        made = [Value(name, dtype, arrays) for name, dtype, arrays in zip(outputs, dtypes, results)]
        if any(len({array.ndim for array in value.arrays}) > 1 for value in made):
            return []
        self.nodes.append(Node(proto, reads, made, evaluate))
        self.values += made
        return made


Growth = Callable[[Graph], Any]   # adds a node or a few, or nothing


def weighted(table: Mapping[Growth, int]) -> list[Growth]:
    """The functions, each as often as its weight."""
    return [function for function, weight in table.items() for _ in range(weight)]
