"""onnxruntime as a backend: takes every op that ONNX has."""
from legato.targets.backends.engine import OnnxEngine


class OnnxRuntime(OnnxEngine):
    """onnxruntime on the CPU: a session for each part, inputs and outputs bound without copies."""

    name = "onnxruntime"
    requires = ("onnxruntime",)
    loader = "legato.runtime.engines.onnxruntime:load"
