"""What one can ask of an op in a graph: its class, attributes, result types and values. Knows ``tensor.concat`` as relax's concat."""

from collections.abc import Mapping
from typing import Any

from legato.core.errors import InferenceError, LegatoError
from legato.core.locations import describe
from legato.core.mlir import ir
from legato.dialects.relax.dims import Size, substitute
from legato.dialects.relax.ops.concat import Concat


def op_class(op) -> type | None:
    """The class of a graph op, of relax or of a user's dialect; None for any other op."""
    if op.operation.name == Concat.OPERATION_NAME:
        return Concat
    cls = type(op.operation.opview)
    return cls if hasattr(cls, "ATTRIBUTES") else None


def attributes_of(op) -> dict[str, Any]:
    """The attributes as Python values, defaults filled in. LegatoError if it is no graph op, or an attribute is of the wrong kind."""
    cls = _require(op)
    if cls is Concat:
        return {"axis": op.operation.attributes["dim"].value}
    try:
        return op.operation.opview.attrs()
    except InferenceError as error:
        raise LegatoError(f"{describe(op)}: {error}") from error


def infer_op(op) -> list[ir.Type]:
    """The result types that the op's operands make now. LegatoError, naming the op, if they do not fit together."""
    cls, attrs = _require(op), attributes_of(op)
    try:
        with op.operation.context:
            return [t.ir() for t in cls.checked_results(op.operation, attrs)]
    except InferenceError as error:
        raise LegatoError(f"{describe(op)}: {error}") from error


def evaluate(op, arrays, symbols: Mapping[str, int] | None = None) -> tuple:
    """What the op computes from arrays, by the numpy semantics: a tuple of arrays.

    Symbols in its attributes get their values from the table. LegatoError, naming the op, for a symbol without one, and for what
    cannot be computed (an index outside).
    """
    cls, attrs = _require(op), attributes_of(op)
    for name, value in attrs.items():
        if isinstance(value, list):
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
