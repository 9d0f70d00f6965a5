"""Queries on graph ops: class, attributes, result types and values. ``tensor.concat`` counts as relax's concat."""

from collections.abc import Mapping
from typing import Any

from legato.core.errors import InferenceError, LegatoError
from legato.core.ir_helpers import walk
from legato.core.locations import describe
from legato.core.mlir import func, ir
from legato.dialects.relax.dims import Dim, Size, substitute
from legato.dialects.relax.op import GraphOp
from legato.dialects.relax.ops.concat import Concat
from legato.dialects.relax.ops.constant import Constant


def op_class(op) -> type[GraphOp] | None:
    """The class of a graph op, of relax or a user's dialect; None for any other op."""
    if op.operation.name == Concat.OPERATION_NAME:
        return Concat
    cls = type(op.operation.opview)
    return cls if hasattr(cls, "ATTRIBUTES") else None


def graph_ops(function: func.FuncOp) -> list[Any]:
    """The ops under a function that legalization replaces: all ops of relax (``tensor.concat`` included) and of users' dialects of graph
    ops, but constants."""
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != Constant.OPERATION_NAME and op_class(op) is not None:
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    walk(function, visit)
    return found


def attributes_of(op) -> dict[str, Any]:
    """The attributes as Python values, with defaults. LegatoError if it is not a graph op, or an attribute is of the wrong kind."""
    cls = _require(op)
    if cls is Concat:
        return {"axis": op.operation.attributes["dim"].value}
    try:
        return op.operation.opview.attrs()
    except InferenceError as error:
        raise LegatoError(f"{describe(op)}: {error}") from error


def infer_op(op) -> list[ir.Type]:
    """The result types inferred from the op's current operand types. LegatoError, naming the op, if they do not fit together."""
    cls, attrs = _require(op), attributes_of(op)
    try:
        with op.operation.context:
            return [t.ir() for t in cls.checked_results(op.operation, attrs)]
    except InferenceError as error:
        raise LegatoError(f"{describe(op)}: {error}") from error


def has_symbols(op) -> bool:
    """Whether attributes of the op, such as the begin of a slice, have symbols: what it computes depends on the call."""
    values = attributes_of(op).values()
    return any(isinstance(size, Dim) for value in values for size in (value if isinstance(value, list) else [value]))


def evaluate(op, arrays, symbols: Mapping[str, int] | None = None) -> tuple:
    """Computes the op on arrays by its numpy semantics. Returns a tuple of arrays.

    ``symbols``: values for the symbols in its attributes. LegatoError, naming the op, for a symbol without a value, and for invalid input
    (an index out of range).
    """
    cls, attrs = _require(op), attributes_of(op)
    for name, value in attrs.items():
        if cls.DEFINES_SIZES:
            continue    # its symbols are those that it defines
        if isinstance(value, Dim):
            attrs[name] = _value(value, symbols or {}, name, op)
        elif isinstance(value, list):
            attrs[name] = [_value(size, symbols or {}, name, op) for size in value]
    try:
        results = cls.semantics(*arrays, **attrs)
    except (ValueError, LegatoError) as error:
        raise LegatoError(f"{describe(op)} cannot be computed: {error}") from error
    return results if isinstance(results, tuple) else (results,)


def _value(size: Size, symbols: Mapping[str, int], name: str, op) -> int:
    value = substitute(size, symbols)
    if not isinstance(value, int):
        raise LegatoError(f"{describe(op)}: attribute '{name}' needs the value of {value}")
    return value


def _require(op) -> type:
    cls = op_class(op)
    if cls is None:
        raise LegatoError(f"{describe(op)} is not a graph op: it has no shape inference and no numpy semantics")
    return cls
