"""Graphs of relax ops as ONNX models: what backends with an ONNX parser are given, and ``legato-compile --emit onnx``."""
from .exporter import export, exportable
from .patterns import op_patterns

__all__ = ["export", "exportable", "op_patterns"]
