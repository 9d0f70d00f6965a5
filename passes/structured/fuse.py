"""tir-fuse: merges neighbouring kernels into one prim_func; equal groups share one.

A group is of calls whose results, but for the last one's, are read inside the group alone: elementwise kernels after a contraction, a
window or a reduction, before a reduction, or among themselves. A group becomes a function of calls, which upstream's inliner turns into one
kernel; main keeps one call of it. Kernels without calls are left for symbol-dce.
"""
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from legato.analysis.patterns.graph import graph_blocks
from legato.analysis.structured import ELEMENTWISE, REDUCTION, WINDOW, StructuredKernel, StructuredKernels
from legato.analysis.structured.pool import PoolForm
from legato.core.ir_helpers import constant_number, defining_op
from legato.core.mlir import func, ir, tensor
from legato.core.slices import dim
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.passes.graph.functions import is_used, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.structured.fusion_groups import Call, FusionGroup, may_join, widened_at_end
from legato.passes.structured.inlining import inline_kernels

SLICE = "tensor.extract_slice"
SIZES = ("tensor.dim", "arith.constant", "arith.addi", "arith.subi", "arith.muli", "arith.minsi", "arith.maxsi")


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


def _measures(inputs: list[ir.Value], sizes: Sequence[ir.Value]) -> tuple[tuple[int, int], ...] | None:
    """For each size, the number of an input, and the dimension of it that has this size; None where there is none of some."""
    known = [(number, axis, value) for number, input_ in enumerate(inputs) for axis, value in _sizes_of(input_)]
    found = []
    for size in sizes:
        place = next(((number, axis) for number, axis, value in known if value == size), None)
        measure = defining_op(size)
        if place is None and measure is not None and measure.name == "tensor.dim":
            axis, source = constant_number(measure.operands[1]), measure.operands[0]
            place = next(((number, int(axis)) for number, input_ in enumerate(inputs) if input_ == source and axis is not None), None)
        if place is None:
            return None
        found.append(place)
    return tuple(found)


def _sizes_of(value: ir.Value) -> list[tuple[int, ir.Value]]:
    """The dynamic dimensions of what a call makes, and the sizes that its memory is allocated with."""
    call = defining_op(value)
    if call is None or not isinstance(call.opview, func.CallOp) or not isinstance(value.type, ir.RankedTensorType):
        return []
    empty = defining_op(list(call.operands)[ir.OpResult(value).result_number - len(call.results)])
    if empty is None or empty.name != "tensor.empty":
        return []
    return list(zip([axis for axis in range(value.type.rank) if value.type.is_dynamic_dim(axis)], empty.operands, strict=True))


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
        self.in_order |= dict.fromkeys(self.gathers - self.slices, False)
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
            calls[op.operation] = call
            groups[call.group] = None
            self.extend(call, calls, groups)
        return list(groups)

    def extend(self, call: Call, calls: dict[Any, Call], groups: dict[FusionGroup, None]) -> None:
        """Begins a group of a call and of the groups whose results only these read: what several calls read is taken with the last of
        them."""
        group = call.group
        group.calls, group.waiting = [call], [(call, producer) for producer in self.producers(call, calls)]
        found = True
        while found:
            found, waiting, group.waiting = False, group.waiting, []
            for reader, producer in waiting:
                given = producer.group
                if given is group or given.calls[-1] is not producer:
                    continue
                if any((user := calls.get(use.owner.operation)) is None or user.group is not group for use in producer.result.uses):
                    group.waiting.append((reader, producer))
                elif reader is not call and not all(one.in_order for one in (*given.calls, *group.calls)):
                    continue    # of what is read in two orders one would be a tensor of the kernel
                elif may_join(producer, reader, group):
                    del groups[given]
                    group.take(given, len(given.calls))
                    found = True
                elif moved := widened_at_end(given, reader, group):
                    group.take(given, len(moved))
                    found = True

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
        measures = _measures(operands[:-1], sizes) if fresh and sizes and count == 1 else None
        return Call(op, callee, kind, self.in_order[callee], (_static_shape(op.results[0]), sizes), FusionGroup(), fresh, measures)

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
        key = tuple(wiring), tuple(call.measured for call in group.calls)
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
        """An empty tensor for the result of a call inside of a kernel, of ``type_``; its dynamic sizes are those of ``out``, which has its
        shape, or of the call's inputs."""
        dynamic = [i for i in range(type_.rank) if type_.is_dynamic_dim(i)]
        measured = call.measured
        sizes = [dim(out, i) for i in dynamic] if measured is None else [dim(inputs[number], axis) for number, axis in measured]
        shape = list(type_.shape)
        for i, size in zip(dynamic, sizes, strict=True):
            shape[i] = size
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
                                  "do so; reductions take slices")

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            Fuser(module.module, relax_functions(module), context.kernels, self.gathers).run()
