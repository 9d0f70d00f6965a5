"""tir-pointwise-matmuls: convolutions of one tap as products of matrices, whose rows are all positions of all images.

Register tiles of a convolution lie in one row of an image. Rows of few positions make small tiles: in 7 of them each vector of the weight,
which comes from the second cache, is multiplied 7 times, in a tile of the 49 positions of an image 12 or 13 times.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.window import steps_of
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, linalg, tensor
from legato.core.register_costs import step_time
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import EXACT, Rounding
from legato.passes.structured.collapse_dims import CollapsePlan, allowed
from legato.passes.structured.collapse_rewrite import CollapseRewriter

CONVOLUTION = "linalg.conv_2d_nhwc_hwcf"
VECTORS = 2         # of columns in a register tile
GAIN = 0.97         # of the time of tiles in single rows of an image, at most
IMAGE, ROW, COLUMN, FEATURE, CHANNEL = range(5)     # the loops of a convolution of one tap


@dataclass(frozen=True)
class PointwiseMatmuls(ModulePass):
    """Turns convolutions of f32 or f64 of one tap and stride 1 into products of matrices, where register tiles of all positions take less
    time than those of single rows of an image. The elementwise ops after a convolution are on matrices, too.

    Runs inside: canonicalize, on the kernels that it changes.
    """

    name: ClassVar[str] = "tir-pointwise-matmuls"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose register tiles count")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                convolution = pointwise_convolution(context.kernels.of(kernel))
                if convolution is None or not pays(convolution, machine):
                    continue
                with ir.InsertionPoint(convolution), convolution.location:
                    sum_products(convolution)
                context.kernels.drop(kernel)
                nests = [one for one in context.kernels.of(kernel).structured if one.op.name == "linalg.generic"]
                CollapseRewriter(kernel, CollapsePlan(nests)).run()
                run_on(kernel.operation, "canonicalize")    # folds the views between the ops
                context.kernels.drop(kernel)


def pointwise_convolution(kernel: StructuredKernel) -> ir.Operation | None:
    """The convolution of floats of a kernel with elementwise ops, if it has one tap, and each of its positions is one of the image."""
    form = kernel.contraction
    if form is None or form.op.name != CONVOLUTION or kernel.pads or not all(allowed(op.name) or op == form.op for op in kernel.ops):
        return None
    source, weight, result = (value.type for value in form.op.operands)
    element = result.element_type
    plain = isinstance(element, ir.F32Type | ir.F64Type) and source.element_type == weight.element_type == element
    steps = [*steps_of(form.op, "strides"), *steps_of(form.op, "dilations")]
    is_found = plain and weight.has_static_shape and weight.shape[:2] == [1, 1] and source.shape[1:3] == result.shape[1:3]
    return form.op if is_found and steps == [1, 1, 1, 1] else None


def pays(convolution: ir.Operation, machine: CpuMachine) -> bool:
    """Whether tiles of all positions take less time than those of single rows. Of rows of unknown length they do: each row ends with
    positions that fill no tile."""
    images, height, width, _ = convolution.results[0].type.shape
    if min(height, width) < 0:
        return True
    return tile_time(max(1, images) * height * width, machine) <= GAIN * tile_time(width, machine)


def tile_time(rows: int, machine: CpuMachine) -> float:
    """The time of a step for a row, in multiply-adds, in the best register tiles for so many."""
    most = (machine.registers - 1) // VECTORS - 1
    return min(rows // tile * step_time(tile, VECTORS) + (step_time(rows % tile, VECTORS) if rows % tile else 0)
               for tile in range(1, min(rows, most) + 1)) / rows


def sum_products(convolution: ir.Operation) -> None:
    """Replaces a convolution, at the insertion point, by sums of products without windows, of a filter without taps."""
    source, weight, out = convolution.operands
    matrix = ir.RankedTensorType.get(weight.type.shape[2:], weight.type.element_type)
    weight = tensor.CollapseShapeOp(matrix, weight, [[0, 1, 2], [3]]).result
    loops = [ir.AffineExpr.get_dim(loop) for loop in range(5)]
    maps = ((IMAGE, ROW, COLUMN, CHANNEL), (CHANNEL, FEATURE), (IMAGE, ROW, COLUMN, FEATURE))
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in ["parallel"] * 4 + ["reduction"]]
    made = linalg.GenericOp([out.type], [source, weight], [out], ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(ir.AffineMap.get(5, 0, [loops[loop] for loop in one])) for one in maps]), ir.ArrayAttr.get(kinds))
    block = made.regions[0].blocks.append(*[value.type.element_type for value in (source, weight, out)])
    with ir.InsertionPoint(block):
        left, right, total = block.arguments
        linalg.YieldOp([arith.addf(total, arith.mulf(left, right))])
    convolution.results[0].replace_all_uses_with(made.results[0])
    convolution.erase()
