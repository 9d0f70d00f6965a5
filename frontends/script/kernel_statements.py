"""The statements of a kernel's script: loops, blocks, conditions, stores."""

import ast
from typing import Any

from ...dialects.tir import loops
from ...dialects.tir.loops import PARALLEL, SERIAL, THREAD, UNROLLED, VECTORIZED
from ...dialects.tir.races import race
from ...mlir import ir, scf
from . import values
from .buffers import DYNAMIC, Buffer
from .kernel_blocks import IGNORED, Blocks
from .kernel_expressions import describe_syntax
from .source import Problem
from .types import dtype_name, memory_type
from .values import Scalar, as_index, condition

LOOPS = {"serial": SERIAL, "range": SERIAL, "parallel": PARALLEL, "vectorized": VECTORIZED, "unroll": UNROLLED, "thread_binding": THREAD}
ALLOCATIONS = {"alloc_buffer": None, "sblock_alloc_buffer": None, "alloc_local": "local", "alloc_shared": "shared"}


class Statements(Blocks):
    """Builds statements at the insertion point."""

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

    def nest(self, node: ast.For, names: list[str], bounds: list[tuple[Any, Any]], kind: str, thread: str | None) -> None:
        if not names:
            self.statements(node.body)
            return
        name, (lower, upper) = names[0], bounds[0]
        with loops.loop(as_index(lower), as_index(upper), kind, name, thread) as made:
            with self.inside(**{name: Scalar(made.variable, "index")}):
                self.nest(node, names[1:], bounds[1:], kind, thread)
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
