"""Lowers structured kernels to loops and blocks, which schedule primitives work on."""
from typing import Any

from legato.analysis.structured import CONTRACTION, ELEMENTWISE, REDUCTION, WINDOW, StructuredOp
from legato.core.ir_helpers import body, copy, index
from legato.core.mlir import bufferization, func, ir, memref
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.tir.loops import DYNAMIC, REDUCE, SERIAL, SPATIAL, before_end, make_block, make_buffer
from legato.schedule.buffer_primitives import expression
from legato.schedule.loop_primitives import nest
from legato.schedule.state import ScheduleError

GENERALIZE = "canonicalize,linalg-generalize-named-ops,cse"
HARMLESS = ("arith.constant", "tensor.empty", "tensor.dim", "func.return", "linalg.fill", "linalg.generic")
LOOPS = ("bufferization.", "memref.", "scf.")  # dialects of a kernel that is written as loops
NAMES = {CONTRACTION: "contract", WINDOW: "window", REDUCTION: "reduce", ELEMENTWISE: "map"}


def to_loops(kernel: func.FuncOp) -> None:
    """Rewrites a kernel of structured ops in place. ScheduleError, before anything is changed, for ops that cannot be lowered here."""
    for op in kernel.body.blocks[0].operations:
        name = op.operation.name
        if name in ("linalg.pack", "linalg.unpack") or (name not in HARMLESS and not name.startswith("linalg.")):
            if name.startswith(LOOPS):
                raise ScheduleError(f"@{kernel.name.value} has nothing to schedule: it is loops without a block; write its statements "
                                    'inside `with tir.block("name"):`')
            raise ScheduleError(f"@{kernel.name.value} cannot be put into loops: it has {name}")
    run_on(kernel.operation, GENERALIZE)
    separate_starts(kernel)
    tir.tie_outputs(kernel)
    _Rewriter(kernel).run()


def separate_starts(kernel: func.FuncOp) -> None:
    """Gives each op that starts from an empty or filled tensor its own copy, to be overwritten in place. ScheduleError where another
    value is overwritten that is read again.
    """
    for op in reversed([o.operation for o in kernel.body.blocks[0].operations]):
        if op.name in ("tensor.empty", "linalg.fill") or is_fill(op):
            for use in list(op.results[0].uses)[1:]:
                with ir.InsertionPoint(op):
                    use.owner.operation.operands[use.operand_number] = op.clone().operation.results[0]
    for op in [o.operation for o in kernel.body.blocks[0].operations]:
        for start in list(op.operands)[len(op.operands) - len(op.results):] if op.name.startswith("linalg.") else ():
            if len(list(start.uses)) > 1 and not isinstance(start.owner, ir.Block):
                raise ScheduleError(f"@{kernel.name.value} cannot be put into loops: a value is overwritten that is read again")


class _Rewriter:
    def __init__(self, kernel: func.FuncOp):
        self.kernel = kernel
        self.block = kernel.body.blocks[0]
        self.buffers: dict[ir.Value, ir.Value] = {}  # the buffer of each tensor
        self.fills: dict[ir.Value, ir.Operation] = {}
        self.names: dict[str, int] = {}

    def run(self) -> None:
        operations = [op.operation for op in self.block.operations]
        last = operations[-1]
        place = ir.InsertionPoint.at_block_begin(self.block)
        with place, ir.Location.unknown():
            for argument in self.block.arguments:
                if isinstance(argument.type, ir.RankedTensorType):
                    self.buffers[argument] = bufferization.ToBufferOp(memref_type(argument.type), argument).result
        for op in operations[:-1]:
            with ir.InsertionPoint(last), op.location:
                self.op(op)
        with ir.InsertionPoint(last), last.location:
            for number, (value, out) in enumerate(zip(list(last.operands), self.outputs())):
                if self.buffer(value) != self.buffer(out):
                    raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: a result is not computed in its output")
                last.operands[number] = bufferization.ToTensorOp(value.type, self.buffer(out), restrict=True, writable=True).result
        for op in reversed(operations[:-1]):
            if op.name != "arith.constant":
                op.erase()

    def buffer(self, value: ir.Value) -> ir.Value:
        """The buffer of a tensor. ScheduleError for a tensor without one: a constant, or the result of an op that is kept."""
        if value not in self.buffers:
            made = "an argument" if isinstance(value.owner, ir.Block) else value.owner.name
            raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: a tensor is made by {made}")
        return self.buffers[value]

    def outputs(self) -> list[ir.Value]:
        return list(self.block.arguments)[len(self.block.arguments) - tir.out_count(self.kernel):]

    def op(self, op: ir.Operation) -> None:
        if op.name == "tensor.empty":
            type_ = op.results[0].type
            self.buffers[op.results[0]] = make_buffer(memref_type(type_), f"buffer_{len(self.buffers)}", "global", list(op.operands))
        elif op.name == "tensor.dim":
            op.results[0].replace_all_uses_with(memref.DimOp(self.buffer(op.operands[0]), op.operands[1]).result)
        elif op.name == "arith.constant":
            op.move_before(self.block.operations[0].operation)
        elif op.name == "linalg.fill" or is_fill(op):
            self.fill(op)
        elif op.name == "linalg.generic":
            self.generic(op)

    def fill(self, op: ir.Operation) -> None:
        out, result = op.operands[len(op.operands) - 1], op.results[0]
        self.buffers[result] = self.buffer(out)
        readers = [u.owner.operation for u in result.uses]
        reader = readers[0] if len(readers) == 1 and readers[0].name == "linalg.generic" else None
        if reader is not None and REDUCE in kinds_of(StructuredOp(reader)) and is_init(reader, result):
            self.fills[result] = op
            return
        value = op.operands[0] if op.name == "linalg.fill" else filled_value(op)
        axes = self.loops("fill", [SPATIAL] * result.type.rank, [result], [list(range(result.type.rank))])
        with before_end(axes.block):
            memref.StoreOp(value, self.buffer(out), list(axes.block.arguments))

    def generic(self, op: ir.Operation) -> None:
        structured = StructuredOp(op)
        kinds, indexing = kinds_of(structured), structured.maps
        inputs = len(op.operands) - len(op.results)
        loops = [structured.loops_of(operand) for operand in range(len(indexing))]
        fills = [self.fills.get(v) for v in list(op.operands)[inputs:]]
        known = [f for f in fills if f is not None]
        filled = len(known) == len(fills)
        block = self.loops(block_name(structured), kinds, list(op.operands), loops, init=filled and REDUCE in kinds)
        inner = op.regions[0].blocks[0]
        if block.init_block is not None:
            with before_end(block.init_block):
                for fill, value, m in zip(known, list(op.operands)[inputs:], indexing[inputs:]):
                    constant = fill.operands[0] if fill.name == "linalg.fill" else filled_value(fill)
                    memref.StoreOp(constant, self.buffer(value), self.place(m, block.init_block))
        with before_end(block.block):
            mapping: dict[ir.Value, ir.Value] = {}
            for argument, value, m in zip(inner.arguments, op.operands, indexing):
                if list(argument.uses):
                    mapping[argument] = value if not isinstance(value.type, ir.RankedTensorType) else memref.LoadOp(
                        self.buffer(value), self.place(m, block.block)).result
            for one in body(inner):
                if one.name == "linalg.index":
                    mapping[one.results[0]] = block.block.arguments[one.attributes["dim"].value]
                elif one.name == "tensor.extract":
                    indices = [mapping.get(v, v) for v in list(one.operands)[1:]]
                    mapping[one.results[0]] = memref.LoadOp(self.buffer(one.operands[0]), indices).result
                else:
                    mapping = copy([one], mapping)
                    contract(mapping[one.results[0]].owner.operation)
            for number, value in enumerate(inner.operations[len(inner.operations) - 1].operation.operands):
                out = op.operands[inputs + number]
                memref.StoreOp(mapping.get(value, value), self.buffer(out), self.place(indexing[inputs + number], block.block))
        for result, out in zip(op.results, list(op.operands)[inputs:]):
            self.buffers[result] = self.buffer(out)

    def place(self, m: ir.AffineMap, block: ir.Block) -> list[ir.Value]:
        return [expression(e, list(block.arguments)) for e in m.results]

    def loops(self, name: str, kinds: list[str], operands: list[ir.Value], axes: list[list[int | None]], init: bool = False) -> Any:
        """Loops over the axes, with a block inside."""
        bounds: list[Any] = []
        for axis in range(len(kinds)):
            operand, d = next((o, list(a).index(axis)) for o, a in zip(operands, axes) if axis in a)
            size = operand.type.shape[d]
            bounds.append(size if size != DYNAMIC else (index(0), memref.DimOp(self.buffer(operand), index(d)).result))
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        made = nest([(b, SERIAL, f"i{n}", None) for n, b in enumerate(bounds)])
        with before_end(made[-1].block) if made else ir.InsertionPoint.current:
            return make_block(f"{name}_{count}" if count else name, [f"v{n}" for n in range(len(kinds))], kinds,
                              [b if isinstance(b, int) else None for b in bounds], [loop.variable for loop in made], init)


def memref_type(type_: ir.RankedTensorType) -> ir.MemRefType:
    """The memref type of a tensor."""
    return ir.MemRefType.get(type_.shape, type_.element_type)


def block_name(op: StructuredOp) -> str:
    """The name of an op's block, by its kind."""
    return "window" if op.kind == CONTRACTION and op.convolution is not None else NAMES.get(op.kind, "block")


def kinds_of(op: StructuredOp) -> list[str]:
    """The axis kinds of an op's loops."""
    return [REDUCE if kind == REDUCTION else SPATIAL for kind in op.iterator_types]


def is_init(op: ir.Operation, value: ir.Value) -> bool:
    """Whether a value is a destination operand of an op."""
    return value in list(op.operands)[len(op.operands) - len(op.results):]


def is_fill(op: ir.Operation) -> bool:
    """Whether an op is a generic that only writes a scalar."""
    return op.name == "linalg.generic" and StructuredOp(op).body_names == ["linalg.yield"] and filled_value(op) is not None


def filled_value(op: ir.Operation) -> ir.Value | None:
    """The scalar that a generic writes; None where it is an element of a tensor."""
    inner = op.regions[0].blocks[0]
    value = inner.operations[0].operation.operands[0]
    if value in list(inner.arguments):
        operand = op.operands[list(inner.arguments).index(value)]
        return None if isinstance(operand.type, ir.RankedTensorType) else operand
    return value


def contract(op: ir.Operation) -> None:
    """Allows a product and a sum to be fused, as in kernels written by hand."""
    if op.name in ("arith.mulf", "arith.addf"):
        op.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")
