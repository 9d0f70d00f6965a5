"""tir-short-indices: kernels whose indices fit 32 bits compute them in 32 bits."""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.indices.intervals import ANY, Interval, Intervals
from legato.core.ir_helpers import defining_op, everything, find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import TENSOR_MAPS
from legato.passes.pipeline.base import ModulePass, PassContext

LAYOUT, SHORT = "dlti.dl_spec", "#dlti.dl_spec<index = 32>"
SHARED_ADDRESSES = 1 << 18       # bytes, at most, of shared memory
DYNAMIC, WARPGROUPS = "gpu.dynamic_shared_memory", "nvvm.wgmma.mma_async"
SPARE = 1 << 16         # what lowering may add to an index on its way to another one
LEAST, MOST = SPARE - (1 << 31), (1 << 31) - 1 - SPARE
KNOWN = {"gpu.thread_id": "known_block_size", "gpu.block_id": "known_grid_size"}
# what gives something else for operands that are sign-extended
OF_NATURALS = ("arith.divui", "arith.remui", "arith.shrui", "arith.ceildivui", "arith.index_castui")


@dataclass(frozen=True)
class ShortIndices(ModulePass):
    """Sets the width of ``index`` to 32 bits in each gpu.module whose kernels need no more: all of their indices have bounds that are known
    and fit, and so do the places of all elements in their buffers. Addresses keep 64 bits. Of kernels with sizes, or grids, that are known
    only at run time, and with indices that are data of 64 bits, nothing is known. Those with tensor maps keep 64 bits: they compute few
    indices.
    """

    name: ClassVar[str] = "tir-short-indices"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            short = ir.Attribute.parse(SHORT)
            for holder in find(module.operation, "gpu.module"):
                if all(map(fits, find(holder, "gpu.func"))):
                    holder.attributes[LAYOUT] = short


class KernelIntervals(Intervals):
    """Bounds of the indices in a kernel: numbers of threads and blocks, and variables of scf.for, are known by the sizes of these."""

    def __init__(self, kernel: ir.Operation) -> None:
        sizes = {op: list(ir.DenseI32ArrayAttr(kernel.attributes[mark])) for op, mark in KNOWN.items() if mark in kernel.attributes}
        super().__init__({op.results[0]: sizes[op.name]["xyz".index(axis_of(op))] for op in find(kernel, *sizes)})

    def given(self, value: ir.Value) -> Interval | None:
        block = value.owner
        if isinstance(block, ir.Block) and block.owner.operation.name == "scf.for" and value == block.arguments[0]:
            lower, upper, step = (self.of(bound) for bound in list(block.owner.operation.operands)[:3])
            if lower[0] is None or upper[1] is None or step[1] is None or upper[1] + step[1] > MOST:
                return ANY
            return lower[0], max(lower[0], upper[1] - 1)
        most = greatest(value)
        return (0, most) if most is not None else super().given(value)


def greatest(value: ir.Value) -> int | None:
    """The greatest number that an address in shared memory, or an exclusive or of remainders of constants, may be; None for others."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None:
        return None
    if op.name == "memref.extract_aligned_pointer_as_index":
        return SHARED_ADDRESSES - 1 if "workgroup" in str(op.operands[0].type.memory_space) else None
    if op.name != "arith.xori":
        return None
    limits = [limit_of(operand) for operand in op.operands]
    return None if None in limits else (1 << max((limit - 1).bit_length() for limit in limits if limit)) - 1


def limit_of(value: ir.Value) -> int | None:
    """What a remainder, or a quotient of one, by a constant, is less than; None for other values."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or op.name not in ("arith.remui", "arith.divui"):
        return None
    number = constant_of(op.operands[1])
    if op.name == "arith.remui" or number is None:
        return number
    limit = limit_of(op.operands[0])
    return None if limit is None else -(-limit // number)


def axis_of(op: ir.Operation) -> str:
    """The axis, x, y or z, of a thread's or block's number."""
    return str(op.attributes["dimension"]).removeprefix("#gpu<dim ").removesuffix(">")


def fits(kernel: ir.Operation) -> bool:
    """Whether all indices of a kernel, and places in its buffers, fit 32 bits."""
    arguments = kernel.regions[0].blocks[0].arguments
    if TENSOR_MAPS in kernel.attributes or not all(map(is_small, arguments)) or any(map(has_offset, arguments)):
        return False
    # with what warpgroups keep in registers, attention would spill
    if find(kernel, DYNAMIC) and find(kernel, WARPGROUPS):
        return False
    bounds = KernelIntervals(kernel)
    return all(is_short(op, bounds) for op in everything(kernel))


def has_offset(value: ir.Value) -> bool:
    """Whether a value is a buffer whose first element's place is known only at run time."""
    return isinstance(value.type, ir.MemRefType) and value.type.get_strides_and_offset()[1] == ir.MemRefType.get_dynamic_stride_or_offset()


def is_short(op: ir.Operation, bounds: KernelIntervals) -> bool:
    """Whether an op gives the same with indices of 32 bits."""
    if not all(map(is_small, op.operands)):
        return False
    if op.name in OF_NATURALS and any(is_index(one) and not bounds.is_natural(bounds.of(one)) for one in op.operands):
        return False
    return all(is_small(one) and (not is_index(one) or is_within(bounds.of(one))) for one in made_by(op))


def made_by(op: ir.Operation) -> Iterator[ir.Value]:
    """The results of an op, and the arguments of its blocks."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments


def is_index(value: ir.Value) -> bool:
    """Whether a value is an index."""
    return isinstance(value.type, ir.IndexType)


def is_within(bounds: Interval) -> bool:
    """Whether integers between bounds fit 32 bits."""
    low, high = bounds
    return low is not None and high is not None and LEAST <= low and high <= MOST


def is_dynamic(value: ir.Value) -> bool:
    """Whether a value is the dynamic shared memory of a block."""
    owner = defining_op(value)
    return owner is not None and owner.name == DYNAMIC


def is_small(value: ir.Value) -> bool:
    """Whether a value is no vector or buffer of indices, nor a buffer of which an element may have a place that does not fit 32 bits."""
    type_ = value.type
    if isinstance(type_, ir.VectorType):
        return not isinstance(type_.element_type, ir.IndexType)
    if not isinstance(type_, ir.MemRefType):
        return True
    if is_dynamic(value):       # its places are addresses in shared memory
        return True
    strides, offset = type_.get_strides_and_offset()
    unknown = ir.MemRefType.get_dynamic_stride_or_offset()
    if isinstance(type_.element_type, ir.IndexType) or not type_.has_static_shape or unknown in strides:
        return False
    reach = sum((size - 1) * stride for size, stride in zip(type_.shape, strides) if size)
    return reach + (0 if offset == unknown else offset) <= MOST
