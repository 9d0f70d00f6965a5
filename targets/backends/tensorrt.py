"""TensorRT as a backend, for the ops of ONNX that it supports, on static shapes."""
from legato.analysis.patterns import Match
from legato.targets.backends.engine import OnnxEngine
from legato.targets.backends.onnx import op_patterns

# unsupported by its ONNX parser, or with restrictions
UNREAD = tuple(f"relax.{name}" for name in (
    "celu", "mod", "isfinite", "prod", "cumsum", "scatter_elements", "scatter_nd", "gather_nd", "triu", "tril", "lrn", "conv1d",
    "max_pool1d", "avg_pool1d", "hard_swish", "mish", "argmin", "logical_xor"))
FLOATS = ("float32", "float16", "bool", "int32", "int64")


def _fits(match: Match) -> bool | str:
    for value in (match.root, *match.root.operands):
        if value.type is None or str(value.type.dtype) not in FLOATS:
            return f"TensorRT has no elements of {value.type and value.type.dtype}"
        if not all(isinstance(size, int) for size in value.type.dims):
            return "its sizes are not known when it is compiled"
    return True


class TensorRt(OnnxEngine):
    """TensorRT on an NVIDIA GPU: an engine for each part, built when the model is loaded; each call copies tensors to the GPU and
    back."""

    name = "tensorrt"
    requires = ("tensorrt", "cuda:cuda-python")
    patterns = op_patterns(also=_fits, without=UNREAD)
    loader = "legato.runtime.engines.tensorrt:load"
