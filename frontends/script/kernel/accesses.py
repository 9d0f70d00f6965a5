"""Finds the parameters that a kernel reads and writes, in the order of its text, from the syntax tree."""

import ast
from collections.abc import Callable, Iterable, Iterator

from legato.frontends.script.language.copies import Copies

READ, WRITE = "read", "write"
PACKED = ("call_packed", "call_cpacked")
NO_READS = ("reads", "writes", "address_of", "match_buffer")  # words that do not read the elements that are their arguments


class Accesses:
    """The accesses of statements in the order of the text.

    ``word``: the word of the script that an expression is or calls; ``macro``: the syntax of the macro that a call calls; ``parameters``:
    the names of the buffers.
    """

    def __init__(self, word: Callable[[ast.AST], str | None], macro: Callable[[ast.Call], ast.FunctionDef | None],
                 parameters: Iterable[str] = ()):
        self.word, self.macro, self.buffers = word, macro, set(parameters)
        self.lies_in: dict[str, str] = {}  # a view: the buffer that it aliases
        self.expanding: list[ast.FunctionDef] = []
        self.copies = Copies()

    def of(self, statements: list[ast.stmt]) -> Iterator[tuple[str, str]]:
        """READ or WRITE, and the buffer's name, for each access. Views count as the buffer that they alias."""
        for statement in statements:
            yield from self.statement(statement)

    def statement(self, node: ast.stmt) -> Iterator[tuple[str, str]]:
        """The accesses of one statement."""
        if isinstance(node, ast.Assign):
            self.note_view(node.targets[0], node.value)
            makes_buffer = str(self.word(node.value)).endswith(("alloc_buffer", "alloc_local", "decl_buffer"))
            if makes_buffer and isinstance(node.targets[0], ast.Name):
                self.buffers.add(node.targets[0].id)
            yield from self.expression(node.value)
            for target in node.targets:
                yield from self.target(target)
        elif isinstance(node, ast.AugAssign):
            yield from self.expression(node.target)
            yield from self.expression(node.value)
            yield from self.target(node.target)
        elif isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    self.note_view(item.optional_vars, item.context_expr)
                yield from self.expression(item.context_expr)
            yield from self.of(node.body)
        elif isinstance(node, ast.For):
            yield from self.expression(node.iter)
            yield from self.of(node.body)
        elif isinstance(node, (ast.If, ast.While)):
            yield from self.expression(node.test)
            yield from self.of(node.body)
            yield from self.of(node.orelse)
        elif isinstance(node, ast.Expr):
            call = node.value
            while isinstance(call, ast.Call) and self.word(call) == "evaluate" and call.args:
                call = call.args[0]
            yield from self.packed(call) if isinstance(call, ast.Call) and self.word(call) in PACKED else self.expression(node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from self.expression(node.value)

    def packed(self, call: ast.Call) -> Iterator[tuple[str, str]]:
        """A call of a packed function reads the buffers it is given; of several, it writes the last one."""
        names = [a.value if isinstance(a, ast.Subscript) else a for a in call.args]
        given = [a.id for a in names if isinstance(a, ast.Name) and (a.id in self.buffers or a.id in self.lies_in)]
        for number, name in enumerate(given):
            yield WRITE if number and number == len(given) - 1 else READ, self.root(name)

    def target(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """The accesses of an assignment's target."""
        if isinstance(node, (ast.Tuple, ast.List)):
            for one in node.elts:
                yield from self.target(one)
        elif isinstance(node, ast.Subscript):
            yield from self.expression(node.slice)
            if isinstance(node.value, ast.Name):
                yield WRITE, self.root(node.value.id)

    def expression(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """The accesses of an expression that is evaluated."""
        if isinstance(node, ast.Call):
            word = self.word(node)
            if word in NO_READS:
                return
            macro = self.macro(node) if word is None else None
            if macro is not None and macro not in self.expanding:
                yield from self.expanded(macro, node)
                return
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            yield from self.expression(node.slice)
            yield READ, self.root(node.value.id)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.keyword):
                yield from self.expression(child.value)
            elif isinstance(child, ast.expr):
                yield from self.expression(child)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.attr in ("vload", "vstore"):
                yield WRITE if node.func.attr == "vstore" else READ, self.root(node.func.value.id)
            elif node.func.attr == "access_ptr":
                yield from ((kind, self.root(node.func.value.id)) for kind in kinds_of_mask(node))

    def expanded(self, macro: ast.FunctionDef, call: ast.Call) -> Iterator[tuple[str, str]]:
        """The accesses of a macro's statements to the buffers that the call gives for its parameters."""
        given = {p.arg: a.id for p, a in zip(macro.args.args, call.args) if isinstance(a, ast.Name)}
        given |= {k.arg: k.value.id for k in call.keywords if k.arg and isinstance(k.value, ast.Name)}
        self.copies.add(f"this call of '{macro.name}'")
        inner = Accesses(self.word, self.macro, self.buffers)
        inner.expanding, inner.copies = [*self.expanding, macro], self.copies
        for kind, name in inner.of(macro.body):
            yield kind, self.root(given.get(name, name))

    def note_view(self, target: ast.expr, value: ast.expr) -> None:
        """``B = T.match_buffer(A[...], ...)``, ``B = T.decl_buffer(..., data=A.data)``: B aliases A."""
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
            return
        node = value.args[0] if self.word(value) == "match_buffer" and value.args else next(
            (k.value for k in value.keywords if k.arg == "data"), None)
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        if isinstance(node, ast.Name):
            self.lies_in[target.id] = self.root(node.id)

    def root(self, name: str) -> str:
        """The buffer that a view aliases; other names as they are."""
        return self.lies_in.get(name, name)


def kinds_of_mask(call: ast.Call) -> list[str]:
    """What a C function does with a buffer that it is given as ``A.access_ptr("rw")``: reads it, writes it, or both."""
    masks = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "access_mask")]
    mask = masks[0].value if masks and isinstance(masks[0], ast.Constant) else 0
    bits = mask if isinstance(mask, int) else sum({"r": 1, "w": 2}.get(letter, 0) for letter in str(mask))
    return [READ] * bool(bits & 1) + [WRITE] * bool(bits & 2)
