"""Collects a kernel's statements: each block with the loops around it; statements without a block get one."""
from dataclasses import dataclass, field

from legato.core.ir_helpers import ancestors, body, copy, everything, find
from legato.core.mlir import func, ir
from legato.dialects.tir.loops import SPATIAL, BlockOp, ForOp, before_end, loop_of, make_block
from legato.passes.loops.raising.kept import Kept

HARMLESS = ("bufferization.to_buffer", "bufferization.to_tensor", "tir.alloc_buffer", "func.return")
PURE = ("arith", "math")
STATEMENT, ALONE = "the statement in the loop ", "the statement outside of all loops"


@dataclass
class Statement:
    """``loops``: outermost first; ``tests``: conditions on loop variables around the block; ``own``: the block was made here."""

    loops: list[ForOp]
    tests: list[ir.Value]
    block: BlockOp
    own: bool = False
    order: int = field(default=0)


def statements_of(kernel: func.FuncOp) -> list[Statement]:
    """The kernel's statements in order. Kept for other ops among the loops."""
    found: list[Statement] = []
    written = {store.operands[1] for store in find(kernel.operation, "memref.store")}
    _Collector(found, written).collect(kernel.body.blocks[0], [], [])
    for number, statement in enumerate(found):
        statement.order = number
    return found


class _Collector:
    def __init__(self, found: list[Statement], written: set[ir.Value]):
        self.found, self.written = found, written

    def collect(self, block: ir.Block, loops: list[ForOp], tests: list[ir.Value]) -> None:
        run: list[ir.Operation] = []
        for op in body(block):
            if op.name == "tir.for":
                self.close(run, loops, tests)
                self.collect(op.opview.block, [*loops, op.opview], tests)
            elif op.name == "tir.block":
                self.close(run, loops, tests)
                localize(op.opview, self.written)
                self.found.append(Statement(loops, tests, op.opview))
            elif op.name == "scf.if" and find(op, "tir.block", "tir.for"):
                self.close(run, loops, tests)
                if len(op.regions[1].blocks):
                    raise Kept("an if with an else stands around its loops or blocks")
                self.collect(op.regions[0].blocks[0], loops, [*tests, op.operands[0]])
            elif op.name not in HARMLESS:
                run.append(op)
        self.close(run, loops, tests)

    def close(self, run: list[ir.Operation], loops: list[ForOp], tests: list[ir.Value]) -> None:
        """Makes blocks of consecutive statements that stand in no block."""
        for op in run:
            if not writes(op) and op.name.split(".")[0] not in PURE and op.name not in ("memref.load", "memref.dim", "scf.if"):
                raise Kept(f"{described(op)} stands among its loops")
        for group in groups(run):
            block = wrapped(group, run, loops)
            localize(block, self.written)
            self.found.append(Statement(loops, tests, block, own=True))
        for op in reversed(run):
            if writes(op):
                op.erase()
        run.clear()


def described(op: ir.Operation) -> str:
    """An op as the messages call it."""
    words = {"func.call": "a call of a C function", "scf.while": "a while loop", "memref.store": "a store", "scf.if": "an if"}
    return words.get(op.name) or str(op.name)


def shown(block: BlockOp) -> str:
    """A block as the messages call it."""
    return block.name if block.name.startswith((STATEMENT, ALONE)) else f"the block '{block.name}'"


def writes(op: ir.Operation) -> bool:
    """Whether an op stores to memory."""
    return op.name == "memref.store" or bool(find(op, "memref.store"))


def groups(run: list[ir.Operation]) -> list[list[ir.Operation]]:
    """The stores of a run: each alone where no other of them changes what it reads, else all together."""
    stores = [op for op in run if writes(op)]
    touched = [s.operands[1] for op in stores for s in find(op, "memref.store")]
    if len(set(touched)) != len(touched) or any(is_late(op, number, stores, run) for number, op in enumerate(stores)):
        return [stores]
    return [[op] for op in stores]


def is_late(store: ir.Operation, number: int, stores: list[ir.Operation], run: list[ir.Operation]) -> bool:
    """Whether a store uses an element as it was before one of the stores before it."""
    loads = [load for op in needed([store], run) for load in find(op, "memref.load")]
    before = [(other, s.operands[1]) for other in stores[:number] for s in find(other, "memref.store")]
    return any(load.operands[0] == buffer and run.index(outermost(load, run)) < run.index(other)
               for load in loads for other, buffer in before)


def outermost(op: ir.Operation, run: list[ir.Operation]) -> ir.Operation:
    """The op of a run that contains ``op``."""
    return next(o for o in [op, *ancestors(op)] if o in run)


def needed(group: list[ir.Operation], run: list[ir.Operation]) -> list[ir.Operation]:
    """The statements, and the ops of the run they depend on, in order."""
    found = list(group)
    for op in reversed(run):
        if op not in found and not writes(op) and any(v in list(op.results) for o in found for one in everything(o) for v in one.operands):
            found.append(op)
    return [op for op in run if op in found]


def wrapped(group: list[ir.Operation], run: list[ir.Operation], loops: list[ForOp]) -> BlockOp:
    """Copies the statements into a block before the last op of ``run``. All its axes are spatial; reduce axes are found later."""
    name = f"{STATEMENT}{loops[-1].name}" if loops else ALONE
    names = [f"v_{loop.name}" for loop in loops]
    names = [n if n not in names[:i] else f"{n}_{i}" for i, n in enumerate(names)]
    with ir.InsertionPoint(run[-1]), group[0].location:
        block = make_block(name, names, [SPATIAL] * len(loops), [loop.extent for loop in loops], [loop.variable for loop in loops])
    with before_end(block.block):
        copy(needed(group, run), dict(zip([loop.variable for loop in loops], block.block.arguments)))
    return block


def localize(block: BlockOp, written: set[ir.Value]) -> None:
    """Moves computations that a block uses from outside into it, so that it uses only its axes of the loops around it."""
    axes = {value: number for number, value in enumerate(block.values)}
    for region in block.operation.regions:
        for inside in region.blocks:
            _Localizer(block, inside, axes, written).run()


class _Localizer:
    def __init__(self, block: BlockOp, inside: ir.Block, axes: dict[ir.Value, int], written: set[ir.Value]):
        self.block, self.inside, self.axes, self.written = block, inside, axes, written
        self.made: dict[ir.Value, ir.Value] = {}
        self.first = inside.operations[0].operation

    def run(self) -> None:
        for op in [o for one in self.inside.operations for o in everything(one.operation)]:
            for number, value in enumerate(op.operands):
                if self.is_outside(value):
                    op.operands[number] = self.local(value)

    def is_outside(self, value: ir.Value) -> bool:
        owner = value.owner
        home = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation.parent.operation
        if home == self.block.operation or self.block.operation in ancestors(home):
            return False
        return home.name != "func.func" or (
            not isinstance(owner, ir.Block) and (owner.name.split(".")[0] in PURE or owner.name == "memref.load"))

    def local(self, value: ir.Value) -> ir.Value:
        if value in self.made:
            return self.made[value]
        if value in self.axes:
            return self.inside.arguments[self.axes[value]]
        owner = value.owner
        if isinstance(owner, ir.Block):
            loop = loop_of(value)
            raise Kept(f"{shown(self.block)} reads the loop variable {loop.name if loop else '?'}, which is none of its axes")
        if owner.name == "memref.load" and owner.operands[0] in self.written:
            raise Kept("a value is read before a loop, and used in it")
        if owner.name.split(".")[0] not in PURE and owner.name != "memref.load":
            raise Kept(f"{described(owner)} stands among its loops")
        operands = [self.local(v) if self.is_outside(v) else v for v in owner.operands]
        with ir.InsertionPoint(self.first):
            made = owner.clone()
        for number, operand in enumerate(operands):
            made.operands[number] = operand
        self.made[value] = made.results[0]
        return made.results[0]

