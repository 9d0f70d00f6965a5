"""The state of a graph's parser. The meaning of syntax nodes is in tables of functions, assembled by parse.py."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from legato.core.ir_helpers import present
from legato.core.mlir import func, ir
from legato.dialects.relax import dims
from legato.dialects.relax.calls import fresh_name
from legato.frontends.script.language.annotations import shape_info, tensor, tuple_info
from legato.frontends.script.language.copies import Copies
from legato.frontends.script.language.functions import Function
from legato.frontends.script.language.source import Misuse, ScriptError, Source
from legato.frontends.script.language.types import TensorInfo, dtype_name
from legato.frontends.script.language.words import word_path
from legato.frontends.script.program import Program

BARE = {"Tensor": tensor, "Shape": shape_info, "Tuple": tuple_info}  # TVM's first graphs had these types without the R

WAY_OUT = {
    "For": ": a graph has no loops; write the steps out, make the graph by a function of Python, or loop in a kernel",
    "While": ": a graph has no loops; loop in a kernel, or call the compiled graph from one", "AugAssign": ": write x = x + y",
    "Assert": ": sizes are checked by R.match_cast", "Try": "", "Import": ": import outside", "ClassDef": ": define it outside",
    "IfExp": ": an if statement, or R.where(cond, x, y)", "Lambda": ": define a function, under @R.function",
    "ListComp": ": make lists outside",
}


@dataclass(frozen=True)
class GraphTables:
    """The functions that parse a graph's syntax nodes, by node class."""

    expressions: Mapping[type[ast.AST], Callable[["GraphParser", Any], Any]]
    statements: Mapping[type[ast.AST], Callable[["GraphParser", Any], None]]


@dataclass
class SizeFacts:
    """The known facts about size symbols, by name, in a graph and all functions inlined in it."""

    known: dict[str, Any]                         # symbols that turned out to be other sizes: they are substituted
    taken: set[str]                               # names that fresh symbols must not have
    late: set[str] = field(default_factory=set)      # symbols whose value comes with the result of a packed function
    counted: set[str] = field(default_factory=set)   # symbols whose value an op counts (relax.nonzero's size)
    required: dict[tuple[str, str], str] = field(default_factory=dict)  # pairs of sizes that calls check, with the error's text


class GraphParser:
    """Builds a graph's statements and expressions at the insertion point.

    Values of expressions are SSA values, functions and Python values (sizes, shapes, types, numbers); a list is a tuple. A called graph
    is inlined by a parser of its own, with its own names and the same SizeFacts.
    """

    def __init__(self, program: Program, source: Source, tables: GraphTables, facts: SizeFacts, inlined: tuple[Any, ...] = ()):
        self.program, self.source, self.tables, self.facts = program, source, tables, facts
        self.inlined = inlined                   # the functions around, this one last
        self.main: func.FuncOp = None            # the function that is being built
        self.scope: dict[str, Any] = {}          # the values of local names
        self.symbols: dict[str, Any] = {}        # the sizes of size names
        self.own_symbols: dict[str, Any] = {}    # in an inlined function: its symbols, by their names in the script
        self.renames = False                     # whether names of sizes make symbols of their own, as in an inlined function
        self.unnamed: set[str] = set()           # symbols that the script gives no name
        self.packed_count = 0                    # packed functions called so far
        self.copies = Copies()                   # of functions, in the whole graph

    def inner(self, callee: Any) -> "GraphParser":
        """A parser for a function that is inlined here."""
        made = GraphParser(self.program, callee.source, self.tables, self.facts, (*self.inlined, callee))
        made.main, made.copies = self.main, self.copies
        return made

    # --- what syntax nodes are ---

    def word(self, node: ast.AST) -> str | None:
        """The word of ``R`` that an expression is, or calls: ``R.nn.relu``; None where it is none."""
        path = word_path(node, self.source.names, self.scope)
        return None if path is None else ".".join(path)

    def python(self, node: ast.expr) -> Any:
        """Evaluates an expression of captured names, sizes and tensors' types (``x.shape[0]``) in Python."""
        at = node
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = self.source.parsed(node.value, node)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & self.scope.keys()
        plain = {k: described(v) if isinstance(v := self.scope[k], ir.Value) else v for k in used}
        bare = {name: made for name, made in BARE.items() if name not in self.source.names}
        return self.source.evaluate(node, {**bare, **self.symbols, **plain}, at)

    def own_symbol(self, name: str) -> Any:
        """The symbol of a size name; in an inlined function a fresh one."""
        if self.renames and name not in self.own_symbols:
            self.own_symbols[name] = dims.symbol(fresh_name(name, self.facts.taken))
        return self.own_symbols.get(name, dims.symbol(name))

    def given(self) -> set[str]:
        """The symbols in the shapes of the graph's arguments."""
        return {n for a in self.main.arguments for s in dims.dims(a.type) for n in dims.symbols(s)}

    # --- dispatch ---

    def expression(self, node: ast.expr) -> Any:
        """The value of an expression. ScriptError at the innermost node that is wrong."""
        evaluate = self.tables.expressions.get(type(node), unsupported)
        with self.source.innermost(node):
            return evaluate(self, node)

    def statement(self, node: ast.stmt) -> None:
        """Builds a statement. ScriptError at the innermost node that is wrong."""
        build = self.tables.statements.get(type(node), unsupported)
        with self.source.at(node), self.location(node):
            build(self, node)

    def body(self, statements: list[ast.stmt]) -> tuple[Any, ast.Return]:
        """Builds a function's statements. Returns the value that they return, and the return statement."""
        for node in statements:
            if isinstance(node, ast.Return) and node.value is None:
                raise self.error("a graph returns something", node)
            if isinstance(node, ast.Return):
                return self.expression(node.value), node
            self.statement(node)
        raise self.error("a graph returns something", self.source.tree)

    def location(self, node: ast.stmt) -> ir.Location:
        """The location of a statement, named after the variable that it assigns."""
        place = self.source.location(node)
        name = node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None
        return ir.Location.name(name, place) if name else place

    def error(self, message: str, node: ast.AST) -> ScriptError:
        """A ScriptError that points at a node."""
        return self.source.error(message, node)


def unsupported(parser: GraphParser, node: ast.AST) -> Any:
    """A construct of Python that has no meaning in a graph: refused, with what to write instead."""
    raise Misuse(f"Python's {type(node).__name__} is not supported in a graph{WAY_OUT.get(type(node).__name__, '')}")


def described(value: ir.Value) -> SimpleNamespace:
    """The attributes of a tensor's type in Python expressions: ``shape``, ``dtype``, ``ndim``, and the type itself by TVM's names for
    it."""
    shape, dtype = dims.dims(value.type), dtype_name(value.type.element_type)
    info = TensorInfo(tuple(shape), dtype, len(shape))
    return SimpleNamespace(shape=shape, dtype=dtype, ndim=len(shape), struct_info=info, ty=info)


def names_in(tree: ast.AST) -> set[str]:
    """All names in a function, which may be size names."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return names | {dims.symbol_name(t) for t in texts if t.isidentifier()}


def facts_at_start(function: Function, known: Mapping[str, Any]) -> SizeFacts:
    """The facts about a graph's symbols at the start of a parse; ``known``: those found by earlier parses."""
    return SizeFacts(dict(known), names_in(present(function.source).tree))
