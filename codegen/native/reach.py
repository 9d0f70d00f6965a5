"""What native functions reach: which of them need the model's list. Part of compiler.py."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from legato.codegen.native import language
from legato.codegen.native.language import EXTERNS, MODEL_FUNCTIONS, POINTED, Pointer, code_of, model, use_model
from legato.core.syntax import parse


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The source of a native function."""
    module = inspect.getmodule(function)
    assert module is not None
    return _definitions(module)[function.__name__]


@cache
def _definitions(module: ModuleType) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in parse(inspect.getsource(module)).body if isinstance(node, ast.FunctionDef)}


@cache
def needs_model(function: Callable[..., Any]) -> bool:
    """Whether a native function takes the model's list from its caller: it uses what is the model's, or calls one that needs it, and does
    not say by itself which model it is."""
    if use_model in _direct(function):
        return False
    reached, pending = {function}, [function]
    while pending:
        for used in _direct(pending.pop()):
            if used is model or used in MODEL_FUNCTIONS or isinstance(used, Pointer):
                return True
            if used not in reached and _is_native(used) and use_model not in _direct(used):
                reached.add(used)
                pending.append(used)
    return False


def _is_native(used: Any) -> bool:
    return isinstance(used, FunctionType) and used not in EXTERNS and used not in POINTED and used.__module__ != language.__name__


@cache
def _direct(function: Callable[..., Any]) -> frozenset[Any]:
    """The functions and tables that the source of one function names, but for those whose address it takes."""
    definition, scope = definition_of(function), inspect.unwrap(function).__globals__
    names, taken = [], set()
    for node in ast.walk(definition):
        if isinstance(node, ast.Name):
            names.append(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and scope.get(node.func.id) is code_of:
            taken.add(node.args[0])
    own = {a.arg for a in definition.args.args}
    named = {node.id for node in names if node not in taken} - own
    found = [scope.get(name) for name in sorted(named)]
    return frozenset(one for one in found if isinstance(one, FunctionType) or (isinstance(one, Pointer) and one.symbol))
