"""The attribute ``relax.requires`` of main: what the sizes of a call must satisfy, checked by the entry before anything runs."""
from collections.abc import Collection
from dataclasses import dataclass

from legato.core.mlir import ir
from legato.dialects.relax.dims import Size, parse, symbols
from legato.dialects.relax.markers import REQUIRES


@dataclass(frozen=True)
class Requirement:
    """A condition on symbols: ``size >= 0``, or ``size == equal``. ``text``: names the op and what it needs."""

    size: Size
    text: str
    equal: Size | None = None

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes to compute for the check."""
        return (self.size,) if self.equal is None else (self.size, self.equal)

    def known_by(self, known: Collection[str]) -> bool:
        """Whether the values of these symbols suffice for the check."""
        return all(name in known for size in self.sizes for name in symbols(size))

    def attribute(self) -> ir.Attribute:
        """The row for the attribute ``relax.requires``."""
        texts = [str(self.size), self.text] + ([] if self.equal is None else [str(self.equal)])
        return ir.ArrayAttr.get([ir.StringAttr.get(t) for t in texts])


def requirements(main: ir.OpView) -> list[Requirement]:
    """The requirements recorded on main by relax-require-sizes and by a script's ``match_cast``."""
    attributes = main.operation.attributes
    rows = [[text.value for text in ir.ArrayAttr(row)] for row in attributes[REQUIRES]] if REQUIRES in attributes else []
    return [Requirement(parse(size), text, parse(equal[0]) if equal else None) for size, text, *equal in rows]
