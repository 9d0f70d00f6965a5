"""Ops on whole tiles of a block's shared memory, which the device's copy engine and its warpgroups work on (NVIDIA's sm_90a)."""
# the fields of op classes are annotated with types that the bindings interpret at run time
# pyright: reportInvalidTypeForm=false

from collections.abc import Sequence
from typing import Any

from legato.core.mlir import ext, ir
from legato.dialects.tir.dialect import Tir
from legato.dialects.tir.verify import InvalidOp, verified

BULK_COPY = "tir.bulk_copy"
WARPGROUP_PRODUCT = "tir.warpgroup_product"
TENSOR_MAP = "tir.tensor_map"
MULTIPROCESSORS = "tir.multiprocessors"


@verified
class BulkCopyOp(Tir.Operation, name="bulk_copy"):
    """Copies a tile of a global buffer to a shared one of rank 2, whose layout is the copy engine's.

    The operands are the source, the target, two bounds, and an index for each axis of the source. The target's rows are along the source's
    axis number ``rows``, its columns along the last one. Elements whose index on these axes is not less than its bound are 0 in the target.

    ```mlir
    "tir.bulk_copy"(%A, %tile, %m, %k, %i, %l) {rows = 0 : i64}
      : (memref<?x200xf16>, memref<128x64xf16>, index, index, index, index) -> ()
    ```
    """

    source: ext.Operand[Any]
    target: ext.Operand[Any]
    places: Sequence[ext.Operand[ir.IndexType]]

    def check(self) -> None:
        """Raises InvalidOp unless it has two buffers of one element type, bounds, and as many indices as the source has axes."""
        types = [v.type for v in self.operation.operands]
        if len(types) < 4 or not all(isinstance(t, ir.MemRefType) for t in types[:2]):
            raise InvalidOp("takes a source, a target, two bounds, and indices")
        source, target = types[:2]
        rows = self.operation.attributes["rows"].value if "rows" in self.operation.attributes else -1
        fits = source.element_type == target.element_type and target.rank == 2 and len(types) == 4 + source.rank
        if not fits or not 0 <= rows < source.rank - 1:
            raise InvalidOp(f"copies to a target of rank 2, with an index for each axis of the source; here {source} to {target}")


@verified
class WarpgroupProductOp(Tir.Operation, name="warpgroup_product"):
    """What a thread of a warpgroup adds up in a product of tiles in shared memory, 64 rows of the left one by the whole right one.

    The operands are the tiles, the first of the rows, and the thread's sums, which it returns with the products added. In the left tile's
    place there may be a vector of those of the 64 rows' elements that the thread has: for each 16 steps of depth eight, of a row and the
    eighth row after it the neighbours 2 x and 2 x + 1, and then those of the eighth step after them. ``left_turned``: the
    left tile has a row for each step of the depth, not for each row; ``right_turned``: the right one has a row for each column.
    ``tir.factor_types``: what the bytes of the tiles are, floats of 8 bits or integers.

    ```mlir
    %1 = "tir.warpgroup_product"(%left, %right, %row, %0) {left_turned = false, right_turned = false}
      : (memref<128x64xf16>, memref<64x256xf16>, index, vector<128xf32>) -> vector<128xf32>
    ```
    """

    left: ext.Operand[Any]
    right: ext.Operand[Any]
    row: ext.Operand[ir.IndexType]
    sums: ext.Operand[Any]
    result: ext.Result[Any]

    def check(self) -> None:
        """Raises InvalidOp unless each thread has a sum for every second column."""
        left, right, _, sums = (v.type for v in self.operation.operands)
        turned = self.operation.attributes["right_turned"].value
        columns = right.shape[0 if turned else 1]
        if isinstance(left, ir.VectorType) and left.shape != [right.shape[1 if turned else 0] // 2]:
            raise InvalidOp(f"takes half as many elements of a thread as there are steps of depth; here {left} for {right}")
        if sums.shape != [columns // 2] or self.operation.results[0].type != sums or left.element_type != right.element_type:
            raise InvalidOp(f"adds to {columns // 2} numbers of a thread, of 64 x {columns}; here to {sums}")


@verified
class TensorMapOp(Tir.Operation, name="tensor_map"):
    """What the device's copy engine has to know of a buffer: a parameter of a kernel, made by the host.

    The operands are the buffer and the bounds of its axes number ``rows`` and of its last one. ``box``: the rows and columns of one copy.

    ```mlir
    %0 = "tir.tensor_map"(%A, %m, %k) {rows = 0 : i64, box = array<i64: 128, 64>} : (memref<?x200xf16>, index, index) -> !llvm.ptr
    ```
    """

    buffer: ext.Operand[Any]
    bounds: Sequence[ext.Operand[ir.IndexType]]
    map: ext.Result[Any]

    def check(self) -> None:
        """Raises InvalidOp unless it takes a buffer and two bounds."""
        types = [v.type for v in self.operation.operands]
        if len(types) != 3 or not isinstance(types[0], ir.MemRefType) or not 2 <= types[0].rank <= 5:
            raise InvalidOp("takes a buffer of two to five axes, and the bounds of two of them")


@verified
class MultiprocessorsOp(Tir.Operation, name="multiprocessors"):
    """The number of multiprocessors of the device that the host launches kernels on.

    ```mlir
    %0 = "tir.multiprocessors"() : () -> index
    ```
    """

    count: ext.Result[ir.IndexType]

    def check(self) -> None:
        """Raises InvalidOp unless it gives an index."""
        if [str(one.type) for one in self.operation.results] != ["index"]:
            raise InvalidOp("gives an index")


BulkCopyOp._ODS_OPERAND_SEGMENTS = None
TensorMapOp._ODS_OPERAND_SEGMENTS = None
