"""Matrix products with weights of few bits: the weight is dequantized where a thread reads it, as any operand that is computed.

What schedules ask of such an operand is here, too: threads read its packed elements in 16 bytes, and each dequantizes all that it has read.
"""
from math import gcd

from legato.analysis.accesses import ElementAccess
from legato.analysis.block_kernel import BlockKernel, KernelBlock
from legato.analysis.products import ProductForm
from legato.core.errors import Refusal
from legato.core.mlir import ir, linalg
from legato.dialects.tir.loops import constant_of
from legato.targets.builders.element import Element
from legato.targets.builders.structured import accumulated, named
from legato.targets.generic.quantized import dequantized
from legato.targets.generic.quantized import matmul as in_floats
from legato.targets.rule import kernel

FEW_ROWS = 8     # whose product is bound by reading the weight, which is not to be rounded, then


@kernel("relax.matmul_quantized")
def matmul(k, x, weight, scale, zero, out):
    """A matmul whose weight is a tensor of its own inside of the kernel: of halves beside many rows of such, for matrix instructions."""
    if not weight.type.has_static_shape:
        return Refusal("the sizes of its weight are known only at run time")
    if not x.type.is_dynamic_dim(0) and x.type.shape[0] <= FEW_ROWS:
        return in_floats.function(k, x, weight, scale, zero, out)
    narrow = Element(k.output_types[0].element_type)
    made = dequantized(k, weight, scale, zero, narrow)
    return accumulated(out, narrow, lambda zeros: named(linalg.MatmulOp, zeros, [x, made]))


def dequantizing(kernel: BlockKernel, buffer: ir.Value) -> KernelBlock | None:
    """The block that dequantizes the elements of a buffer of the kernel; None for any other buffer."""
    writers = kernel.writers(buffer) if kernel.is_own(buffer) else []
    if len(writers) != 1 or not isinstance(buffer.type.element_type, ir.FloatType) or writers[0].writes_axes is None:
        return None
    return writers[0] if packed_loads(writers[0]) else None


def packed_loads(block: KernelBlock) -> list[ElementAccess]:
    """The loads of integers that a block computes with, and does not index by."""
    integers = [load for load in block.loads if isinstance(load.buffer.type.element_type, ir.IntegerType)]
    return [load for load in integers if not any(use.owner.operation.name == "arith.index_cast" for use in load.op.results[0].uses)]


def packed_bits(block: KernelBlock) -> int:
    """The bits of the widest integers that a block computes with."""
    return max(load.buffer.type.element_type.width for load in packed_loads(block))


def steps_in_a_word(kernel: BlockKernel, form: ProductForm) -> int:
    """The neighbours along the depth that one packed element of the columns' operand holds; 1 for an operand that is not packed so."""
    block = dequantizing(kernel, form.right.buffer)
    depths = [n for n, index in enumerate(form.right.indices) if form.block.block.arguments[form.depth[-1]] == index] if form.depth else []
    if block is None or len(depths) != 1:
        return 1
    axis = block.block.block.arguments[(block.writes_axes or [])[depths[0]]]
    shared = [gcd(*(_equal_neighbours(index, axis) for index in load.indices)) for load in packed_loads(block)]
    return next((steps for steps in shared if steps), 1) if 1 not in shared else 1


def _equal_neighbours(index: ir.Value, axis: ir.Value) -> int:
    """A number of neighbours along an axis, from each multiple of it on, for which an index is the same; 0 where it is for all."""
    if index == axis:
        return 1
    if isinstance(index.owner, ir.Block):
        return 0
    op = index.owner.operation
    known = [_equal_neighbours(operand, axis) for operand in op.operands]
    if op.name == "arith.divui" and known[0]:
        divisor = constant_of(op.operands[1])
        return known[0] * divisor if divisor else 1
    return gcd(*known)


RULES = (matmul,)
