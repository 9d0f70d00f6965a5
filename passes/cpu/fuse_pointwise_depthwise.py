"""tir-fuse-pointwise-depthwise: a pointwise convolution and the depthwise one that reads its result, as one kernel of loops
(``fused_windows``): what would be written to memory, and read again, stays in the cache.
"""
from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from legato.analysis.structured import StructuredKernels
from legato.analysis.structured.depthwise import DepthwiseForm
from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import VIEWS
from legato.analysis.structured.window import are_known
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import ancestors, copy, defining_op
from legato.core.mlir import bufferization, func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.relax import origins
from legato.dialects.relax.dim import Size
from legato.dialects.relax.sizes import product
from legato.dialects.tir.state import SCHEDULED, set_state
from legato.passes.cpu.depthwise_convolutions import depthwise_tiles
from legato.passes.cpu.direct.pointwise import pack, panels_of
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.fused_windows import FusedForm, build_loops
from legato.passes.cpu.kernel_loops import give_transformed
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.graph.functions import Constants, has_one_use
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.count_work import graph_sizes
from legato.passes.structured.fuse import short
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

SHARE = 2       # of the second cache, its inverse, that rows take


@dataclass(frozen=True)
class FusePointwiseDepthwise(ModulePass):
    """Merges calls of pointwise convolutions of f32, or of bf16 in pairs of channels, with constant filters with those of depthwise ones
    that alone read their results. Elements of padding are not multiplied: an infinite weight makes no NaN
    there. Kernels that nothing calls any more are erased."""

    name: ClassVar[str] = "tir-fuse-pointwise-depthwise"
    rounding: ClassVar[Rounding] = Rounding(ulps=4, specials=False)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose vectors and caches are used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if machine.has("fma"):
            with module.context, ir.Location.unknown():
                PointwiseDepthwiseFuser(module, context.kernels, machine).run()


def calls_to_merge(module: Module, kernels: StructuredKernels, machine: CpuMachine) -> set[ir.Operation]:
    """The calls of pointwise convolutions of f32 that are merged, if their images become bf16, with the depthwise ones behind them."""
    if not machine.rounds_factors or not machine.has("avx512bf16") or machine.has("amx-bf16"):
        return set()
    found = PointwiseDepthwiseFuser(module, kernels, machine).pairs()
    return {before for before, _, form in found if form.pointwise.channels % PAIR == 0 and are_known(form.pointwise.axes)}


@dataclass
class PointwiseDepthwiseFuser:
    """One run of the pass over one module."""

    module: Module
    kernels: StructuredKernels
    machine: CpuMachine
    forms: dict[tuple[str, str], FusedForm | None] = field(default_factory=dict)    # by the names of both kernels
    made: dict[tuple[str, str], FusedKernel] = field(default_factory=dict)
    packed: dict[Any, str] = field(default_factory=dict)

    def run(self) -> None:
        """Replaces all pairs of calls by one call each, and erases kernels that nothing calls any more."""
        functions, calls = self._kernels()
        left = {name: len(found) for name, found in calls.items()}
        constants = Constants(self.module)
        for before, call, form in list(self.pairs()):
            names = before.attributes["callee"].value, call.attributes["callee"].value
            if names not in self.made:
                self.made[names] = FusedKernel.build(self.module.module, form, self.machine)
            work = self._work(before, call, functions)
            new = self.made[names].replace(before, call, constants, self.packed)
            if work is not None:
                origins.set_work(new, *work)
            for name in names:
                left[name] -= 1
        for name in {name for names in self.made for name in names if left[name] == 0}:
            self.kernels.drop(functions[name])
            functions[name].operation.erase()

    def pairs(self) -> Iterator[tuple[ir.Operation, ir.Operation, FusedForm]]:
        """Calls of pointwise convolutions with constant filters, the call of a depthwise one in the same block that alone reads the result,
        and the form of both kernels, where they are better together."""
        functions, calls = self._kernels()
        for name, kernel in functions.items():
            depthwise = DepthwiseForm.of(self.kernels.of(kernel), known=False) if name in calls else None
            if depthwise is None or not isinstance(depthwise.source.owner, ir.Block):
                continue
            for call in calls[name]:
                images = call.operands[ir.BlockArgument(depthwise.source).arg_number]
                before = defining_op(images)
                if before is None or before.name != "func.call" or before.block != call.block or not has_one_use(images):
                    continue
                first = functions.get(before.attributes["callee"].value)
                form = None if first is None else self._form(first, kernel)
                if form is not None and are_constant(form.pointwise.filter, [before]):
                    yield before, call, form

    def _kernels(self) -> tuple[dict[str, func.FuncOp], dict[str, list[ir.Operation]]]:
        """The kernels that have no loops yet, by their names, and the calls of kernels."""
        return {kernel.name.value: kernel for kernel in tir.schedulable(self.module.module)}, calls_by_callee(self.module)

    def _work(self, before: ir.Operation, call: ir.Operation, kernels: Container[str]) -> tuple[Size, Size] | None:
        """The work of both calls, without what the first writes and the second reads."""
        works = [origins.work_of(one) for one in (before, call)]
        if works[0] is None or works[1] is None:
            return None
        sizes = graph_sizes(ancestors(call)[-1].opview, kernels)
        images = product(sizes.shape(before.results[0])) * 4
        return works[0][0] + works[1][0], works[0][1] + works[1][1] + -2 * images

    def _form(self, first: func.FuncOp, second: func.FuncOp) -> FusedForm | None:
        """The form of two kernels; None where they are better apart, or no such convolutions."""
        names = first.name.value, second.name.value
        if names not in self.forms:
            self.forms[names] = self._form_of(first, second)
        return self.forms[names]

    def _form_of(self, first: func.FuncOp, second: func.FuncOp) -> FusedForm | None:
        pointwise = DirectForm.of(self.kernels.of(first), known=False)
        depthwise = DepthwiseForm.of(self.kernels.of(second), known=False)
        if pointwise is None or depthwise is None or len(depthwise.axes) != 2 or pointwise.per_lane > 1:
            return None
        if any((axis.taps, axis.stride, axis.begin, axis.end, axis.count) != (1, 1, 0, 0, axis.size) for axis in pointwise.axes):
            return None
        images = pointwise.kernel.ops[-1].operands[0].type
        if images != depthwise.source.type or depthwise.source in [value for value, _ in depthwise.reads]:
            return None
        if pointwise.groups > 1 or not depthwise_tiles(depthwise, self.machine):
            return None
        form = FusedForm(pointwise, depthwise, panels_of(pointwise, self.machine))
        return form if form.ring_bytes <= self.machine.l2_bytes // SHARE else None


@dataclass(frozen=True)
class FusedKernel:
    """A kernel of two convolutions. Its arguments are those of the first one's, without its result, then those of the second one's, without
    this."""

    form: FusedForm
    name: str

    @classmethod
    def build(cls, module: ir.Module, form: FusedForm, machine: CpuMachine) -> FusedKernel:
        """Makes it in a module."""
        kernels = [one.kernel.function for one in (form.pointwise, form.depthwise)]
        given = [argument for kernel in kernels for argument in list(kernel.arguments)[:-1] if argument != form.depthwise.source]
        packed = ir.RankedTensorType.get(form.packed_shape, form.pointwise.source.type.element_type)

        def body(inputs: list[ir.Value], outputs: list[ir.Value]) -> list[ir.Value]:
            known = dict(zip(given, inputs, strict=True))
            for view in [op.operation for kernel in kernels for op in kernel.body.blocks[0].operations if op.name in VIEWS]:
                if view.operands[0] in known:
                    known = copy([view], known)
            buffers = Buffers((), outputs[0])
            for tensor in form.tensors:
                if tensor in known:     # others are constants
                    buffers.add(tensor, known[tensor])
            buffers.put(list(kernels[1].arguments)[-1], buffers.of(outputs[0]))
            build_loops(form, machine, buffers)
            return [bufferization.ToTensorOp(outputs[0].type, buffers.of(outputs[0]), restrict=True, writable=True).result]

        name = "fused_" + "_".join(short(kernel.name.value) for kernel in kernels)[:60].rstrip("_")
        types = [packed if argument == form.pointwise.filter else argument.type for argument in given]
        made = tir.prim_func(module, name, types, list(kernels[1].type.results), body, form.depthwise.op.location)
        set_state(made, SCHEDULED)
        return cls(form, made.name.value)

    def replace(self, before: ir.Operation, call: ir.Operation, constants: Constants, packed: dict[Any, str]) -> ir.Operation:
        """Replaces two calls by one, and returns this. ``packed``: the keys of filters that were packed before."""
        images, result = before.results[0], call.results[0]
        operands = [*list(before.operands)[:-1], *(value for value in call.operands if value != images)]
        with ir.InsertionPoint(call), ir.Location.fused([before.location, call.location]):
            new = func.CallOp([result.type], ir.FlatSymbolRefAttr.get(self.name), operands).operation
        origins.inherit(new, before, call)
        result.replace_all_uses_with(new.results[0])
        call.erase()
        before.erase()
        pointwise = self.form.pointwise
        shape, dtype = self.form.packed_shape, np.dtype(ml_dtypes.bfloat16 if pointwise.is_rounded else np.float32)
        work = partial(pack, pair=self.form.panels.pair)
        give_transformed(new, pointwise.filter.arg_number, constants, packed, "pointwise", shape, dtype, work)
        return new
