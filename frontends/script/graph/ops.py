"""The ops of a graph's script, ``R.name(...)``: by TVM's names and arguments, or by relax's own; ``R.npu.name(...)``: an op of a user's
dialect."""

import difflib
import inspect
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.loading import load_dialects
from legato.dialects.relax.op import GraphOp
from legato.frontends.script.language.own_dialects import own_dialect
from legato.frontends.script.language.refused import GRAPH, refused
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ShapeInfo
from legato.frontends.script.tvm import nn as tvm_nn
from legato.frontends.script.tvm import ops as tvm_ops
from legato.frontends.script.tvm.values import number_like, tensor

TVM = {**tvm_ops.OPS, **{f"nn.{n}": f for n, f in tvm_nn.OPS.items()}}


def build(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """The value of ``R.<name>(arguments...)``: by TVM's arguments, or by relax's own (``R.cumsum(x, axis=0, reverse=True)``)."""
    problem = None
    if name in TVM:
        problem = unfit(TVM[name], arguments, keywords)
        if problem is None:
            return TVM[name](*arguments, **keywords)
    last = name.rpartition(".")[2]
    if (name in (last, f"nn.{last}")) and last in relax.OPS and last != "constant":
        op = relax.OPS[last]
        if problem is None or (len(arguments) == len(op.OPERANDS) and all(k in op.ATTRIBUTES for k in keywords)):
            return build_own(op, arguments, keywords)
    if (op := own_op(name)) is not None:
        return build_own(op, arguments, keywords)
    if problem is not None:
        raise Misuse(f"R.{name}({', '.join(inspect.signature(TVM[name]).parameters)}): {problem}")
    raise Misuse(refused(name, GRAPH, "R") or nearest(name))


def own_op(name: str) -> type[GraphOp] | None:
    """The graph op of a user's dialect that a word names, with its dialect loaded; else None. Misuse for one that the dialect does not
    have."""
    dialect = own_dialect(name)
    if dialect is None:
        return None
    ops: dict[str, type[GraphOp]] = vars(dialect).get("OPS", {})
    word = name.partition(".")[2]
    if word not in ops:
        there = ", ".join(f"R.{dialect.DIALECT_NAMESPACE}.{one}" for one in ops)
        raise Misuse(f"the dialect '{dialect.DIALECT_NAMESPACE}' has no graph op '{word}'; it has {there or 'none'}")
    load_dialects(dialects=[dialect])
    return ops[word]


def unfit(function: Any, arguments: list[Any], keywords: dict[str, Any]) -> str | None:
    """Why a function cannot be called with these arguments; None where it can."""
    try:
        inspect.signature(function).bind(*arguments, **keywords)
    except TypeError as error:
        return str(error)
    return None


def nearest(name: str) -> str:
    """The error for an op that does not exist, with the names that are spelled most like it."""
    known = dict.fromkeys([*TVM, *relax.OPS])
    near = difflib.get_close_matches(name, known, 2) or difflib.get_close_matches(
        name.rpartition(".")[2], [n for n in known if n != "constant"], 2, 0.5)
    return f"there is no op R.{name}" + (f"; nearest: {', '.join(f'R.{n}' for n in near)}" if near else "")


def build_own(op: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """An op by relax's own arguments: tensors, then attributes."""
    tensors = [a for a in arguments if isinstance(a, ir.Value)]
    count = len(op.OPERANDS)
    given = [plain(a, tensors[0] if tensors and n < count else None) for n, a in enumerate(arguments)]
    for value in given[:count]:
        tensor(value)
    for name in keywords:
        if name not in op.ATTRIBUTES and name not in {o.name for o in op.OPERANDS}:
            raise Misuse(f"R.{op.OPERATION_NAME.removeprefix('relax.')} has no argument '{name}'; it has "
                          f"{', '.join([*(o.name for o in op.OPERANDS), *op.ATTRIBUTES])}")
    try:
        return op.build(*given, **{k: plain(v) for k, v in keywords.items()})
    except TypeError as error:
        raise Misuse(str(error)) from None


def plain(value: Any, like: ir.Value | None = None) -> Any:
    """An argument in the form that relax's builders take. ``like``: a tensor, whose element type a number takes."""
    if isinstance(value, ShapeInfo):
        return list(value.sizes or ())
    if like is not None and isinstance(value, (bool, int, float, np.generic)):
        return number_like(value, like)
    return list(value) if isinstance(value, tuple) and not any(isinstance(v, ir.Value) for v in value) else value
