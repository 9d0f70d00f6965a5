"""tir-copy-for-rows: kernels of rows in an unknown number get further forms, for the numbers that the target wants others for."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.block_kernel import BlockKernel
from legato.core.interfaces import TargetLike
from legato.core.ir_helpers import everything, terminator
from legato.core.mlir import func, ir, tensor
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.kernel import out_count
from legato.dialects.tir.markers import FORM_OF, ROWS, SIGNATURE
from legato.dialects.tir.walk import localize_constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.schedule.state import ScheduleError
from legato.schedule.unraise import to_loops


@dataclass(frozen=True)
class CopyForRows(ModulePass):
    """Copies each schedulable kernel once for each range of rows of the target's, marked with the kernel and the range (``tir.form_of``,
    ``tir.rows``). In a copy for one number of rows the sizes that were not known are that number. Nothing calls the copies:
    ``tir-choose-by-rows`` puts them into the kernel, when they have schedules. A copy that the target schedules as the kernel itself is
    left out. Of kernels with indices as arguments there are none, and none for one number with more than one unknown size in a tensor.

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
                own = planned(kernel, target) if has_unknown_rows(kernel) else Planned(None)
                for least, most in own.forms:
                    name = f"{kernel.name.value}_{least}_{'rows' if most != 1 else 'row'}"
                    if name in names or (most is not None and max(map(unknown, types_of(kernel))) > 1):
                        continue
                    form = make_form(kernel, name, least, most)
                    is_computed = most is not None and not has_known_sizes(form)
                    if is_computed or planned(form, target).schedule == own.schedule:
                        form.operation.erase()


@dataclass(frozen=True)
class Planned:
    """The best of the target's schedules of a kernel, and the forms that it is to have."""

    schedule: str | None
    forms: Sequence[tuple[int, int | None]] = ()


def planned(kernel: func.FuncOp, target: TargetLike) -> Planned:
    """What the target plans for a kernel: nothing where it cannot be put into loops."""
    alone = ir.Module.create()
    copy = kernel.operation.clone(ir.InsertionPoint(alone.body)).operation.opview
    try:
        to_loops(copy)
    except ScheduleError:
        return Planned(None)
    localize_constants(copy.operation)
    in_blocks = BlockKernel(kernel, copy)
    return Planned(next(target.schedules(in_blocks), None), target.row_forms(in_blocks))


def has_unknown_rows(kernel: func.FuncOp) -> bool:
    """Whether a kernel is one of tensors, with results of unknown sizes."""
    types = types_of(kernel)
    return all(isinstance(type_, ir.RankedTensorType) for type_ in types) and any(map(unknown, types[-out_count(kernel):]))


def types_of(kernel: func.FuncOp) -> list[ir.RankedTensorType]:
    """The types of a kernel's arguments, which are tensors."""
    return [argument.type for argument in kernel.arguments]


def unknown(type_: ir.RankedTensorType) -> int:
    """The number of a tensor's sizes that are not known."""
    return sum(map(type_.is_dynamic_dim, range(type_.rank)))


def has_known_sizes(form: func.FuncOp) -> bool:
    """Whether all sizes in a kernel are known."""
    return all(value.type.has_static_shape for op in everything(form) for value in op.results if isinstance(value.type, ir.ShapedType))


def make_form(kernel: func.FuncOp, name: str, least: int, most: int | None) -> func.FuncOp:
    """A form of a kernel, behind it."""
    form = kernel.operation.clone(ir.InsertionPoint(kernel)).operation.opview
    form.attributes["sym_name"] = ir.StringAttr.get(name)
    form.attributes[FORM_OF] = ir.FlatSymbolRefAttr.get(kernel.name.value)
    form.attributes[ROWS] = ir.DenseI64ArrayAttr.get([least, -1 if most is None else most])
    if SIGNATURE in form.attributes:
        del form.attributes[SIGNATURE]
    if least == most:
        give_sizes(form, least)
        run_on(form.operation, "canonicalize,cse")
    return form


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
