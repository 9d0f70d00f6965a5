"""Annotations of loops and blocks."""

from typing import Any

from legato.core.mlir import ir
from legato.frontends.script.printer.text import repr_text


def shown(notes: dict[str, Any]) -> str:
    """Annotations as the source of a dictionary."""
    return "{" + ", ".join(f'"{key}": {repr_text(v) if isinstance(v, str) else repr(v)}' for key, v in notes.items()) + "}"


def notes_of(op: ir.Operation) -> dict[str, Any]:
    """The annotations of a loop or block."""
    if "annotations" not in op.attributes:
        return {}
    return {note.name: plain(note.attr) for note in op.attributes["annotations"]}


def plain(attribute: ir.Attribute) -> Any:
    """An attribute as a Python constant."""
    if isinstance(attribute, ir.ArrayAttr | ir.DenseI64ArrayAttr):
        return [plain(a) if isinstance(a, ir.Attribute) else a for a in attribute]
    if isinstance(attribute, ir.DictAttr):
        return {entry.name: plain(entry.attr) for entry in attribute}
    return bool(attribute.value) if isinstance(attribute, ir.BoolAttr) else attribute.value
