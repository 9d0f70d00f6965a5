"""The steps of the reduction of IR, in order."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.reduction.ir import ops, parts
from legato.reduction.ir.program import IrProgram
from legato.reduction.search import Search

STEPS: Sequence[tuple[str, Callable[[Search[IrProgram]], None]]] = (
    ("locations", parts.drop_locations),
    ("bodies", ops.drop_bodies),
    ("functions", ops.drop_functions),
    ("results", ops.drop_results),
    ("ops", ops.drop_ops),
    ("branches and loops", parts.inline_regions),
    ("symbols", parts.fix_symbols),
    ("sizes", parts.shrink_sizes),
    ("constants", ops.simplify_constants),
    ("attributes", parts.drop_attributes),
)
