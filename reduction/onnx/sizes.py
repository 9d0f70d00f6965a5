"""Makes dimensions smaller, everywhere at once where they are equal: of inputs, weights, attributes and constants that say shapes."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from legato.reduction.onnx.model import OnnxModel, graphs, tensors
from legato.reduction.onnx.parts import _array
from legato.reduction.search import Search

SHAPE_ELEMENTS = 64   # of an integer constant that may say a shape


def fix_symbols(search: Search[OnnxModel]) -> None:
    """Gives each symbol a small size."""
    symbols = sorted({dim.dim_param for value in search.best.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param})

    def variants(base: OnnxModel, symbol: str) -> Iterator[OnnxModel]:
        for size in (1, 2, 3):
            model = base.copy()
            for graph in graphs(model.proto):
                for value in (*graph.input, *graph.output):
                    for dim in value.type.tensor_type.shape.dim:
                        if dim.dim_param == symbol:
                            dim.dim_value = size
            _forget_shapes(model)
            yield model

    search.greedy(symbols, variants)


def shrink_sizes(search: Search[OnnxModel]) -> None:
    """Replaces each size by 1, 2, or half of it: in all inputs and weights, with and without constants and attributes that hold the same
    number; then in single axes of inputs."""
    def variants(base: OnnxModel, old: int) -> Iterator[OnnxModel | None]:
        for new in dict.fromkeys((1, 2, 3, old // 4, old // 2, old - 1)):
            if 0 < new < old:
                yield _resized(base, {old: new}, constants=False)
                yield _resized(base, {old: new}, constants=True)

    for _ in range(12):
        sizes = sorted({d for shape in _shapes(search.best) for d in shape if d > 1}, reverse=True)
        if not search.greedy(sizes, variants):
            return


def _shapes(model: OnnxModel) -> Iterator[list[int]]:
    for value in model.graph.input:
        yield [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    for tensor in model.graph.initializer:
        yield list(tensor.dims)


def _resized(base: OnnxModel, sizes: dict[int, int], constants: bool) -> OnnxModel | None:
    """The model with other sizes. ``constants``: also in attributes and small constants of integers."""
    model = base.copy()
    data = dict(base.data)
    for graph in graphs(model.proto):
        for value in graph.input:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_value in sizes:
                    dim.dim_value = sizes[dim.dim_value]
    _forget_shapes(model)
    for tensor in tensors(model.proto):
        shape = [sizes.get(d, d) for d in tensor.dims]
        is_shape = constants and tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32) \
            and np.prod(tensor.dims, dtype=np.int64) <= SHAPE_ELEMENTS
        if shape == list(tensor.dims) and not is_shape:
            continue
        array = _array(base, tensor)
        if array is None:
            return None
        array = array[tuple(slice(0, d) for d in shape)]
        if is_shape:
            array = np.array([sizes.get(v, v) for v in array.reshape(-1).tolist()], array.dtype).reshape(array.shape)
        made = OnnxModel.of(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [numpy_helper.from_array(
            np.ascontiguousarray(array), tensor.name)])))
        tensor.CopyFrom(made.graph.initializer[0])
        data.update(made.data)
    if constants:
        for graph in graphs(model.proto):
            for node in graph.node:
                for attribute in node.attribute:
                    for n, value in enumerate(attribute.ints):
                        attribute.ints[n] = sizes.get(value, value)
    return OnnxModel(model.proto, data)


def _forget_shapes(model: OnnxModel) -> None:
    """Drops what is said of shapes that are computed: of outputs and values inside."""
    for graph in graphs(model.proto):
        graph.ClearField("value_info")
        for value in graph.output:
            for n, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.Clear()
                dim.dim_param = f"{value.name}_{n}"
