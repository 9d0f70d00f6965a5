"""Lowers structured kernels to loops and blocks, which schedule primitives work on."""
from collections.abc import Iterator, Sequence
from typing import Any

from legato.analysis.structured import StructuredOp
from legato.core.ir_helpers import body, constant_number, copy, everything, find, index, terminator
from legato.core.mlir import arith, bufferization, func, ir, scf
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.tir.loops import DYNAMIC, SERIAL, SPATIAL, before_end, constant_of, make_block
from legato.schedule.buffer_primitives import expression
from legato.schedule.loop_primitives import nest
from legato.schedule.reshapes import VIEWS, Index, Joined, single, slice_indices
from legato.schedule.starts import begins_with_fills, copy_overwritten, separate_starts, starts
from legato.schedule.state import ScheduleError
from legato.schedule.structured import (
    applied,
    block_name,
    contract,
    edges,
    element_count,
    filled_value,
    identity,
    is_fill,
    is_init,
    kinds_of,
    memref_type,
    split_loops,
)
from legato.schedule.tensor_buffers import TensorBuffers

GENERALIZE = "canonicalize,linalg-generalize-named-ops,cse"
STRUCTURED = ("func.return", "tensor.empty", "tensor.dim", "tensor.pad", "tensor.insert_slice", *VIEWS)
SCALARS = ("arith.", "affine.")   # of sizes
LOOPS = ("bufferization.", "memref.", "scf.")  # dialects of a kernel that is written as loops


def to_loops(kernel: func.FuncOp) -> None:
    """Rewrites a kernel of structured ops in place. ScheduleError, before anything is changed, for ops that cannot be lowered here."""
    for op in kernel.body.blocks[0].operations:
        name = op.operation.name
        known = name in STRUCTURED or name.startswith(("linalg.", *SCALARS))
        if name in ("linalg.pack", "linalg.unpack") or not known:
            if name.startswith(LOOPS):
                raise ScheduleError(f"@{kernel.name.value} has nothing to schedule: it is loops without a block; write its statements "
                                    'inside `with tir.block("name"):`')
            raise ScheduleError(f"@{kernel.name.value} cannot be put into loops: it has {name}")
    for op in kernel.body.blocks[0].operations:
        if any(is_computed(value, kernel) for value in read_in_loops(op.operation)):
            raise ScheduleError(f"@{kernel.name.value} cannot be put into loops: a loop or condition in the body of an op reads a tensor "
                                "that the kernel computes")
    run_on(kernel.operation, GENERALIZE)
    copy_overwritten(kernel)
    separate_starts(kernel)
    tir.tie_outputs(kernel)
    _Rewriter(kernel).run()


def read_in_loops(op: ir.Operation) -> Iterator[ir.Value]:
    """The tensors that are read inside of loops and conditions in the body of an op."""
    for inside in everything(op):
        if inside.name == "tensor.extract" and inside.parent.operation != op:
            yield inside.operands[0]


def is_computed(tensor: ir.Value, kernel: func.FuncOp) -> bool:
    """Whether an op of the kernel computes a tensor; constants are none."""
    if isinstance(tensor.owner, ir.Block) or tensor.owner.name == "arith.constant":
        return False
    return tensor.owner.operation.block == kernel.body.blocks[0]


class _Rewriter:
    def __init__(self, kernel: func.FuncOp):
        self.kernel = kernel
        self.block = kernel.body.blocks[0]
        self.tensors = TensorBuffers(kernel)
        self.fills: dict[ir.Value, ir.Operation] = {}
        self.names: dict[str, int] = {}

    def run(self) -> None:
        operations = [op.operation for op in self.block.operations]
        last = operations[-1]
        place = ir.InsertionPoint.at_block_begin(self.block)
        with place, ir.Location.unknown():
            for argument in self.block.arguments:
                if isinstance(argument.type, ir.RankedTensorType):
                    self.tensors.buffers[argument] = bufferization.ToBufferOp(memref_type(argument.type), argument).result
        for op in operations[:-1]:
            for result, start in zip(op.results, starts(op)):
                self.tensors.overwritten[result] = start
            with ir.InsertionPoint(last), op.location:
                self.op(op)
        with ir.InsertionPoint(last), last.location:
            for number, (value, out) in enumerate(zip(list(last.operands), self.outputs())):
                if self.tensors.root(value) != out:
                    self.copy(value, out, identity(value.type.rank))
                last.operands[number] = bufferization.ToTensorOp(value.type, self.tensors.buffers[out], restrict=True, writable=True).result
        sizes = [op for op in find(self.kernel.operation, "tensor.dim") if not isinstance(op.operands[0].owner, ir.Block)]
        others = [op for op in reversed(operations[:-1]) if op not in sizes]
        for op in sizes:
            self.replace_size(op)
        for op in others:
            is_scalar = op.name.startswith(SCALARS) and not isinstance(op.results[0].type, ir.RankedTensorType)
            if not is_scalar and not (op.name == "arith.constant" and op.results[0] in self.tensors.buffers):
                op.erase()

    def replace_size(self, op: ir.Operation) -> None:
        """Computes what a ``tensor.dim`` of a tensor that goes gives from arguments and scalars, and erases it."""
        axis = constant_number(op.operands[1])
        if axis is None:
            raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: which size a tensor.dim gives is not known")
        if any(op.results[0].uses):
            with ir.InsertionPoint(op), op.location:
                size = self.tensors.size(op.operands[0], int(axis), made=False)
                op.results[0].replace_all_uses_with(index(size) if isinstance(size, int) else size)
        op.erase()

    def outputs(self) -> list[ir.Value]:
        return list(self.block.arguments)[len(self.block.arguments) - tir.out_count(self.kernel):]

    def op(self, op: ir.Operation) -> None:
        if op.name == "tensor.empty":
            if any(op.results[0].uses):     # not one whose reader was tied to an output
                self.tensors.make(op.results[0], list(op.operands))
        elif op.name == "tensor.dim":
            axis = constant_of(op.operands[1])
            if axis is None:
                raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: it has the size of an axis that is not known")
            size = self.tensors.size(op.operands[0], axis)
            op.results[0].replace_all_uses_with(index(size) if isinstance(size, int) else size)
        elif op.name == "arith.constant":
            op.move_before(self.block.operations[0].operation)
        elif op.name.startswith(SCALARS):
            op.move_before(terminator(self.block))
        elif op.name == "tensor.pad":
            self.pad(op)
        elif op.name == "tensor.insert_slice":
            self.insert(op)
        elif op.name == "linalg.fill" or is_fill(op):
            self.fill(op)
        elif op.name == "linalg.generic":
            self.generic(op)

    def pad(self, op: ir.Operation) -> None:
        """A block that copies what is padded, and writes the padding around it."""
        given, value = op.operands[0], terminator(op.regions[0].blocks[0]).operands[0]
        if isinstance(value.owner, ir.Block) or value.owner.operation.block != self.block:
            raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: it pads with values that depend on the place")
        pads = [index(one) if isinstance(one, int) else one for one in edges(op)]
        low, high = pads[:given.type.rank], pads[given.type.rank:]
        sizes = [self.tensors.size(given, axis) for axis in range(given.type.rank)]
        sources = [index(one) if isinstance(one, int) else one for one in sizes]
        shape = op.results[0].type.shape
        extents = [size if size != DYNAMIC else arith.addi(arith.addi(one, a), b) for size, one, a, b in zip(shape, sources, low, high)]
        self.tensors.make(op.results[0], [one for one in extents if isinstance(one, ir.Value)])
        block = self.loops("pad", [SPATIAL] * len(shape), extents)
        with before_end(block.block):
            axes, inside = list(block.block.arguments), None
            for number, (axis, one, a) in enumerate(zip(axes, sources, low)):
                if shape[number] != DYNAMIC and shape[number] == sizes[number]:
                    continue
                within = arith.andi(arith.cmpi(arith.CmpIPredicate.sge, axis, a),
                                    arith.cmpi(arith.CmpIPredicate.slt, axis, arith.addi(one, a)))
                inside = within if inside is None else arith.andi(inside, within)
            places = [arith.subi(axis, a) for axis, a in zip(axes, low)]
            dims = identity(len(axes))
            found = value
            if inside is None:
                found = self.tensors.load(given, dims, axes)
            else:
                either = scf.IfOp(inside, [value.type], has_else=True)
                with ir.InsertionPoint(either.then_block):
                    scf.YieldOp([self.tensors.load(given, dims, places)])
                with ir.InsertionPoint(either.else_block):
                    scf.YieldOp([value])
                found = either.results[0]
            self.tensors.store(found, op.results[0], dims, axes)

    def insert(self, op: ir.Operation) -> None:
        """A block that copies a tensor to its place in another."""
        given = op.operands[0]
        try:
            places = slice_indices(op, identity(given.type.rank))
        except ScheduleError as error:
            raise ScheduleError(f"@{self.kernel.name.value} cannot be put into loops: {error}") from None
        self.copy(given, op.operands[1], places)

    def copy(self, given: ir.Value, target: ir.Value, places: Sequence[Index]) -> None:
        """A block that copies all of a tensor to these places of another."""
        block = self.loops("copy", [SPATIAL] * given.type.rank, [self.tensors.size(given, axis) for axis in range(given.type.rank)])
        with before_end(block.block):
            axes = list(block.block.arguments)
            self.tensors.store(self.tensors.load(given, identity(given.type.rank), axes), target, places, axes)

    def fill(self, op: ir.Operation) -> None:
        result = op.results[0]
        readers = [u.owner.operation for u in result.uses]
        if len(readers) == 1 and is_init(readers[0], result) and begins_with_fills(readers[0]):
            self.fills[result] = op
            return
        value = op.operands[0] if op.name == "linalg.fill" else filled_value(op)
        root = self.tensors.root(result)     # all of it is filled, where it is a view of all
        target = root if element_count(root) == element_count(result) else result
        block = self.loops("fill", [SPATIAL] * target.type.rank, [self.tensors.size(target, axis) for axis in range(target.type.rank)])
        with before_end(block.block):
            self.tensors.store(value, target, identity(target.type.rank), list(block.block.arguments))

    def generic(self, op: ir.Operation) -> None:
        structured, tensors = StructuredOp(op), self.tensors
        inputs = len(op.operands) - len(op.results)
        known = [self.fills[v] for v in list(op.operands)[inputs:] if v in self.fills]     # all or none
        split = split_loops(structured, tensors.overwritten.get)
        kinds, extents, places = [], [], []
        for loop, kind in enumerate(kinds_of(structured)):
            operand, axis = next((o, list(structured.loops_of(n)).index(loop)) for n, o in enumerate(op.operands)
                                 if loop in structured.loops_of(n))
            parts = split.get(loop, (tensors.size(operand, axis),))
            dims = [ir.AffineExpr.get_dim(len(kinds) + n) for n in range(len(parts))]
            places.append(dims[0] if loop not in split else Joined(tuple(dims), tuple(split[loop])))
            extents += parts
            kinds += [kind] * len(parts)
        block = self.loops(block_name(structured), kinds, extents, init=bool(known))
        inner = op.regions[0].blocks[0]
        if block.init_block is not None:
            with before_end(block.init_block):
                for fill, value, m in zip(known, list(op.operands)[inputs:], structured.maps[inputs:]):
                    constant = fill.operands[0] if fill.name == "linalg.fill" else filled_value(fill)
                    tensors.store(constant, value, applied(m, places), list(block.init_block.arguments))
        with before_end(block.block):
            axes = list(block.block.arguments)
            mapping: dict[ir.Value, ir.Value] = {}
            for argument, value, m in zip(inner.arguments, op.operands, structured.maps):
                if list(argument.uses):
                    is_tensor = isinstance(value.type, ir.RankedTensorType)
                    mapping[argument] = tensors.load(value, applied(m, places), axes) if is_tensor else value
            for one in body(inner):
                if one.name == "linalg.index":
                    mapping[one.results[0]] = expression(single(places[one.attributes["dim"].value]), axes)
                elif one.name == "tensor.extract":
                    indices = [mapping.get(v, v) for v in list(one.operands)[1:]]
                    mapping[one.results[0]] = tensors.load(one.operands[0], identity(len(indices)), indices)
                else:
                    mapping = copy([one], mapping)
                    contract(mapping[one.results[0]].owner.operation)
            for value, out, m in zip(terminator(inner).operands, list(op.operands)[inputs:], structured.maps[inputs:], strict=True):
                tensors.store(mapping.get(value, value), out, applied(m, places), axes)

    def loops(self, name: str, kinds: list[str], extents: Sequence[int | ir.Value], init: bool = False) -> Any:
        """Loops over the axes, with a block inside."""
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        bounds = [b if isinstance(b, int) else (index(0), b) for b in extents]
        made = nest([(b, SERIAL, f"i{n}", None) for n, b in enumerate(bounds)])
        with before_end(made[-1].block) if made else ir.InsertionPoint.current:
            return make_block(f"{name}_{count}" if count else name, [f"v{n}" for n in range(len(kinds))], kinds,
                              [b if isinstance(b, int) else None for b in extents], [loop.variable for loop in made], init)
