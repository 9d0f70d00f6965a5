"""Patterns of relax-canonicalize on calls of packed functions without side effects (``relax.pure``): equal calls are merged, unused
ones erased."""
from typing import Any

from legato.core.mlir import func, ir
from legato.dialects.relax.dims import dims, symbol_table, symbols
from legato.dialects.relax.markers import PURE, RETURNS
from legato.passes.graph.functions import is_used, top_ops


def merge_pure_calls(function: func.FuncOp) -> bool:
    """Works on one function. Returns whether anything changed."""
    module = function.operation.parent.regions[0].blocks[0]
    pure = {op.name.value for op in module.operations if isinstance(op, func.FuncOp) and PURE in op.attributes and RETURNS in op.attributes}
    calls = [op for op in top_ops(function) if op.name == "func.call" and op.attributes["callee"].value in pure] if pure else []
    given = symbol_table(function)
    first: dict[Any, ir.Operation] = {}
    changed = False
    for call in calls:
        key = call.attributes["callee"].value, tuple(call.operands)
        other = first.setdefault(key, call)
        if other != call:
            for old, new in zip(call.results, other.results):
                old.replace_all_uses_with(new)
            call.erase()
            changed = True
    for call in reversed(list(first.values())):
        # a call that defines a symbol is used by all values of that size
        gives = any(name not in given for result in call.results for size in dims(result.type) for name in symbols(size))
        if not gives and not any(is_used(result) for result in call.results):
            call.erase()
            changed = True
    return changed
