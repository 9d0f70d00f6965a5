"""onnxruntime as a backend, for every op that can be exported to ONNX."""
from legato.targets.backends.engine import OnnxEngine


class OnnxRuntime(OnnxEngine):
    """onnxruntime on the CPU: a session for each part; inputs and outputs are bound without copies."""

    name = "onnxruntime"
    requires = ("onnxruntime",)
    loader = "legato.runtime.engines.onnxruntime:load"
