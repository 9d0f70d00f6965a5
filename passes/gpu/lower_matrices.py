"""tir-lower-matrices: matrices of subgroups become upstream's ``gpu.subgroup_mma`` ops, which have a form in SPIR-V.

Those have no elements of bf16. Their bits lie in buffers of f16 then, and the kernel is marked ``tir.bf16_matrices``; SPIR-V has them, and
``tir-vulkan-memory-model`` sets their type.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import everything, find, index
from legato.core.locations import describe
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import BF16_MATRICES, FACTOR_TYPES
from legato.dialects.tir.matrices import LOAD_MATRIX, MULTIPLY_MATRICES, STORE_MATRIX, is_matrix
from legato.dialects.tir.matrix_factors import named
from legato.passes.gpu.threads.memory import MATRIX_BUFFERS
from legato.passes.pipeline.base import ModulePass, PassContext

LEFT, RIGHT, SUM = "AOp", "BOp", "COp"      # how upstream calls the uses of a matrix
OF_BYTES = {"s8": "si8", "u8": "ui8"}
BLOCK = "known_block_size"
STORES = ("memref.store", "vector.store")
LOADS = ("memref.load", "vector.load")


@dataclass(frozen=True)
class LowerMatrices(ModulePass):
    """Replaces tir.load_matrix, tir.multiply_matrices and tir.store_matrix in kernels, and computes their places from the number of the
    subgroup: Vulkan does not say which threads form one."""

    name: ClassVar[str] = "tir-lower-matrices"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "gpu.func"):
                if products := find(kernel, MULTIPLY_MATRICES):
                    lower(kernel, products)


def lower(kernel: ir.Operation, products: Sequence[ir.Operation]) -> None:
    """Rewrites one kernel. PassFailed for one whose products are of different kinds."""
    elements = {named(*(one.value for one in op.attributes[FACTOR_TYPES])) for op in products}
    if len(elements) > 1:
        raise PassFailed(f"{describe(kernel)}: the kernel multiplies matrices of {' and of '.join(sorted(elements))}: make two kernels of "
                         "it", products[0])
    if elements == {"bf16"}:
        kernel.attributes[BF16_MATRICES] = ir.UnitAttr.get()
        for buffer in {op.operands[0] for op in find(kernel, LOAD_MATRIX)}:
            hold_bits(buffer)
    use_subgroups(kernel)
    for op in find(kernel, LOAD_MATRIX):
        for use in list(op.results[0].uses)[1:]:    # each use has a type of its own, and upstream's cse merges equal ones
            use.owner.operation.operands[use.operand_number] = op.clone(ir.InsertionPoint(op)).results[0]
    for loop in find(kernel, "scf.for"):
        for value in (*loop.regions[0].blocks[0].arguments, *loop.results):
            if is_matrix(value.type):
                value.set_type(matrix_type(value.type, SUM))
    for op in everything(kernel):
        if op.name in REPLACED and (op.name != "arith.constant" or is_matrix(op.results[0].type)):
            with ir.InsertionPoint(op), op.location:
                made = REPLACED[op.name](op)
            for old, new in zip(op.results, made.results):
                old.replace_all_uses_with(new)
            op.erase()


def matrix_type(type_: ir.Type, use: str, factor: str = "") -> ir.Type:
    """The type of a matrix, for its use in a product. ``factor``: the type as which it is multiplied, where it is."""
    rows, columns = ir.VectorType(type_).shape
    own = ir.VectorType(type_).element_type
    element = OF_BYTES.get(factor) or ("f16" if own.width == 16 else own)
    return ir.Type.parse(f'!gpu.mma_matrix<{rows}x{columns}x{element}, "{use}">')


def load(op: ir.Operation) -> ir.Operation:
    """A load, for the use that its matrix has."""
    use = next(iter(op.results[0].uses))
    kind, factor = SUM, ""
    if use.owner.operation.name == MULTIPLY_MATRICES and use.operand_number < 2:
        kind, factor = (LEFT, RIGHT)[use.operand_number], use.owner.operation.attributes[FACTOR_TYPES][use.operand_number].value
    attributes: dict[str, ir.Attribute] = {"leadDimension": ir.IntegerAttr.get(ir.IndexType.get(), row_length(op.operands[0]))}
    if op.attributes["turned"].value:
        attributes["transpose"] = ir.UnitAttr.get()
    type_ = matrix_type(op.results[0].type, kind, factor)
    return ir.Operation.create("gpu.subgroup_mma_load_matrix", [type_], list(op.operands), attributes)


def store(op: ir.Operation) -> ir.Operation:
    """A store."""
    attributes = {"leadDimension": ir.IntegerAttr.get(ir.IndexType.get(), row_length(op.operands[1]))}
    return ir.Operation.create("gpu.subgroup_mma_store_matrix", [], list(op.operands), attributes)


def multiply(op: ir.Operation) -> ir.Operation:
    """A product with a sum."""
    return ir.Operation.create("gpu.subgroup_mma_compute", [matrix_type(op.results[0].type, SUM)], list(op.operands))


def constant(op: ir.Operation) -> ir.Operation:
    """A matrix of equal elements."""
    value = arith.ConstantOp(ir.VectorType(op.results[0].type).element_type, ir.DenseElementsAttr(op.attributes["value"]).get_splat_value())
    return ir.Operation.create("gpu.subgroup_mma_constant_matrix", [matrix_type(op.results[0].type, SUM)], [value.result])


REPLACED = {LOAD_MATRIX: load, STORE_MATRIX: store, MULTIPLY_MATRICES: multiply, "arith.constant": constant}


def row_length(buffer: ir.Value) -> int:
    """The elements from one row of a buffer to the next."""
    strides, _ = ir.MemRefType(buffer.type).get_strides_and_offset()
    return strides[-2]


def hold_bits(buffer: ir.Value) -> None:
    """Makes a buffer of i16 one of f16 with the same bits."""
    old = ir.MemRefType(buffer.type)
    f16, i16 = ir.F16Type.get(), old.element_type
    buffer.set_type(ir.MemRefType.get(old.shape, f16, old.layout, old.memory_space))
    for user in [use.owner.operation for use in buffer.uses]:
        if user.name in STORES:
            with ir.InsertionPoint(user), user.location:
                user.operands[0] = arith.BitcastOp(with_element(user.operands[0].type, f16), user.operands[0]).result
        elif user.name in LOADS:
            result = user.results[0]
            result.set_type(with_element(result.type, f16))
            with ir.InsertionPoint.after(user), user.location:
                bits = arith.BitcastOp(with_element(result.type, i16), result)
            result.replace_all_uses_except(bits.result, [bits.operation])


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """A type, or a vector of it, with another element type."""
    return ir.VectorType.get(ir.VectorType(type_).shape, element) if isinstance(type_, ir.VectorType) else element


def use_subgroups(kernel: ir.Operation) -> None:
    """Computes the places of matrices from the number of the subgroup, in the place of the threads' indices on the axes y and z."""
    sizes = list(ir.DenseI32ArrayAttr(kernel.attributes[BLOCK]))
    block = kernel.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block), kernel.location:
        number = ir.Operation.create("gpu.subgroup_id", [ir.IndexType.get()]).results[0]
        axes = {"y": arith.RemUIOp(number, index(sizes[1])).result if sizes[2] > 1 else number,
                "z": arith.DivUIOp(number, index(sizes[1])).result}
    for op in everything(kernel):
        if op.name in MATRIX_BUFFERS:
            first = MATRIX_BUFFERS[op.name] + 1
            for place in range(first, len(op.operands)):
                with ir.InsertionPoint(op), op.location:
                    op.operands[place] = renumbered(op.operands[place], axes, kernel)


def renumbered(value: ir.Value, axes: dict[str, ir.Value], kernel: ir.Operation) -> ir.Value:
    """An index computed at the insertion point from the number of the subgroup."""
    if isinstance(value.owner, ir.Block):
        return value
    op = value.owner.operation
    if op.name == "gpu.thread_id":
        axis = str(op.attributes["dimension"]).removeprefix("#gpu<dim ").removesuffix(">")
        if axis not in axes:
            raise PassFailed(f"{describe(kernel)}: the place of a matrix depends on the thread of a subgroup (threadIdx.{axis})", op)
        return axes[axis]
    operands = [renumbered(v, axes, kernel) for v in op.operands]
    if operands == list(op.operands):
        return value
    new = op.clone()
    for place, operand in enumerate(operands):
        new.operands[place] = operand
    return new.results[list(op.results).index(value)]
