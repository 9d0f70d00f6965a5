"""tir-fuse: merges neighbouring kernels into one prim_func; equal groups share one.

A group is of calls whose results, but for the last one's, are read inside the group alone: elementwise kernels after a contraction, a
window or a reduction, before a reduction, or among themselves. A group becomes a function of calls, which upstream's inliner turns into one
kernel; main keeps one call of it. Kernels without calls are left for symbol-dce.
"""
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from legato.analysis.patterns.graph import graph_blocks
from legato.analysis.structured import ELEMENTWISE, REDUCTION, WINDOW, StructuredKernel, StructuredKernels
from legato.analysis.structured.pool import PoolForm
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir, tensor
from legato.core.slices import dim
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.passes.graph.functions import is_used, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.structured.inlining import inline_kernels

SLICE = "tensor.extract_slice"
SIZES = ("tensor.dim", "arith.constant", "arith.addi", "arith.subi", "arith.muli", "arith.minsi", "arith.maxsi")
MAX_CALLS = 40  # longest group, to limit registers and compile time: a residual block of a quantized model has 31


@dataclass(eq=False)
class Call:
    """A call of a kernel in main, or in a branch or loop of it. ``kind``: the kernel's class; ``group``: the group it is in; ``fresh``:
    whether its output is empty before it."""

    op: func.CallOp
    callee: str
    kind: str
    in_order: bool  # whether no operand is read transposed
    shape: tuple[Any, ...]  # of the one result: its static shape, and the values of its dynamic sizes
    group: "FusionGroup"
    fresh: bool

    @property
    def result(self) -> ir.Value:
        """The call's first result."""
        return self.op.results[0]

    # properties, because fusing another group replaces operands
    @property
    def inputs(self) -> list[ir.Value]:
        """The operands that the kernel reads."""
        return list(self.op.operation.operands)[: -len(self.op.results)]

    @property
    def outputs(self) -> list[ir.Value]:
        """The operands that the kernel writes (destinations)."""
        return list(self.op.operation.operands)[-len(self.op.results):]


@dataclass(eq=False)
class FusionGroup:
    """Calls that become one kernel, in program order; the last one's result is the group's."""

    calls: list[Call] = field(default_factory=list)

    @property
    def heavy(self) -> str | None:
        """The kind of the one call that is not elementwise, if there is one."""
        return next((c.kind for c in self.calls if c.kind != "elementwise"), None)

    def take(self, calls: list[Call]) -> None:
        """Puts calls of another group in front."""
        self.calls = calls + self.calls
        for call in calls:
            call.group = self


def may_join(producer: Call, consumer: Call, group: FusionGroup) -> bool:
    """Whether the producer's group, whose only reader is the consumer, may be merged into the consumer's group."""
    if not producer.fresh:
        return False  # the kernel of the group would start from an empty tensor in place of what the output holds
    theirs = producer.group.heavy
    if len(producer.group.calls) + len(group.calls) > MAX_CALLS or "opaque" in (theirs, consumer.kind):
        return False
    alone = theirs is None and group.heavy is None and consumer.kind == "elementwise"
    if not alone and not (consumer.in_order and all(call.in_order for call in (*producer.group.calls, *group.calls))):
        return False  # what is transposed is a kernel of its own
    if consumer.kind == "elementwise":
        return producer.shape == consumer.shape and (theirs is None or group.heavy is None)
    return consumer.kind == "reduction" and theirs is None and fits_prologue(producer, consumer)


def widened_at_end(given: FusionGroup, consumer: Call, group: FusionGroup) -> list[Call]:
    """The calls at the end of a group that only widen its narrowest value, element by element, for an elementwise consumer in a group that
    cannot take all of them: that one takes these, so that the narrow value is what goes through memory."""
    if consumer.kind != "elementwise" or not all(call.in_order for call in (consumer, *group.calls)):
        return []
    calls, at = given.calls, len(given.calls)
    widest = width = element_bytes(calls[-1].result.type.element_type)
    for number in range(len(calls) - 1, 0, -1):
        call, before = calls[number], calls[number - 1]
        fits = call.kind == "elementwise" and call.in_order and call.fresh and call.shape == before.shape == consumer.shape
        if not fits or [value for value in call.inputs if value.owner in {c.op.operation for c in calls}] != [before.result]:
            break
        if (bytes_ := element_bytes(before.result.type.element_type)) < width:
            width, at = bytes_, number
    together = len(calls) - at + len(group.calls)
    return calls[at:] if width < widest and together <= MAX_CALLS else []


def fits_prologue(producer: Call, consumer: Call) -> bool:
    """Whether a producer can be merged before a reduction: its shape is the reduction's, or static, so that its sizes are
    known inside of the kernel.
    """
    static = all(not producer.result.type.is_dynamic_dim(i) for i in range(producer.result.type.rank))
    return producer.result == consumer.inputs[0] and (static or producer.shape == consumer.shape)


def is_gather(kernel: StructuredKernel) -> bool:
    """Whether a kernel is one op that takes each element of its result from a computed place."""
    ops = kernel.structured
    return len(ops) == 1 and ops[0].gathers and ops[0].parallel and ops[0].writes_plainly and ops[0].op.name == "linalg.generic"


def is_slice(kernel: StructuredKernel) -> bool:
    """Whether a kernel is a slice, or a copy of one."""
    copies = kernel.structured
    if any(op.name not in (*SIZES, SLICE, "linalg.generic", "func.return") for op in kernel.ops) or len(kernel.ops[-1].operands) != 1:
        return False
    found = defining_op(kernel.ops[-1].operands[0])
    if len(copies) == 1 and copies[0].op == found and copies[0].is_copy and copies[0].writes_plainly:
        found, copies = defining_op(copies[0].inputs[0]), []
    return not copies and found is not None and found.name == SLICE


def _static_shape(value: ir.Value) -> tuple[int, ...]:
    """The static sizes of a tensor; () for a value that is none."""
    return tuple(value.type.shape) if isinstance(value.type, ir.RankedTensorType) else ()


class Fuser:
    """One run of the pass over one module."""

    def __init__(self, module: ir.Module, functions: list[func.FuncOp], kernels: StructuredKernels, gathers: bool = False):
        self.module, self.functions = module, functions
        found = {k.name.value: kernels.of(k) for k in tir.prim_funcs(module)}
        self.kinds = {name: WINDOW if kernel.kind == REDUCTION and PoolForm.of(kernel) is not None else kernel.kind    # reads what is given
                      for name, kernel in found.items()}
        self.in_order = {name: all(op.reads_in_order for op in kernel.structured if op.kind == ELEMENTWISE)
                         for name, kernel in found.items()}
        self.slices = {name for name, kernel in found.items() if gathers and is_slice(kernel)}
        self.gathers = self.slices | {name for name, kernel in found.items() if gathers and is_gather(kernel)}
        self.kinds |= dict.fromkeys(self.gathers, ELEMENTWISE)
        self.in_order |= dict.fromkeys(self.gathers, False)
        self.made: dict[Any, str] = {}
        self.workshop = ir.Module.create()  # a module with kernels only, for the inliner
        self.symbols = ir.SymbolTable(self.workshop.operation)
        self.bring: set[str] = set()
        self.new_calls: list[func.CallOp] = []

    def run(self) -> None:
        """Replaces all groups of more than one call by calls of fused kernels."""
        for function in self.functions:
            for block in graph_blocks(function):
                self.repeat_slices(block)
                for group in self.groups(block):
                    if len(group.calls) > 1:
                        self.replace(group)
        self.finish()

    def groups(self, block: ir.Block) -> list[FusionGroup]:
        """Partitions the kernel calls of a block into groups."""
        calls: dict[Any, Call] = {}
        groups: dict[FusionGroup, None] = {}  # in program order; a list would be searched at each merge
        for op in block.operations:
            if not isinstance(op, func.CallOp) or op.attributes["callee"].value not in self.kinds or not len(op.results):
                continue  # a call without results writes buffers
            call = self.call(op)
            group = call.group
            group.calls.append(call)
            groups[group] = None
            calls[op.operation] = call
            while self.extend(group, calls, groups):
                pass
        return list(groups)

    def extend(self, group: FusionGroup, calls: dict[Any, Call], groups: dict[FusionGroup, None]) -> bool:
        """Merges groups whose results only this group reads into it. Returns whether there was one: its own operands may follow, as
        values that several calls of the group read."""
        inside = {call.op.operation for call in group.calls}
        last = group.calls[-1]
        found = False
        for reader in reversed(group.calls):
            for producer in self.producers(reader, calls):
                if producer.group is group or producer.group.calls[-1] is not producer:
                    continue
                if any(use.owner.operation not in inside for use in producer.result.uses):
                    continue
                if reader is not last and not all(call.in_order for call in (*producer.group.calls, *group.calls)):
                    continue    # of what is read in two orders one would be a tensor of the kernel
                if may_join(producer, reader, group):
                    del groups[producer.group]
                    taken = producer.group.calls
                elif taken := widened_at_end(producer.group, reader, group):
                    producer.group.calls = producer.group.calls[: -len(taken)]
                else:
                    continue
                group.take(taken)
                inside |= {call.op.operation for call in taken}
                found = True
        return found

    def producers(self, reader: Call, calls: dict[Any, Call]) -> list[Call]:
        """The calls whose results a call reads in the order of its own, the last operand's first."""
        if reader.callee in self.gathers:
            return []    # what is read in any order is in memory
        found = [calls[owner] for value in reversed(reader.inputs) if (owner := defining_op(value)) in calls]
        if self.gathers:     # a kernel that takes slices takes no contraction, which saves more
            found.sort(key=lambda one: one.group.heavy is None)
        return found

    def repeat_slices(self, block: ir.Block) -> None:
        """Gives each reader of a slice a call of its own, where all of them are elementwise and of its shape, so that they take it."""
        for op in [op for op in block.operations if isinstance(op, func.CallOp) and op.attributes["callee"].value in self.slices]:
            readers = list(dict.fromkeys(use.owner.operation for use in op.results[0].uses))
            if len(readers) < 2 or not all(self.takes_slice(reader, op) for reader in readers):
                continue
            for reader in readers[1:]:
                with ir.InsertionPoint(op):
                    copy = op.operation.clone()
                for number, value in enumerate(reader.operands):
                    if value == op.results[0]:
                        reader.operands[number] = copy.results[0]

    def takes_slice(self, reader: ir.Operation, slice_: func.CallOp) -> bool:
        """Whether a reader of a slice is a call of an elementwise kernel of its shape, in the same block."""
        if not isinstance(reader.opview, func.CallOp) or reader.block != slice_.operation.block:
            return False
        callee = reader.attributes["callee"].value
        if self.kinds.get(callee) != ELEMENTWISE or callee in self.gathers or len(reader.results) != 1:
            return False
        return self.call(reader.opview).shape == self.call(slice_).shape and slice_.results[0] not in list(reader.operands)[-1:]

    def call(self, op: func.CallOp) -> Call:
        """Reads one call; its group is empty."""
        callee = op.attributes["callee"].value
        operands, count = list(op.operation.operands), len(op.results)
        kind = self.kinds[callee] if count == 1 else "opaque"
        empty = operands[-1].owner
        sizes: tuple[Any, ...] = ("not allocated here", op)
        fresh = not isinstance(empty, ir.Block) and empty.name == "tensor.empty"
        if fresh:
            sizes = tuple(empty.operands)
        return Call(op, callee, kind, self.in_order[callee], (_static_shape(op.results[0]), sizes), FusionGroup(), fresh)

    @staticmethod
    def wiring(group: FusionGroup) -> tuple[list[Any], list[ir.Value]]:
        """What each call of a group reads: results of others, or inputs of the group by their numbers; and these inputs."""
        inner = {c.result: i for i, c in enumerate(group.calls)}
        inputs: list[ir.Value] = []
        wiring = []
        for call in group.calls:
            wires = []
            for value in call.inputs:
                if value in inner:
                    wires.append(("result", inner[value]))
                    continue
                if value not in inputs:
                    inputs.append(value)
                wires.append(("input", inputs.index(value)))
            wiring.append((call.callee, tuple(wires), call.result.type))
        return wiring, inputs

    def replace(self, group: FusionGroup) -> None:
        """Replaces the calls of a group by one call of its fused kernel."""
        wiring, inputs = self.wiring(group)
        last = group.calls[-1]
        key = tuple(wiring)
        location = ir.Location.fused([c.op.location for c in group.calls])
        if key not in self.made:
            self.made[key] = self.build(group, wiring, inputs, location)
        with ir.InsertionPoint(last.op), location:
            new = func.CallOp([last.result.type], ir.FlatSymbolRefAttr.get(self.made[key]), [*inputs, *last.outputs])
        origins.inherit(new.operation, *(c.op.operation for c in group.calls))
        self.new_calls.append(new)
        last.result.replace_all_uses_with(new.results[0])
        for call in reversed(group.calls):
            empty = call.outputs[0].owner
            call.op.operation.erase()
            if call is not last and not isinstance(empty, ir.Block) and not is_used(empty.results[0]):
                empty.erase()

    def build(self, group: FusionGroup, wiring: list[Any], inputs: list[ir.Value], location: ir.Location) -> str:
        """Makes a kernel of calls in the workshop; ``finish`` inlines all of them at once."""
        self.bring.update(c.callee for c in group.calls)
        return self.build_in(self.workshop, self.symbols, group, wiring, inputs, location)

    def build_in(self, module: ir.Module, symbols: ir.SymbolTable | None, group: FusionGroup, wiring: list[Any], inputs: list[ir.Value],
                 location: ir.Location) -> str:
        """Makes a kernel of calls in a module. Returns its name."""
        def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
            results: list[ir.Value] = []
            for call, (callee, wires, type_) in zip(group.calls, wiring):
                values = [results[i] if kind == "result" else ins[i] for kind, i in wires]
                target = outs[0] if call is group.calls[-1] else self.between(call, values, type_, outs[0])
                results.append(func.CallOp([type_], ir.FlatSymbolRefAttr.get(callee), [*values, target], loc=call.op.location).results[0])
            return [results[-1]]

        kernel = tir.prim_func(module, self.name_of(group), [v.type for v in inputs], [group.calls[-1].result.type], body, location,
                               symbols)
        kernel.attributes["sym_visibility"] = ir.StringAttr.get("public")
        return kernel.name.value

    def name_of(self, group: FusionGroup) -> str:
        """The name of a group's kernel."""
        return "fused_" + "_".join(short(c.callee) for c in group.calls)[:60].rstrip("_")

    def between(self, call: Call, inputs: list[ir.Value], type_: ir.Type, out: ir.Value) -> ir.Value:
        """An empty tensor for the result of a call inside of a kernel, of ``type_``; its dynamic sizes are those of ``out``."""
        shape = [dim(out, i) if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
        return tensor.EmptyOp(shape, type_.element_type).result

    def finish(self) -> None:
        """Inlines the calls in all fused kernels and moves the kernels into the module."""
        home = {k.name.value: k for k in tir.prim_funcs(self.module)}
        for name in self.bring:
            self.workshop.body.append(home[name].operation.clone())
        inline_kernels(self.workshop)
        table = ir.SymbolTable(self.module.operation)
        renamed: dict[str, str] = {}
        for kernel in list(self.workshop.body.operations):
            before = kernel.name.value
            kernel.operation.detach_from_parent()
            kernel.attributes["sym_visibility"] = ir.StringAttr.get("private")
            self.module.body.append(kernel)
            table.insert(kernel)
            renamed[before] = kernel.name.value
        for call in self.new_calls:
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(renamed[call.attributes["callee"].value])


def short(callee: str) -> str:
    """A kernel's name without prefix and number."""
    return re.sub(r"_\d+$", "", callee.removeprefix("fused_").removeprefix("kernel_"))


@dataclass(frozen=True)
class Fuse(ModulePass):
    """Merges neighbouring kernels: elementwise ones with contractions, windows, reductions and each other.

    Shapes are compared by the values of their dynamic sizes, which func.func(cse) before it makes one value. The merged kernel has the ops
    of all; linalg-fuse-elementwise-ops after it makes them one where it can, and tir-tie-outputs then restores what that cuts.
    Runs inline and symbol-dce inside, on a module of its own with the kernels that are merged: on the whole module, inline would put
    every kernel into main.
    """

    name: ClassVar[str] = "tir-fuse"
    completed_by: ClassVar[tuple[str, ...]] = ("linalg-fuse-elementwise-ops", "tir-tie-outputs")
    gathers: bool = option(False, "elementwise kernels take slices, and what they read from computed places, in the place of kernels that "
                                  "do so")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            Fuser(module.module, relax_functions(module), context.kernels, self.gathers).run()
