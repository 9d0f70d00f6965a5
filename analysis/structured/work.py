"""How much work a kernel is: its arithmetic, and the elements that it reads and writes, as expressions of its arguments' sizes."""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.indices.tensor_sizes import DYNAMIC, TensorSizes
from legato.analysis.structured.ops import CONTRACTION, StructuredOp
from legato.core.mlir import func, ir, linalg
from legato.dialects.relax.dim import UNKNOWN, Size, symbol
from legato.dialects.relax.dim_bounds import minimum
from legato.dialects.relax.sizes import product
from legato.dialects.tir.loops import ForOp
from legato.dialects.tir.markers import FLOPS_EACH

# arithmetic that counts as one operation an element; casts, comparisons, selections and copies count as none
FLOAT_OPS = {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.negf", "arith.maximumf", "arith.minimumf",
             "arith.maxnumf", "arith.minnumf"}
INTEGER_OPS = {"arith.addi", "arith.muli"}      # counted in contractions; elsewhere they compute indices as often as values
FUSED = {"math.fma": 2, "vector.fma": 2}        # ops that count as several


@dataclass(frozen=True)
class KernelWork:
    """``flops``: arithmetic operations of one call, a fused multiply-add as two; ``elements``: for each argument, how many of its elements
    a call reads or writes. Both are expressions of ``size_symbol``s, UNKNOWN where they depend on data."""

    flops: Size
    elements: tuple[Size, ...]


def size_symbol(argument: int, axis: int) -> str:
    """The symbol for the size of an argument's axis."""
    return f"a{argument}_{axis}"


def argument_shapes(kernel: func.FuncOp) -> list[list[Size]]:
    """The shapes of a kernel's arguments, with ``size_symbol``s for sizes that are not static."""
    return [[symbol(size_symbol(a, d)) if size == DYNAMIC else size for d, size in enumerate(_shape(argument))]
            for a, argument in enumerate(kernel.body.blocks[0].arguments)]


def work_of(kernel: func.FuncOp) -> KernelWork:
    """The work of one call of a kernel on tensors, or on memrefs if it was written as loops."""
    arguments, shapes = list(kernel.body.blocks[0].arguments), argument_shapes(kernel)
    sizes = TensorSizes(kernel, shapes)
    each = ir.IntegerAttr(kernel.attributes[FLOPS_EACH]).value if FLOPS_EACH in kernel.attributes else None
    gathered = set() if each is not None else set().union(*(_gathered(op.operation) for op in kernel.body.blocks[0].operations))
    written = [product(shape) for argument, shape in zip(arguments[-len(kernel.type.results):], shapes[-len(kernel.type.results):])]
    elements = [minimum(product(shape), sum(written, 0)) if argument in gathered else product(shape)
                for argument, shape in zip(arguments, shapes)]
    flops = _block_flops(kernel.body.blocks[0], sizes) if each is None else sum(written, 0) * each
    return KernelWork(flops, tuple(elements))


def _shape(argument: ir.Value) -> list[int]:
    type_ = argument.type
    return list(type_.shape) if isinstance(type_, (ir.RankedTensorType, ir.MemRefType)) else []


def _block_flops(block: ir.Block, sizes: TensorSizes) -> Size:
    return sum((_flops(op.operation, sizes) for op in block.operations), 0)


def _flops(op: ir.Operation, sizes: TensorSizes) -> Size:
    """The arithmetic of one op and what is nested in it."""
    if op.name.startswith("linalg.") and op.regions and linalg.get_indexing_maps(op):
        structured = StructuredOp(op)
        counted = FLOAT_OPS | INTEGER_OPS if structured.kind == CONTRACTION else FLOAT_OPS
        each = sum(_operations(inner, counted) for inner in structured.body)
        return each * product(_extents(structured, sizes)) if each else 0
    inner = sum((_block_flops(block, sizes) for region in op.regions for block in region.blocks), _operations(op, FLOAT_OPS))
    return inner * _trips(op, sizes) if inner != 0 else 0


def _operations(op: ir.Operation, counted: set[str]) -> int:
    return FUSED.get(op.name) or int(op.name in counted or op.name.startswith("math."))


def _extents(op: StructuredOp, sizes: TensorSizes) -> list[Size]:
    """The extent of each loop: the size of an operand's axis that the loop alone indexes."""
    extents: list[Size] = [UNKNOWN if extent < 0 else extent for extent in op.extents]
    for value, map_ in zip(op.op.operands, op.maps):
        if isinstance(value.type, ir.RankedTensorType):
            for axis, expression in enumerate(map_.results):
                if isinstance(expression, ir.AffineDimExpr) and extents[expression.position] is UNKNOWN:
                    extents[expression.position] = sizes.shape(value)[axis]
    return extents


def _trips(op: ir.Operation, sizes: TensorSizes) -> Size:
    """How often the regions of an op run; 1 for a branch."""
    if op.name == "scf.for":
        lower, upper, step = (sizes.value(bound) for bound in list(op.operands)[:3])
        return (upper - lower + step - 1) // step if isinstance(step, int) else UNKNOWN
    if isinstance(op.opview, ForOp):
        lower, upper = (sizes.value(bound) for bound in op.opview.bounds)
        return upper - lower
    return UNKNOWN if op.name in ("scf.while", "scf.forall", "scf.parallel") else 1


def _gathered(op: ir.Operation) -> set[ir.Value]:
    """The tensors that an op, or one nested in it, reads only at computed places: a table of embeddings."""
    found: set[ir.Value] = set()
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                found |= _gathered(inner.operation)
    if op.name == "tensor.extract" or (op.name == "tensor.extract_slice" and op.parent.name == "scf.for"):
        found.add(op.operands[0])
    return found
