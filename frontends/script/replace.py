"""Replaces ops of a model by a user's kernel."""

from collections.abc import Callable
from typing import Any

from legato.core.errors import LegatoError
from legato.core.locations import describe, model_name
from legato.core.mlir import func, ir
from legato.dialects.module import Module, walk
from legato.dialects.relax import op_class
from legato.frontends.script.graph.calls import call
from legato.frontends.script.language.functions import Function, is_kernel
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.program import Program


def replace(module: Module, what: str | Callable[[Any], bool], kernel: Function, *, operands: tuple[int, ...] | None = None) -> Module:
    """A copy of a model in which some ops are replaced by calls of a kernel.

    ``what``: an op by the model's own name (``"/layer1/conv1/Conv"``), all ops of a kind (``"relax.softmax"``), or a predicate on ops.
    The kernel takes the op's operands, or those with these numbers, and writes its results. LegatoError if no op is found, or where the
    kernel's types are not the op's.
    """
    if not is_kernel(kernel):
        raise LegatoError(f"replace takes a kernel, a function under @T.prim_func; not {kernel!r}")
    result = module.clone()
    program = Program(result.context, module=result)
    found = [(function, op) for function in result.functions() if not function.is_external for op in graph_ops(function) if fits(op, what)]
    if not found:
        names = [n for f in result.functions() for op in graph_ops(f) if (n := model_name(op))]
        some = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise LegatoError(f"no op is {what!r}; the model's ops {f'are: {some}' if some else 'have no names, only kinds (relax.softmax)'}")
    for function, op in found:
        values = [op.operands[n] for n in operands] if operands is not None else list(op.operands)
        with result.context, op.location, ir.InsertionPoint(op):
            try:
                results = call(program, kernel, values, [r.type for r in op.results], function)
            except Misuse as problem:
                raise LegatoError(f"{describe(op)} cannot be done by the kernel '{kernel.__name__}': {problem}") from None
        for old, new in zip(op.results, results):
            old.replace_all_uses_with(new)
        op.erase()
    return result


def graph_ops(function: func.FuncOp) -> list[ir.Operation]:
    """The relax ops of a function, without constants."""
    return [op for op in walk(function.operation) if op_class(op) is not None and op.name != "relax.constant"]


def fits(op: ir.Operation, what: str | Callable[[Any], bool]) -> bool:
    """Whether an op has the name ``what`` (``relax.add``) or the name it has in the model, or meets the predicate ``what``."""
    if callable(what):
        return bool(what(op))
    return what in (op.name, model_name(op))
