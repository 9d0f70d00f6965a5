"""The state of a kernel's printer. The form of each op is in a table, assembled in kernel.py."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from legato.core.ir_helpers import body, everything
from legato.core.mlir import func, ir
from legato.frontends.script.printer.remainders import is_written
from legato.frontends.script.printer.text import NotPrintable, PrintedText, constant
from legato.frontends.script.printer.words import ATOM, words_of_ops

CHEAP = 24  # index expressions of at most so many characters are repeated instead of named
ENDS = ("tir.yield", "scf.yield", "func.return", "scf.condition")


@dataclass(frozen=True)
class OpTable:
    """How ops are printed: ``ops`` by their names, ``value`` any other op that has one result and no region."""

    ops: Mapping[str, Callable[["KernelWriter", ir.Operation], None]]
    value: Callable[["KernelWriter", ir.Operation], None]


class KernelWriter:
    """Writes a kernel's statements line by line.

    An expression with a single use is written there; others get a name in a line of their own.
    """

    def __init__(self, kernel: func.FuncOp, indent: str, table: OpTable):
        self.kernel, self.indent, self.table = kernel, indent, table
        self.words = words_of_ops()
        self.lines: list[str] = []
        self.taken: set[str] = set()              # names
        self.buffers: dict[ir.Value, str] = {}    # names of memrefs
        self.dtypes: dict[ir.Value, str] = {}     # their element types in the script
        self.masks: dict[ir.Value, str] = {}      # of outputs that only C functions write: "w", in place "rw"
        self.texts: dict[ir.Value, PrintedText] = {}     # values that may be written repeatedly: names and cheap expressions
        self.pending: dict[ir.Value, PrintedText] = {}   # values with a single use that is not written yet
        self.skipped: list[ir.Operation] = []     # parts of an address, which is printed as a whole

    # --- lines and names ---

    def line(self, text: str) -> None:
        """Writes a line."""
        self.lines.append(self.indent + text)

    def inner(self, write: Callable[[], None]) -> None:
        """Writes a body, indented; its names can be reused after it."""
        indent, taken, count = self.indent, set(self.taken), len(self.lines)
        self.indent += "    "
        write()
        if len(self.lines) == count:
            self.line("pass")
        self.indent, self.taken = indent, taken

    def block(self, block: ir.Block) -> None:
        """Writes the ops of a block as a body."""
        self.inner(lambda: self.statements(body(block)))

    def fresh(self, name: str) -> str:
        """``name``, or a similar name that is not taken."""
        name = name if name.isidentifier() else "x"
        found = name if name not in self.taken else next(f"{name}_{n}" for n in range(1, 10000) if f"{name}_{n}" not in self.taken)
        self.taken.add(found)
        return found

    def let(self, value: ir.Value, text: PrintedText) -> None:
        """Names a value, in a line of its own."""
        name = self.fresh("v")
        self.line(f"{name} = {text.source}")
        self.texts[value] = PrintedText(name, text.dtype)

    def refuse(self, why: str) -> NotPrintable:
        """The error for a construct that scripts lack."""
        return NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: {why}")

    # --- values ---

    def read(self, value: ir.Value) -> PrintedText:
        """The source of a value at a use."""
        if value in self.pending:
            self.texts.pop(value, None)
            return self.pending.pop(value)
        if value in self.texts:
            return self.texts[value]
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name == "arith.constant":
            self.texts[value] = constant(owner.operation)
            return self.texts[value]
        raise self.refuse(f"a value of type {value.type} has no words")

    def index(self, value: ir.Value) -> str:
        """An index of an element, or a bound of a loop; scripts take integers of any type there."""
        return self.read(value).source

    def remember(self, value: ir.Value, text: PrintedText) -> None:
        """Keeps an expression for its only use, or names it where it has several."""
        uses = [use for use in value.uses if is_written(use) and use.owner.operation not in self.skipped]
        if len(uses) == 1:
            self.pending[value] = text
        elif uses and not text.reads and is_cheap(text):
            self.texts[value] = text
        elif uses:
            self.let(value, text)

    def disturb(self, buffer: str | None) -> None:
        """Names the pending expressions that read a buffer (None: any buffer) before it is written."""
        for value, text in list(self.pending.items()):
            if text.reads and (buffer is None or buffer in text.reads):
                del self.pending[value]
                self.let(value, text)

    # --- ops ---

    def statements(self, operations: list[ir.Operation]) -> None:
        """Writes ops. NotPrintable for an op that scripts lack."""
        for op in operations:
            if len(op.regions):
                self.name_for(op)
            write = self.table.ops.get(op.name)
            if write is not None:
                write(self, op)
            elif len(op.results) == 1 and not len(op.regions):
                self.table.value(self, op)
            elif op.name not in ENDS:
                raise self.refuse(f"it has {op.name}")

    def name_for(self, op: ir.Operation) -> None:
        """Names the pending expressions that are used in an op's regions, or that read a buffer written there."""
        inside = [v for region in op.regions for block in region.blocks for one in block.operations for o in everything(one.operation)
                  for v in o.operands if not (op.name == "scf.if" and is_under(o, op))]
        changed = {self.buffers.get(o.operands[1]) for o in everything(op) if o.name == "memref.store"}
        calls = any(o.name == "func.call" for o in everything(op))
        for value, text in list(self.pending.items()):
            if value in inside or (text.reads & changed) or (text.reads and calls):
                del self.pending[value]
                self.let(value, text)


def is_cheap(text: PrintedText) -> bool:
    """Whether an expression is repeated at each use instead of named."""
    return (len(text.source) <= CHEAP and text.dtype == "index") or (text.binds == ATOM and "(" not in text.source)


def is_under(block: ir.Operation, test: ir.Operation) -> bool:
    """Whether a condition is a block's predicate (T.where): it contains the block alone."""
    return block.name == "tir.block" and block.parent.operation == test and not test.results and not len(test.regions[1].blocks) and (
        len(body(test.regions[0].blocks[0])) == 1)
