"""What the tests of the ONNX importer share: small models, and their results by our numpy semantics and by onnxruntime."""
from collections.abc import Container, Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from interpret import interpret
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from saturation import exact

from legato.dialects import Module, make_context
from legato.frontends.onnx import from_onnx

CONTEXT = make_context()
NEWEST_OF_ONNXRUNTIME = 24


def value(name: str, array: np.ndarray, dims: Sequence[int | str] | None = None) -> onnx.ValueInfoProto:
    """A graph input for the array, of its shape or of the given one."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape if dims is None else dims)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    opset: int = 20,
    constants: Mapping[str, np.ndarray] | None = None,
    **graph,
) -> onnx.ModelProto:
    """A model of these nodes; its outputs have no declared type."""
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    made = helper.make_graph(nodes, "test", list(inputs), results, initializers, **graph)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def imported(proto: onnx.ModelProto, **options) -> Module:
    """The verified module."""
    module = from_onnx(proto, context=CONTEXT, **options)
    module.module.operation.verify()
    return module


def reference(proto: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime computes, or onnx's reference for opsets that it does not know and products that it gets wrong."""
    if proto.opset_import[0].version > NEWEST_OF_ONNXRUNTIME:
        return [np.asarray(a) for a in ReferenceEvaluator(proto).run(None, dict(inputs))]
    known = exact(proto, inputs)
    if known is not None:
        return [np.asarray(a) for a in known]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(a) for a in session.run(None, dict(inputs))]


def assert_same(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], tolerance: float = 1e-5) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind in "iu" and a.dtype.itemsize > 1:     # bytes that are quantized may be one apart
            np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=tolerance)


def symbols_for(inputs: Mapping[str, np.ndarray], fixed: Container[int] = ()) -> dict[str, list[int | str]]:
    """Shapes with a symbol for every size above 1 that is not to stay as it is, the same for equal sizes."""
    return {name: [f"s{size}" if size > 1 and size not in fixed else size for size in array.shape] for name, array in inputs.items()}


def check(proto: onnx.ModelProto, inputs: Mapping[str, np.ndarray], dynamic: bool = True, tolerance: float = 1e-5) -> Module:
    """Imports the model with its own shapes, and (if ``dynamic``) with symbols in their place; both must compute what the reference does.

    Sizes that a constant of the model has stay numbers.
    """
    expected = reference(proto, inputs)
    module = imported(proto)
    assert_same(interpret(module, list(inputs.values())), expected, tolerance)
    if dynamic:
        fixed = {size for tensor in proto.graph.initializer for size in tensor.dims}
        symbolic = imported(proto, shapes=symbols_for(inputs, fixed))
        assert_same(interpret(symbolic, list(inputs.values())), expected, tolerance)
    return module
