"""Nodes whose inputs are all known: their results are computed at import, by the semantics of the relax ops that they became, so that
sizes computed by any op (``Clip``, ``Ceil`` of floats) are sizes, not data."""
import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.core.weights import WeightStore
from legato.dialects import relax
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.values import ComputedValue

FEW = 64    # elements of a vector, as shapes, axes and pads are; other constants, weights among them, are left to the pipeline
KEPT = frozenset({"QuantizeLinear", "DequantizeLinear"})     # of weights and biases, which products of integers look for


def evaluated(result: object, node: OnnxNode) -> object:
    """A result of the node as an array, if its inputs and what it became are known and small; else as it is."""
    value = result.value if isinstance(result, ComputedValue) else result
    arrays = node.known_inputs() if isinstance(value, ir.Value) and node.op_type not in KEPT else None
    if arrays is None or not any(array is not None for array in arrays) or any(a is not None and a.dtype == object for a in arrays):
        return result
    found = _array(value, node.emitter.weights)
    return result if found is None else found


def _array(value: ir.Value, weights: WeightStore) -> np.ndarray | None:
    """The elements of a value that is computed from constants; None for another, or a large one."""
    if isinstance(value.owner, ir.Block) or not isinstance(value.type, ir.RankedTensorType):
        return None
    op = value.owner.operation
    if value.type.rank > 1 or not value.type.has_static_shape or np.prod(value.type.shape, dtype=np.int64) > FEW:
        return None
    if op.name == "relax.constant":
        return weights[op.attributes["weight"].value] if "weight" in op.attributes else op.opview.value
    operands = []
    for operand in op.operands:
        operands.append(_array(operand, weights))
        if operands[-1] is None:
            return None
    if op.name == "tensor.concat":
        return np.concatenate(operands, op.attributes["dim"].value)
    cls = relax.op_class(op)
    if cls is None or cls.DEFINES_SIZES or relax.has_symbols(op):
        return None
    try:
        with np.errstate(all="ignore"):
            array = np.asarray(relax.evaluate(op, operands)[ir.OpResult(value).result_number])
    except LegatoError:
        return None
    return array if array.dtype == numpy_dtype(value.type.element_type) else None
