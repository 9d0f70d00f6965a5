"""Ops of Legato's own domain: relax ops that ONNX lacks, in which ``from_torch`` writes what ONNX's ops would round away."""
from legato.frontends.onnx.ops.unary import named

DOMAIN = "legato"

ENTRIES = tuple(named(op_type, (1,), op_type.lower(), domain=DOMAIN) for op_type in (
    "Erfc", "Erfinv", "Expm1", "Lgamma", "Log10", "Log1p", "Log2", "Trunc"))
