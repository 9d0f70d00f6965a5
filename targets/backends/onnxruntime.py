"""onnxruntime as a backend, for the ops that can be exported to ONNX and that onnxruntime has for their element types."""
from functools import lru_cache
from importlib.util import find_spec

from legato.analysis.patterns import Match
from legato.core.dtypes import kind
from legato.core.errors import UnsupportedError
from legato.core.mlir import ir
from legato.dialects.relax.graph import attributes_of
from legato.dialects.relax.types import TensorType
from legato.targets.backends.engine import OnnxEngine
from legato.targets.backends.onnx import export_op, op_patterns


@lru_cache(1024)
def _refusal(model: bytes) -> str:
    """Why onnxruntime does not take a model; empty where it does, and where it is not installed, which the code generation says."""
    if find_spec("onnxruntime") is None:
        return ""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:   # its exceptions have no common class
        return f"onnxruntime does not take it: {error}"
    return ""


def _refused_at_a_run(op: ir.Operation) -> str:
    """Why a session of the op would fail at its first run; empty where it would not."""
    if op.name in ("relax.scatter_nd", "relax.scatter_elements") and attributes_of(op)["reduction"] != "none":
        dtype = TensorType.of(op.results[0].type).dtype
        if dtype.itemsize < 4 and kind(dtype) in ("float", "bool"):
            return f"onnxruntime scatters {dtype.name} without a reduction only"
    return ""


def _taken(match: Match) -> bool | str:
    if refused := _refused_at_a_run(match.nodes[0].op):
        return refused
    try:
        model = export_op(match.nodes[0].op)
    except UnsupportedError as error:
        return str(error)
    return _refusal(model.SerializeToString()) or True


class OnnxRuntime(OnnxEngine):
    """onnxruntime on the CPU: a session for each part; inputs and outputs are bound without copies."""

    name = "onnxruntime"
    requires = ("onnxruntime",)
    patterns = op_patterns(also=_taken)
    loader = "legato.runtime.engines.onnxruntime:load"
