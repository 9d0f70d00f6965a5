"""The loops and conditions of a kernel."""

import ast
from dataclasses import dataclass, field
from typing import Any

from legato.analysis.races import race
from legato.core.mlir import ir, scf
from legato.dialects.tir import loops
from legato.dialects.tir.loops import PARALLEL, SERIAL, THREAD, UNROLLED, VECTORIZED
from legato.frontends.script.kernel.arguments import arguments
from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.elements import describe_value
from legato.frontends.script.kernel.lanes import LaneValues
from legato.frontends.script.kernel.notes import NOTES, noted
from legato.frontends.script.kernel.parser import KernelParser, variable
from legato.frontends.script.kernel.threads import thread_tag
from legato.frontends.script.kernel.values import Scalar, as_index, condition, index_value
from legato.frontends.script.language.source import Misuse

KINDS = {"serial": SERIAL, "range": SERIAL, "parallel": PARALLEL, "vectorized": VECTORIZED, "unroll": UNROLLED, "thread_binding": THREAD}
HINTS = ("annotations", "pragma")  # arguments that change no value


@dataclass
class Nest:
    """Nested loops around a body: names and bounds, outermost first. ``groups``: names that stand for the variables of several loops."""

    node: ast.For
    names: list[str]
    bounds: list[tuple[Any, Any]]
    kind: str = SERIAL
    thread: str | None = None
    notes: ast.expr | None = None
    groups: dict[str, list[str]] = field(default_factory=dict)


def for_(parser: KernelParser, node: ast.For) -> None:
    """``for ... in``: T.grid, a kind of loop, range, or a tuple of Python."""
    if node.orelse:
        raise Misuse("a loop of a kernel has no else")
    call = node.iter
    word = parser.word(call) if isinstance(call, ast.Call) else None
    if word is None and isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and parser.source.names.get(call.func.id) is range:
        word = "range"
    if word == "grid":
        grid(parser, node, call)
    elif word in KINDS:
        loop(parser, node, call, word)
    elif word is None and isinstance(elements := known_elements(parser, call), tuple):
        for_each(parser, node, elements)
    else:
        words = ", ".join(f"T.{w}" for w in KINDS if w != "range")
        raise parser.error(f"a loop of a kernel goes over T.grid, range, {words}, or over a tuple of constants", call)


def known_elements(parser: KernelParser, node: ast.expr) -> Any:
    """The tuple that a loop goes over when the kernel is parsed; None where the syntax is not that of one."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Name, ast.Attribute)):
        return parser.expression(node)
    return None


def for_each(parser: KernelParser, node: ast.For, elements: tuple[Any, ...]) -> None:
    """Builds the body once for each element of a tuple."""
    for element in elements:
        parser.copies.add("this step of the loop")
        names = [node.target] if isinstance(node.target, ast.Name) else node.target.elts if isinstance(node.target, ast.Tuple) else []
        parts = element if isinstance(node.target, ast.Tuple) and isinstance(element, tuple) else (element,)
        if len(names) != len(parts):
            raise Misuse(f"{len(parts)} values, and {len(names)} variables")
        with parser.inside(**{variable(parser, n): p for n, p in zip(names, parts)}):
            parser.statements(node.body)


def grid(parser: KernelParser, node: ast.For, call: ast.Call) -> None:
    """``for i, j in T.grid(n, m)``, ``for *outer, k in T.grid(*A.shape)``, ``for ijk in T.grid(...)``."""
    if call.keywords:
        raise parser.error("T.grid takes the extents of its loops, nothing else", call)
    bounds = [((e[0], e[1]) if isinstance(e, tuple) and len(e) == 2 else (0, e)) for e in arguments(parser, call)]
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    starred = [n for n, t in enumerate(targets) if isinstance(t, ast.Starred) or (len(targets) == 1 and len(bounds) > 1)]
    names, groups = [], {}
    for number, target in enumerate(targets):
        name = variable(parser, target.value if isinstance(target, ast.Starred) else target)
        if number in starred:
            groups[name] = [f"{name}_{i}" for i in range(len(bounds) - len(targets) + 1)]
        names += groups.get(name, [name])
    if len(names) != len(bounds) or len(set(names)) != len(names):
        raise Misuse(f"{len(bounds)} loops, and {len(targets)} variable{'s' * (len(targets) != 1)}")
    build(parser, Nest(node, names, bounds, groups=groups))


def loop(parser: KernelParser, node: ast.For, call: ast.Call, word: str) -> None:
    """``for i in T.serial(n)``, ``range(begin, end, step)``, ``T.thread_binding(n, "threadIdx.x")``, ..."""
    given = arguments(parser, call)
    keywords = {k.arg: parser.expression(k.value) for k in call.keywords if k.arg not in HINTS}
    notes = next((k.value for k in call.keywords if k.arg == NOTES), None)
    if word == "thread_binding" and given and isinstance(given[-1], str):
        keywords["thread"] = given.pop()
    step = keywords.pop("step", None)
    if len(given) == 3 and word in ("range", "serial") and step is None:
        step = given.pop()
    if len(given) not in (1, 2) or set(keywords) - {"thread"}:
        raise parser.error("a loop takes its extent, or its begin and its end", call)
    lower, upper = (0, given[0]) if len(given) == 1 else given
    thread = keywords.get("thread")
    if (word == "thread_binding") != (thread is not None):
        raise parser.error('T.thread_binding, and no other loop, says thread="threadIdx.x" or the like', call)
    if thread is not None:
        with parser.source.at(call):
            thread = thread_tag(thread)
    name = variable(parser, node.target)
    if step in (None, 1):
        build(parser, Nest(node, [name], [(lower, upper)], KINDS[word], thread, notes))
        return
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise parser.error(f"a loop's step is a number of 1 or more, not {describe_value(step)}", call)
    steps = binary("//", binary("+", binary("-", upper, lower), step - 1), step)
    with loops.loop(as_index(0), as_index(steps), KINDS[word], name, thread) as made:
        noted(parser.source, made.operation, notes)
        place = binary("+", lower, binary("*", index_value(made.variable), step))
        with parser.inside(**{name: place}):
            parser.statements(node.body)


def build(parser: KernelParser, nest: Nest, depth: int = 0) -> None:
    """Builds the loops of a nest from a depth on. ScriptError where the steps of a parallel loop write what others read or write."""
    if depth == len(nest.names):
        with parser.inside(**{group: tuple(parser.scope[n] for n in members) for group, members in nest.groups.items()}):
            parser.statements(nest.node.body)
        return
    name, (lower, upper) = nest.names[depth], nest.bounds[depth]
    with loops.loop(as_index(lower), as_index(upper), nest.kind, name, nest.thread) as made:
        noted(parser.source, made.operation, nest.notes)
        parser.loops.append(name)
        with parser.inside(**{name: index_value(made.variable)}):
            build(parser, nest, depth + 1)
        parser.loops.pop()
    if (problem := race(made)) is not None:
        raise parser.error(problem, nest.node)


def while_(parser: KernelParser, node: ast.While) -> None:
    """``while test:``."""
    made = ir.Operation.create("scf.while", [], [], regions=2)
    with ir.InsertionPoint(made.regions[0].blocks.append()):
        ir.Operation.create("scf.condition", [], [condition(parser.expression(node.test))])
    with ir.InsertionPoint(made.regions[1].blocks.append()), parser.inside():
        parser.statements(node.body)
        ir.Operation.create("scf.yield", [], [])


def if_(parser: KernelParser, node: ast.If) -> None:
    """``if test: ... else: ...``: on a Python value one branch is built, on a value of the kernel both."""
    test = parser.expression(node.test)
    if isinstance(test, (LaneValues, Buffer)):
        raise parser.error(f"a condition is one value, not {describe_value(test)}", node.test)
    if not isinstance(test, Scalar):
        parser.statements(node.body if test else node.orelse)
        return
    made = scf.IfOp(condition(test), has_else=bool(node.orelse))
    for block, statements in ((made.then_block, node.body), (made.else_block if node.orelse else None, node.orelse)):
        if block is not None:
            with ir.InsertionPoint(block), parser.inside():
                parser.statements(statements)
                scf.YieldOp([])
