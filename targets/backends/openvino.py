"""OpenVINO as a backend, for the ops that can be exported to ONNX and that OpenVINO supports."""
from legato.targets.backends.engine import OnnxEngine
from legato.targets.backends.onnx import op_patterns

# gather_elements of a shape other than x's, and pad of mode wrap, deviate from ONNX; col2im of other than two dimensions is not known
UNREAD = ("relax.gather_elements", "relax.pad", "relax.col2im")


class OpenVino(OnnxEngine):
    """OpenVINO on the CPU: a compiled model for each part, which works on the caller's memory."""

    name = "openvino"
    requires = ("openvino",)
    patterns = op_patterns(without=UNREAD)
    loader = "legato.runtime.engines.openvino:load"
