"""tir-convert-kernel-layout: contractions of kernels in the layout that schedules are written for, with transposes around them.

Graphs get their layout by ``relax-convert-layout``; this is for kernels that hold another one, written by hand or by a user's rule:
convolutions and poolings with channels first (NCHW) become channels-last ones, and an operand of a matmul whose columns are not innermost
(B transposed) is transposed first. ``tir-split-kernels`` then makes kernels of the transposes, or computes them if they are of
constants.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from legato.analysis.structured import CONTRACTION, ContractionForm, StructuredKernel, StructuredOp
from legato.analysis.structured.column_convolution import ColumnConvolutionForm
from legato.analysis.structured.pair_product import PairProductForm
from legato.analysis.structured.pool import PoolForm
from legato.analysis.structured.run_product import RunProduct
from legato.core import fills
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import defining_op, terminator
from legato.core.mlir import ir, linalg, tensor
from legato.core.slices import dim
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

# channels-first op: (channels-last op, its input's dimensions, its filter's) as dimensions of the former's; results as inputs
CHANNELS_LAST: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "linalg.conv_1d_ncw_fcw": (linalg.Conv1DNwcWcfOp, (0, 2, 1), (2, 1, 0)),
    "linalg.conv_2d_nchw_fchw": (linalg.Conv2DNhwcHwcfOp, (0, 2, 3, 1), (2, 3, 1, 0)),
    "linalg.conv_3d_ncdhw_fcdhw": (linalg.Conv3DNdhwcDhwcfOp, (0, 2, 3, 4, 1), (2, 3, 4, 1, 0)),
    "linalg.depthwise_conv_1d_ncw_cw": (linalg.DepthwiseConv1DNwcWcOp, (0, 2, 1), (1, 0)),
    "linalg.depthwise_conv_2d_nchw_chw": (linalg.DepthwiseConv2DNhwcHwcOp, (0, 2, 3, 1), (1, 2, 0)),
    "linalg.pooling_nchw_max": (linalg.PoolingNhwcMaxOp, (0, 2, 3, 1), (0, 1)),
    "linalg.pooling_nchw_sum": (linalg.PoolingNhwcSumOp, (0, 2, 3, 1), (0, 1)),
    "linalg.conv_2d_nhwc_fhwc": (linalg.Conv2DNhwcHwcfOp, (0, 1, 2, 3), (1, 2, 3, 0)),
}


@dataclass(frozen=True)
class ConvertKernelLayout(ModulePass):
    """Makes channels-first convolutions and poolings channels-last ones, and transposes operands of matmuls, where schedules gain."""

    name: ClassVar[str] = "tir-convert-kernel-layout"
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose machine says from how many rows on a matmul's weight is transposed")

    def run(self, module: Module, context: PassContext) -> None:
        machine, calls = context.cpu(self.target), calls_by_callee(module)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                if convert(context.kernels.of(kernel), machine, calls.get(kernel.name.value, [])):
                    context.kernels.drop(kernel)


def convert(kernel: StructuredKernel, machine: CpuMachine, calls: Sequence[ir.Operation]) -> bool:
    """Converts the contractions and windows of one kernel, with these calls, but those that have vectors of columns. Returns whether
    there was one."""
    if PoolForm.of(kernel) is not None or (machine.convolves_columns and ColumnConvolutionForm.of(kernel) is not None):
        return False
    changed, turns = False, not stays_turned(kernel, machine, calls)
    for op in kernel.structured:
        with ir.InsertionPoint(op.op), op.op.location:
            if op.op.name in CHANNELS_LAST:
                to_channels_last(op.op)
                changed = True
            elif turns and op.kind == CONTRACTION and op.convolution is None and transpose_weight(op, machine):
                changed = True
    return changed


def to_channels_last(op: ir.Operation) -> None:
    """Replaces a channels-first op, at the insertion point, by a channels-last one between transposes."""
    build, image, filters = CHANNELS_LAST[op.name]
    x, w, init = op.operands
    operands = [transposed_padded(x, image), transposed(w, filters)]
    start = transposed_init(init, image)
    attributes = {name: op.attributes[name] for name in ("strides", "dilations") if name in op.attributes}
    made = build([start.type], operands, [start], **attributes)
    linalg.fill_builtin_region(made.operation)
    back = [image.index(d) for d in range(len(image))]
    result = transposed(made.operation.results[0], back, destination(init))
    op.results[0].replace_all_uses_with(result)
    op.erase()
    for value in (x, init):
        erase_unused(value)


def stays_turned(kernel: StructuredKernel, machine: CpuMachine, calls: Sequence[ir.Operation]) -> bool:
    """Whether a kernel's product takes less time by its right factor as it is. Constant ones are transposed when they are compiled."""
    sizes = RunProduct.of(kernel.contraction)
    form = None if sizes is None else PairProductForm.of(kernel, kernel.contraction, ir.F32Type, packed=True)
    if sizes is None or form is None or not (sizes.sums_rows(machine) or sizes.copies_panels(machine)):
        return False
    return not (isinstance(form.right, ir.BlockArgument) and are_constant(ir.BlockArgument(form.right), calls))


def transpose_weight(op: StructuredOp, machine: CpuMachine) -> bool:
    """Transposes the operand of a matmul that holds the columns, where they are not its innermost dimension. Returns whether it did."""
    form = ContractionForm.of_op(op)
    if form is None or form.is_dot_product(machine.transpose_rows) or "indexing_maps" not in op.op.attributes:
        return False
    loops = op.loops_of(form.weight)
    if None in loops or loops[-1] == form.column or form.column not in loops:
        return False
    place = loops.index(form.column)
    order = [d for d in range(len(loops)) if d != place] + [place]
    value = transposed(op.op.operands[form.weight], order)
    maps = list(op.maps)
    maps[form.weight] = ir.AffineMap.get(maps[form.weight].n_dims, 0, [maps[form.weight].results[d] for d in order])
    op.op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
    op.op.operands[form.weight] = value
    return True


def transposed(value: ir.Value, order: Sequence[int], out: ir.Value | None = None) -> ir.Value:
    """A value with its dimensions in another order, as a linalg.generic, which fusion takes. ``out``: where to write it."""
    if list(order) == list(range(len(order))):
        return value
    rank, element = len(order), value.type.element_type
    place: ir.Value = tensor.EmptyOp([sizes_of(value)[d] for d in order], element).result if out is None else out
    read = [ir.AffineExpr.get_dim(order.index(d)) for d in range(rank)]
    maps = [ir.AffineMap.get(rank, 0, read), ir.AffineMap.get_identity(rank)]
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    op = linalg.GenericOp([place.type], [value], [place], ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
                          ir.ArrayAttr.get([parallel] * rank))
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        linalg.YieldOp([block.arguments[0]])
    return op.results[0]


def sizes_of(value: ir.Value) -> list[int | ir.Value]:
    """The sizes of a tensor: numbers, and index values for dynamic ones."""
    return [dim(value, axis) for axis in range(value.type.rank)]


def transposed_padded(value: ir.Value, order: Sequence[int]) -> ir.Value:
    """``transposed``; a pad that nothing else reads stays after the transpose, next to its reader."""
    pad = defining_op(value)
    if pad is None or pad.name != "tensor.pad" or len(list(value.uses)) != 1 or len(pad.operands) != 1:
        return transposed(value, order)
    scalar = terminator(pad.regions[0].blocks[0]).operands[0]
    if scalar.owner == pad.regions[0].blocks[0] or len(list(pad.regions[0].blocks[0].operations)) != 1:
        return transposed(value, order)
    source = transposed(pad.operands[0], order)
    low, high = ([list(pad.attributes[name])[d] for d in order] for name in ("static_low", "static_high"))
    shape = [value.type.shape[d] for d in order]
    made = tensor.PadOp(ir.RankedTensorType.get(shape, value.type.element_type), source, [], [], low, high)
    block = made.regions[0].blocks.append(*[ir.IndexType.get()] * len(shape))
    with ir.InsertionPoint(block):
        tensor.YieldOp(scalar)
    return made.result


def transposed_init(init: ir.Value, order: Sequence[int]) -> ir.Value:
    """The initial value of a result in the other layout."""
    fill = defining_op(init)
    if fill is None or fill.name != "linalg.fill":
        return transposed(init, order)
    empty = tensor.EmptyOp([sizes_of(init)[d] for d in order], init.type.element_type).result
    return fills.fill(fill.operands[0], empty)


def destination(init: ir.Value) -> ir.Value:
    """A tensor of the old layout to write the result into: the one that was initialized, or a new one."""
    fill = defining_op(init)
    if fill is not None and fill.name == "linalg.fill":
        return fill.operands[1]
    return tensor.EmptyOp(sizes_of(init), init.type.element_type).result


def erase_unused(value: ir.Value) -> None:
    """Erases a pad or a fill whose result nothing uses."""
    op = defining_op(value)
    if op is not None and op.name in ("tensor.pad", "linalg.fill") and next(iter(value.uses), None) is None:
        op.erase()
