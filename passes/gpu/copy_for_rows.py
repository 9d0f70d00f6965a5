"""tir-copy-for-rows: kernels of rows in an unknown number get further forms, for the numbers that the target wants others for."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.block_kernel import BlockKernel
from legato.core.interfaces import TargetLike
from legato.core.ir_helpers import everything, terminator
from legato.core.mlir import func, ir, tensor
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import FORM_OF, ROWS, SIGNATURE
from legato.dialects.tir.walk import localize_constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.schedule.state import ScheduleError
from legato.schedule.unraise import to_loops


@dataclass(frozen=True)
class CopyForRows(ModulePass):
    """Copies each schedulable kernel once for each range of rows of the target's, marked with the kernel and the range (``tir.form_of``,
    ``tir.rows``). In a copy for one number of rows the sizes that were not known are that number. Nothing calls the copies:
    ``tir-choose-by-rows`` puts them into the kernel, when they have schedules. Of kernels with indices as arguments, and with more than one
    unknown size in a tensor, there are none.

    Runs inside: canonicalize and cse, on copies whose sizes become known; and, to see what a kernel is, on one that is thrown away,
    linalg-generalize-named-ops, too.
    """

    name: ClassVar[str] = "tir-copy-for-rows"
    target: TargetText = option("nvvm", "whose schedules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target, machine = context.target(self.target), context.gpu(self.target)
        with module.context, ir.Location.unknown():
            names = {op.attributes["sym_name"].value for op in module.module.body.operations if "sym_name" in op.attributes}
            for kernel in tir.schedulable(module.module) if machine.schedules else ():
                for least, most in forms_of(kernel, target):
                    name = f"{kernel.name.value}_{least}_{'rows' if most != 1 else 'row'}"
                    if name not in names:
                        make_form(kernel, name, least, most)


def forms_of(kernel: func.FuncOp, target: TargetLike) -> list[tuple[int, int | None]]:
    """The ranges of rows that a kernel gets forms for."""
    types = [argument.type for argument in kernel.arguments]
    if not all(isinstance(type_, ir.RankedTensorType) and unknown(type_) <= 1 for type_ in types) or not any(map(unknown, types)):
        return []
    alone = ir.Module.create()
    copy = kernel.operation.clone(ir.InsertionPoint(alone.body)).operation.opview
    try:
        to_loops(copy)
    except ScheduleError:
        return []
    localize_constants(copy.operation)
    return list(target.row_forms(BlockKernel(kernel, copy)))


def unknown(type_: ir.RankedTensorType) -> int:
    """The number of a tensor's sizes that are not known."""
    return sum(map(type_.is_dynamic_dim, range(type_.rank)))


def make_form(kernel: func.FuncOp, name: str, least: int, most: int | None) -> None:
    """Adds a form of a kernel behind it."""
    form = kernel.operation.clone(ir.InsertionPoint(kernel)).operation.opview
    form.attributes["sym_name"] = ir.StringAttr.get(name)
    form.attributes[FORM_OF] = ir.FlatSymbolRefAttr.get(kernel.name.value)
    form.attributes[ROWS] = ir.DenseI64ArrayAttr.get([least, -1 if most is None else most])
    if SIGNATURE in form.attributes:
        del form.attributes[SIGNATURE]
    if least == most:
        give_sizes(form, least)
        run_on(form.operation, "canonicalize,cse")
        if any(not value.type.has_static_shape for op in everything(form) for value in op.results if isinstance(value.type, ir.ShapedType)):
            form.operation.erase()      # what its sizes are is computed


def give_sizes(form: func.FuncOp, size: int) -> None:
    """Makes the unknown sizes of a kernel's arguments and results this number."""
    def known(type_: ir.Type) -> ir.Type:
        return ir.RankedTensorType.get([size if type_.is_dynamic_dim(n) else one for n, one in enumerate(type_.shape)], type_.element_type)

    block = form.body.blocks[0]
    for argument in block.arguments:
        before = argument.type
        if known(before) != before:
            argument.set_type(known(before))
            with ir.InsertionPoint.at_block_begin(block):
                cast = tensor.CastOp(before, argument)
            argument.replace_all_uses_except(cast.result, cast.operation)
    end = terminator(block)
    for number, value in enumerate(end.operands):
        if known(value.type) != value.type:
            with ir.InsertionPoint(end):
                end.operands[number] = tensor.CastOp(known(value.type), value).result
    inputs, results = [a.type for a in block.arguments], [v.type for v in end.operands]
    form.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
