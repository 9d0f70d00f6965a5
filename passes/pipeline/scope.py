"""The scope of passes: external modules (nested, marked ``relax.codegen``) are detached while a pass works on the host part.

They are put back afterwards, also if the pass fails. Handles to the IR around them could dangle then, so their position is remembered by
symbols: the nearest preceding sibling that still exists.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from legato.core.mlir import ir
from legato.dialects.module import Module, weights_under
from legato.dialects.relax.markers import CODEGEN


def symbol(op: ir.Operation | ir.OpView) -> str | None:
    """The symbol that an op defines, or None."""
    attributes = op.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else None


def backend_of(op: ir.Operation | ir.OpView) -> str | None:
    """The backend of an external module; None for any other op."""
    operation = op.operation
    if operation.name != "builtin.module" or CODEGEN not in operation.attributes:
        return None
    return ir.StringAttr(operation.attributes[CODEGEN]).value


def external_modules(module: ir.Module, backend: str | None = None) -> list[ir.Operation]:
    """The external modules of one backend or of all, in order, without those nested in others."""
    return [op for _, op in _find(module.operation) if backend is None or backend_of(op) == backend]


def _find(parent: ir.Operation, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], ir.Operation]]:
    """External modules, each with the path to its parent module: symbols, or counts among the modules without one."""
    unnamed = 0
    for op in parent.regions[0].blocks[0].operations:
        operation = op.operation
        if operation.name != "builtin.module":
            continue
        if CODEGEN in operation.attributes:
            yield path, operation
            continue
        step: str | int | None = symbol(operation)
        if step is None:
            step, unnamed = unnamed, unnamed + 1
        yield from _find(operation, (*path, step))


@dataclass
class _Aside:
    """A detached module: the path to its parent, and the symbols of its preceding siblings, nearest last."""

    op: ir.Operation
    path: tuple[str | int, ...]
    before: list[str | None]


@contextmanager
def host_part(module: Module) -> Iterator[list[ir.Operation]]:
    """Context: detaches the external modules of `module`, and yields them."""
    aside = []
    for path, op in list(_find(module.module.operation)):
        before = []
        for sibling in op.block.operations:
            if sibling.operation == op:
                break
            before.append(symbol(sibling))
        aside.append(_Aside(op, path, before))
    for one in aside:
        one.op.detach_from_parent()
    try:
        with module.weights.keeping(key for one in aside for key in weights_under(one.op)):
            yield [one.op for one in aside]
    finally:
        for one in aside:
            _put_back(module.module, one)


def _put_back(module: ir.Module, aside: _Aside) -> None:
    parent = _parent(module.operation, aside.path)
    if parent is None:
        module.body.append(aside.op)
        return
    block = parent.regions[0].blocks[0]
    present = {symbol(op): op for op in block.operations}
    neighbour = next((present[name] for name in reversed(aside.before) if name is not None and name in present), None)
    first = next(iter(block.operations), None)
    block.append(aside.op)
    if neighbour is not None:
        aside.op.move_after(neighbour.operation)
    elif not aside.before and first is not None:
        aside.op.move_before(first.operation)


def _parent(module: ir.Operation, path: tuple[str | int, ...]) -> ir.Operation | None:
    """The module at the end of the path; None if a pass has removed it."""
    parent = module
    for step in path:
        modules = [op.operation for op in parent.regions[0].blocks[0].operations if op.operation.name == "builtin.module"]
        if isinstance(step, str):
            found = [op for op in modules if symbol(op) == step]
        else:
            found = [op for op in modules if symbol(op) is None and CODEGEN not in op.attributes][step : step + 1]
        if not found:
            return None
        parent = found[0]
    return parent


@contextmanager
def as_module(external: ir.Operation, module: Module) -> Iterator[Module]:
    """Context: an external module of `module` as an ordinary one. Its content is moved there, and back at the end.

    Weights are shared; those that the rest of `module` uses are not dropped.
    """
    with external.location:
        ordinary = ir.Module.create()
    _move(external, ordinary.operation)
    try:
        with module.weights.keeping(weights_under(module.module.operation)):
            yield type(module)(ordinary, module.weights)
    finally:
        _move(ordinary.operation, external)


def _move(source: ir.Operation, destination: ir.Operation) -> None:
    for name in list(destination.attributes):
        del destination.attributes[name]
    for name in source.attributes:
        destination.attributes[name] = source.attributes[name]
    block = destination.regions[0].blocks[0]
    for op in list(source.regions[0].blocks[0].operations):
        op.operation.detach_from_parent()
        block.append(op.operation)
