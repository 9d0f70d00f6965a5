"""tir-bufferize: kernels and main from tensors to memrefs, whole module at once.

Afterwards every prim_func is ``(inputs..., outputs..., workspaces...) -> ()`` on memrefs of identity layout, and ``main`` allocates, calls
and returns memrefs of its own. A kernel whose result does not come to lie in its output is tied to it first; what a kernel still allocates
becomes stack space where it is small, else a workspace argument that ``main`` allocates (and the memory planner places).
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find
from legato.core.locations import origin
from legato.core.mlir import bufferization, func, ir, tensor
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.dialects.relax.markers import RETURNS
from legato.dialects.tir.markers import EXTERN
from legato.dialects.tir.packed import is_packed
from legato.passes.legalize.legalize import graph_ops
from legato.passes.memory.bufferize.prepare import materialize_constants, own_results, separate_outputs
from legato.passes.memory.bufferize.workspaces import STACK_BYTES, extract_workspaces
from legato.passes.pipeline.base import ModulePass, PassContext, option

UPSTREAM = ("one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
            "canonicalize,cse,canonicalize")
RESHAPES = ("tensor.cast", "tensor.expand_shape", "tensor.collapse_shape", "memref.cast", "memref.expand_shape", "memref.collapse_shape")
INTO = {"tensor.insert_slice": 1, "vector.transfer_write": 1}  # which operand the result is written into


@dataclass(frozen=True)
class Bufferize(ModulePass):
    """Tensors become memrefs: kernels write their tir.out arguments and return nothing, main allocates and calls."""

    name: ClassVar[str] = "tir-bufferize"
    stack_bytes: int = option(STACK_BYTES, "the largest buffer that a kernel puts on its stack")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            bufferize(module.module, self.stack_bytes)


def bufferize(module: ir.Module, stack_bytes: int = STACK_BYTES) -> None:
    """Bufferizes all functions of ``module``. Raises PassFailed where a kernel's result cannot be tied to its output."""
    functions = [op for op in module.body.operations if op.operation.name == "func.func"]
    kernels = [f for f in functions if tir.is_prim_func(f)]
    scalar = [f for f in functions if EXTERN in f.attributes or is_packed(f)]   # declarations of what kernels call: no tensors
    declared = [f for f in functions if f.is_external and f not in scalar]
    for function in functions:
        if function in scalar:
            continue
        if function.is_external:
            declare_accesses(function)
        elif not tir.is_prim_func(function):
            refuse_graph_ops(function)
            materialize_constants(function)
            tir.plain_types(function)
            own_results(function)
            separate_outputs(function)
    for kernel in kernels:
        tie_results(kernel)
    eliminate_empty_tensors(module, [f for f in functions if not tir.is_prim_func(f) and f not in scalar])
    for kernel in kernels:
        drop_ties(kernel)
    run_on(module.operation, UPSTREAM)
    in_place = {function.name.value for function in (*kernels, *declared) if drop_results(function)}
    calls = calls_in(module)
    drop_call_results([c for c in calls if c.operation.attributes["callee"].value in in_place])
    extract_workspaces(kernels, calls_in(module), stack_bytes)
    run_on(module.operation, "cse")


def refuse_graph_ops(function: func.FuncOp) -> None:
    """PassFailed for a graph op that no rule has legalized: upstream would say no more than that it "was not bufferized"."""
    for op in graph_ops(function):
        if not isinstance(op, tensor.ConcatOp):  # upstream's own: it can be bufferized
            raise PassFailed("it is still an op of the graph: run relax-legalize first", op)


def calls_in(module: ir.Module) -> list[ir.Operation]:
    """Every ``func.call`` in the functions of ``module``."""
    callers = [op for op in module.body.operations if op.operation.name == "func.func" and not tir.is_prim_func(op)]
    return [call for caller in callers for call in find(caller.operation, "func.call")]


def terminator(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    return block.operations[len(block.operations) - 1].operation


def destination(value: ir.Value) -> ir.Value | None:
    """The tensor in whose place ``value`` is computed, all of it: followed through loops, structured ops and reshapes."""
    while not isinstance(value.owner, ir.Block):
        owner = value.owner
        if owner.name in RESHAPES:
            value = owner.operands[0]
        elif owner.name == "scf.for":
            value = owner.operands[3 + value.result_number]
        elif owner.name in INTO or owner.name == "scf.forall" or owner.name.startswith("linalg."):
            value = owner.operands[INTO.get(owner.name, len(owner.operands) - len(owner.results) + value.result_number)]
        else:
            return None
    return value


def tie_results(kernel: func.FuncOp) -> None:
    """Says that each returned value is to lie in its output argument.

    Upstream's fusions cut that tie (they replace an unread ``outs`` by a ``tensor.empty``). ``eliminate-empty-tensors`` follows it back
    through the producers; a value that cannot be computed in place is copied.
    """
    block = kernel.body.blocks[0]
    last = terminator(block)
    count = len(last.operands)
    outputs = list(block.arguments)[len(block.arguments) - count:]
    for i, (value, out) in enumerate(zip(list(last.operands), outputs, strict=True)):
        if value.type != out.type:
            raise PassFailed(f"kernel '{kernel.name.value}' returns {value.type} for its output of {out.type}", kernel.operation)
        if (found := destination(value)) is not None and found == out:
            continue
        with ir.InsertionPoint(last), last.location:
            last.operands[i] = bufferization.MaterializeInDestinationOp(out.type, value, out).result


def drop_ties(kernel: func.FuncOp) -> None:
    """Takes the ties away that hold by themselves: to write a loop's result to where the loop computes it is a conflict for upstream."""
    last = terminator(kernel.body.blocks[0])
    for i, value in enumerate(list(last.operands)):
        tie = value.owner
        if isinstance(tie, ir.Block) or tie.name != "bufferization.materialize_in_destination":
            continue
        result, out = tie.operands
        if (found := destination(result)) is not None and found == out:
            last.operands[i] = result
            tie.erase()


def eliminate_empty_tensors(module: ir.Module, others: list[func.FuncOp]) -> None:
    """Computes in place what ends in an output. Main is spared: a slice of a tensor cannot be an operand of a kernel without a copy."""
    for function in others:
        function.operation.detach_from_parent()
    try:
        run_on(module.operation, "eliminate-empty-tensors")
    finally:
        for function in others:
            module.body.append(function)


def declare_accesses(function: func.FuncOp) -> None:
    """A function without a body reads its inputs and writes its outputs; were it not said, every operand would be copied."""
    tir.plain_types(function)
    plain, results = list(function.type.inputs), [] if RETURNS in function.attributes else list(function.type.results)
    given = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else [{}] * len(plain)
    attributes = []
    for i, old in enumerate(given):
        new = {a.name: a.attr for a in old} if old else {}
        new["bufferization.access"] = ir.StringAttr.get("read" if i < len(plain) - len(results) else "write")
        attributes.append(ir.DictAttr.get(new))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def drop_results(function: func.FuncOp) -> bool:
    """Takes away the results of a destination-passing function; False for one that has none. Its outputs are what it returned."""
    results = len(function.type.results)
    if not results or RETURNS in function.attributes:
        return False
    inputs = list(function.type.inputs)
    if not function.is_external:
        last = terminator(function.body.blocks[0])
        outputs = list(function.arguments)[len(inputs) - results:]
        for value, out in zip(last.operands, outputs, strict=True):
            if (found := destination(value)) is None or found != out:
                raise PassFailed(f"kernel '{function.name.value}': the result that belongs into output {out.arg_number} was not computed "
                                 f"there, but is {origin(value)}", function.operation)
        with ir.InsertionPoint(last), last.location:
            func.ReturnOp([])
        last.erase()
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]
    return True


def drop_call_results(calls: list[ir.Operation]) -> None:
    """Calls of functions without results any more: who read a result reads the output operand."""
    for call in calls:
        operands, count = list(call.operands), len(call.results)
        for result, out in zip(list(call.results), operands[len(operands) - count:], strict=True):
            result.replace_all_uses_with(out)
        with ir.InsertionPoint(call), call.location:
            new = func.CallOp([], call.attributes["callee"], operands)
        origins.inherit(new.operation, call)
        call.erase()
