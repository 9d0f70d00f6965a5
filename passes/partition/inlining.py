"""Inlines the functions of an external module where the host calls them."""
from __future__ import annotations

from legato.core.ir_helpers import defining_op, walk
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax.markers import EXTERNAL
from legato.passes.partition.groups import erase_unread, inline
from legato.passes.partition.marks import calls_of, unique


def inline_module(module: Module, nested: ir.Operation, home: str) -> None:
    """Inlines the functions of ``nested``, a module, where the host calls declarations of ``@home::@function``, which are erased.

    Graph functions that they call are inlined, too; kernels are moved to the host. ``nested`` can be erased afterwards.
    """
    functions = [op for op in nested.regions[0].blocks[0].operations if isinstance(op, func.FuncOp)]
    table = {f.name.value: f for f in functions if not tir.is_prim_func(f) and not f.is_external}
    for function in table.values():
        _flatten(function, table)
    _move_kernels(module, [f for f in functions if f.name.value not in table], list(table.values()))
    calls = calls_of(module)
    for declaration in module.functions():
        reference = declaration.operation.attributes[EXTERNAL] if EXTERNAL in declaration.operation.attributes else None
        path = list(ir.SymbolRefAttr(reference).value) if reference is not None else []
        if path[:1] == [home] and path[1] in table:
            for call in calls.get(declaration.name.value, []):
                _inline_dps(call, table[path[1]])
            declaration.operation.erase()


def _flatten(function: func.FuncOp, table: dict[str, func.FuncOp]) -> None:
    """Inlines calls of other graph functions. There is no recursion among them."""
    while True:
        calls = [op for op in function.body.blocks[0].operations if isinstance(op, func.CallOp) and op.attributes["callee"].value in table]
        if not calls:
            return
        for call in calls:
            inline(call, table[call.attributes["callee"].value])


def _inline_dps(call: func.CallOp, function: func.FuncOp) -> None:
    """Inlines a function that returns its results, in place of a call in destination-passing style."""
    operands = list(call.operation.operands)
    count = len(function.type.results)
    empties = [owner for v in operands[len(operands) - count:] if (owner := defining_op(v)) is not None]
    with ir.InsertionPoint(call), call.location:
        plain = func.CallOp(list(function.type.results), ir.FlatSymbolRefAttr.get(function.name.value), operands[: len(operands) - count])
    for old, new in zip(call.operation.results, plain.results):
        old.replace_all_uses_with(new)
    call.operation.erase()
    inline(plain, function)
    erase_unread(empties)


def _move_kernels(module: Module, kernels: list[func.FuncOp], callers: list[func.FuncOp]) -> None:
    """Moves kernels and declarations to the host. One with the same text as the host's is merged with it; others get unused names."""
    host = {f.name.value: f for f in module.functions()}
    taken = set(host) | {f.name.value for f in kernels}
    renamed: dict[str, str] = {}
    for kernel in kernels:
        name = kernel.name.value
        if name in host and _text(host[name]) == _text(kernel):
            continue
        kernel.operation.detach_from_parent()
        if name in host:
            renamed[name] = unique(name, taken)
            kernel.attributes["sym_name"] = ir.StringAttr.get(renamed[name])
        kernel.attributes["sym_visibility"] = ir.StringAttr.get("private")
        module.body.append(kernel)
    if renamed:
        for function in callers:
            walk(function, lambda op: _rename(op, renamed))


def _text(function: func.FuncOp) -> str:
    return function.operation.get_asm(use_local_scope=True, assume_verified=True)


def _rename(op: ir.Operation, names: dict[str, str]) -> ir.WalkResult:
    if op.name == "func.call" and op.attributes["callee"].value in names:
        op.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[op.attributes["callee"].value])
    return ir.WalkResult.ADVANCE
