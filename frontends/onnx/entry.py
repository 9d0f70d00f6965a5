"""An entry of the op table: which ONNX op, which of its versions, and how it becomes relax."""
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """How one ONNX op is imported.

    ``versions`` are the versions of the op (ONNX's since-versions) that were read when the entry was written; a node of any other is
    refused. ``build(node)`` gives what the node's outputs are: IR values, ``Value``s or numpy arrays, one or a tuple of them (None, or too
    few, where an output cannot be made: a node whose other outputs are used is refused).
    ``fold(node, *arrays)`` is tried first where all inputs are known (None for one left out): it gives arrays (of objects where elements
    are symbolic) or ``Value``s, or None where it cannot tell.
    """

    op_type: str
    versions: tuple[int, ...]
    build: Callable
    fold: Callable | None = None
    domain: str = ""


def op(op_type: str, *versions: int, domain: str = "", fold: Callable | None = None) -> Callable[[Callable], Entry]:
    """Makes a function of a node an entry. It registers nothing: families list their entries in ENTRIES."""

    def decorate(build: Callable) -> Entry:
        return Entry(op_type, versions, build, fold, domain)

    return decorate


def table(*families: tuple[Entry, ...]) -> dict[tuple[str, str], Entry]:
    """The entries by domain and op type. ValueError if an op has two."""
    entries: dict[tuple[str, str], Entry] = {}
    for family in families:
        for entry in family:
            if entries.setdefault((entry.domain, entry.op_type), entry) is not entry:
                raise ValueError(f"two entries for the ONNX op {entry.op_type}")
    return entries
