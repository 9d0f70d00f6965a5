"""Insertion of barriers between conflicting accesses of different threads of a block.

A barrier is put before the statement that needs it, in the innermost loop around both accesses; for conflicts between iterations, at
the beginning of the loop. Conditions that differ between threads are split around barriers (see ``splitting``).
"""
from dataclasses import dataclass, field

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import ancestors, body, in_program_order
from legato.core.mlir import ir
from legato.core.views import root_of
from legato.dialects.tir.loops import ForOp, constant_of
from legato.dialects.tir.matrices import LOAD_MATRIX as LOAD_SUBGROUP_MATRIX
from legato.dialects.tir.matrices import STORE_MATRIX
from legato.dialects.tir.tiles import BULK_COPY, WARPGROUP_PRODUCT
from legato.passes.gpu.threads.accesses import Conflicts, ThreadAccess, access_of
from legato.passes.gpu.threads.launch import Launch, LaunchAxis
from legato.passes.gpu.threads.memory import LOAD_MATRIX, LOAD_WORD, STORES, name_of
from legato.passes.gpu.threads.splitting import BARRIERS, holds_barrier, split_conditions
from legato.passes.gpu.threads.uniform import Uniform

BARRIER = "gpu.barrier"
SCOPE = "#gpu.barrier_scope<workgroup>"
# for each buffer: its operand number, whether it is written, whether it is read; the first operand of a product may be a vector
KNOWN = {"memref.load": ((0, False, True),), "memref.store": ((1, True, False),), LOAD_MATRIX: ((0, False, True),),
         LOAD_WORD: ((0, False, True),),
         LOAD_SUBGROUP_MATRIX: ((0, False, True),), STORE_MATRIX: ((1, True, False),),
         BULK_COPY: ((0, False, True), (1, True, False)), WARPGROUP_PRODUCT: ((0, False, True), (1, False, True))}


@dataclass
class Summary:
    """The accesses of a statement around its barriers.

    ``head``: before the first barrier; ``tail``: after the last; if there may be no barrier, all are in both. ``barrier``: whether there
    is always one.
    """

    head: list[ThreadAccess] = field(default_factory=list)
    tail: list[ThreadAccess] = field(default_factory=list)
    barrier: bool = False


def insert_barriers(launch: Launch) -> int:
    """Inserts barriers into a launch whose blocks are inlined. Returns how many. PassFailed where one is needed and cannot be
    inserted."""
    inserter = Inserter(launch)
    inserter.check_races()
    inserter.check_blocks()
    inserter.check_shared()
    inserter.sequence(launch.block)
    split_conditions(launch)
    check_reached(launch)
    return sum(op.name == BARRIER for op in in_program_order(launch.operation))


def check_reached(launch: Launch) -> None:
    """PassFailed for a barrier that only some threads of a block would reach: those would wait forever."""
    uniform = Uniform(launch)
    for op in in_program_order(launch.operation):
        for around in ancestors(op) if op.name in BARRIERS else ():
            if around == launch.operation:
                break
            if around.name not in ("scf.if", "tir.for") or not all(uniform(v) for v in around.operands):
                raise PassFailed(f"a barrier would stand inside of {around.name}, which is not the same for all threads of a block", around)


class Inserter:
    """Inserts barriers into one launch."""

    def __init__(self, launch: Launch):
        self.launch = launch
        self.uniform = Uniform(launch)
        self.conflicts = Conflicts(launch, self.uniform)
        operations = in_program_order(launch.operation)
        self.written = {root_of(op.operands[1]) for op in operations if op.name in (*STORES, BULK_COPY)}
        self.seen: dict[int, ThreadAccess] = {}

    def tracked(self, buffer: ir.Value) -> bool:
        """Whether threads can conflict in a buffer: it is written, and not local."""
        owner = buffer.owner
        return buffer in self.written and (isinstance(owner, ir.Block) or owner.operation.name != "memref.alloca")

    def check_races(self) -> None:
        """PassFailed for a store by which several threads write different values to one element at once."""
        blocks = [LaunchAxis(b.name, b.id, 2) for b in self.launch.blocks]
        for op in in_program_order(self.launch.operation):
            if op.name != "memref.store" or not self.tracked(root_of(op.operands[1])):
                continue
            access = access_of(op, 1, self.launch, True, False)
            threads = None if self.uniform(op.operands[0]) else self.conflicts.race(access)
            if threads is None and blocks and op.operands[1].type.memory_space is None and constant_of(op.operands[0]) is None:
                threads = self.conflicts.race(access, blocks)
            sources = self.uniform.sources(op.operands[0])
            if threads is not None and (sources is None or not self.conflicts.one_value(access, sources, blocks)):
                raise PassFailed(f"the threads {threads} write the same element of {name_of(op.operands[1])} at the same time, and no "
                                 "barrier can tell which comes last: give each its own element, or make the axis a reduce axis of the "
                                 "block", op)

    def check_blocks(self) -> None:
        """PassFailed where a block reads what another one writes in the same launch: there is no barrier between blocks."""
        found = [a for op in in_program_order(self.launch.operation) for a in self.accesses(op)
                 if not isinstance(a.buffer.owner, ir.Block) or a.buffer.owner.owner.operation != self.launch.operation]
        for write in (a for a in found if a.writes and not a.reads):
            for read in (a for a in found if a.reads and not a.writes):
                blocks = self.conflicts.across_blocks(write, read)
                if blocks is not None:
                    raise PassFailed(f"the blocks {blocks} meet in {name_of(write.buffer)}, which one of them writes and the other reads: "
                                     "blocks do not wait for each other; make two nests of it, which are two launches", read.op)

    def check_shared(self) -> None:
        """PassFailed where a block reads what another one writes to its own shared memory."""
        found = [a for op in in_program_order(self.launch.operation) for a in self.accesses(op)
                 if isinstance(a.buffer.owner, ir.Block) and a.buffer.owner.owner.operation == self.launch.operation]
        for read in (a for a in found if a.reads and not a.writes):
            blocks = self.conflicts.only_elsewhere(read, [a for a in found if a.writes and a.buffer == read.buffer])
            if blocks is not None:
                raise PassFailed(f"the blocks {blocks} meet in the shared buffer {name_of(read.buffer)}, of which each has its own: the "
                                 "one reads what only the other writes; give it the scope global, and make two nests of it", read.op)

    def sequence(self, block: ir.Block) -> Summary:
        """Inserts barriers between the statements of a block."""
        whole = Summary()
        for op in body(block):
            one = self.statement(op)
            if any(self.in_step(before, after) for before in whole.tail for after in one.head):
                barrier_before(op)
                whole = Summary(whole.head, [], True)
            if not whole.barrier:
                whole.head += one.head
            if one.barrier:
                whole = Summary(whole.head, one.tail, True)
            else:
                whole.tail = merged(whole.tail, one.head, one.tail)
        return whole

    def in_step(self, before: ThreadAccess, after: ThreadAccess) -> bool:
        """Whether a barrier is needed between two accesses, in the same iteration of the loops around both."""
        return self.conflicts.in_step(before, after)

    def carried(self, before: ThreadAccess, after: ThreadAccess, loop: ForOp, next_only: bool) -> bool:
        """Whether a barrier is needed between two accesses in different iterations of a loop."""
        return self.conflicts.carried(before, after, loop, next_only)

    def statement(self, op: ir.Operation) -> Summary:
        """Inserts the barriers inside of one statement."""
        if op.name == BARRIER:
            return Summary(barrier=True)
        if op.name == "tir.for":
            return self.loop(op.opview)
        if op.name == "scf.if":
            return self.condition(op)
        if len(op.regions):
            return self.opaque(op)
        found = self.accesses(op)
        return Summary(list(found), list(found))

    def accesses(self, op: ir.Operation) -> list[ThreadAccess]:
        """The accesses of an op to tracked buffers; an op that is not known is assumed to read and write."""
        if op.name in KNOWN:
            buffers = [one for one in KNOWN[op.name] if self.tracked(root_of(op.operands[one[0]]))]
        elif op.name in ("memref.dim", "memref.alloca", "memref.extract_strided_metadata", "memref.extract_aligned_pointer_as_index"):
            buffers = []
        else:
            buffers = [(n, True, True) for n, v in enumerate(op.operands)
                       if isinstance(v.type, ir.MemRefType) and self.tracked(root_of(v)) and not len(op.results)]
        return [access_of(op, number, self.launch, writes, reads) for number, writes, reads in buffers]

    def opaque(self, op: ir.Operation) -> Summary:
        """A while loop or another op with regions, which each thread executes for itself. PassFailed where it needs a barrier."""
        found = [a for inner in in_program_order(op) for a in self.accesses(inner)]
        barrier = next((o for o in in_program_order(op) if o.name in BARRIERS), None)
        pairs = [(a, b) for a in found for b in found if self.conflicts.in_step(a, b)]
        if pairs or barrier is not None:
            where = barrier or pairs[0][0].op
            what = "a barrier stands" if barrier is not None else f"threads meet in {name_of(pairs[0][0].buffer)}, and need a barrier,"
            raise PassFailed(f"{what} inside of {op.name}, which each thread goes through as often as it wants: make it a loop of known "
                             "extent", where)
        return Summary(list(found), list(found))

    def condition(self, op: ir.Operation) -> Summary:
        """Inserts barriers into both branches. PassFailed where threads in different branches conflict."""
        branches = [self.sequence(region.blocks[0]) for region in op.regions if len(region.blocks)]
        whole = Summary(barrier=len(branches) == 2 and all(b.barrier for b in branches))
        for branch in branches:
            whole.head = merged(whole.head, branch.head)
            whole.tail = merged(whole.tail, branch.tail)
        if len(branches) == 2 and not self.uniform(op.operands[0]):
            first, second = ([a for o in everything_in(r) for a in self.accesses(o)] for r in op.regions)
            pair = next(((a, b) for a in first for b in second if self.conflicts.in_step(a, b)), None)
            if pair is not None:
                raise PassFailed("some threads take one way of a condition and others the other, and they meet in "
                                 f"{name_of(pair[0].buffer)}: no barrier can stand between the two ways; write two conditions, one after "
                                 "the other", op)
        return whole

    def loop(self, loop: ForOp) -> Summary:
        """Inserts barriers into a loop. PassFailed where it needs one and its bounds differ between threads."""
        one = self.sequence(loop.block)
        if any(self.carried(before, after, loop, one.barrier) for before in one.tail for after in one.head):
            barrier_before(body(loop.block)[0])
            one = Summary([], one.tail, True)
        if holds_barrier(loop.operation) and not all(self.uniform(v) for v in loop.bounds):
            buffer = next((a.buffer for a in one.tail), None)
            raise PassFailed(f"the loop {loop.name} has more steps in some threads than in others, and threads meet in it"
                             f"{f', in {name_of(buffer)}' if buffer is not None else ''}: a barrier is needed that not all of them would "
                             "reach; let all threads make the same steps, and put what differs under a condition", loop.operation)
        certain = loop.extent is not None and loop.extent > 0
        return one if certain or not one.barrier else Summary(one.head, merged(one.head, one.tail), False)


def everything_in(region: ir.Region) -> list[ir.Operation]:
    """All ops in a region, in program order."""
    return [o for block in region.blocks for op in block.operations for o in in_program_order(op.operation)]


def merged(*groups: list[ThreadAccess]) -> list[ThreadAccess]:
    """The accesses of all groups without duplicates."""
    found: list[ThreadAccess] = []
    for access in (a for group in groups for a in group):
        if not any(a is access for a in found):
            found.append(access)
    return found


def barrier_before(op: ir.Operation) -> None:
    """Inserts a barrier before an op."""
    with ir.InsertionPoint(op), op.location:
        ir.Operation.create(BARRIER, [], [], {"scope": ir.Attribute.parse(SCOPE)})
