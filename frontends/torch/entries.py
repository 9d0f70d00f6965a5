"""Imports of ONNX ops that mean something else where torch's exporter writes them."""
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.ops.gather import distinct_parts


def _unique(node):
    """Unique, of which each NaN is an element of its own, as in ``torch.unique``."""
    return distinct_parts(node, node.integer("axis", None), node.flag("sorted", True), equal_nan=False)


ENTRIES = (Entry("Unique", (11, 28), _unique),)
