"""Part of tir-lower-packed: kernels that call packed functions, and calls that return a code."""
from collections.abc import Mapping, Sequence

from legato.core.diagnostics import PassFailed
from legato.core.errors import LegatoError
from legato.core.ir_helpers import ancestors, find
from legato.core.mlir import arith, cf, func, ir, memref
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.relax import origins
from legato.dialects.tir.markers import TIR_PACKED
from legato.dialects.tir.packed import check_declaration, is_packed

BUFFER, LIVE = "legato.buffer", "legato.live"   # temporary: a buffer's number; the numbers of the buffers live at a call
PARALLEL = ("scf.parallel", "scf.forall", "omp.parallel", "gpu.launch")


def kernels_that_call(functions: Mapping[str, func.FuncOp]) -> list[str]:
    """The names of the kernels that call packed functions."""
    return [name for name, f in functions.items() if tir.is_prim_func(f) and not f.is_external and packed_calls(f, functions)]


def packed_calls(kernel: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> list[ir.Operation]:
    """The calls of packed functions in a kernel, in order."""
    return [c for c in find(kernel.operation, "func.call") if is_packed(functions[c.attributes["callee"].value])]


def lower_kernels(names: Sequence[str], functions: Mapping[str, func.FuncOp], table: ir.Type, warnings: list[str]) -> None:
    """Gives kernels the functions as their last argument, and a code as their result; a call that fails ends them. PassFailed for a
    call in a parallel loop, since its effect and error belong to one thread."""
    for name in names:
        kernel = functions[name]
        calls = packed_calls(kernel, functions)
        for call in calls:
            declaration = functions[call.attributes["callee"].value]
            called = declaration.attributes[TIR_PACKED].value
            try:
                check_declaration(declaration)
            except LegatoError as error:
                raise PassFailed(str(error), call) from None
            if any(op.name in PARALLEL for op in ancestors(call)):
                raise PassFailed(f"the kernel @{name} calls the packed function '{called}' in a parallel loop: call it outside, or make "
                                 "the loop serial", call)
        if any(call.parent != kernel.operation for call in calls):
            if find(kernel.operation, *PARALLEL):
                warnings.append(f"the parallel loops of @{name} run step by step: it calls a packed function in another loop")
            _note_live_buffers(kernel, calls)
            run_on(kernel.operation, "convert-scf-to-cf")
            calls = packed_calls(kernel, functions)
        _give_code(kernel, calls, table)


def _note_live_buffers(kernel: func.FuncOp, calls: Sequence[ir.Operation]) -> None:
    """Records on each call which of the kernel's own buffers are freed after it: if it fails, they are freed there."""
    buffers = find(kernel.operation, "memref.alloc")
    for number, buffer in enumerate(buffers):
        buffer.attributes[BUFFER] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    for call in calls:
        around = [call, *ancestors(call)]
        live = []
        for number, buffer in enumerate(buffers):
            holder = next((op for op in around if op.parent is not None and op.block == buffer.block), None)
            freed = any(use.owner.name == "memref.dealloc" for use in buffer.results[0].uses)
            if freed and holder is not None and _is_behind(holder, buffer):
                live.append(number)
        call.attributes[LIVE] = ir.DenseI64ArrayAttr.get(live)


def _is_behind(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether an op comes after another one of its block."""
    operations = [o.operation for o in op.block.operations]
    return operations.index(op) > operations.index(other)


def _give_code(kernel: func.FuncOp, calls: Sequence[ir.Operation], table: ir.Type) -> None:
    functions = kernel.body.blocks[0].add_argument(table, ir.Location.unknown())
    i32 = ir.IntegerType.get_signless(32)
    for end in find(kernel.operation, "func.return"):
        with ir.InsertionPoint(end), end.location:
            func.ReturnOp([arith.ConstantOp(i32, 0).result])
        end.erase()
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in kernel.body.blocks[0].arguments], [i32]))
    if "arg_attrs" in kernel.attributes:
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([*kernel.attributes["arg_attrs"], ir.DictAttr.get({})])
    leave = leaving_block(kernel)
    buffers = {op.attributes[BUFFER].value: op.results[0] for op in find(kernel.operation, "memref.alloc") if BUFFER in op.attributes}
    checked = CheckedCalls()
    for call in reversed(calls):
        live = [buffers[number] for number in call.attributes[LIVE]] if LIVE in call.attributes else []
        checked.replace(call, [functions, *call.operands], freeing_block(kernel, live, leave) if live else leave)
    for op in (value.owner for value in buffers.values()):
        del op.attributes[BUFFER]


def leaving_block(function: func.FuncOp) -> ir.Block:
    """A block that returns its argument, the code."""
    block = function.body.blocks.append(ir.IntegerType.get_signless(32))
    with ir.InsertionPoint(block):
        func.ReturnOp([block.arguments[0]])
    return block


def freeing_block(function: func.FuncOp, buffers: Sequence[ir.Value], leave: ir.Block) -> ir.Block:
    """A block that frees buffers, then leaves with its argument, the code."""
    block = function.body.blocks.append(ir.IntegerType.get_signless(32))
    with ir.InsertionPoint(block):
        for buffer in buffers:
            memref.DeallocOp(buffer)
        cf.BranchOp([block.arguments[0]], leave)
    return block


class CheckedCalls:
    """Replaces calls of a function, the last one first, by calls that return a code first, and branches to another block if that is not 0.

    A block is listed once, not for each of its calls: what is behind a call has gone to another block, but for what is listed here.
    """

    def __init__(self) -> None:
        self._block: ir.Block | None = None
        self._listed: list[ir.Operation] = []   # what the block has up to the call that was replaced last, and what replaced that

    def replace(self, call: ir.Operation, operands: Sequence[ir.Value], leave: ir.Block) -> None:
        """Replaces a call by one on these operands, which branches to ``leave``."""
        block = call.block
        if self._block is None or self._block != block:
            self._block, self._listed = block, [op.operation for op in block.operations]
        rest, behind = block.create_after(), []
        while (op := self._listed.pop()) != call:
            op.detach_from_parent()
            behind.append(op)
        for op in reversed(behind):
            rest.append(op)
        i32 = ir.IntegerType.get_signless(32)
        with ir.InsertionPoint(block), call.location:
            made = func.CallOp([i32, *(r.type for r in call.results)], call.attributes["callee"], list(operands))
            origins.inherit(made.operation, call)
            code, zero = made.results[0], arith.ConstantOp(i32, 0)
            good = arith.CmpIOp(arith.CmpIPredicate.eq, code, zero.result)
            branch = cf.CondBranchOp(good.result, [], [code], rest, leave)
        self._listed += [op.operation for op in (made, zero, good, branch)]
        for old, new in zip(call.results, list(made.results)[1:]):
            old.replace_all_uses_with(new)
        call.erase()
