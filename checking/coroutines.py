"""Functions of the LLVM dialect as LLVM's coroutines: a call of ``legato.gpu.suspend`` leaves the function until its handle is resumed."""
from __future__ import annotations

from collections.abc import Sequence

from legato.checking.launch_text import RESUME, STUCK, SUSPEND
from legato.checking.launches import append
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module

MESSAGE = "Assertion: some threads of a warp wait in gpu.barrier, and others of it in gpu.shuffle"
RUNTIME = f"""
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @perror(!llvm.ptr)
llvm.func @abort()
llvm.func @{RESUME}(%handle: i64) {{
  %pointer = llvm.inttoptr %handle : i64 to !llvm.ptr
  llvm.intr.coro.resume %pointer : !llvm.ptr
  llvm.return
}}
llvm.mlir.global internal constant @legato.gpu.message("{MESSAGE}\\00")
llvm.func @{STUCK}() {{
  %text = llvm.mlir.addressof @legato.gpu.message : !llvm.ptr
  llvm.call @perror(%text) : (!llvm.ptr) -> ()
  llvm.call @abort() : () -> ()
  llvm.return
}}
"""


def make_coroutines(module: Module, names: Sequence[str]) -> None:
    """Makes coroutines of functions that return an i64, which becomes the handle; defines what `launch_text` only declares."""
    if not names:
        return
    named = [op.operation for op in module.body.operations if "sym_name" in op.attributes]
    functions = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in named}
    for name in (RESUME, STUCK, SUSPEND):
        functions.pop(name).erase()
    append(module, RUNTIME)
    for name in names:
        make_coroutine(functions[name])


def make_coroutine(function: ir.Operation) -> None:
    """Rewrites one function. Where it returns, it frees its frame; its handle must not be used any more."""
    with function.location:
        function.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("presplitcoroutine")])
        blocks = list(function.regions[0].blocks)
        entry = blocks[0]
        hoist_stack(function, entry)
        with ir.InsertionPoint.at_block_begin(entry):
            begun = begin()
        cleanup = blocks[-1].create_after()
        leave = cleanup.create_after()
        for op in find(function, "llvm.call"):
            if "callee" in op.attributes and op.attributes["callee"].value == SUSPEND:
                suspend(op, begun, cleanup, leave)
        for op in find(function, "llvm.return"):
            with ir.InsertionPoint(op):
                branch(cleanup)
            op.erase()
        end(begun, cleanup, leave)


def hoist_stack(function: ir.Operation, entry: ir.Block) -> None:
    """Moves stack memory of a constant size to the entry: a frame has no room for any other."""
    first = entry.operations[0].operation
    for op in find(function, "llvm.alloca"):
        size = op.operands[0].owner
        if isinstance(size, ir.OpView | ir.Operation) and size.operation.name == "llvm.mlir.constant":
            with ir.InsertionPoint(first), op.location:
                op.operands[0] = size.operation.clone().results[0]
            if op != first:
                op.move_before(first)


def created(name: str, results: Sequence[str], operands: Sequence[ir.Value] = (), successors: Sequence[ir.Block] = (),
            **attributes: ir.Attribute) -> ir.Operation:
    """An op of the LLVM dialect at the insertion point."""
    return ir.Operation.create(f"llvm.{name}", [ir.Type.parse(one) for one in results], list(operands), attributes, list(successors))


def constant(type_: str, value: int) -> ir.Value:
    """A constant of a type of MLIR."""
    return created("mlir.constant", [type_], value=ir.IntegerAttr.get(ir.Type.parse(type_), value)).results[0]


def called(callee: str, results: Sequence[str], operands: Sequence[ir.Value]) -> ir.Operation:
    """A call of a function by its symbol."""
    return created("call", results, operands, callee=ir.FlatSymbolRefAttr.get(callee), op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
                   operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]))


def branch(to: ir.Block) -> None:
    """Ends a block with a jump to another one, which takes nothing."""
    created("br", [], [], [to])


def begin() -> dict[str, ir.Value]:
    """The coroutine's identity and frame."""
    null, none = created("mlir.zero", ["!llvm.ptr"]).results[0], created("mlir.none", ["token"]).results[0]
    identity = created("intr.coro.id", ["token"], [constant("i32", 0), null, null, null]).results[0]
    memory = called("malloc", ["!llvm.ptr"], [created("intr.coro.size", ["i64"]).results[0]]).results[0]
    handle = created("intr.coro.begin", ["!llvm.ptr"], [identity, memory]).results[0]
    return {"id": identity, "handle": handle, "none": none, "false": constant("i1", 0),
            "number": created("ptrtoint", ["i64"], [handle]).results[0]}


def suspend(call: ir.Operation, begun: dict[str, ir.Value], cleanup: ir.Block, leave: ir.Block) -> None:
    """Splits the block at a call of suspend."""
    block = call.block
    rest = [one.operation for one in block.operations]
    after = block.create_after()
    for op in rest[rest.index(call) + 1:]:
        after.append(op)
    call.erase()
    with ir.InsertionPoint(block):
        state = created("intr.coro.suspend", ["i8"], [begun["none"], begun["false"]]).results[0]
        i8 = ir.IntegerType.get_signless(8)
        values = ir.DenseIntElementsAttr.get([ir.IntegerAttr.get(i8, n) for n in range(2)], ir.VectorType.get([2], i8))
        created("switch", [], [state], [leave, after, cleanup], case_values=values, case_operand_segments=ir.DenseI32ArrayAttr.get([0, 0]),
                operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0, 0]))


def end(begun: dict[str, ir.Value], cleanup: ir.Block, leave: ir.Block) -> None:
    """The blocks that free the frame, and that leave."""
    with ir.InsertionPoint(cleanup):
        called("free", [], [created("intr.coro.free", ["!llvm.ptr"], [begun["id"], begun["handle"]]).results[0]])
        branch(leave)
    with ir.InsertionPoint(leave):
        created("intr.coro.end", ["i1"], [begun["handle"], begun["false"], begun["none"]])
        created("return", [], [begun["number"]])
