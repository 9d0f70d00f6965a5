"""Sizes that depend on data: symbols that no argument of a function gives, but the result of an op (``relax.nonzero``, a packed function
that allocates its results). Ops that name such a symbol must stay after the op that gives it, though they read no value of it."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from legato.core.ir_helpers import walk
from legato.core.mlir import func, ir
from legato.dialects.relax.dims import DimsAttr, dims, from_attribute, symbols
from legato.dialects.relax.markers import ARGUMENTS


class DataSizes:
    """The data-dependent sizes of one function.

    ``given``: each symbol, with the first op whose result has it. Empty for most functions, and cheap to find out.
    """

    def __init__(self, function: func.FuncOp):
        known = {name for type_ in function.type.inputs for name in symbols_of_type(type_)}
        self.given: dict[str, ir.Operation] = {}
        self._arguments: Mapping[str, set[str]] | None = None
        self._module = function.operation.parent

        def visit(op: ir.Operation) -> ir.WalkResult:
            for result in op.results:
                for name in symbols_of_type(result.type) - known:
                    self.given.setdefault(name, op.operation)
            return ir.WalkResult.ADVANCE

        walk(function, visit, ir.WalkOrder.PRE_ORDER)

    def named_by(self, op: ir.Operation) -> set[str]:
        """The data-dependent symbols among those that an op names."""
        return self.all_named_by(op) & self.given.keys() if self.given else set()

    def all_named_by(self, op: ir.Operation) -> set[str]:
        """The symbols in the types and attributes of an op, of those in its regions, and of the packed functions they call."""
        found: set[str] = set()

        def visit(one: ir.Operation) -> ir.WalkResult:
            for result in one.results:
                found.update(symbols_of_type(result.type))
            for attribute in one.attributes.values():
                found.update(_symbols_in(attribute))
            if one.name == "func.call":
                found.update(self._of_callees().get(one.attributes["callee"].value, ()))
            return ir.WalkResult.ADVANCE

        walk(op, visit)
        return found

    def waits_for(self, op: ir.Operation) -> list[ir.Operation]:
        """The ops that give the data-dependent symbols which ``op`` names."""
        return [giver for name in sorted(self.named_by(op)) if (giver := self.given[name]) != op]

    def _of_callees(self) -> Mapping[str, set[str]]:
        """The symbols among the arguments of packed functions that are not tensors, by the declaration's name."""
        if self._arguments is None:
            functions = [op for op in self._module.regions[0].blocks[0].operations if isinstance(op, func.FuncOp)]
            self._arguments = {f.name.value: set(_symbols_in(f.attributes[ARGUMENTS])) for f in functions if ARGUMENTS in f.attributes}
        return self._arguments


def symbols_of_type(type_: ir.Type) -> set[str]:
    """The symbols in the sizes of a tensor type; none for other types."""
    if not isinstance(type_, ir.RankedTensorType) or type_.encoding is None:
        return set()
    return {name for size in dims(type_) for name in symbols(size)}


def _symbols_in(attribute: ir.Attribute) -> Iterable[str]:
    if isinstance(attribute, DimsAttr):
        return [name for size in from_attribute(attribute) for name in symbols(size)]
    if isinstance(attribute, ir.ArrayAttr):
        return [name for element in attribute for name in _symbols_in(element)]
    return ()
