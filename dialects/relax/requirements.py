"""The attributes ``relax.requires`` and ``relax.bytes`` of main: what the sizes of a call must satisfy, checked by the entry before
anything runs. What a branch or loop requires is checked there: by a call with such a row, which tir-plan-memory makes one of the entry.
"""
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from legato.core.errors import LegatoError
from legato.core.ir_helpers import find
from legato.core.locations import describe
from legato.core.mlir import func, ir
from legato.dialects.relax.dims import Size, materialize, parse, symbols
from legato.dialects.relax.markers import BYTES, REGION_REQUIRES, REQUIRES
from legato.dialects.tir.extern import call_of
from legato.dialects.tir.markers import REQUIRE


@dataclass(frozen=True)
class Room:
    """What is left of ``LARGEST`` bytes beside ``bytes``: negative if they are more. Its computation never wraps."""

    bytes: Size


@dataclass(frozen=True)
class Requirement:
    """A condition on symbols: ``size >= 0``, ``size == equal``, or, of a size in bytes, ``size <= LARGEST``. ``text``: names the op and
    what it needs. ``in_region``: a call in a branch or loop of main checks it."""

    size: Size
    text: str
    equal: Size | None = None
    is_bytes: bool = False
    in_region: bool = False

    @property
    def sizes(self) -> "tuple[Size | Room, ...]":
        """What to compute for the check: one number that must not be negative, or two that must be equal."""
        if self.is_bytes:
            return (Room(self.size),)
        return (self.size,) if self.equal is None else (self.size, self.equal)

    @property
    def marker(self) -> str:
        """The name of main's attribute that has its row."""
        return BYTES if self.is_bytes else REGION_REQUIRES if self.in_region else REQUIRES

    def symbols(self) -> set[str]:
        """The symbols in its sizes."""
        return {name for size in (self.size, self.equal) if size is not None for name in symbols(size)}

    def known_by(self, known: Collection[str]) -> bool:
        """Whether the values of these symbols suffice for main's check."""
        return not self.in_region and all(name in known for name in self.symbols())

    def attribute(self) -> ir.Attribute:
        """The row for its attribute."""
        texts = [str(self.size), self.text] + ([] if self.equal is None else [str(self.equal)])
        return ir.ArrayAttr.get([ir.StringAttr.get(t) for t in texts])


def requirements(main: ir.OpView) -> list[Requirement]:
    """The requirements recorded on main by relax-require-sizes, by a script's ``match_cast`` and by tir-plan-memory."""
    return [*_rows(main, REQUIRES), *_rows(main, BYTES, is_bytes=True), *_rows(main, REGION_REQUIRES, in_region=True)]


def _rows(op: ir.OpView, name: str, **kind: bool) -> list[Requirement]:
    attributes = op.operation.attributes
    rows = [[text.value for text in ir.ArrayAttr(row)] for row in attributes[name]] if name in attributes else []
    return [Requirement(parse(size), text, parse(equal[0]) if equal else None, **kind) for size, text, *equal in rows]


def require(main: ir.OpView, rows: Sequence[Requirement]) -> None:
    """Records requirements on main in place of those of their kinds that are there."""
    for name in (BYTES, REGION_REQUIRES, REQUIRES):
        kept = [row.attribute() for row in rows if row.marker == name]
        if kept:
            main.operation.attributes[name] = ir.ArrayAttr.get(kept)


def require_too(main: ir.OpView, row: Requirement) -> None:
    """Records one requirement on main, behind those that are there."""
    attributes = main.operation.attributes
    before = ir.ArrayAttr(attributes[row.marker]) if row.marker in attributes else ()
    attributes[row.marker] = ir.ArrayAttr.get([*before, row.attribute()])


def require_here(main: func.FuncOp, row: Requirement) -> None:
    """Records a requirement of what stands at the insertion point: on main, or in the branch or loop there, whose symbols are known."""
    block = ir.InsertionPoint.current.block
    if block == main.body.blocks[0]:
        require_too(main, row)
        return
    operands = [materialize(size, main, unchecked=True) for size in row.sizes]
    call_of(f"{REQUIRE}_{len(operands)}", operands).attributes[REQUIRES] = ir.ArrayAttr.get([row.attribute()])


def requiring_calls(op: ir.OpView) -> list[ir.Operation]:
    """The calls in an op's regions that stand for requirements of branches and loops."""
    return [call for call in find(op.operation, "func.call") if REQUIRES in call.attributes]


def required_by(call: ir.Operation) -> Requirement:
    """The requirement that such a call stands for. LegatoError for one with several."""
    rows = _rows(call.opview, REQUIRES, in_region=True)
    if len(rows) != 1 or len(rows[0].sizes) != len(call.operands):
        raise LegatoError(f"{describe(call)}: its attribute {REQUIRES} must be one row, with a size for each of its "
                          f"{len(call.operands)} operands")
    return rows[0]
