"""The steps of the reduction of an ONNX model, in order: what removes most, with the fewest tests, comes first."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.reduction.onnx import nodes, parts, regions, sizes
from legato.reduction.onnx.model import OnnxModel
from legato.reduction.search import Search

STEPS: Sequence[tuple[str, Callable[[Search[OnnxModel]], None]]] = (
    ("outputs", nodes.drop_outputs),
    ("weights to inputs", parts.lift_large_weights),
    ("nodes", nodes.drop_nodes),
    ("functions", regions.inline_functions),
    ("branches and loops", regions.inline_regions),
    ("nodes passed by", nodes.bypass_nodes),
    ("symbols", sizes.fix_symbols),
    ("sizes", sizes.shrink_sizes),
    ("weights", parts.simplify_weights),
    ("inputs of nodes", parts.drop_inputs),
    ("attributes", parts.drop_attributes),
    ("numbers", parts.shrink_integers),
    ("metadata", parts.drop_metadata),
    ("operator sets", parts.drop_opsets),
)
