"""The pattern language for backends: ``from legato.patterns import composite, is_const, is_op, wildcard``."""
from legato.analysis.patterns import (
    Composite,
    Match,
    Matched,
    Pattern,
    composite,
    dequantize,
    each_operand,
    is_const,
    is_op,
    outputs,
    quantize,
    wildcard,
)

__all__ = ["Composite", "Match", "Matched", "Pattern", "composite", "dequantize", "each_operand", "is_const", "is_op", "outputs",
           "quantize", "wildcard"]


def __dir__() -> list[str]:
    return __all__
