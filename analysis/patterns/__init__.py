"""A dataflow pattern language for graphs: backends describe the ops that they support with it.

    conv = is_op("relax.conv2d")(wildcard(), is_const()).has_attr(groups=1).named("conv")
    biased = conv.optional(lambda x: is_op("relax.add")(x, is_const()))
    fused = biased.optional(lambda x: is_op("relax.relu")(x))
    NPU_CONV = composite("conv2d", fused, check=lambda m: m["conv"].attrs["strides"] == [1, 1] or "only strides of 1")

A pattern object stands for one value: if it occurs twice, both must be the same value. Patterns match graph ops, and calls of kernels that
compute what such an op does.
"""
from legato.analysis.patterns.composite import Composite, as_composites, composite
from legato.analysis.patterns.graph import Graph, Node, Ref
from legato.analysis.patterns.language import Pattern, each_operand, is_const, is_op, outputs, wildcard
from legato.analysis.patterns.match import Match, Matched
from legato.analysis.patterns.matcher import Matcher, all_matches
from legato.analysis.patterns.quantized import dequantize, quantize

__all__ = [
    "Composite", "Graph", "Match", "Matched", "Matcher", "Node", "Pattern", "Ref", "all_matches", "as_composites", "composite",
    "dequantize", "each_operand", "is_const", "is_op", "outputs", "quantize", "wildcard",
]
