"""tir-to-loops: kernels of structured ops become kernels of loops.

A kernel of plain nests becomes loops around blocks, which schedule primitives work on. Others go through upstream's bufferization, and
their structured ops become loops without blocks.
"""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core import fills
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import body, find, index, move_before, replace_uses, terminator
from legato.core.mlir import arith, bufferization, func, ir, memref, scf, tensor
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of, make_buffer, make_for
from legato.dialects.tir.state import WRITTEN, set_state
from legato.dialects.tir.walk import localize_constants
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.schedule.state import ScheduleError
from legato.schedule.unraise import to_loops

BUFFERIZE = ("one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
             "func.func(canonicalize,cse)")
FOLD = "fold-memref-alias-ops,lower-affine,func.func(canonicalize,cse)"


@dataclass(frozen=True)
class ToLoops(ModulePass):
    """Lowers structured kernels to loops: with blocks and named axes where they are plain nests, else without.

    Runs inside, on one kernel at a time, for blocks: canonicalize, linalg-generalize-named-ops, cse. Without blocks, on a copy in a module
    of its own: canonicalize, cse, eliminate-empty-tensors, one-shot-bufferize, convert-linalg-to-loops, fold-memref-alias-ops,
    lower-affine. The kernel's callers keep tensors, which one-shot-bufferize on the whole module would take from them.
    """

    name: ClassVar[str] = "tir-to-loops"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                if not kernel.is_external and is_structured(kernel):
                    to_blocks_or_loops(kernel)


def is_structured(kernel: func.FuncOp) -> bool:
    """Whether a kernel computes on tensors, without buffers."""
    on_memory = any(isinstance(t, ir.MemRefType) for t in kernel.type.inputs)
    return not on_memory and not find(kernel.operation, "bufferization.to_buffer")


def to_blocks_or_loops(kernel: func.FuncOp) -> None:
    """Rewrites one kernel in place. PassFailed where an op has no lowering to loops."""
    trial = kernel.operation.clone(ir.InsertionPoint(kernel)).operation
    try:
        to_loops(trial.opview)
    except ScheduleError:
        trial.erase()
        bufferized(kernel)
        return
    set_state(trial.opview, WRITTEN)
    localize_constants(trial)
    kernel.operation.erase()


def bufferized(kernel: func.FuncOp) -> None:
    """Lowers one kernel to loops without blocks, by upstream's bufferization."""
    name = kernel.name.value
    around = ir.Module.create()
    made = kernel.operation.clone(ir.InsertionPoint(around.body)).operation
    declare_callees(kernel, around)
    only_read(made.opview)
    try:
        run_on(around.operation, "func.func(canonicalize,cse),eliminate-empty-tensors")
        spell_constants(made)
        run_on(around.operation, BUFFERIZE)
        copy_results(made.opview)
        run_on(around.operation, "func.func(convert-linalg-to-loops)")
        for op in find(made, "memref.copy"):
            copy_by_loops(op)
        run_on(around.operation, FOLD)
    except PassFailed as failed:
        raise PassFailed(f"@{name} cannot be put into loops: {failed}", kernel) from None
    for op in find(made, "memref.alloc", "memref.alloca"):
        with ir.InsertionPoint(op), op.location:
            buffer = make_buffer(op.results[0].type, "buffer", "global", list(op.operands))
        op.results[0].replace_all_uses_with(buffer)
        op.erase()
    for op in find(made, "scf.for", "scf.if", inner_first=True):
        if op.name == "scf.for":
            to_for(op)
        elif len(op.results) > 1:
            store_results(op)
    to_tensors(made.opview, kernel)
    set_state(made.opview, WRITTEN)
    made.clone(ir.InsertionPoint(kernel))
    kernel.operation.erase()


def declare_callees(kernel: func.FuncOp, around: ir.Module) -> None:
    """Declares the functions that a kernel calls in another module, since bufferization looks them up. PassFailed where one has tensors:
    its signature would change here only."""
    functions = {op.name.value: op for op in kernel.operation.parent.opview.body.operations if isinstance(op, func.FuncOp)}
    for name in dict.fromkeys(op.attributes["callee"].value for op in find(kernel.operation, "func.call")):
        callee = functions[name]
        if any(isinstance(t, ir.RankedTensorType) for t in (*callee.type.inputs, *callee.type.results)):
            raise PassFailed(f"@{kernel.name.value} cannot be put into loops: it calls @{name}, which has tensors; inline that one first",
                             kernel)
        with ir.InsertionPoint(around.body), callee.location:
            func.FuncOp(name, callee.type, visibility="private")


def only_read(kernel: func.FuncOp) -> None:
    """Marks a kernel's outputs as writable and its inputs as read-only for bufferization."""
    count = len(kernel.arguments) - tir.out_count(kernel)
    read = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
    write = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(True)})
    tensors = [isinstance(a.type, ir.RankedTensorType) for a in kernel.arguments]
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([(read if n < count else write) if is_tensor else ir.DictAttr.get({})
                                                       for n, is_tensor in enumerate(tensors)])


def spell_constants(kernel: ir.Operation) -> None:
    """Replaces constant tensors by fills or ``tensor.from_elements``, which lower to loops."""
    for op in find(kernel, "arith.constant"):
        type_, value = op.results[0].type, op.attributes["value"]
        if not isinstance(type_, ir.RankedTensorType) or not isinstance(value, ir.DenseElementsAttr):
            continue
        with ir.InsertionPoint(op), op.location:
            if value.is_splat:
                scalar = arith.ConstantOp(type_.element_type, value.get_splat_value()).result
                made = fills.fill(scalar, tensor.EmptyOp(type_.shape, type_.element_type).result)
            else:
                numbers = np.array(value).flatten().tolist()
                element = ir.FloatAttr.get if isinstance(type_.element_type, ir.FloatType) else ir.IntegerAttr.get
                made = tensor.FromElementsOp(type_, [arith.ConstantOp(type_.element_type, element(type_.element_type, n)).result
                                                     for n in numbers]).result
        op.results[0].replace_all_uses_with(made)
        op.erase()


def copy_results(kernel: func.FuncOp) -> None:
    """Copies a kernel's results to its output arguments and returns nothing."""
    block = kernel.body.blocks[0]
    end = terminator(block)
    count = len(end.operands)
    for value, out in zip(list(end.operands), list(block.arguments)[len(block.arguments) - count:]):
        if value != out:
            with ir.InsertionPoint(end), end.location:
                ir.Operation.create("memref.copy", [], [value, out])
    with ir.InsertionPoint(end), end.location:
        func.ReturnOp([])
    end.erase()


def to_tensors(kernel: func.FuncOp, original: func.FuncOp) -> None:
    """Gives a kernel on buffers the original's signature on tensors."""
    block = kernel.body.blocks[0]
    buffers = []
    with ir.InsertionPoint.at_block_begin(block), kernel.location:
        for argument, old in zip(block.arguments, original.arguments):
            if not isinstance(old.type, ir.RankedTensorType):
                continue
            type_, uses = argument.type, list(argument.uses)
            argument.set_type(old.type)
            buffers.append(bufferization.ToBufferOp(type_, argument).result)
            for use in uses:
                use.owner.operation.operands[use.operand_number] = buffers[-1]
    end = terminator(block)
    results = list(original.type.results)
    with ir.InsertionPoint(end), end.location:
        func.ReturnOp([bufferization.ToTensorOp(t, b, restrict=True, writable=True).result
                       for t, b in zip(results, buffers[len(buffers) - len(results):])])
    end.erase()
    kernel.attributes["function_type"] = ir.TypeAttr.get(original.type)
    for name in ("arg_attrs", "res_attrs"):
        if name in original.attributes:
            kernel.attributes[name] = original.attributes[name]


def to_for(op: ir.Operation) -> None:
    """An ``scf.for`` of step 1 as a ``tir.for``; loop-carried values are kept in buffers of one element."""
    inside = op.regions[0].blocks[0]
    carried = list(op.operands)[3:]
    if constant_of(op.operands[2]) != 1 or any(isinstance(v.type, ir.MemRefType) for v in carried):
        return
    with ir.InsertionPoint(op), op.location:
        cells = [make_buffer(ir.MemRefType.get([], memory(v.type)), "carried", "local") for v in carried]
        for value, cell in zip(carried, cells):
            memref.StoreOp(in_memory(value, cell), cell, [])
        loop = make_for(op.operands[0], op.operands[1])
        with ir.InsertionPoint.at_block_begin(loop.block):
            now = [from_memory(memref.LoadOp(cell, []).result, v.type) for v, cell in zip(carried, cells)]
    replace_uses(inside, [loop.variable, *now])
    move_before(body(inside), terminator(loop.block))
    with ir.InsertionPoint(terminator(loop.block)), op.location:
        for value, cell in zip(list(terminator(inside).operands), cells):
            memref.StoreOp(in_memory(value, cell), cell, [])
    with ir.InsertionPoint(op), op.location:
        for result, cell in zip(op.results, cells):
            result.replace_all_uses_with(from_memory(memref.LoadOp(cell, []).result, result.type))
    op.erase()


def store_results(op: ir.Operation) -> None:
    """An ``scf.if`` that gives several values as one without results, whose branches store them in buffers of one element."""
    if any(isinstance(result.type, ir.MemRefType) for result in op.results):
        return
    with ir.InsertionPoint(op), op.location:
        cells = [make_buffer(ir.MemRefType.get([], memory(result.type)), "chosen", "local") for result in op.results]
        made = scf.IfOp(op.operands[0], [], has_else=True)
    for region, block in zip(op.regions, (made.then_block, made.else_block)):
        inside = region.blocks[0]
        with ir.InsertionPoint(block), op.location:
            end = scf.YieldOp([])
        move_before(body(inside), end.operation)
        with ir.InsertionPoint(end), op.location:
            for value, cell in zip(list(terminator(inside).operands), cells):
                memref.StoreOp(in_memory(value, cell), cell, [])
    with ir.InsertionPoint(op), op.location:
        for result, cell in zip(op.results, cells):
            result.replace_all_uses_with(from_memory(memref.LoadOp(cell, []).result, result.type))
    op.erase()


def memory(type_: ir.Type) -> ir.Type:
    """The element type that stores a value: i8 for i1, i64 for index."""
    if isinstance(type_, ir.IndexType):
        return ir.IntegerType.get_signless(64)
    return ir.IntegerType.get_signless(8) if str(type_) == "i1" else type_


def in_memory(value: ir.Value, cell: ir.Value) -> ir.Value:
    """A value cast to the cell's element type."""
    type_ = cell.type.element_type
    if value.type == type_:
        return value
    return (arith.IndexCastOp if isinstance(value.type, ir.IndexType) else arith.ExtUIOp)(type_, value).result


def from_memory(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A loaded element cast back to the value's type."""
    if value.type == type_:
        return value
    if isinstance(type_, ir.IndexType):
        return arith.IndexCastOp(type_, value).result
    return arith.CmpIOp(arith.CmpIPredicate.ne, value, arith.ConstantOp(value.type, 0).result).result


def copy_by_loops(op: ir.Operation) -> None:
    """Replaces a copy by loops over its elements."""
    source, target = op.operands
    with ir.InsertionPoint(op), op.location:
        variables = []
        place = ir.InsertionPoint(op)
        for axis in range(source.type.rank):
            with place:
                zero = index(0)
                size = memref.DimOp(source, index(axis)).result if source.type.is_dynamic_dim(axis) else index(source.type.shape[axis])
                loop = make_for(zero, size, name=f"i{axis}")
            variables.append(loop.variable)
            place = ir.InsertionPoint(terminator(loop.block))
        with place:
            memref.StoreOp(memref.LoadOp(source, variables).result, target, variables)
    op.erase()


