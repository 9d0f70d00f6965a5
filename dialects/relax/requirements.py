"""The attributes ``relax.requires`` and ``relax.bytes`` of main: what the sizes of a call must satisfy, checked by the entry before
anything runs."""
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from legato.core.mlir import ir
from legato.dialects.relax.dims import Size, parse, symbols
from legato.dialects.relax.markers import BYTES, REQUIRES


@dataclass(frozen=True)
class Room:
    """What is left of ``LARGEST`` bytes beside ``bytes``: negative if they are more. Its computation never wraps."""

    bytes: Size


@dataclass(frozen=True)
class Requirement:
    """A condition on symbols: ``size >= 0``, ``size == equal``, or, of a size in bytes, ``size <= LARGEST``. ``text``: names the op and
    what it needs."""

    size: Size
    text: str
    equal: Size | None = None
    is_bytes: bool = False

    @property
    def sizes(self) -> "tuple[Size | Room, ...]":
        """What to compute for the check: one number that must not be negative, or two that must be equal."""
        if self.is_bytes:
            return (Room(self.size),)
        return (self.size,) if self.equal is None else (self.size, self.equal)

    def known_by(self, known: Collection[str]) -> bool:
        """Whether the values of these symbols suffice for the check."""
        return all(name in known for size in (self.size, self.equal) if size is not None for name in symbols(size))

    def attribute(self) -> ir.Attribute:
        """The row for its attribute."""
        texts = [str(self.size), self.text] + ([] if self.equal is None else [str(self.equal)])
        return ir.ArrayAttr.get([ir.StringAttr.get(t) for t in texts])


def requirements(main: ir.OpView) -> list[Requirement]:
    """The requirements recorded on main by relax-require-sizes, by a script's ``match_cast`` and by tir-plan-memory."""
    found = [Requirement(parse(size), text, parse(equal[0]) if equal else None) for size, text, *equal in _rows(main, REQUIRES)]
    return found + [Requirement(parse(size), text, is_bytes=True) for size, text in _rows(main, BYTES)]


def _rows(main: ir.OpView, name: str) -> list[list[str]]:
    attributes = main.operation.attributes
    return [[text.value for text in ir.ArrayAttr(row)] for row in attributes[name]] if name in attributes else []


def require(main: ir.OpView, rows: Sequence[Requirement]) -> None:
    """Records requirements on main in place of those that are there."""
    for name, kept in ((REQUIRES, [row for row in rows if not row.is_bytes]), (BYTES, [row for row in rows if row.is_bytes])):
        if kept:
            main.operation.attributes[name] = ir.ArrayAttr.get([row.attribute() for row in kept])
