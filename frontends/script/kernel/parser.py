"""The state of a kernel's parser. The meaning of syntax nodes is in tables of functions, assembled by parse.py."""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from legato.frontends.script.kernel.describe import not_in_kernels
from legato.frontends.script.language.copies import Copies
from legato.frontends.script.language.functions import Macro
from legato.frontends.script.language.source import ScriptError, Source
from legato.frontends.script.language.words import word_path

OLDER = {"ramp": "Ramp", "broadcast": "Broadcast", "shuffle": "Shuffle", "select": "Select"}  # other spellings of words


@dataclass(frozen=True)
class KernelTables:
    """The functions that parse a kernel's syntax nodes, by node class, and the words that as a statement open a scope to the end of
    the body."""

    expressions: Mapping[type[ast.AST], Callable[["KernelParser", Any], Any]]
    statements: Mapping[type[ast.AST], Callable[["KernelParser", Any], None]]
    to_the_end: Mapping[str, Callable[["KernelParser", ast.Call, list[ast.stmt], ast.expr | None], None]]


class KernelParser:
    """Builds a kernel's statements and expressions at the insertion point.

    Values of expressions are Scalars, LaneValues, Buffers, PointerValues and Python values; a list is a tuple.
    """

    def __init__(self, source: Source, tables: KernelTables):
        self.source, self.tables = source, tables
        self.scope: dict[str, Any] = {}      # the values of local names
        self.fixed: set[str] = set()         # names of the scopes around, which cannot be assigned to inside of a loop or a block
        self.symbols: dict[str, Any] = {}    # size symbols by their names in the script
        self.loops: list[str] = []           # the variables of the loops around, outermost first
        self.expanding: list[Macro] = []     # macros whose statements are being parsed
        self.copies = Copies()               # of the statements of macros and of loops over tuples

    # --- what syntax nodes are ---

    def word(self, node: ast.AST) -> str | None:
        """The word of ``T`` that an expression is, or calls: ``axis.spatial`` for ``T.axis.spatial(...)``; None where it is none."""
        path = word_path(node, self.source.names, self.scope)
        if path is None:
            return None
        word = ".".join(path[1:])
        return OLDER.get(word, word) or None

    def python(self, node: ast.expr, at: ast.AST | None = None) -> Any:
        """Evaluates an expression of captured names, size symbols and local Python values in Python. ScriptError at ``at`` or the node."""
        plain = {k: v for k, v in self.scope.items() if isinstance(v, (int, float, str, tuple))}
        return self.source.evaluate(node, {**self.symbols, **plain}, at)

    # --- dispatch ---

    def expression(self, node: ast.expr) -> Any:
        """The value of an expression. ScriptError at the innermost node that is wrong."""
        evaluate = self.tables.expressions.get(type(node))
        if evaluate is None:
            raise self.source.error(not_in_kernels(node), node)
        with self.source.innermost(node):
            return evaluate(self, node)

    def statement(self, node: ast.stmt) -> None:
        """Builds a statement. ScriptError at the innermost node that is wrong."""
        build = self.tables.statements.get(type(node))
        if build is None:
            raise self.source.error(not_in_kernels(node), node)
        with self.source.at(node), self.source.location(node):
            build(self, node)

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Builds statements in order."""
        for number, node in enumerate(nodes):
            call = node.value if isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call) else None
            open_scope = self.tables.to_the_end.get(str(self.word(call))) if call is not None else None
            if call is not None and open_scope is not None:
                with self.source.at(node):
                    open_scope(self, call, nodes[number + 1:], node.targets[0] if isinstance(node, ast.Assign) else None)
                return
            self.statement(node)

    # --- errors and scopes ---

    def error(self, message: str, node: ast.AST) -> ScriptError:
        """A ScriptError that points at a node."""
        return self.source.error(message, node)

    @contextmanager
    def inside(self, /, **names: Any) -> Iterator[None]:
        """A scope: names defined inside are removed after it; outer names cannot be assigned to."""
        outer_scope, outer_fixed = self.scope, self.fixed
        self.scope, self.fixed = {**self.scope, **names}, set(self.scope)
        yield
        self.scope, self.fixed = outer_scope, outer_fixed


def variable(parser: KernelParser, node: ast.expr) -> str:
    """The name that a target of an assignment or a loop is. ScriptError for any other target."""
    if not isinstance(node, ast.Name):
        raise parser.error("a variable's name is wanted here", node)
    return node.id

