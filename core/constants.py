"""Constants: one op for each, or one for all that are equal, where they are shared."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from legato.core.mlir import ir

_shared: ContextVar[SharedConstants | None] = ContextVar("_shared", default=None)


class SharedConstants:
    """The constants of a block's function, each built once, at the beginning of the block."""

    def __init__(self, block: ir.Block):
        self._begin = ir.InsertionPoint.at_block_begin(block)
        self._made: dict[ir.Attribute, ir.Value] = {}

    def value(self, attribute: ir.Attribute, type_: ir.Type) -> ir.Value:
        """The value of an attribute of this type."""
        found = self._made.get(attribute)
        if found is None:
            found = self._made[attribute] = _built(attribute, type_, self._begin)
        return found


@contextmanager
def shared_constants(block: ir.Block) -> Iterator[None]:
    """Context in which all that is built is nested in this block, and ``constant`` builds equal constants once."""
    token = _shared.set(SharedConstants(block))
    try:
        yield
    finally:
        _shared.reset(token)


def constant(attribute: ir.Attribute, type_: ir.Type) -> ir.Value:
    """The value of an attribute of this type, at the insertion point or in ``shared_constants``."""
    shared = _shared.get()
    return _built(attribute, type_, None) if shared is None else shared.value(attribute, type_)


def filled(type_: ir.ShapedType, element: ir.Attribute) -> ir.Value:
    """The ``constant`` all of whose elements are equal."""
    return constant(ir.DenseElementsAttr.get_splat(type_, element), type_)


def _built(attribute: ir.Attribute, type_: ir.Type, place: ir.InsertionPoint | None) -> ir.Value:
    """A constant op; built by its name, in a third of the time that upstream's class takes."""
    return ir.Operation.create("arith.constant", [type_], [], {"value": attribute}, ip=place).result
