"""Compiles native functions (language.py) to ``func``, ``cf``, ``arith`` and, for memory, globals and C functions, ``llvm``.

Values are in SSA form from the start: the names of a function stand for the values that they have at the place that is reached, and a block
where control flow joins takes those that differ as arguments. ``if``, ``while`` and ``for`` nest, and ``return`` ends a block: no more
than that is needed.
"""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Sequence
from types import ModuleType
from typing import Any

from legato.codegen.native.body import MODEL, FunctionBody, NativeProgram, NativeValue, jump, symbol_of
from legato.codegen.native.expressions import call, expression, fork, place
from legato.codegen.native.reach import definition_of, needs_model

INTERNAL = "llvm.linkage = #llvm.linkage<internal>"
NOT_OPTIMIZED = "llvm.no_inline, llvm.optimize_none"


def compile_functions(roots: Sequence[Callable[..., Any]], rare: Collection[ModuleType] = ()) -> str:
    """A module, as text, of these functions, which other modules may call, and all that they use. ``rare``: Python modules whose functions
    hardly ever run, and which LLVM shall not spend time on. LegatoError, with the function, for what is outside the language."""
    program = NativeProgram()
    for root in roots:
        program.use(root)
    texts = []
    while program.pending:
        function = program.pending.pop(0)
        texts.append(_function(function, program, rare, function in roots))
    return "\n".join([*program.declarations.values(), *texts])


def _function(function: Callable[..., Any], program: NativeProgram, rare: Collection[ModuleType], is_root: bool) -> str:
    """One function, as text."""
    module = inspect.getmodule(function)
    assert module is not None
    body = FunctionBody(program, function)
    of = body.signature
    body.names = {name: body.widened(f"%{name}", parameter) for name, parameter in of.parameters.items()}
    _statements(body, definition_of(function).body)
    if not body.ended:
        body.end("return")
    attributes = [*([] if is_root else [INTERNAL]), *([NOT_OPTIMIZED] if module in rare else [])]
    hidden = [f"{MODEL}: !llvm.ptr"] if needs_model(function) else []
    shown = ", ".join([*hidden, *(f"%{name}: {parameter.mlir}" for name, parameter in of.parameters.items())])
    return "\n".join([f"func.func @{symbol_of(function)}({shown}){of.arrow} attributes {{{', '.join(attributes)}}} {{", *body.lines, "}"])


def _statements(body: FunctionBody, nodes: Sequence[ast.stmt]) -> None:
    for node in nodes:
        if body.ended:
            raise body.refused(node, "is never reached")
        if type(node) not in STATEMENTS:
            raise body.refused(node)
        STATEMENTS[type(node)](body, node)


def _assign(body: FunctionBody, node: ast.Assign) -> None:
    if len(node.targets) != 1:
        raise body.refused(node)
    _store(body, node.targets[0], expression(body, node.value))


def _update(body: FunctionBody, node: ast.AugAssign) -> None:
    _store(body, node.target, expression(body, ast.BinOp(node.target, node.op, node.value)))


def _store(body: FunctionBody, target: ast.expr, value: NativeValue) -> None:
    if isinstance(target, ast.Name):
        old = body.names.get(target.id)
        body.names[target.id] = value if old is None else NativeValue(body.as_mlir(value, old.mlir), old.type)
        return
    to = place(body, target)
    if not to.mlir:
        raise body.refused(target, "is a struct, and cannot be assigned as a whole")
    body.line(f"llvm.store {body.as_mlir(value, to.mlir)}, {to.address} : {to.mlir}, !llvm.ptr")


def _if(body: FunctionBody, node: ast.If) -> None:
    yes, no, join = body.fresh("^b"), body.fresh("^b"), body.fresh("^b")
    fork(body, node.test, yes, no)
    before = body.names
    ends: list[tuple[int, dict[str, NativeValue]]] = []   # of branches that do not return: the line of the jump, and the names there
    for label, part in ((yes, node.body), (no, node.orelse)):
        body.block(label)
        body.names = dict(before)
        _statements(body, part)
        if not body.ended:
            ends.append((len(body.lines), body.names))
            body.jump(join)
    if not ends:
        return
    first, last = ends[0][1], ends[-1][1]
    differing = [name for name in first if name in last and first[name].ssa != last[name].ssa]
    if any(first[name].mlir != last[name].mlir for name in differing):
        raise body.refused(node.test, "chooses between values of two types")
    for at, names in ends:
        body.lines[at] = "  " + jump(join, [names[name] for name in differing])
    arguments = {name: NativeValue(body.fresh("%"), first[name].type) for name in differing}
    body.block(join, list(arguments.values()))
    body.names = {name: value for name, value in first.items() if name in last} | arguments


def _while(body: FunctionBody, node: ast.While) -> None:
    _loop(body, node, {}, lambda yes, no: fork(body, node.test, yes, no), lambda: _statements(body, node.body))


def _for(body: FunctionBody, node: ast.For) -> None:
    """A range from its start to its end; ``reversed``, from its end to its start."""
    ranged = node.iter
    backwards = isinstance(ranged, ast.Call) and ast.unparse(ranged.func) == "reversed"
    if isinstance(ranged, ast.Call) and backwards:
        ranged = ranged.args[0]
    if not (isinstance(ranged, ast.Call) and ast.unparse(ranged.func) == "range" and len(ranged.args) <= 2):
        raise body.refused(node.iter)
    if not isinstance(node.target, ast.Name):
        raise body.refused(node.target)
    start, end = [body.constant(0), *(expression(body, a) for a in ranged.args)][-2:]
    one, index = body.constant(1), node.target.id

    def test(yes: str, no: str) -> None:
        pair = f"sgt, {body.names[index].ssa}, {start.ssa}" if backwards else f"slt, {body.names[index].ssa}, {end.ssa}"
        body.fork(body.value(f"arith.cmpi {pair} : i64", bool).ssa, yes, no)

    def step() -> None:
        at = body.names[index]
        if backwards:
            at = body.names[index] = body.value(f"arith.subi {at.ssa}, {one.ssa} : i64")
        _statements(body, node.body)
        if not backwards and not body.ended:
            body.names[index] = body.value(f"arith.addi {at.ssa}, {one.ssa} : i64")

    _loop(body, node, {index: end if backwards else start}, test, step)
    del body.names[index]


def _loop(body: FunctionBody, node: ast.For | ast.While, own: dict[str, NativeValue], test: Callable[[str, str], None],
          step: Callable[[], None]) -> None:
    """A loop that carries ``own``, and those of the names before it that it assigns."""
    if node.orelse:
        raise body.refused(node)
    assigned = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    carried = {name: value for name, value in body.names.items() if name in assigned} | own
    head, inside, behind = body.fresh("^b"), body.fresh("^b"), body.fresh("^b")
    body.jump(head, list(carried.values()))
    arguments = {name: NativeValue(body.fresh("%"), value.type) for name, value in carried.items()}
    body.block(head, list(arguments.values()))
    at_head = body.names | arguments
    body.names = dict(at_head)
    body.loops += 1
    test(inside, behind)
    body.block(inside)
    step()
    body.loops -= 1
    if not body.ended:
        body.jump(head, [body.names[name] for name in carried])
    body.block(behind)
    body.names = at_head


def _return(body: FunctionBody, node: ast.Return) -> None:
    result = body.signature.result
    if result and node.value is not None:
        body.end(f"return {body.as_mlir(expression(body, node.value), result.mlir)} : {result.mlir}")
        return
    if isinstance(node.value, ast.Call):
        call(body, node.value)
    body.end("return")


def _evaluate(body: FunctionBody, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Call):
        call(body, node.value)
    elif not isinstance(node.value, ast.Constant):   # a docstring
        raise body.refused(node)


STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: _assign, ast.AugAssign: _update, ast.If: _if, ast.While: _while, ast.For: _for, ast.Return: _return, ast.Expr: _evaluate,
}
