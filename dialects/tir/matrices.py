"""Ops on matrices that the threads of a subgroup hold and multiply together (Vulkan's cooperative matrices).

A matrix is a vector of rank 2, the same in all threads of the subgroup; where each thread has which element is the device's own affair.
"""
# the fields of op classes are annotated with types that the bindings interpret at run time
# pyright: reportInvalidTypeForm=false

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import ext, ir
from legato.dialects.tir.dialect import Tir
from legato.dialects.tir.markers import FACTOR_TYPES
from legato.dialects.tir.matrix_factors import INTEGERS8, MatrixFactors, named
from legato.dialects.tir.verify import InvalidOp, verified

LOAD_MATRIX = "tir.load_matrix"
STORE_MATRIX = "tir.store_matrix"
MULTIPLY_MATRICES = "tir.multiply_matrices"
FILL, MULTIPLY, STORE = "fill", "multiply", "store"     # what intrinsics of subgroups do

_BYTES = "|".join(INTEGERS8)
SHAPE = re.compile(rf"m(\d+)n(\d+)k(\d+)_(?:(f16|bf16|f32)_(f16|f32)|({_BYTES})_(?:({_BYTES})_)?(i32))")
INTRINSIC = re.compile(rf"subgroup_({FILL}|{MULTIPLY}|{STORE})_({SHAPE.pattern})_x(\d+)")


@dataclass(frozen=True)
class MatrixShape:
    """Matrices that a device multiplies: ``rows`` x ``depth`` by ``depth`` x ``columns``, of elements of the types ``left`` and ``right``,
    with sums of the type ``result``. As text ``m16n16k16_f16_f32``, or ``m16n16k32_u8_s8_i32`` of two types."""

    rows: int
    columns: int
    depth: int
    left: str
    right: str
    result: str

    @staticmethod
    def of(text: str) -> "MatrixShape | None":
        """The shapes and types of a text; None for another text."""
        found = SHAPE.fullmatch(text)
        if found is None:
            return None
        left = found[4] or found[6]
        return MatrixShape(int(found[1]), int(found[2]), int(found[3]), left, found[7] or left, found[5] or found[8])

    @property
    def factors(self) -> MatrixFactors:
        """What is multiplied."""
        return MatrixFactors(self.left, self.right, self.depth, self.result)

    def __str__(self) -> str:
        return f"m{self.rows}n{self.columns}k{self.depth}_{named(self.left, self.right)}_{self.result}"


@dataclass(frozen=True)
class SubgroupIntrinsic:
    """An intrinsic of ``tensorize`` by which a subgroup of ``threads`` threads fills, multiplies or stores matrices. As text
    ``subgroup_multiply_m16n16k16_f16_f32_x32``."""

    does: str
    shape: MatrixShape
    threads: int

    @staticmethod
    def of(text: str) -> "SubgroupIntrinsic | None":
        """The intrinsic of that name; None for another name."""
        found = INTRINSIC.fullmatch(text)
        shape = None if found is None else MatrixShape.of(found[2])
        return None if found is None or shape is None else SubgroupIntrinsic(found[1], shape, int(found[11]))

    def __str__(self) -> str:
        return f"subgroup_{self.does}_{self.shape}_x{self.threads}"


def is_matrix(type_: ir.Type) -> bool:
    """Whether a type is that of a matrix: a vector of rank 2."""
    return isinstance(type_, ir.VectorType) and ir.VectorType(type_).rank == 2


@verified
class LoadMatrixOp(Tir.Operation, name="load_matrix"):
    """Loads a matrix from a buffer, of which it is a part of the last two axes from the given place on.

    ``turned``: whether the last axis of the buffer goes along the matrix's columns from row to row, and not along its rows.

    ```mlir
    %0 = "tir.load_matrix"(%tile, %i, %j) {turned = false} : (memref<64x40xf16>, index, index) -> vector<16x16xf16>
    ```
    """

    buffer: ext.Operand[Any]
    places: Sequence[ext.Operand[ir.IndexType]]
    matrix: ext.Result[Any]

    def check(self) -> None:
        """Raises InvalidOp unless it takes an index for each of two or more axes, and gives a matrix of the buffer's elements."""
        operands, result = list(self.operation.operands), self.operation.results[0].type
        _check_access(operands[0].type, len(operands) - 1, result)
        if "turned" not in self.operation.attributes:
            raise InvalidOp("says by its attribute 'turned' whether the buffer's rows are the matrix's columns")


@verified
class StoreMatrixOp(Tir.Operation, name="store_matrix"):
    """Stores a matrix to a part of the last two axes of a buffer, from the given place on.

    ```mlir
    "tir.store_matrix"(%0, %tile, %i, %j) : (vector<16x16xf32>, memref<64x68xf32>, index, index) -> ()
    ```
    """

    matrix: ext.Operand[Any]
    buffer: ext.Operand[Any]
    places: Sequence[ext.Operand[ir.IndexType]]

    def check(self) -> None:
        """Raises InvalidOp unless it takes a matrix of the buffer's elements, and an index for each of two or more axes."""
        operands = list(self.operation.operands)
        _check_access(operands[1].type, len(operands) - 2, operands[0].type)


@verified
class MultiplyMatricesOp(Tir.Operation, name="multiply_matrices"):
    """Multiplies two matrices and adds a third one to the product.

    ``tir.factor_types``: what the elements of the first two are, where their type in memory is an integer of the same bits.

    ```mlir
    %3 = "tir.multiply_matrices"(%0, %1, %2) {tir.factor_types = ["f16", "f16"]}
      : (vector<16x16xf16>, vector<16x16xf16>, vector<16x16xf32>) -> vector<16x16xf32>
    ```
    """

    left: ext.Operand[Any]
    right: ext.Operand[Any]
    added: ext.Operand[Any]
    result: ext.Result[Any]

    def check(self) -> None:
        """Raises InvalidOp unless the sizes are those of a product, and the result's type that of what is added."""
        left, right, added = (v.type for v in self.operation.operands)
        if not all(map(is_matrix, (left, right, added))) or self.operation.results[0].type != added or (
                [left.shape[0], right.shape[1]] != list(added.shape) or left.shape[1] != right.shape[0]):
            raise InvalidOp("adds the product of m x k and k x n to m x n, with a result of the same type; here "
                            f"{left} and {right} to {added}")
        if FACTOR_TYPES not in self.operation.attributes:
            raise InvalidOp(f"says by its attribute '{FACTOR_TYPES}' what the elements of its factors are")


def _check_access(buffer: ir.Type, places: int, matrix: ir.Type) -> None:
    """InvalidOp unless a matrix can lie in a buffer at a place of so many indices."""
    if not isinstance(buffer, ir.MemRefType) or not is_matrix(matrix) or buffer.rank < 2 or places != buffer.rank or (
            buffer.element_type != ir.VectorType(matrix).element_type):
        raise InvalidOp(f"takes a buffer of rank 2 or more, with an index for each axis, and a matrix of its elements; here {buffer}, "
                        f"{places} indices and {matrix}")


for _one in (LoadMatrixOp, StoreMatrixOp):
    _one._ODS_OPERAND_SEGMENTS = None
