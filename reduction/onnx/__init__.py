"""Reductions of ONNX models."""
