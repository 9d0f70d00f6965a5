"""The statements of a kernel's script: loops, blocks, conditions, stores."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...dialects.tir import loops
from ...dialects.tir.loops import OPAQUE, PARALLEL, REDUCE, SERIAL, SPATIAL, THREAD, UNROLLED, VECTORIZED
from ...mlir import ir, scf
from . import values
from .buffers import DYNAMIC, Buffer
from .kernel_expressions import Expressions, describe_syntax
from .source import Problem
from .types import dtype_name, memory_type
from .values import Scalar, as_index, condition

LOOPS = {"serial": SERIAL, "range": SERIAL, "parallel": PARALLEL, "vectorized": VECTORIZED, "unroll": UNROLLED, "thread_binding": THREAD}
AXES = {"spatial": SPATIAL, "S": SPATIAL, "reduce": REDUCE, "R": REDUCE, "opaque": OPAQUE, "O": OPAQUE}
BLOCK_WORDS = ("block", "sblock")
ALLOCATIONS = {"alloc_buffer": None, "sblock_alloc_buffer": None, "alloc_local": "local", "alloc_shared": "shared"}
IGNORED = ("func_attr", "block_attr", "sblock_attr")


class Statements(Expressions):
    """Builds statements at the insertion point."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.fixed: set[str] = set()  # names of loops further out: what they stand for does not change inside

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"statement_{type(node).__name__}", None)
        if method is None:
            raise self.source.error(f"{describe_syntax(node)} is not supported in a kernel", node)
        try:
            with self.source.location(node):
                method(node)
        except Problem as problem:
            raise self.source.error(str(problem), node) from None

    def statements(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            self.statement(node)

    @contextmanager
    def inside(self, **names: Any) -> Iterator[None]:
        """A scope: names that are given a meaning inside have none behind it; those of outside cannot change."""
        outer_scope, outer_fixed = self.scope, self.fixed
        self.scope, self.fixed = {**self.scope, **names}, set(self.scope)
        yield
        self.scope, self.fixed = outer_scope, outer_fixed

    def statement_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def statement_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            raise Problem("a kernel returns nothing: it writes its last parameters")

    # --- loops ---

    def statement_For(self, node: ast.For) -> None:
        if node.orelse:
            raise Problem("a loop of a kernel has no else")
        word = self.word(node.iter)
        if word is None and isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range":
            word = "range"
        if word == "grid":
            bounds = [(0, self.expression(a)) for a in node.iter.args]
            targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            if len(targets) != len(bounds):
                raise Problem(f"{len(bounds)} loops, and {len(targets)} variables")
            self.nest(node, [self.variable(t) for t in targets], bounds, SERIAL, None)
            return
        if word not in LOOPS:
            words = ", ".join(f"T.{w}" for w in LOOPS if w != "range")
            raise self.source.error(f"a loop of a kernel goes over T.grid, range, {words}", node.iter)
        arguments = [self.expression(a) for a in node.iter.args]
        keywords = {k.arg: self.expression(k.value) for k in node.iter.keywords if k.arg != "annotations"}
        if len(arguments) not in (1, 2) or set(keywords) - {"thread"}:
            raise self.source.error("a loop takes its extent, or its begin and its end; steps are not supported", node.iter)
        bounds = (0, arguments[0]) if len(arguments) == 1 else tuple(arguments)
        thread = keywords.get("thread")
        if (word == "thread_binding") != (thread is not None):
            raise self.source.error('T.thread_binding, and no other loop, says thread="threadIdx.x" or the like', node.iter)
        if thread is not None and thread not in loops.THREADS:
            raise self.source.error(f"there are the threads {', '.join(loops.THREADS)}; not {thread!r}", node.iter)
        self.nest(node, [self.variable(node.target)], [bounds], LOOPS[word], thread)

    def variable(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise self.source.error("a variable's name is wanted here", node)
        return node.id

    def nest(self, node: ast.For, names: list[str], bounds: list[tuple[Any, Any]], kind: str, thread: str | None) -> None:
        if not names:
            self.statements(node.body)
            return
        name, (lower, upper) = names[0], bounds[0]
        with loops.loop(as_index(lower), as_index(upper), kind, name, thread) as made:
            with self.inside(**{name: Scalar(made.variable, "index")}):
                self.nest(node, names[1:], bounds[1:], kind, thread)

    def statement_While(self, node: ast.While) -> None:
        made = ir.Operation.create("scf.while", [], [], regions=2)
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            ir.Operation.create("scf.condition", [], [condition(self.expression(node.test))])
        with ir.InsertionPoint(made.regions[1].blocks.append()), self.inside():
            self.statements(node.body)
            ir.Operation.create("scf.yield", [], [])

    def statement_If(self, node: ast.If) -> None:
        test = self.expression(node.test)
        if not isinstance(test, Scalar):
            self.statements(node.body if test else node.orelse)
            return
        made = scf.IfOp(condition(test), has_else=bool(node.orelse))
        for block, statements in ((made.then_block, node.body), (made.else_block if node.orelse else None, node.orelse)):
            if block is not None:
                with ir.InsertionPoint(block), self.inside():
                    self.statements(statements)
                    scf.YieldOp([])

    # --- blocks ---

    def statement_With(self, node: ast.With) -> None:
        if len(node.items) != 1 or (word := self.word(node.items[0].context_expr)) is None:
            raise Problem("'with' opens a block: with T.block(\"C\")")
        if word == "init":
            raise Problem("T.init() stands in a block, behind its axes")
        if word not in BLOCK_WORDS:
            raise Problem(f"T.{word} is not supported: the script of a kernel has blocks, not what TVM lowers them to")
        call = node.items[0].context_expr
        name = self.expression(call.args[0]) if call.args else "block"
        if name == "root" and not any(self.axis_words(s) for s in node.body):
            self.statements(node.body)
            return
        self.block(str(name), node)

    def axis_words(self, statement: ast.stmt) -> list[str | None]:
        """The kinds of axes that an assignment makes (``remap`` is one)."""
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        calls = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        words = [self.word(c) for c in calls]
        return [w.removeprefix("axis.") for w in words if w] if all(w and w.startswith("axis.") for w in words) else []

    def block(self, name: str, node: ast.With) -> None:
        axes: dict[str, tuple[str, int | None, Any]] = {}
        where: list[Any] = []
        regions: dict[str, tuple[set[str], ast.AST]] = {}
        init, rest = None, []
        for statement in node.body:
            word = self.word(statement.value) if isinstance(statement, ast.Expr) else None
            if self.axis_words(statement):
                self.bind_axes(statement, axes)
            elif word == "where":
                where.append(self.expression(statement.value.args[0]))
            elif word in ("reads", "writes"):
                regions[word] = self.region_names(statement.value), statement
            elif isinstance(statement, ast.With) and self.word(statement.items[0].context_expr) == "init":
                init = statement
            elif word not in IGNORED:
                rest.append(statement)
        if init is not None and not any(kind == REDUCE for kind, _, _ in axes.values()):
            raise self.source.error(f"the block '{name}' has an init, but no axis that is reduced (T.axis.reduce)", init)
        self.check_axes(name, axes, node)
        tests = [condition(w) for w in where if not isinstance(w, bool)]
        with self.under(tests):
            kinds, extents, bound = ([a[i] for a in axes.values()] for i in range(3))
            made = loops.make_block(name, list(axes), kinds, extents, bound, init is not None)
            for block, statements in ((made.init_block, init.body if init else []), (made.block, rest)):
                if block is not None:
                    names = {axis: Scalar(v, "index") for axis, v in zip(axes, block.arguments)}
                    with loops.before_end(block), self.inside(**names):
                        self.statements(statements)
        self.check_regions(made, regions)

    @contextmanager
    def under(self, tests: list[ir.Value]) -> Iterator[None]:
        """What is built inside happens where all tests hold."""
        if not tests:
            yield
            return
        made = scf.IfOp(tests[0])
        with ir.InsertionPoint(made.then_block):
            with self.under(tests[1:]):
                yield
            scf.YieldOp([])

    def bind_axes(self, statement: ast.Assign, axes: dict[str, tuple[str, int | None, Any]]) -> None:
        target = statement.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if self.word(statement.value) == "axis.remap":
            kinds, bound = (self.expression(a) for a in statement.value.args)
            if len(kinds) != len(bound) or len(targets) != len(bound):
                raise self.source.error(f"{len(kinds)} kinds for {len(bound)} loops and {len(targets)} names", statement)
            made = [(kind, self.extent_of(value), value) for kind, value in zip(kinds, bound)]
        else:
            calls = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
            made = []
            for call in calls:
                extent, value = (self.expression(a) for a in call.args)
                if isinstance(extent, tuple):
                    if extent[0] != 0:
                        raise self.source.error("an axis runs from 0: add its begin where it is used", call)
                    extent = extent[1]
                made.append((self.word(call).removeprefix("axis."), extent if isinstance(extent, int) else None, value))
        for variable, (kind, extent, value) in zip(targets, made, strict=True):
            if kind not in AXES:
                raise self.source.error(f"an axis is spatial (S), reduce (R) or opaque (O), not {kind!r}", statement)
            name = self.variable(variable)
            if name in axes:
                raise self.source.error(f"the axis '{name}' is bound twice", variable)
            axes[name] = AXES[kind], extent, as_index(value)

    def extent_of(self, value: Any) -> int | None:
        """The extent of the loop whose variable a value is."""
        loop = loops.loop_of(value.value) if isinstance(value, Scalar) else None
        if loop is None:
            raise Problem("T.axis.remap takes loop variables; for other values say T.axis.spatial(extent, value)")
        return loop.extent

    def check_axes(self, name: str, axes: dict[str, tuple[str, int | None, Any]], node: ast.AST) -> None:
        seen: dict[ir.Value, str] = {}
        for axis, (_, extent, value) in axes.items():
            loop = loops.loop_of(value)
            if loop is None:
                continue
            if value in seen:
                raise self.source.error(f"the block '{name}' binds the axes {seen[value]} and {axis} both to the loop {loop.name}", node)
            seen[value] = axis
            if extent is not None and loop.extent is not None and loop.extent > extent:
                raise self.source.error(f"the block '{name}': the axis {axis} has {extent} values, and the loop {loop.name} has "
                                        f"{loop.extent} steps", node)

    def region_names(self, call: ast.Call) -> set[str]:
        """The buffers of T.reads and T.writes."""
        nodes = [e for a in call.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
        names = set()
        for node in nodes:
            base = node.value if isinstance(node, ast.Subscript) else node
            if not isinstance(base, ast.Name) or not isinstance(self.scope.get(base.id), Buffer):
                raise self.source.error("T.reads and T.writes take parts of buffers", node)
            names.add(base.id)
        return names

    def check_regions(self, block: Any, regions: dict[str, tuple[set[str], ast.AST]]) -> None:
        """What a block says that it reads and writes has to be what is seen in it."""
        from ...dialects.tir.walk import find

        by_value = {b.value: name for name, b in self.scope.items() if isinstance(b, Buffer)}
        for word, op, at in (("reads", "memref.load", 0), ("writes", "memref.store", 1)):
            if word not in regions:
                continue
            said, node = regions[word]
            seen = {by_value[o.operands[at]] for o in find(block.operation, op) if o.operands[at] in by_value}
            if word == "writes" and seen - said and not find(block.operation, "func.call"):
                raise self.source.error(f"the block '{block.name}' also {word} {', '.join(sorted(seen - said))}", node)

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
        else:
            raise Problem("an element of a buffer, or a name, can be assigned to")

    def let(self, target: ast.expr, value: ast.expr) -> None:
        name = self.variable(target)
        if name in self.fixed:
            raise self.source.error(f"'{name}' has a value outside, which cannot change here: keep what changes in a buffer, "
                                    f"{name} = T.alloc_buffer((1,), dtype)", target)
        word = self.word(value) if isinstance(value, ast.Call) else None
        made = self.allocate(name, word, value) if word in ALLOCATIONS else self.expression(value)
        if word == "match_buffer":
            raise self.source.error("T.match_buffer stands in front of all other statements", value)
        self.scope[name] = made

    def allocate(self, name: str, word: str, call: ast.Call) -> Buffer:
        arguments = [self.expression(a) for a in call.args]
        given = dict(zip(("shape", "dtype"), arguments)) | {k.arg: self.expression(k.value) for k in call.keywords}
        unknown = set(given) - {"shape", "dtype", "scope", "align", "offset_factor", "logical_scope"}
        if unknown or "shape" not in given:
            raise self.source.error(f"T.{word}(shape, dtype, scope=...)" + (f" has no {', '.join(unknown)}" if unknown else ""), call)
        shape = given["shape"] if isinstance(given["shape"], tuple) else (given["shape"],)
        try:
            dtype = dtype_name(given.get("dtype", "float32"))
        except ValueError as error:
            raise self.source.error(str(error), call) from None
        sizes = [as_index(s) for s in shape if isinstance(s, Scalar)]
        type_ = ir.MemRefType.get([DYNAMIC if isinstance(s, Scalar) else s for s in shape], memory_type(dtype))
        scope = ALLOCATIONS[word] or given.get("scope") or given.get("logical_scope") or "global"
        made = loops.make_buffer(type_, name, scope, sizes)
        if dtype.startswith("uint") or dtype == "bool":  # which the memref's type does not say
            made.owner.operation.attributes["dtype"] = ir.StringAttr.get(dtype)
        return Buffer(made, dtype, name)

    def store(self, target: ast.Subscript, value: Any) -> None:
        buffer = self.expression(target.value)
        if not isinstance(buffer, Buffer):
            raise self.source.error("elements of buffers can be assigned to", target)
        try:
            buffer.store(value, self.indices(target.slice))
        except Problem as problem:
            raise self.source.error(str(problem), target) from None

    def statement_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Subscript):
            raise Problem("an element of a buffer can be changed; a name cannot")
        loaded = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self.store(node.target, self.expression(loaded))

    def statement_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise Problem("a name is given a value where it is declared")
        dtype = self.word(node.annotation)
        self.let(node.target, node.value)
        if dtype is not None and isinstance(node.target, ast.Name):
            self.scope[node.target.id] = values.convert(self.scope[node.target.id], dtype)

    # --- calls ---

    def statement_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Constant):
            return
        word = self.word(call)
        if word in IGNORED:
            return
        if word == "evaluate":
            self.expression(call.args[0])
            return
        if word in ("reads", "writes", "where"):
            raise Problem(f"T.{word} stands in a block")
        if word is not None and word.startswith("axis."):
            raise Problem("an axis has a name: vi = T.axis.spatial(128, i)")
        if word is None and isinstance(call, ast.Call) and (macro := self.macro(call)) is not None:
            self.expand(macro, call)
            return
        self.expression(call)

    def macro(self, call: ast.Call) -> Any:
        from .functions import Macro

        found = self.source.names.get(call.func.id) if isinstance(call.func, ast.Name) else None
        return found if isinstance(found, Macro) else None

    def macro_writes(self, call: ast.Call) -> set[str]:
        """The arguments of a macro whose elements it assigns."""
        macro = self.macro(call)
        if macro is None:
            return set()
        parameters = [a.arg for a in macro.source.tree.args.args]
        written = {n for s in macro.source.tree.body for n in self.written_names(s)}
        return {a.id for p, a in zip(parameters, call.args) if p in written and isinstance(a, ast.Name)} | (written - set(parameters))

    def expand(self, macro: Any, call: ast.Call) -> None:
        """Puts a macro's statements here, with the arguments in the places of its parameters."""
        arguments = {k.arg: self.expression(k.value) for k in call.keywords}
        parameters = [a.arg for a in macro.source.tree.args.args]
        arguments |= dict(zip(parameters, (self.expression(a) for a in call.args)))
        if set(arguments) != set(parameters):
            raise Problem(f"the macro takes {', '.join(parameters)}")
        source, scope, fixed = self.source, self.scope, self.fixed
        self.source = macro.source
        self.scope = arguments if macro.hygienic else {**scope, **arguments}
        self.fixed = set()
        try:
            self.statements(macro.source.tree.body)
        finally:
            self.source, self.scope, self.fixed = source, scope, fixed
