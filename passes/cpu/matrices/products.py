"""Products of matrices among vector ops: their factors in memory, and the loops that carry their sums.

A step is a ``vector.contract`` of groups of narrow elements, read from memory and widened: ``sums[m, n] += A[m, k, q] * B[k, n, q]``. Its
sums are carried by loops around it, and are written when these end.
"""
from __future__ import annotations

from dataclasses import dataclass

from legato.core.ir_helpers import defining_op, only_use
from legato.core.matrix_steps import PARTS
from legato.core.mlir import ir

SIDE = 16       # rows of a tile register, and 32-bit elements in a row of it
LANE = 32       # bits that one group of elements has, and one sum
MOST_PARTS = 3  # of a number of f32 in bf16
WIDENING = {"arith.extf": "bf16", "arith.extui": "u", "arith.extsi": "s"}
TRANSFER_WRITE = "vector.transfer_write"


@dataclass(frozen=True)
class Access:
    """A place in a memref: the indices of its first element, and the dimension of the memref that each of a vector's dimensions follows."""

    memref: ir.Value
    indices: tuple[ir.Value, ...]
    dims: tuple[int, ...]

    @classmethod
    def of(cls, transfer: ir.Operation) -> Access | None:
        """What a ``vector.transfer_read`` or ``transfer_write`` reads or writes; None unless it is whole rows of a memref, in bounds."""
        first = 1 if transfer.name == TRANSFER_WRITE else 0
        memref = transfer.operands[first]
        if not isinstance(memref.type, ir.MemRefType):
            return None
        rank, padding = memref.type.rank, 0 if first else 1
        results = list(transfer.attributes["permutation_map"].value.results)
        masked = len(transfer.operands) != first + 1 + rank + padding
        if masked or not all(flag.value for flag in transfer.attributes["in_bounds"]):
            return None
        if not all(isinstance(expression, ir.AffineDimExpr) for expression in results):
            return None
        return cls(memref, tuple(transfer.operands)[first + 1:first + 1 + rank], tuple(e.position for e in results))

    @property
    def strides(self) -> list[int]:
        """The memref's strides, in elements; dynamic ones as ``ir.ShapedType.get_dynamic_stride_or_offset()``."""
        return self.memref.type.get_strides_and_offset()[0]


@dataclass(frozen=True)
class MatrixFactor:
    """A factor of a step: where it is read, and for each of the step's loops the number of elements and the dimension of the memref."""

    access: Access
    kind: str
    """bf16, u or s: what its elements are."""
    sizes: dict[int, int]
    dims: dict[int, int]

    @classmethod
    def of(cls, value: ir.Value, map_: ir.AffineMap) -> MatrixFactor | None:
        """The factor behind an operand of a contraction; None unless it is widened and read from memory as it is. A row may be repeated for
        all columns."""
        loops = [e.position for e in map_.results if isinstance(e, ir.AffineDimExpr)]
        if len(loops) != len(map_.results):
            return None
        repeated = defining_op(value)
        if repeated is not None and repeated.name == "vector.broadcast" and isinstance(repeated.operands[0].type, ir.VectorType):
            value, shape = repeated.operands[0], value.type.shape
            loops = loops[len(shape) - value.type.rank:]
            if value.type.shape != shape[-len(loops):]:
                return None
        long = [(loop, size) for loop, size in zip(loops, value.type.shape) if size != 1]
        kind, op = None, defining_op(value)
        while op is not None and (op.name == "vector.shape_cast" or (op.name in WIDENING and kind is None)):
            kind = WIDENING.get(op.name, kind)
            value = op.operands[0]
            op = defining_op(value)
        if op is None or op.name != "vector.transfer_read" or kind is None:
            return None
        access = Access.of(op)
        if access is None or (kind == "bf16") != isinstance(value.type.element_type, ir.BF16Type):
            return None
        read = [(dim, size) for dim, size in zip(access.dims, value.type.shape, strict=True) if size != 1]
        if [size for _, size in read] != [size for _, size in long]:
            return None
        return cls(access, kind, dict(long), {loop: dim for (loop, _), (dim, _) in zip(long, read)})

    def stride(self, loop: int) -> int | None:
        """The stride along a loop, in elements; None where it is dynamic, or where the loop has one step."""
        if loop not in self.dims:
            return None
        stride = self.access.strides[self.dims[loop]]
        return None if stride == ir.ShapedType.get_dynamic_stride_or_offset() else stride

    def follows(self, loop: int, stride: int) -> bool:
        """Whether neighbouring steps of a loop are this far from each other in memory."""
        return loop not in self.dims or self.stride(loop) == stride


@dataclass(frozen=True)
class Sums:
    """The accumulators of a step: the loops that carry them, innermost first, what they start from and what they end as."""

    loops: tuple[ir.Operation, ...]
    initial: ir.Value
    final: ir.Value

    @classmethod
    def of(cls, step: ir.Operation) -> Sums | None:
        """The accumulators of a contraction; None where the loops carry other values, or other ops use the sums on the way."""
        loops, initial, final = [], step.operands[2], step.results[0]
        while isinstance(initial.owner, ir.Block):
            loop = initial.owner.owner.operation
            use = only_use(final)
            if loop.name != "scf.for" or len(loop.results) != 1 or initial.arg_number != 1 or only_use(initial) is None:
                return None
            if use is None or use.owner.operation.name != "scf.yield" or use.owner.operation.parent.operation != loop:
                return None
            loops.append(loop)
            initial, final = loop.operands[3], loop.results[0]
        return cls(tuple(loops), initial, final)


@dataclass(frozen=True)
class MatrixProduct:
    """A product of matrices: ``rows`` by ``columns`` sums, of ``depth`` groups in each step."""

    step: ir.Operation
    left: MatrixFactor
    right: MatrixFactor
    sums: Sums
    row: int | None
    """The loop of the step over rows; None where there is one."""
    group_loop: int
    """The loop of the step over groups."""
    rows: int
    columns: int
    depth: int
    bytes: int
    """Of an element of the factors."""
    parts: tuple[int, int] | None = None
    """The loops of the step over the parts that the elements of the left and of the right factor are split into."""

    @classmethod
    def of(cls, step: ir.Operation) -> MatrixProduct | None:
        """The form of a ``vector.contract``; None where it is another one, has more elements than tile registers take, or sums single
        groups, for which there are instructions on vectors."""
        maps = [attribute.value for attribute in step.attributes["indexing_maps"]]
        result = step.results[0].type
        if not isinstance(result, ir.VectorType) or "add" not in str(step.attributes["kind"]) or len(step.operands) != 3:
            return None
        factors = [MatrixFactor.of(value, map_) for value, map_ in zip(step.operands, maps[:2])]
        outer = [(e.position, size) for e, size in zip(maps[2].results, result.shape) if size != 1]
        if None in factors or not 1 <= len(outer) <= 2:
            return None
        column, columns = outer[-1]
        right, left = sorted((factor for factor in factors if factor is not None), key=lambda factor: column not in factor.sizes)
        row, rows = outer[0] if len(outer) == 2 else (None, 1)
        inner = [loop for loop in right.sizes if loop != column]
        width = 2 if right.kind == "bf16" else 4
        others = [loop for loop in left.sizes if loop != row]
        in_parts = PARTS in step.attributes and len(others) == len(inner) == 3 and right.kind == "bf16"
        parts = (others.pop(0), inner.pop(0)) if in_parts else None
        if parts is not None:
            counts = left.sizes[parts[0]], right.sizes[parts[1]]
            if parts[0] == parts[1] or counts[0] != counts[1] or counts[0] > MOST_PARTS:
                return None
        if column in left.sizes or row in right.sizes or len(inner) != 2 or right.sizes[inner[-1]] != width:
            return None
        group_loop, group = inner
        if others != inner or (left.kind == "bf16") != (right.kind == "bf16"):
            return None
        depth = right.sizes[group_loop]
        if rows > 2 * SIDE or columns > 2 * SIDE or depth > SIDE or not (left.follows(group, 1) and right.follows(group, 1)):
            return None
        steady = left.follows(group_loop, width) and right.stride(group_loop) is not None
        if not steady or not right.follows(column, width) or (row is not None and left.stride(row) is None):
            return None
        sums = Sums.of(step)
        return None if sums is None else cls(step, left, right, sums, row, group_loop, rows, columns, depth, LANE // 8 // width, parts)

    @property
    def outermost(self) -> ir.Operation:
        """The outermost op that the sums are carried by."""
        return self.sums.loops[-1] if self.sums.loops else self.step

    @property
    def instruction(self) -> str:
        """The intrinsic that multiplies two matrices and adds the product to a third."""
        if self.left.kind == "bf16":
            return "llvm.x86.tdpbf16ps"
        return f"llvm.x86.tdpb{self.left.kind}{self.right.kind}d"
