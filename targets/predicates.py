"""Predicates for rules: ``@legato.legalize("relax.conv2d", target="npu", when=(dtype("f16"), layout("NHWC")))``.

A predicate is called with the op as the rule gets it, and returns True, or the reason for a refusal.
"""
from collections.abc import Callable
from typing import Any

from legato.core.mlir import ir
from legato.dialects.relax import dims as relax_dims

Predicate = Callable[[Any], Any]


def _element(type_: ir.Type) -> str:
    return str(type_.element_type if isinstance(type_, ir.ShapedType) else type_)


def _rank(type_: ir.Type) -> int:
    return type_.rank if isinstance(type_, ir.ShapedType) else 0


def dtype(*names: str, operand: int = 0) -> Predicate:
    """The element type of an operand is one of ``names`` (``"f32"``, ``"i8"``, ``"ui8"``, ``"i1"``)."""
    def check(op: Any) -> Any:
        found = _element(op.input_types[operand])
        return found in names or f"operand {operand} is {found}, not {' or '.join(names)}"

    return check


def rank(*ranks: int, operand: int = 0) -> Predicate:
    """The rank of an operand is one of ``ranks``."""
    def check(op: Any) -> Any:
        found = _rank(op.input_types[operand])
        return found in ranks or f"operand {operand} has rank {found}, not {' or '.join(map(str, ranks))}"

    return check


def static_shape(operand: int | None = None) -> Predicate:
    """All sizes of an operand (None: of every operand and result) are constant."""
    def check(op: Any) -> Any:
        types = [*op.input_types, *op.output_types] if operand is None else [op.input_types[operand]]
        unknown = next((t for t in types if isinstance(t, ir.ShapedType) and not t.has_static_shape), None)
        return unknown is None or f"the shape {list(map(str, relax_dims.dims(unknown)))} is not static"

    return check


def attribute(name: str, *values: Any) -> Predicate:
    """The attribute ``name`` has one of these values."""
    def check(op: Any) -> Any:
        if name not in op.attrs:
            return f"there is no attribute '{name}'"
        found = op.attrs[name]
        return found in values or f"{name} is {found}, not {' or '.join(map(str, values))}"

    return check


def layout(value: str, name: str | None = None) -> Predicate:
    """The data layout is ``value`` (``"NHWC"``). ``name``: the attribute, by default ``data_layout`` or ``layout``."""
    def check(op: Any) -> Any:
        names = [name] if name else [n for n in ("data_layout", "layout") if n in op.attrs]
        return attribute(names[0] if names else "layout", value)(op)

    return check
