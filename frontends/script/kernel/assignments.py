"""The assignments of a kernel: elements of buffers, names for values and buffers, and variables."""

import ast
from dataclasses import dataclass
from typing import Any

from legato.dialects.relax import dims
from legato.frontends.script.kernel.allocations import allocate, allocated, makes_buffer
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.elements import indices, store_at
from legato.frontends.script.kernel.parser import KernelParser, variable
from legato.frontends.script.kernel.values import convert, dtype_of
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import DTYPES
from legato.frontends.script.language.words import makes_size


@dataclass(frozen=True)
class Cell:
    """A variable (``x: T.float32 = 0.0`` that is assigned again): a buffer of one element, loaded where its name is read."""

    buffer: Buffer


def assign(parser: KernelParser, node: ast.Assign) -> None:
    """``A[i] = x``, ``x = ...``, ``x, y = ...``."""
    if len(node.targets) != 1:
        raise Misuse("one target at a time")
    target = node.targets[0]
    if isinstance(target, ast.Subscript):
        store(parser, target, parser.expression(node.value))
    elif isinstance(target, ast.Name):
        name_value(parser, target, node.value)
    elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
        for one, value in zip(target.elts, node.value.elts):
            name_value(parser, one, value)
    elif isinstance(target, ast.Tuple):
        found = parser.expression(node.value)
        if not isinstance(found, tuple) or len(found) != len(target.elts):
            raise Misuse(f"{len(target.elts)} names are given {len(found) if isinstance(found, tuple) else 1} values")
        for one, value in zip(target.elts, found):
            parser.scope[assignable(parser, one)] = value
    else:
        raise Misuse("an element of a buffer, or a name, can be assigned to")


def assignable(parser: KernelParser, target: ast.expr) -> str:
    """The name of a target. ScriptError where it belongs to an outer scope, and cannot change here."""
    name = variable(parser, target)
    if name in parser.fixed:
        raise parser.error(f"'{name}' has a value outside, which cannot change here: declare a variable, {name}: T.float32 = ..., "
                           f"or keep what changes in a buffer, {name} = T.alloc_buffer((1,), dtype)", target)
    return name


def name_value(parser: KernelParser, target: ast.expr, value: ast.expr) -> None:
    """``x = value``: stores it where x is a variable, otherwise binds the name to it (a value, a buffer, a size symbol)."""
    if isinstance(target, ast.Name) and isinstance(cell := parser.scope.get(target.id), Cell):
        cell.buffer.store(number(parser.expression(value)), [])
        return
    name = assignable(parser, target)
    if isinstance(value, ast.Call) and makes_buffer(parser, value):
        with parser.source.at(value):
            parser.scope[name] = allocate(parser, name, value)
    elif makes_size(parser.word(value), value):
        parser.symbols.setdefault(name, dims.symbol(dims.symbol_name(name)))  # T.match_buffer(..., strides=[name]) gives it its value
    else:
        parser.scope[name] = parser.expression(value)


def number(x: Any) -> Any:
    """The value itself. Misuse for anything but a number."""
    dtype_of(x)
    return x


def store(parser: KernelParser, target: ast.Subscript, value: Any) -> None:
    """``A[i] = value``."""
    buffer = parser.expression(target.value)
    if not isinstance(buffer, Buffer):
        raise parser.error("elements of buffers can be assigned to", target)
    with parser.source.at(target):
        store_at(buffer, indices(parser, target.slice, buffer), value)


def assign_augmented(parser: KernelParser, node: ast.AugAssign) -> None:
    """``A[i] += x``, ``x += 1.0``."""
    loaded = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
    if isinstance(node.target, ast.Name) and isinstance(parser.scope.get(node.target.id), Cell):
        name_value(parser, node.target, loaded)
    elif isinstance(node.target, ast.Subscript):
        store(parser, node.target, parser.expression(loaded))
    else:
        raise Misuse("an element of a buffer can be changed, and a variable that is declared: x: T.float32 = 0.0")


def assign_annotated(parser: KernelParser, node: ast.AnnAssign) -> None:
    """``x: T.float32 = ...`` is a variable where it is assigned again, and so is ``x: T.float32``; otherwise, and as ``T.let[...]``,
    a name for the value."""
    if node.value is None:
        if (dtype := parser.word(node.annotation)) not in DTYPES or not isinstance(node.target, ast.Name):
            raise Misuse("a name is given a value where it is declared; a variable may get it later: x: T.float32")
        name = assignable(parser, node.target)
        parser.scope[name] = Cell(allocated(name, (), dtype, "local"))
        return
    let = isinstance(node.annotation, ast.Subscript) and parser.word(node.annotation.value) == "let"
    annotation = node.annotation.slice if isinstance(node.annotation, ast.Subscript) and let else node.annotation
    dtype = parser.word(annotation)
    if dtype not in DTYPES or not isinstance(node.target, ast.Name):
        name_value(parser, node.target, node.value)
        return
    value = number(parser.expression(node.value))
    name = assignable(parser, node.target)
    if not let and is_assigned_again(parser.source.tree, name):
        parser.scope[name] = Cell(allocated(name, (), dtype, "local"))
        name_value(parser, node.target, node.value)
    else:
        parser.scope[name] = convert(value, dtype)


def is_assigned_again(tree: ast.AST, name: str) -> bool:
    """Whether an assignment without an annotation has the name as its target."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return True
    return False
