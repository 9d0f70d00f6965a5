"""The recurrent layer of ``com.microsoft`` with quantized weights, as onnxruntime's dynamic quantizer writes LSTM."""
import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.microsoft_quantized import quantized_to_its_range
from legato.frontends.onnx.ops.recurrent import lstm_by
from legato.frontends.onnx.ops.unrolled import at
from legato.frontends.onnx.problems import Malformed, Refused

_F32, _I32 = np.dtype(np.float32), np.dtype(np.int32)
_SCALES = {1: 8, 2: 10}     # of W and R; their zero points are behind them


@op("DynamicQuantizeLSTM", 1, domain="com.microsoft")
def dynamic_quantize_lstm(node):
    """LSTM with weights of bytes, transposed: the inputs of all steps, and the state in each step, are quantized to their range."""
    if node.dtype() != _F32:
        raise Refused(f"X of {node.dtype()} is not supported, only of float32")
    inputs = [node.value(index) if node.given(index) else None for index in range(len(node))]
    for index, name in ((1, "W"), (2, "R")):
        if kind(node.dtype(index)) not in ("int", "uint") or node.dtype(index).itemsize != 1:
            raise Malformed(f"its {name} must have integers of 8 bits, not {node.dtype(index)}")
        if node.rank(index) != 3:
            raise Malformed(f"its {name} must have rank 3, has {node.rank(index)}")
        inputs[index] = relax.permute_dims(node.x(index), axes=[0, 2, 1])
    return _LSTM(node.with_inputs(*inputs))


def _product(node, index: int, number: int, x: ir.Value, w: ir.Value) -> ir.Value:
    """A product of rows of f32 and the weights of one direction, of bytes with one scale or one for each column."""
    a, scale = quantized_to_its_range(x)
    b, scales = relax.astype(w, dtype=_I32), at(node.x(_SCALES[index]), 0, number)
    if node.given(_SCALES[index] + 1):
        b = relax.subtract(b, relax.astype(at(node.x(_SCALES[index] + 1), 0, number), dtype=_I32))
    return relax.multiply(relax.astype(relax.matmul(a, b), dtype=_F32), relax.multiply(scale, scales))


_LSTM = lstm_by(_product)
ENTRIES = (dynamic_quantize_lstm,)
