"""Export of relax graphs to ONNX models, for backends with an ONNX parser and for ``legato-compile --emit onnx``."""
from legato.targets.backends.onnx.exporter import export, export_op, exportable
from legato.targets.backends.onnx.patterns import op_patterns

__all__ = ["export", "export_op", "exportable", "op_patterns"]
