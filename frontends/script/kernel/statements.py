"""The statements of a kernel's script: loops, blocks, conditions, stores."""

import ast
from typing import Any

from legato.analysis.races import race
from legato.core.mlir import ir, scf
from legato.dialects.relax import dims
from legato.dialects.tir import loops
from legato.dialects.tir.loops import PARALLEL, SERIAL, THREAD, UNROLLED, VECTORIZED
from legato.frontends.script.kernel import values
from legato.frontends.script.kernel.accesses import PACKED
from legato.frontends.script.kernel.blocks import IGNORED
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.describe import describe_value, not_in_kernels
from legato.frontends.script.kernel.expressions import Cell
from legato.frontends.script.kernel.lanes import Lanes
from legato.frontends.script.kernel.macros import Macros
from legato.frontends.script.kernel.notes import NOTES, noted
from legato.frontends.script.kernel.packed import call_packed
from legato.frontends.script.kernel.scopes import thread_tag
from legato.frontends.script.kernel.values import Scalar, as_index, condition
from legato.frontends.script.language.source import Problem
from legato.frontends.script.language.types import DTYPES

LOOPS = {"serial": SERIAL, "range": SERIAL, "parallel": PARALLEL, "vectorized": VECTORIZED, "unroll": UNROLLED, "thread_binding": THREAD}
HINTS = ("annotations", "pragma")  # which change no value

class Statements(Macros):
    """Builds statements at the insertion point."""

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"statement_{type(node).__name__}", None)
        if method is None:
            raise self.source.error(not_in_kernels(node), node)
        try:
            with self.source.location(node):
                method(node)
        except Problem as problem:
            raise self.source.error(str(problem), node) from None

    def statements(self, nodes: list[ast.stmt]) -> None:
        for number, node in enumerate(nodes):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and self.word(node.value) == "launch_thread":
                try:
                    self.launch(node.value, nodes[number + 1:], None)  # the rest happens on these threads
                except Problem as problem:
                    raise self.source.error(str(problem), node) from None
                return
            self.statement(node)

    def statement_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def statement_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            raise Problem("a kernel returns nothing: it writes its last parameters")

    # --- loops ---

    def statement_For(self, node: ast.For) -> None:
        if node.orelse:
            raise Problem("a loop of a kernel has no else")
        call = node.iter
        word = self.word(call) if isinstance(call, ast.Call) else None
        if word is None and isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and self.source.names.get(call.func.id) is range:
            word = "range"
        if word == "grid":
            self.grid(node, call)
        elif word in LOOPS:
            self.loop(node, call, word)
        elif word is None and isinstance(values_ := self.static_values(call), tuple):
            self.each(node, values_)
        else:
            words = ", ".join(f"T.{w}" for w in LOOPS if w != "range")
            raise self.source.error(f"a loop of a kernel goes over T.grid, range, {words}, or over a tuple of constants", call)

    def static_values(self, node: ast.expr) -> Any:
        """The tuple that a loop goes over when the kernel is parsed; None where it is none."""
        if isinstance(node, (ast.Tuple, ast.List, ast.Name, ast.Attribute)):
            return self.expression(node)
        return None

    def each(self, node: ast.For, elements: tuple[Any, ...]) -> None:
        """The statements once for each element of a tuple."""
        for element in elements:
            names = [node.target] if isinstance(node.target, ast.Name) else node.target.elts if isinstance(node.target, ast.Tuple) else []
            parts = element if isinstance(node.target, ast.Tuple) and isinstance(element, tuple) else (element,)
            if len(names) != len(parts):
                raise Problem(f"{len(parts)} values, and {len(names)} variables")
            with self.inside(**{self.variable(n): p for n, p in zip(names, parts)}):
                self.statements(node.body)

    def grid(self, node: ast.For, call: ast.Call) -> None:
        """``for i, j in T.grid(n, m)``, ``for *outer, k in T.grid(*A.shape)``, ``for ijk in T.grid(...)``."""
        if call.keywords:
            raise self.source.error("T.grid takes the extents of its loops, nothing else", call)
        bounds = [((e[0], e[1]) if isinstance(e, tuple) and len(e) == 2 else (0, e)) for e in self.arguments(call)]
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        starred = [n for n, t in enumerate(targets) if isinstance(t, ast.Starred) or (len(targets) == 1 and len(bounds) > 1)]
        names, groups = [], {}
        for number, target in enumerate(targets):
            name = self.variable(target.value if isinstance(target, ast.Starred) else target)
            if number in starred:
                groups[name] = [f"{name}_{i}" for i in range(len(bounds) - len(targets) + 1)]
            names += groups.get(name, [name])
        if len(names) != len(bounds) or len(set(names)) != len(names):
            raise Problem(f"{len(bounds)} loops, and {len(targets)} variable{'s' * (len(targets) != 1)}")
        self.nest(node, names, bounds, SERIAL, None, groups)

    def loop(self, node: ast.For, call: ast.Call, word: str) -> None:
        arguments = self.arguments(call)
        keywords = {k.arg: self.expression(k.value) for k in call.keywords if k.arg not in HINTS}
        notes = next((k.value for k in call.keywords if k.arg == NOTES), None)
        if word == "thread_binding" and arguments and isinstance(arguments[-1], str):
            keywords["thread"] = arguments.pop()
        step = keywords.pop("step", None)
        if len(arguments) == 3 and word in ("range", "serial") and step is None:
            step = arguments.pop()
        if len(arguments) not in (1, 2) or set(keywords) - {"thread"}:
            raise self.source.error("a loop takes its extent, or its begin and its end", call)
        lower, upper = (0, arguments[0]) if len(arguments) == 1 else arguments
        thread = keywords.get("thread")
        if (word == "thread_binding") != (thread is not None):
            raise self.source.error('T.thread_binding, and no other loop, says thread="threadIdx.x" or the like', call)
        if thread is not None:
            try:
                thread = thread_tag(thread)
            except Problem as problem:
                raise self.source.error(str(problem), call) from None
        name = self.variable(node.target)
        if step in (None, 1):
            self.nest(node, [name], [(lower, upper)], LOOPS[word], thread, notes=notes)
            return
        if isinstance(step, bool) or not isinstance(step, int) or step < 1:
            raise self.source.error(f"a loop's step is a number of 1 or more, not {describe_value(step)}", call)
        steps = values.binary("//", values.binary("+", values.binary("-", upper, lower), step - 1), step)
        with loops.loop(as_index(0), as_index(steps), LOOPS[word], name, thread) as made:
            noted(made.operation, notes)
            place = values.binary("+", lower, values.binary("*", Scalar(made.variable, "index"), step))
            with self.inside(**{name: place}):
                self.statements(node.body)

    def nest(self, node: ast.For, names: list[str], bounds: list[tuple[Any, Any]], kind: str, thread: str | None,
             groups: dict[str, list[str]] | None = None, notes: ast.expr | None = None) -> None:
        if not names:
            with self.inside(**{group: tuple(self.scope[n] for n in members) for group, members in (groups or {}).items()}):
                self.statements(node.body)
            return
        name, (lower, upper) = names[0], bounds[0]
        with loops.loop(as_index(lower), as_index(upper), kind, name, thread) as made:
            noted(made.operation, notes)
            self.around.append(name)
            with self.inside(**{name: Scalar(made.variable, "index")}):
                self.nest(node, names[1:], bounds[1:], kind, thread, groups)
            self.around.pop()
        if (problem := race(made)) is not None:
            raise self.source.error(problem, node)

    def statement_While(self, node: ast.While) -> None:
        made = ir.Operation.create("scf.while", [], [], regions=2)
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            ir.Operation.create("scf.condition", [], [condition(self.expression(node.test))])
        with ir.InsertionPoint(made.regions[1].blocks.append()), self.inside():
            self.statements(node.body)
            ir.Operation.create("scf.yield", [], [])

    def statement_If(self, node: ast.If) -> None:
        test = self.expression(node.test)
        if isinstance(test, (Lanes, Buffer)):
            raise self.source.error(f"a condition is one value, not {describe_value(test)}", node.test)
        if not isinstance(test, Scalar):
            self.statements(node.body if test else node.orelse)
            return
        made = scf.IfOp(condition(test), has_else=bool(node.orelse))
        for block, statements in ((made.then_block, node.body), (made.else_block if node.orelse else None, node.orelse)):
            if block is not None:
                with ir.InsertionPoint(block), self.inside():
                    self.statements(statements)
                    scf.YieldOp([])

    # --- assignments ---

    def statement_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise Problem("one target at a time")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            self.store(target, self.expression(node.value))
        elif isinstance(target, ast.Name):
            self.let(target, node.value)
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
            for one, value in zip(target.elts, node.value.elts):
                self.let(one, value)
        elif isinstance(target, ast.Tuple):
            found = self.expression(node.value)
            if not isinstance(found, tuple) or len(found) != len(target.elts):
                raise Problem(f"{len(target.elts)} names are given {len(found) if isinstance(found, tuple) else 1} values")
            for one, value in zip(target.elts, found):
                self.scope[self.assignable(one)] = value
        else:
            raise Problem("an element of a buffer, or a name, can be assigned to")

    def assignable(self, target: ast.expr) -> str:
        name = self.variable(target)
        if name in self.fixed:
            raise self.source.error(f"'{name}' has a value outside, which cannot change here: declare a variable, {name}: T.float32 = ..., "
                                    f"or keep what changes in a buffer, {name} = T.alloc_buffer((1,), dtype)", target)
        return name

    def let(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and isinstance(cell := self.scope.get(target.id), Cell):
            cell.buffer.store(self.one_value(self.expression(value)), [])
            return
        name = self.assignable(target)
        if self.makes_buffer(value) and isinstance(value, ast.Call):
            try:
                self.scope[name] = self.buffer(name, value)
            except Problem as problem:
                raise self.source.error(str(problem), value) from None
        elif isinstance(value, ast.Call) and self.names_size(self.word(value), value):
            self.symbols.setdefault(name, dims.symbol(dims.symbol_name(name)))  # given its value by T.match_buffer(..., strides=[name])
        else:
            self.scope[name] = self.expression(value)

    def names_size(self, word: str | None, call: ast.expr) -> bool:
        """Whether a call makes a name of a size: ``n = T.int64()``."""
        raise NotImplementedError

    def one_value(self, x: Any) -> Any:
        values.dtype_of(x)
        return x

    def store(self, target: ast.Subscript, value: Any) -> None:
        buffer = self.expression(target.value)
        if not isinstance(buffer, Buffer):
            raise self.source.error("elements of buffers can be assigned to", target)
        try:
            self.store_at(buffer, self.indices(target.slice, buffer), value)
        except Problem as problem:
            raise self.source.error(str(problem), target) from None

    def statement_AugAssign(self, node: ast.AugAssign) -> None:
        loaded = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        if isinstance(node.target, ast.Name) and isinstance(self.scope.get(node.target.id), Cell):
            self.let(node.target, loaded)
        elif isinstance(node.target, ast.Subscript):
            self.store(node.target, self.expression(loaded))
        else:
            raise Problem("an element of a buffer can be changed, and a variable that is declared: x: T.float32 = 0.0")

    def statement_AnnAssign(self, node: ast.AnnAssign) -> None:
        """``x: T.float32 = ...`` is a variable where it is assigned to again; else, and by ``T.let[...]``, a name for a value."""
        if node.value is None:
            raise Problem("a name is given a value where it is declared")
        let = isinstance(node.annotation, ast.Subscript) and self.word(node.annotation.value) == "let"
        annotation = node.annotation.slice if isinstance(node.annotation, ast.Subscript) and let else node.annotation
        dtype = self.word(annotation)
        if dtype not in DTYPES or not isinstance(node.target, ast.Name):
            self.let(node.target, node.value)
            return
        value = self.one_value(self.expression(node.value))
        name = self.assignable(node.target)
        if not let and self.assigned_again(node):
            self.scope[name] = Cell(self.allocated(name, (), dtype, "local"))
            self.let(node.target, node.value)
        else:
            self.scope[name] = values.convert(value, dtype)

    def assigned_again(self, node: ast.AnnAssign) -> bool:
        for other in ast.walk(self.source.tree):
            targets = other.targets if isinstance(other, ast.Assign) else [other.target] if isinstance(other, ast.AugAssign) else []
            if any(isinstance(t, ast.Name) and isinstance(node.target, ast.Name) and t.id == node.target.id for t in targets):
                return True
        return False

    # --- calls ---

    def statement_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Constant):
            return
        word = self.word(call)
        if word in IGNORED or (word == "attr" and isinstance(call, ast.Call) and self.is_hint(call)):
            return
        if not isinstance(call, ast.Call):
            raise Problem("a value that nobody takes: assign it to an element of a buffer")
        if word == "tvm_storage_sync" and self.arguments(call) in (["shared"], ["shared.dyn"], ["warp"]):
            return  # the compiler finds out itself where threads have to wait for each other
        if word == "evaluate":
            if len(call.args) == 1 and self.word(call.args[0]) in PACKED:
                self.statement_Expr(ast.copy_location(ast.Expr(call.args[0]), node))
            else:
                self.arguments(call, 1)
            return
        if word in PACKED:
            call_packed(self, call, result=False)
            return
        if word in ("reads", "writes", "where"):
            raise Problem(f"T.{word} stands in a block")
        if word is not None and word.startswith("axis."):
            raise Problem("an axis has a name: vi = T.axis.spatial(128, i)")
        if word is None and (macro := self.macro(call)) is not None:
            self.expand(*macro, call)
            return
        self.expression(call)

    def statement_Assert(self, node: ast.Assert) -> None:
        """``assert n % 4 == 0, "..."`` of what is known when the kernel is parsed."""
        test = self.expression(node.test)
        if isinstance(test, Scalar):
            raise Problem("assert checks what is known when the kernel is parsed, and this is known at run time only: the sizes of buffers "
                          "are checked by their types, sizes in a graph by R.match_cast; T.assume says that it holds")
        if not test:
            message = self.expression(node.msg) if node.msg is not None else "does not hold"
            raise Problem(f"assert: {message if isinstance(message, str) else 'does not hold'}")
