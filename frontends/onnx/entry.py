"""Entries of the op table: an ONNX op, its supported versions, and its translation to relax."""
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """The import of one ONNX op.

    ``versions``: the supported since-versions of the op; a node of any other is refused. ``build(node)`` returns the node's outputs: IR
    values, ``Value``s or numpy arrays, one or a tuple (None, or a shorter tuple, for outputs that are not supported: the node is refused
    if they are used). ``fold(node, *arrays)`` is tried first if all inputs are known (None for an omitted one): it returns arrays (of
    objects if elements are symbolic) or ``Value``s, or None if it cannot compute the result. ``newer``: versions between and after those
    listed are supported, too. ``build`` may raise ``ByDefinition`` if the op's schema has a function.
    """

    op_type: str
    versions: tuple[int, ...]
    build: Callable
    fold: Callable | None = None
    domain: str = ""
    newer: bool = False

    def supports(self, version: int) -> bool:
        """Whether nodes of that version are imported."""
        return version in self.versions or (self.newer and version > min(self.versions))

    @property
    def supported(self) -> str:
        """The supported versions, for messages."""
        return f"{min(self.versions)} and newer" if self.newer else ", ".join(map(str, self.versions))


def op(op_type: str, *versions: int, domain: str = "", fold: Callable | None = None) -> Callable[[Callable], Entry]:
    """Decorator: makes a function of a node an Entry. Nothing is registered: each family lists its entries in ENTRIES."""

    def decorate(build: Callable) -> Entry:
        return Entry(op_type, versions, build, fold, domain)

    return decorate


def table(*families: tuple[Entry, ...]) -> dict[tuple[str, str], Entry]:
    """The entries by domain and op type. ValueError if an op has two entries."""
    entries: dict[tuple[str, str], Entry] = {}
    for family in families:
        for entry in family:
            if entries.setdefault((entry.domain, entry.op_type), entry) is not entry:
                raise ValueError(f"two entries for the ONNX op {entry.op_type}")
    return entries
