"""One node of the domain com.microsoft, compiled, against onnxruntime."""
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import legato

DOMAIN = "com.microsoft"
CODES = {np.dtype(ml_dtypes.int4): TensorProto.INT4, np.dtype(ml_dtypes.uint4): TensorProto.UINT4,
         np.dtype(ml_dtypes.int2): TensorProto.INT2}


def code_of(array: np.ndarray) -> int:
    return CODES.get(array.dtype) or helper.np_dtype_to_tensor_dtype(array.dtype)


def tensor(name: str, array: np.ndarray) -> TensorProto:
    if array.dtype in CODES:
        return helper.make_tensor(name, CODES[array.dtype], array.shape, array.astype(np.int32).ravel().tolist())
    return numpy_helper.from_array(array, name)


def model_of(op: str, inputs: Sequence[np.ndarray | None], constants: Sequence[int], outputs: Sequence[str], symbolic: bool,
             domain: str, features: Sequence[int] = (), **attributes: Any) -> Any:
    """A model of one node. ``constants``: which inputs are initializers; ``symbolic``: sizes of the others are named, equal ones alike,
    but those of ``features`` and those that constants and attributes have."""
    names = ["" if array is None else f"i{number}" for number, array in enumerate(inputs)]
    nodes = [helper.make_node(op, names, list(outputs), "node", domain=domain, **attributes)]
    given, weights = [], []
    fixed = {size for number in constants if (array := inputs[number]) is not None for size in array.shape}
    fixed |= {value for value in attributes.values() if isinstance(value, int)} | {1, *features}
    for number, array in enumerate(inputs):
        if array is None:
            continue
        if number in constants:
            weights.append(tensor(names[number], array))
        else:
            shape = [f"s{size}" if symbolic and size not in fixed else size for size in array.shape]
            given.append(helper.make_tensor_value_info(names[number], code_of(array), shape))
    results = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    graph = helper.make_graph(nodes, "g", given, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)], ir_version=10)


def oracle(model: Any, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime computes, without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(one) for one in session.run(None, feeds)]


def check(op: str, inputs: Sequence[np.ndarray | None], constants: Sequence[int] = (), outputs: Sequence[str] = ("y",),
          tolerance: float = 1e-5, symbolic: bool = False, target: str = "llvm", domain: str = DOMAIN,
          expected: Sequence[np.ndarray] | None = None, unit: float = 0, features: Sequence[int] = (),
          written: np.ndarray | None = None, **attributes: Any) -> None:
    """Compares a node's outputs with onnxruntime's, or with those ``expected``: floats relative to the greatest, integers to ``unit``.

    ``written``: the elements that are compared of the outputs after the first.
    """
    model = model_of(op, inputs, constants, outputs, symbolic, domain, features, **attributes)
    arrays = {f"i{number}": array for number, array in enumerate(inputs) if array is not None and number not in constants}
    wanted = list(expected) if expected is not None else oracle(model, arrays)
    for result, array in zip(model.graph.output, wanted, strict=True):
        result.CopyFrom(helper.make_tensor_value_info(result.name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim))
    found = legato.compile(legato.from_onnx(model), target)(*arrays.values())
    found = [np.asarray(one) for one in (found if len(wanted) > 1 else [found])]
    if written is not None:  # rows of caches after the last key are not specified
        for either in (found, wanted):
            either[1:] = [np.where(written, one, 0) for one in either[1:]]
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype, (one.shape, other.shape, one.dtype, other.dtype)
        a, b = one.astype(np.float64), other.astype(np.float64)
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        scale = 1 if unit else max(np.abs(b[finite]).max(initial=0), 1)
        difference = np.abs(a[finite] - b[finite]).max(initial=0) / scale
        assert difference <= (unit or tolerance), difference
