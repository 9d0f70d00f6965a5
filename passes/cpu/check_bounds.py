"""tir-check-bounds: a bad index is an error of the call, not a wrong result or a signal.

Works on functions whose control flow is branches already (``convert-scf-to-cf``) and whose buffers are memrefs, which know their sizes.
Before each access stands a branch; where an index is out of bounds, the kernel reports it to the entry (codegen/entry/faults.py) and
returns, and main returns, too, after the call of the kernel. Upstream's generate-runtime-verification knows no accesses of vectors, and
ends the process.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.origins import kernel_origins
from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import body, find
from legato.core.locations import model_name
from legato.core.mlir import arith, cf, func, ir
from legato.core.views import root_of
from legato.dialects.module import Module
from legato.dialects.relax.markers import OPS
from legato.dialects.tir import is_prim_func
from legato.dialects.tir.markers import FAULTS, MAIN_PROFILED, OUT_OF_BOUNDS
from legato.dialects.tir.walk import parameter_name
from legato.passes.cpu.bounds.checks import CHECKS, IndexCheck, checks_of
from legato.passes.pipeline.base import ModulePass, PassContext

MAINS = ("main", MAIN_PROFILED)
LEAVES = {"func.func": "func.return", "omp.loop_nest": "omp.yield", "omp.parallel": "omp.terminator"}


@dataclass(frozen=True)
class CheckBounds(ModulePass):
    """Checks the indices of every access of kernels and of main at run time: loads, stores, vectors, gathers, copies and views. A bad one
    is an error of the call with the kernel, its graph ops by the model's names, the index and the extent.

    Runs after convert-scf-to-cf, while buffers are memrefs. What is left unchecked: prefetches, and instructions on addresses.
    """

    name: ClassVar[str] = "tir-check-bounds"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            check_bounds(module.module)


def check_bounds(module: ir.Module) -> None:
    """Adds the checks to one module. PassFailed for an access in a region that has no way out."""
    functions = [op for op in module.body.operations if isinstance(op, func.FuncOp) and not op.is_external]
    checked = [op for op in functions if is_prim_func(op) or op.name.value in MAINS]
    if not checked:
        return
    declare(module)
    called = _described_calls(module)
    kernels = {op.name.value for op in functions if is_prim_func(op)}
    texts: dict[str, str] = {}
    for function in checked:
        name = function.name.value
        about = f"kernel '{name}'{called.get(name, '')}" if name in kernels else "main"
        for op in find(function.operation, *CHECKS):
            check_access(op, f"{about}{_site(op)}", texts)
        if name in MAINS:
            stop_at_faults(function, kernels)
    for text, symbol in texts.items():
        _add_text(module, symbol, text)


def _described_calls(module: ir.Module) -> dict[str, str]:
    """For each kernel, the graph ops that it is called for; for one without, as users write them, the names of what its calls compute."""
    found = {name: [f'{op} "{given}"' if given else op for op, given in ops] for name, ops in kernel_origins(module).items()}
    for call in find(module.operation, "func.call"):
        if OPS not in call.attributes and (name := model_name(call)):
            found.setdefault(call.attributes["callee"].value, []).append(f'"{name}"')
    return {kernel: f" ({', '.join(dict.fromkeys(texts))})" for kernel, texts in found.items() if texts}


def declare(module: ir.Module) -> None:
    """Declares the functions of the entry (codegen/entry/faults.py)."""
    i64, pointer = ir.IntegerType.get_signless(64), ir.Type.parse("!llvm.ptr")
    with ir.InsertionPoint(module.body):
        for name, type_ in ((OUT_OF_BOUNDS, ir.FunctionType.get([pointer, *([i64] * 4)], [])), (FAULTS, ir.FunctionType.get([], [i64]))):
            func.FuncOp(name, type_, visibility="private")


def check_access(op: ir.Operation, site: str, texts: dict[str, str]) -> None:
    """Puts a branch in front of one access. ``texts``: the symbol of the text that describes each site."""
    if op.parent.operation.name == "vector.mask":
        op = op.parent.operation
    with ir.InsertionPoint(op), op.location:
        checks = checks_of(op)
        if not checks:
            return
        conditions = [check.build() for check in checks]
        good = conditions[0]
        for condition in conditions[1:]:
            good = arith.andi(good, condition)
    fault = split_before(op, good)
    text = texts.setdefault(site, f"legato.access_{len(texts)}")
    with ir.InsertionPoint.at_block_begin(fault), op.location:
        address = ir.Operation.create("llvm.mlir.addressof", [ir.Type.parse("!llvm.ptr")], [],
                                      {"global_name": ir.FlatSymbolRefAttr.get(text)}).results[0]
        func.CallOp([], ir.FlatSymbolRefAttr.get(OUT_OF_BOUNDS), [address, *_worst(checks, conditions)])
    leave(fault)


def _worst(checks: Sequence[IndexCheck], conditions: Sequence[ir.Value]) -> list[ir.Value]:
    """Axis, first and last index, and extent, of the first check that does not hold."""
    i64 = ir.IntegerType.get_signless(64)
    rows = [[arith.constant(i64, check.axis), *(arith.index_cast(i64, value) for value in (check.first, check.last, check.extent))]
            for check in checks]
    found = rows[-1]
    for condition, row in reversed(list(zip(conditions[:-1], rows[:-1]))):
        found = [arith.select(condition, other, own) for own, other in zip(row, found)]
    return found


def split_before(op: ir.Operation, good: ir.Value) -> ir.Block:
    """Ends the block of ``op`` in front of it by a branch. Returns the block, still empty, where ``good`` is false."""
    block = op.block
    operations = [one.operation for one in block.operations]
    rest = ir.Block.create_after(block)
    for one in operations[operations.index(op):]:
        one.detach_from_parent()
        rest.append(one)
    fault = ir.Block.create_after(rest)
    with ir.InsertionPoint(block), op.location:
        cf.CondBranchOp(good, [], [], rest, fault)
    return fault


def leave(block: ir.Block) -> None:
    """Ends a block by leaving its region: a step of a parallel loop ends, with the stack as it was before it."""
    owner = block.owner.operation
    if owner.name not in LEAVES:
        raise PassFailed(f"an access in a region of {owner.name} cannot be checked: run the pass after convert-scf-to-cf", owner)
    with ir.InsertionPoint(block), owner.location:
        if owner.name != "func.func":
            stacks = [op for op in body(block.region.blocks[0]) if op.name == "llvm.intr.stacksave"]
            for op in stacks[:1]:
                ir.Operation.create("llvm.intr.stackrestore", [], [op.results[0]])
        results = owner.opview.type.results if owner.name == "func.func" else []
        if not all(isinstance(type_, ir.IntegerType | ir.IndexType) for type_ in results):
            raise PassFailed(f"a fault cannot be reported by @{owner.opview.name.value}, which returns "
                             f"{', '.join(map(str, results))}: run the pass on lowered IR, where main returns a status", owner)
        failed = [arith.constant(type_, -1) for type_ in results]
        ir.Operation.create(LEAVES[owner.name], [], failed)


def stop_at_faults(main: func.FuncOp, kernels: set[str]) -> None:
    """Lets main return after a call of a kernel that reported a fault."""
    calls = [op for op in find(main.operation, "func.call") if op.attributes["callee"].value in kernels]
    if not calls:
        return
    i64 = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint.at_block_begin(main.body.blocks[0]):
        before = func.CallOp([i64], ir.FlatSymbolRefAttr.get(FAULTS), []).result
    for call in calls:
        operations = [one.operation for one in call.block.operations]
        behind = operations[operations.index(call) + 1]
        with ir.InsertionPoint(behind), call.location:
            now = func.CallOp([i64], ir.FlatSymbolRefAttr.get(FAULTS), []).result
            good = arith.cmpi(arith.CmpIPredicate.eq, before, now)
        leave(split_before(behind, good))


def _site(op: ir.Operation) -> str:
    """Where an access is, and what it accesses, for messages."""
    buffer = next(value for value in op.operands if isinstance(value.type, ir.MemRefType))
    name = model_name(op)
    at = f' at "{name}"' if name else ""
    return f"{at}: {op.name} of {_buffer(buffer)}, {buffer.type}"


def _buffer(value: ir.Value) -> str:
    """A buffer by what it is a part of."""
    part = "" if value == root_of(value) else "a part of "
    value = root_of(value)
    if not isinstance(value.owner, ir.Block):
        return f"{part}a buffer made by {value.owner.name}"
    number, function = ir.BlockArgument(value).arg_number, value.owner.owner
    name = parameter_name(function, number, "")
    return f"{part}argument {number}" + (f" '{name}'" if name else "")


def _add_text(module: ir.Module, symbol: str, text: str) -> None:
    """A global with a zero-terminated text."""
    type_ = ir.Type.parse(f"!llvm.array<{len(text.encode()) + 1} x i8>")
    with ir.InsertionPoint(module.body):
        ir.Operation.create("llvm.mlir.global", [], [], {
            "sym_name": ir.StringAttr.get(symbol), "global_type": ir.TypeAttr.get(type_), "constant": ir.UnitAttr.get(),
            "value": ir.StringAttr.get(text + "\0"), "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
            "addr_space": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)}, regions=1)
