"""OpenVINO as a backend: takes every op that ONNX has and OpenVINO reads."""
from legato.targets.backends.engine import OnnxEngine
from legato.targets.backends.onnx import op_patterns

UNREAD = ("relax.gather_elements", "relax.pad")  # of other shapes than x, and with mode wrap: it does not read what ONNX says


class OpenVino(OnnxEngine):
    """OpenVINO on the CPU: a compiled model for each part, which works on the caller's memory."""

    name = "openvino"
    requires = ("openvino",)
    patterns = op_patterns(without=UNREAD)
    loader = "legato.runtime.engines.openvino:load"
