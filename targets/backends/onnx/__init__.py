"""Graphs of relax ops as ONNX models: what backends with an ONNX parser are given, and ``legato-compile --emit onnx``."""
from legato.targets.backends.onnx.exporter import export, exportable
from legato.targets.backends.onnx.patterns import op_patterns

__all__ = ["export", "exportable", "op_patterns"]
