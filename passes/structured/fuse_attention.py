"""tir-fuse-attention: merges the kernels of an attention, from the product of queries and keys to that with values, into one.

Elementwise kernels between these are merged along: scales, masks, biases. So are those that transpose queries, keys, values or the result,
which a kernel that copies its operands into blocks reads in any order, and those that cut what is transposed from one tensor of all.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from legato.analysis.structured import CONTRACTION, ELEMENTWISE, REDUCTION, StructuredKernels
from legato.core.interfaces import TargetLike
from legato.core.ir_helpers import body, defining_op, index, present
from legato.core.mlir import func, ir, tensor
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.passes.graph.functions import CONSTANT, has_one_use, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.fuse import Fuser
from legato.passes.structured.fusion_groups import Call, FusionGroup
from legato.passes.structured.inlining import inline_kernels
from legato.passes.structured.sizes import size_sources
from legato.passes.structured.unit_views import fold_unit_views

MOST_BETWEEN = 8  # elementwise kernels in a row


@dataclass(frozen=True)
class FuseAttention(ModulePass):
    """Merges the kernels of an attention into one, where the target computes it as one.

    Runs inline and symbol-dce inside, on modules of its own with the kernels that are merged, and canonicalize and cse before it asks the
    target. Kernels without calls are left for symbol-dce. An executable of a target with the option fuse-attention=false, as in
    llvm{fuse-attention=false}, is made without this pass.
    """

    name: ClassVar[str] = "tir-fuse-attention"
    target: TargetText = option("llvm", "which decides what it computes as one kernel")
    unit_axes: bool = option(False, "whether the kernel reads axes of length 1 at 0, in place of reshapes without them")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        with module.context, ir.Location.unknown():
            AttentionFuser(module.module, relax_functions(module), context.kernels, target, self.unit_axes).run()


class AttentionFuser(Fuser):
    """One run of the pass over one module."""

    def __init__(self, module: ir.Module, functions: list[func.FuncOp], kernels: StructuredKernels, target: TargetLike,
                 unit_axes: bool):
        super().__init__(module, functions, kernels)
        self.target = target
        self.unit_axes = unit_axes
        self.home = {k.name.value: k for k in tir.prim_funcs(module)}
        self.kernels = kernels
        self.sources: dict[str, list[tuple[int, int] | None]] = {}
        self.taken: dict[Any, bool] = {}  # whether the target takes the kernel of a group, by its wiring

    def groups(self, block: ir.Block) -> list[FusionGroup]:
        """The groups of calls of a block that become an attention each."""
        calls = {op.operation: self.call(op) for op in block.operations
                 if isinstance(op, func.CallOp) and op.attributes["callee"].value in self.kinds and len(op.results)}
        for call in calls.values():
            self._forward_sizes(call)
        found = []
        free = dict(calls)
        for call in calls.values():
            group = next((group for group in self._candidates(call, free) if self._takes(group)), None)
            if group is not None:
                found.append(group)
                for member in group.calls:
                    del free[member.op.operation]
        return found

    @staticmethod
    def _forward_sizes(call: Call) -> None:
        """Sizes of a call's result become those that it was allocated with, so that they do not keep the result alive."""
        type_ = call.result.type
        dynamic = [dim for dim in range(type_.rank) if type_.is_dynamic_dim(dim)]
        for use in list(call.result.uses) if call.fresh and dynamic else ():
            op = use.owner.operation
            place = constant_of(op.operands[1]) if op.name == "tensor.dim" else None
            if place in dynamic:
                op.results[0].replace_all_uses_with(call.outputs[0].owner.operands[dynamic.index(place)])
                op.erase()

    # --- candidates ---

    def _candidates(self, call: Call, calls: dict[ir.Operation, Call]) -> Iterator[FusionGroup]:
        """The groups whose product with values is ``call``: with the kernels that only move operands and the result, then without."""
        if call.kind != CONTRACTION or call.op.operation not in calls:
            return
        for value in call.inputs:
            chain = self._softmax(value, call, calls)
            if chain is None or any(self._is_constant(operand) for one in (call, chain[0]) for operand in one.inputs):
                continue
            moves = [move for one in (chain[0], call) for move in self._moves(one, [*chain, call], calls)]
            after = self._moved_result(call, calls)
            for extra in ([*moves, *after], moves, []):
                yield FusionGroup(sorted([*chain, call, *extra], key=list(calls.values()).index))
                if not extra:
                    break

    def _producer(self, value: ir.Value, calls: dict[ir.Operation, Call], readers: Sequence[Call] = ()) -> Call | None:
        """The call that makes a value which one other, or only ``readers``, read."""
        owner = defining_op(value)
        call = calls.get(owner) if owner is not None else None
        if call is None or not call.fresh:
            return None
        known = [reader.op.operation for reader in readers]
        return call if has_one_use(value) or all(use.owner.operation in known for use in value.uses) else None

    def _softmax(self, value: ir.Value, reader: Call, calls: dict[ir.Operation, Call]) -> list[Call] | None:
        """The calls from a product over elementwise kernels, a softmax and elementwise kernels to a value."""
        after, softmax = self._elementwise(value, [reader], calls, REDUCTION)
        if softmax is None or len(read := self._reads(softmax)) != 1:
            return None
        before, product = self._elementwise(read[0], [softmax], calls, CONTRACTION)
        return None if product is None else [product, *before, softmax, *after]

    def _elementwise(self, value: ir.Value, readers: list[Call], calls: dict[ir.Operation, Call],
                     kind: str) -> tuple[list[Call], Call | None]:
        """The elementwise calls between a call of a kind and a value, and that call; None where there is none. ``readers``: the calls
        from the value on. A value in between may be read twice, as x in ``where(isnan(x), 0, x)``: by what the chain consists of."""
        chain: list[Call] = []
        call = self._producer(value, calls, readers)
        while call is not None and call.kind == ELEMENTWISE and len(chain) < MOST_BETWEEN:
            chain.insert(0, call)
            read = self._reads(call)
            behind = [*chain, *readers]
            ways = [self._elementwise(operand, behind, calls, kind) for operand in read] if len(read) > 1 else []
            if ways:
                reached = [way for way in ways if way[1] is not None]
                return ([*reached[0][0], *chain], reached[0][1]) if len(reached) == 1 else (chain, None)
            call = self._producer(read[0], calls, behind) if read else None
        return chain, call if call is not None and call.kind == kind else None

    def _moves(self, call: Call, chain: list[Call], calls: dict[ir.Operation, Call]) -> list[Call]:
        """The kernels that transpose a product's operands, with elementwise ones after them and slices before, and those that widen
        operands."""
        found: list[Call] = []
        for value in call.inputs:
            made: list[Call] = []
            one = self._producer(value, calls)
            while one is not None and one not in chain and one.inputs and (one.kind == ELEMENTWISE or self._transposes(one)):
                made.append(one)
                if self._transposes(one) or len(made) == MOST_BETWEEN:
                    break
                one = self._producer(self._reads(one)[0], calls) if self._reads(one) else None
            if made and self._transposes(made[-1]):
                cut = self._producer(self._reads(made[-1])[0], calls)
                found += [*made, cut] if cut is not None and self._slices(cut) else made
            else:
                found += [one for one in made[:1] if self._widens(one)]
        return found

    def _moved_result(self, call: Call, calls: dict[ir.Operation, Call]) -> list[Call]:
        """The kernels of one input that convert or transpose the result, as far as nothing else reads what is in between."""
        found: list[Call] = []
        while has_one_use(call.result) and call.fresh and len(found) < MOST_BETWEEN:
            reader = calls.get(next(iter(call.result.uses)).owner.operation)
            if reader is None or len(self._reads(reader)) != 1 or not (reader.kind == ELEMENTWISE or self._transposes(reader)):
                break
            found.append(reader)
            call = reader
        return found

    def _transposes(self, call: Call) -> bool:
        """Whether a kernel is one elementwise op that reads its input transposed."""
        ops = self.kernels.of(self.home[call.callee]).structured
        return len(ops) == 1 and len(self._reads(call)) == 1 and not ops[0].reads_in_order

    def _slices(self, call: Call) -> bool:
        """Whether a kernel only takes a slice, at a known place, of neighbours along the axes, whole along the last one: what lies together
        does so before."""
        *sizes, op = body(self.home[call.callee].body.blocks[0])
        if op.name != "tensor.extract_slice" or any(one.name not in ("tensor.dim", "arith.constant") for one in sizes):
            return False
        given, taken = op.operands[0].type, op.results[0].type
        plain = all(step == 1 for step in op.attributes["static_strides"]) and all(at >= 0 for at in op.attributes["static_offsets"])
        return plain and given.rank == taken.rank and given.shape[-1] == taken.shape[-1] >= 0

    def _widens(self, call: Call) -> bool:
        """Whether a kernel does nothing but to widen half floats."""
        ops = self.kernels.of(self.home[call.callee]).structured
        return len(ops) == 1 and ops[0].body_names == ["arith.extf", "linalg.yield"]

    @staticmethod
    def _reads(call: Call) -> list[ir.Value]:
        """The inputs of a call whose elements it reads: tensors without any are inputs for the sake of their sizes."""
        return [value for value in call.inputs if (owner := defining_op(value)) is None or owner.name != "tensor.empty"]

    @staticmethod
    def _is_constant(value: ir.Value) -> bool:
        """Whether a value is a weight, which a kernel of one product reads packed."""
        owner = defining_op(value)
        return owner is not None and owner.name == CONSTANT

    # --- the merged kernel ---

    def _takes(self, group: FusionGroup) -> bool:
        """Whether the target computes the merged kernel of a group as one."""
        wiring, inputs = self.wiring(group)
        key = tuple(wiring)
        if key not in self.taken:
            self.taken[key] = self._has_sizes(group) and self._takes_merged(group, wiring, inputs)
        return self.taken[key]

    def _takes_merged(self, group: FusionGroup, wiring: list[Any], inputs: list[ir.Value]) -> bool:
        trial = ir.Module.create()
        for name in dict.fromkeys(call.callee for call in group.calls):
            trial.body.append(self.home[name].operation.clone())
        self.build_in(trial, None, group, wiring, inputs, ir.Location.unknown())
        inline_kernels(trial)
        run_on(trial.operation, "canonicalize,cse")
        kernel = next(iter(tir.prim_funcs(trial)))
        if self.unit_axes:
            fold_unit_views(kernel)
        return self.target.fuses_attention(StructuredKernels().of(kernel))

    def finish(self) -> None:
        """Moves the merged kernels to the module."""
        super().finish()
        merged = {call.attributes["callee"].value for call in self.new_calls} if self.unit_axes else set()
        for kernel in tir.prim_funcs(self.module):
            if kernel.name.value in merged:
                fold_unit_views(kernel)

    def _has_sizes(self, group: FusionGroup) -> bool:
        """Whether the sizes of results inside of the merged kernel are those of its inputs."""
        return all(source is not None for call in group.calls[:-1] for dim, source in enumerate(self._sources(call))
                   if call.result.type.is_dynamic_dim(dim))

    def _sources(self, call: Call) -> list[tuple[int, int] | None]:
        """For each dimension of a call's result, an input of the same size: its number, and its dimension."""
        if call.callee not in self.sources:
            self.sources[call.callee] = size_sources(self.home[call.callee])[0]
        return self.sources[call.callee]

    def name_of(self, group: FusionGroup) -> str:
        """The name of a group's kernel."""
        return "fused_attention"

    def between(self, call: Call, inputs: list[ir.Value], type_: ir.Type, out: ir.Value) -> ir.Value:
        """An empty tensor for the result of a call inside of a kernel; its dynamic sizes are those of the call's inputs."""
        shape: list[int | ir.Value] = []
        for dim, source in enumerate(self._sources(call)):
            if type_.is_dynamic_dim(dim):
                number, place = present(source)
                shape.append(tensor.dim(inputs[number], index(place)))
            else:
                shape.append(type_.get_dim_size(dim))
        return tensor.EmptyOp(shape, type_.element_type).result
