"""The statements of a kernel, by the class of their syntax node; calls that stand alone, by their word."""

import ast
from typing import Any

from legato.frontends.script.kernel.accesses import PACKED
from legato.frontends.script.kernel.arguments import arguments
from legato.frontends.script.kernel.assignments import assign, assign_annotated, assign_augmented
from legato.frontends.script.kernel.axes import PREFIX
from legato.frontends.script.kernel.loops import for_, if_, while_
from legato.frontends.script.kernel.macros import expand, macro_of
from legato.frontends.script.kernel.packed import call_packed
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.scopes import is_hint, with_
from legato.frontends.script.kernel.values import Scalar
from legato.frontends.script.language.marks import report_kernel_marks
from legato.frontends.script.language.source import Misuse

BARRIERS = (["shared"], ["shared.dyn"], ["warp"])  # arguments of T.tvm_storage_sync: the compiler puts barriers where they are needed


def pass_(parser: KernelParser, node: ast.Pass) -> None:
    """``pass``."""


def return_(parser: KernelParser, node: ast.Return) -> None:
    """``return``, without a value."""
    if node.value is not None:
        raise Misuse("a kernel returns nothing: it writes its last parameters")


def assert_(parser: KernelParser, node: ast.Assert) -> None:
    """``assert n % 4 == 0, "..."``, of values known at parse time."""
    test = parser.expression(node.test)
    if isinstance(test, Scalar):
        raise Misuse("assert checks what is known when the kernel is parsed, and this is known at run time only: the sizes of buffers "
                      "are checked by their types, sizes in a graph by R.match_cast; T.assume says that it holds")
    if not test:
        message = parser.expression(node.msg) if node.msg is not None else "does not hold"
        raise Misuse(f"assert: {message if isinstance(message, str) else 'does not hold'}")


def expression_statement(parser: KernelParser, node: ast.Expr) -> None:
    """An expression that stands alone: a docstring, a word of WORDS, a macro, or a call for its effect."""
    call = node.value
    if isinstance(call, ast.Constant):
        return
    word = parser.word(call)
    if word is not None and word in WORDS:
        WORDS[word](parser, node)
    else:
        effect(parser, node)


def effect(parser: KernelParser, node: ast.Expr) -> None:
    """A call for its effect, or a macro."""
    call = node.value
    if not isinstance(call, ast.Call):
        raise Misuse("a value that nobody takes: assign it to an element of a buffer")
    word = parser.word(call)
    if word is not None and word.startswith(PREFIX):
        raise Misuse("an axis has a name: vi = T.axis.spatial(128, i)")
    if word is None and (macro := macro_of(parser, call)) is not None:
        expand(parser, macro, call)
        return
    parser.expression(call)


def hint(parser: KernelParser, node: ast.Expr) -> None:
    """``T.block_attr({...})`` outside of a block, which is ignored."""


def marks(parser: KernelParser, node: ast.Expr) -> None:
    """``T.func_attr({...})``: marks of the kernel."""
    if isinstance(node.value, ast.Call):
        report_kernel_marks(parser.source, node.value)


def attr(parser: KernelParser, node: ast.Expr) -> None:
    """``T.attr(...)`` of a hint."""
    if not (isinstance(node.value, ast.Call) and is_hint(parser, node.value)):
        effect(parser, node)


def barrier(parser: KernelParser, node: ast.Expr) -> None:
    """``T.tvm_storage_sync("shared")``."""
    if not isinstance(node.value, ast.Call) or arguments(parser, node.value) not in BARRIERS:
        effect(parser, node)


def evaluate(parser: KernelParser, node: ast.Expr) -> None:
    """``T.evaluate(call)``."""
    call = node.value
    if not isinstance(call, ast.Call):
        effect(parser, node)
    elif len(call.args) == 1 and parser.word(call.args[0]) in PACKED:
        expression_statement(parser, ast.copy_location(ast.Expr(call.args[0]), node))
    else:
        arguments(parser, call, 1)


def packed(parser: KernelParser, node: ast.Expr) -> None:
    """``T.call_packed("name", A, ...)`` without use of its result."""
    if isinstance(node.value, ast.Call):
        call_packed(parser, node.value, result=False)
    else:
        effect(parser, node)


def outside_of_block(parser: KernelParser, node: ast.Expr) -> None:
    """T.reads, T.writes and T.where, which block() takes where they have a meaning."""
    if not isinstance(node.value, ast.Call):
        effect(parser, node)
    raise Misuse(f"T.{parser.word(node.value)} stands in a block")


WORDS: dict[str, Any] = {
    "func_attr": marks, "block_attr": hint, "sblock_attr": hint, "attr": attr, "tvm_storage_sync": barrier, "evaluate": evaluate,
    **dict.fromkeys(PACKED, packed), "reads": outside_of_block, "writes": outside_of_block, "where": outside_of_block,
}
STATEMENTS = {
    ast.Pass: pass_, ast.Return: return_, ast.Assert: assert_, ast.Expr: expression_statement, ast.With: with_,
    ast.For: for_, ast.While: while_, ast.If: if_, ast.Assign: assign, ast.AugAssign: assign_augmented, ast.AnnAssign: assign_annotated,
}
