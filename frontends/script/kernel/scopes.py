"""The ``with`` statements of a kernel: blocks, threads, buffers and names for the statements inside."""

import ast

from legato.frontends.script.kernel.allocations import ALLOCATIONS, allocate
from legato.frontends.script.kernel.arguments import named
from legato.frontends.script.kernel.axes import axes_as_statements, axis_kinds
from legato.frontends.script.kernel.blocks import block
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.threads import launch
from legato.frontends.script.language.refused import refused
from legato.frontends.script.language.source import Misuse

HINTS = ("storage_alignment", "auto_unroll_max_step", "compute_scope")  # keys of T.attr that change no value


def with_(parser: KernelParser, node: ast.With) -> None:
    """``with T.<word>(...) as name:``."""
    if len(node.items) > 1:  # one inside the other
        inner = ast.copy_location(ast.With(node.items[1:], node.body), node)
        node = ast.copy_location(ast.With(node.items[:1], [inner]), node)
    context = node.items[0].context_expr
    word = parser.word(context)
    if word is None:
        raise parser.error("'with' opens a block: with T.block(\"C\")", context)
    if word in BLOCKS:
        BLOCKS[word](parser, node)
        return
    if not isinstance(context, ast.Call):
        raise Misuse(f"T.{word} is called: with T.{word}(...)")
    if word not in SCOPES or (word == "attr" and not is_hint(parser, context)):
        raise Misuse(refused(word) or f"T.{word} is not supported after 'with', which opens a block: with T.block(\"C\")")
    SCOPES[word](parser, word, context, node)


def init_outside(parser: KernelParser, node: ast.With) -> None:
    """``with T.init():`` outside of a block."""
    raise Misuse("T.init() stands in a block, after its axes")


def with_block(parser: KernelParser, node: ast.With) -> None:
    """``with T.block("C"):``; a block "root" without axes is only its statements."""
    call = node.items[0].context_expr
    if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.List):
        node = axes_as_statements(node, parser.word, list(parser.loops))
        call = node.items[0].context_expr
    given = named(parser, call, "name", "no_realize", "name_hint", "exec_scope") if isinstance(call, ast.Call) else {}
    name = given.get("name", given.get("name_hint", "block")) or "block"
    if not isinstance(name, str):
        raise Misuse("a block's name is a text: with T.block(\"C\")")
    if name == "root" and not any(axis_kinds(parser, s) for s in node.body):
        parser.statements([s for s in node.body if not (isinstance(s, ast.Expr) and parser.word(s.value) in ("reads", "writes"))])
        return
    block(parser, name, node)


def with_threads(parser: KernelParser, word: str, call: ast.Call, node: ast.With) -> None:
    """``with T.launch_thread("threadIdx.x", 32) as tx:``."""
    launch(parser, call, node.body, node.items[0].optional_vars)


def with_buffer(parser: KernelParser, word: str, call: ast.Call, node: ast.With) -> None:
    """``with T.allocate((16,), "float32", "shared") as A:``."""
    target = node.items[0].optional_vars
    if not isinstance(target, ast.Name):
        raise Misuse(f"the buffer has a name: with T.{word}(...) as A")
    with parser.inside(**{target.id: allocate(parser, target.id, call)}):
        parser.statements(node.body)


def with_name(parser: KernelParser, word: str, call: ast.Call, node: ast.With) -> None:
    """``with T.LetStmt(value) as x``, ``T.LetStmt(value, var=x)``, ``T.let(x, value)``."""
    keywords = {k.arg: k.value for k in call.keywords}
    if word == "let" and len(call.args) == 2:
        target, value = call.args
    else:
        value = call.args[0] if call.args else keywords.get("value")
        target = node.items[0].optional_vars or keywords.get("var") or (call.args[1] if len(call.args) > 1 else None)
    if value is None or not isinstance(target, ast.Name):
        raise Misuse(f"T.{word} gives a name a value: with T.LetStmt(A[i]) as x")
    with parser.inside(**{target.id: parser.expression(value)}):
        parser.statements(node.body)


def with_hint(parser: KernelParser, word: str, call: ast.Call, node: ast.With) -> None:
    """``with T.attr(...)`` of a hint: the statements inside."""
    parser.statements(node.body)


def is_hint(parser: KernelParser, call: ast.Call) -> bool:
    """Whether a T.attr changes no value: a pragma, or an alignment, as ``T.attr(A, key, value)``; several, as ``T.attr({key: value})``."""
    if len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
        return all(key is not None and is_hint_key(parser.expression(key)) for key in call.args[0].keys)
    return len(call.args) > 1 and is_hint_key(parser.expression(call.args[1]))


def is_hint_key(key: object) -> bool:
    """Whether an attribute of this name changes no value."""
    return isinstance(key, str) and (key.startswith("pragma_") or key in HINTS)


BLOCKS = {"block": with_block, "sblock": with_block, "init": init_outside}
SCOPES = {"launch_thread": with_threads, **dict.fromkeys(ALLOCATIONS, with_buffer),
          "LetStmt": with_name, "let": with_name, "Bind": with_name, "attr": with_hint}
