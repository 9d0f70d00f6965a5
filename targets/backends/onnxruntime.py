"""onnxruntime as a backend, for the ops that can be exported to ONNX and that onnxruntime has for their element types."""
from functools import lru_cache
from importlib.util import find_spec

from legato.analysis.patterns import Match
from legato.core.errors import UnsupportedError
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


def _taken(match: Match) -> bool | str:
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
