"""The statements of a kernel: loops, blocks, conditions, stores."""

from collections.abc import Callable
from typing import Any

from legato.core.ir_helpers import ancestors, body, everything
from legato.core.mlir import func, ir
from legato.dialects.tir.loops import SERIAL, BlockOp, ForOp, constant_of, loop_of
from legato.frontends.script.printer.calls import Calls
from legato.frontends.script.printer.expressions import common
from legato.frontends.script.printer.notes import notes_of, shown
from legato.frontends.script.printer.text import Text, dtype_of
from legato.frontends.script.printer.words import LOOPS

LETTERS = {"spatial": "S", "reduce": "R", "opaque": "O"}
ENDS = ("tir.yield", "scf.yield", "func.return", "scf.condition")


class Statements(Calls):
    """Writes statements, line by line."""

    def __init__(self, kernel: func.FuncOp, indent: str = ""):
        super().__init__(kernel)
        self.indent = indent
        self.lines: list[str] = []
        self.taken: set[str] = set()
        self.buffers: dict[ir.Value, str] = {}
        self.dtypes: dict[ir.Value, str] = {}  # of buffers

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def fresh(self, name: str) -> str:
        name = name if name.isidentifier() else "x"
        found = name if name not in self.taken else next(f"{name}_{n}" for n in range(1, 10000) if f"{name}_{n}" not in self.taken)
        self.taken.add(found)
        return found

    def let(self, value: ir.Value, text: Text) -> None:
        name = self.fresh("v")
        self.line(f"{name} = {text.source}")
        self.texts[value] = Text(name, text.dtype)

    def inner(self, write: Callable[[], None]) -> None:
        """What is written is a body: names that are given in it have no meaning behind it."""
        indent, taken, count = self.indent, set(self.taken), len(self.lines)
        self.indent += "    "
        write()
        if len(self.lines) == count:
            self.line("pass")
        self.indent, self.taken = indent, taken

    def statements(self, operations: list[ir.Operation]) -> None:
        for op in operations:
            method: Callable[[ir.Operation], None] | None = getattr(self, "op_" + op.name.replace(".", "_"), None)
            if len(op.regions):
                self.name_for(op)
            if method is not None:
                method(op)
            elif len(op.results) == 1 and not len(op.regions):
                self.value(op)
            elif op.name not in ENDS:
                raise self.refuse(f"it has {op.name}")

    def name_for(self, op: ir.Operation) -> None:
        """Gives names to what is read inside of an op and was computed in front of it, and to what may have changed behind it."""
        inside = [v for region in op.regions for block in region.blocks for one in block.operations for o in everything(one.operation)
                  for v in o.operands if not (op.name == "scf.if" and is_under(o, op))]
        changed = {self.buffers.get(o.operands[1]) for o in everything(op) if o.name == "memref.store"}
        calls = any(o.name == "func.call" for o in everything(op))
        for value, text in list(self.pending.items()):
            if value in inside or (text.reads & changed) or (text.reads and calls):
                del self.pending[value]
                self.let(value, text)

    def disturb(self, buffer: str | None) -> None:
        """Gives names to what reads a buffer (any, for None) that is about to change."""
        for value, text in list(self.pending.items()):
            if text.reads and (buffer is None or buffer in text.reads):
                del self.pending[value]
                self.let(value, text)

    # --- buffers ---

    def op_tir_alloc_buffer(self, op: ir.Operation) -> None:
        made: Any = op.opview
        type_ = op.results[0].type
        sizes = iter(op.operands)
        shape = ", ".join(self.index(next(sizes)) if type_.is_dynamic_dim(d) else str(type_.shape[d]) for d in range(type_.rank))
        dtype = op.attributes["dtype"].value if "dtype" in op.attributes else dtype_of(type_.element_type)
        name = self.buffers[op.results[0]] = self.fresh(made.name)
        self.dtypes[op.results[0]] = dtype
        scope = f', scope="{made.scope}"' if made.scope != "global" else ""
        self.line(f'{name} = T.alloc_buffer(({shape}{"," if type_.rank == 1 else ""}), "{dtype}"{scope})')

    def element(self, buffer: ir.Value, indices: list[ir.Value]) -> str:
        if buffer not in self.buffers:
            made_by = buffer.owner
            raise self.refuse(f"it reads or writes memory by {'an argument' if isinstance(made_by, ir.Block) else made_by.name}")
        return f"{self.buffers[buffer]}[{', '.join(self.index(i) for i in indices) or '()'}]"

    def op_memref_store(self, op: ir.Operation) -> None:
        value, buffer, *indices = op.operands
        text = self.read(value)
        place = self.element(buffer, indices)
        self.disturb(self.buffers[buffer])
        self.line(f"{place} = {text.short().source}")

    def op_memref_load(self, op: ir.Operation) -> None:
        buffer, *indices = op.operands
        place = self.element(buffer, indices)
        text = Text(place, self.dtypes[buffer], reads=frozenset([self.buffers[buffer]]))
        if self.dtypes[buffer] == "bool":
            text = Text(f'T.Cast("int8", {place})', "int8", reads=text.reads)
        self.remember(op.results[0], text)

    def is_stored_truth(self, op: ir.Operation) -> bool:
        users = [use.owner.operation for use in op.results[0].uses]
        return len(users) == 1 and users[0].name == "memref.store" and self.dtypes.get(users[0].operands[1]) == "bool"

    def expression_cmpi(self, op: ir.Operation, operands: list[Text]) -> Text:
        """A boolean that is read is compared with 0 in memory."""
        if op.attributes["predicate"].value == 1 and constant_of(op.operands[1]) == 0 and operands[0].source.startswith('T.Cast("int8", '):
            owner = op.operands[0].owner
            if not isinstance(owner, ir.Block) and owner.name == "memref.load" and self.dtypes.get(owner.operands[0]) == "bool":
                return Text(operands[0].source.removeprefix('T.Cast("int8", ')[:-1], "bool", reads=operands[0].reads)
        return super().expression_cmpi(op, operands)

    # --- loops ---

    def op_tir_for(self, op: ir.Operation) -> None:
        taken = set(self.taken)
        nest = self.grid_of(op)
        bounds = [[self.index(v) for v in loop.bounds] for loop in nest]
        names = []
        for loop in nest:
            names.append(self.fresh(loop.name))
            self.texts[loop.variable] = Text(names[-1], "index")
        last = nest[-1]
        if len(nest) > 1:
            self.line(f"for {', '.join(names)} in T.grid({', '.join(upper for _, upper in bounds)}):")
        else:
            lower, upper = bounds[0]
            thread = f', thread="{last.thread}"' if last.thread else ""
            word = LOOPS[last.kind] if not self.notes(last.operation) else LOOPS[last.kind].replace("range", "T.serial")
            self.line(f"for {names[0]} in {word}({'' if lower == '0' else f'{lower}, '}{upper}{thread}{self.notes(last.operation)}):")
        self.inner(lambda: self.statements(body(last.block)))
        self.taken = taken

    def notes(self, op: ir.Operation) -> str:
        """Annotations as an argument."""
        found = notes_of(op)
        return f", annotations={shown(found)}" if found else ""

    def grid_of(self, op: ir.Operation) -> list[ForOp]:
        """The serial loops from 0 on that are perfectly nested from here on, their bounds known in front of the first."""
        found = [op.opview]
        while is_plain(found[-1]):
            inside = [o for o in body(found[-1].block) if o.name != "arith.constant"]
            if len(inside) != 1 or inside[0].name != "tir.for" or not is_plain(inside[0].opview):
                break
            upper = inside[0].opview.bounds[1]
            if constant_of(upper) is None and op in around(upper):
                break
            found.append(inside[0].opview)
        return found

    def op_scf_for(self, op: ir.Operation) -> None:
        if op.results:
            raise self.refuse("it has a loop that carries values")
        lower, upper, step = (self.index(v) for v in list(op.operands)[:3])
        inside = op.regions[0].blocks[0]
        taken = set(self.taken)
        name = self.fresh("i")
        self.texts[inside.arguments[0]] = Text(name, "index")
        bounds = upper if (lower, step) == ("0", "1") else f"{lower}, {upper}" if step == "1" else f"{lower}, {upper}, {step}"
        self.line(f"for {name} in range({bounds}):")
        self.inner(lambda: self.statements(body(inside)))
        self.taken = taken

    def op_scf_while(self, op: ir.Operation) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        if op.results or len(op.operands):
            raise self.refuse("it has a while loop that carries values")
        count = len(self.lines)
        self.statements(body(before))
        test = before.operations[len(before.operations) - 1].operation.operands[0]
        text = self.read(test)
        if len(self.lines) != count:
            raise self.refuse("the condition of a while loop is no expression")
        self.line(f"while {text.source}:")
        self.inner(lambda: self.statements(body(after)))

    # --- blocks ---

    def op_tir_block(self, op: ir.Operation, tests: tuple[str, ...] = ()) -> None:
        block: Any = op.opview
        values = list(block.values)
        sources = [self.index(v) for v in values]
        self.line(f'with T.block("{block.name}"):')

        def write() -> None:
            axes = [self.fresh(axis) for axis in block.axes]
            self.axes(block, axes, values, sources)
            for test in tests:
                self.line(f"T.where({test})")
            if notes_of(op):
                self.line(f"T.block_attr({shown(notes_of(op))})")
            if block.init_block is not None:
                self.name_axes(block.init_block, axes)
                self.line("with T.init():")
                self.inner(lambda: self.statements(body(block.init_block)))
            self.name_axes(block.block, axes)
            self.statements(body(block.block))

        self.inner(write)

    def axes(self, block: BlockOp, names: list[str], values: list[ir.Value], sources: list[str]) -> None:
        """The lines that make the axes: loops' variables in one go."""
        plain = [(loop := loop_of(v)) is not None and loop.extent == extent for v, extent in zip(values, block.extents)]
        if names and all(plain):
            letters = "".join(LETTERS[kind] for kind in block.kinds)
            self.line(f"{', '.join(names)} = T.axis.remap(\"{letters}\", [{', '.join(sources)}])")
            return
        for name, kind, extent, value, source in zip(names, block.kinds, block.extents, values, sources):
            size = str(extent) if extent is not None else self.extent(value, source)
            self.line(f"{name} = T.axis.{kind}({size}, {source})")

    def extent(self, value: ir.Value, source: str) -> str:
        """The extent of an axis that is known at run time only: the upper bound of its loop, or what lies behind its greatest value."""
        loop = loop_of(value)
        return self.index(loop.bounds[1]) if loop is not None else f"{source} + 1"

    def name_axes(self, block: ir.Block, names: list[str]) -> None:
        for argument, name in zip(block.arguments, names):
            self.texts[argument] = Text(name, "index")

    # --- conditions ---

    def op_scf_if(self, op: ir.Operation) -> None:
        if op.results:
            self.if_then_else(op)
            return
        inside = body(op.regions[0].blocks[0])
        test = self.read(op.operands[0]).source
        if len(inside) == 1 and inside[0].name == "tir.block" and not len(op.regions[1].blocks):
            self.op_tir_block(inside[0], (test,))
            return
        self.line(f"if {test}:")
        self.inner(lambda: self.statements(inside))
        if len(op.regions[1].blocks):
            self.line("else:")
            self.inner(lambda: self.statements(body(op.regions[1].blocks[0])))

    def if_then_else(self, op: ir.Operation) -> None:
        """An ``scf.if`` that gives a value: both branches have to be expressions."""
        test, branches, count = self.read(op.operands[0]), [], len(self.lines)
        if len(op.results) != 1:
            raise self.refuse("it has a condition that gives several values")
        for region in op.regions:
            inside = region.blocks[0]
            self.statements(body(inside))
            branches.append(self.read(inside.operations[len(inside.operations) - 1].operation.operands[0]))
        if len(self.lines) != count:
            raise self.refuse("a branch of T.if_then_else is no expression")
        dtype = common(branches)
        chosen = ", ".join(t.source for t in self.together(branches))
        found = frozenset().union(test.reads, *(t.reads for t in branches))
        self.remember(op.results[0], Text(f"T.if_then_else({test.source}, {chosen})", dtype, reads=found))


def is_under(block: ir.Operation, test: ir.Operation) -> bool:
    """Whether a block stands alone under a condition, which is its predicate: its axes are bound in front of it."""
    return block.name == "tir.block" and block.parent.operation == test and not test.results and not len(test.regions[1].blocks) and (
        len(body(test.regions[0].blocks[0])) == 1)


def is_plain(loop: ForOp) -> bool:
    return loop.kind == SERIAL and constant_of(loop.bounds[0]) == 0 and not notes_of(loop.operation)


def around(value: ir.Value) -> list[ir.Operation]:
    """The ops that a value is computed in, from the nearest on."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return [owner.owner.operation, *ancestors(owner.owner.operation)]
    return ancestors(owner.operation)
