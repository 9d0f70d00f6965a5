"""tir-lower-dot-products: contractions of bytes in groups of four become sums of products in lanes of 32 bits.

A contraction of two vectors of bytes, widened to i32, whose innermost reduction has four steps, is computed row by row: the four bytes of a
row's element are one lane, repeated, and the four bytes of each column are the lanes of a vector (``tir.dot4_u8s8``, ...). So are integers
of 16 bits in groups of two (``tir.dot2_s16s16``), and bf16, widened to f32 (``tir.dot2_bf16bf16``).
"""
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.analysis.structured.ops import bits_of
from legato.core.ir_helpers import defining_op, find, index
from legato.core.mlir import arith, ir, memref, vector
from legato.dialects.module import Module
from legato.dialects.tir import intrinsics
from legato.passes.pipeline.base import ModulePass, PassContext

LANE = 32       # bits
WIDENING = {"arith.extui": "u", "arith.extsi": "s", "arith.extf": "bf"}
INTRINSICS = ("dot4_u8s8", "dot4_s8s8", "dot4_u8u8", "dot2_s16s16", "dot2_bf16bf16")


@dataclass(frozen=True)
class LowerDotProducts(ModulePass):
    """Contractions of widened bytes in groups of four, or of integers of 16 bits or bf16 in groups of two, become sums of products in
    lanes of 32 bits."""

    name: ClassVar[str] = "tir-lower-dot-products"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for op in find(module.module.operation, "vector.contract"):
                contraction = NarrowContraction.of(op)
                if contraction is None:
                    continue
                with ir.InsertionPoint(op), op.location:
                    lowered = contraction.lowered()
                if lowered is not None:
                    op.results[0].replace_all_uses_with(lowered)
                    op.erase()


@dataclass(frozen=True)
class NarrowFactor:
    """An operand of a contraction: the numbers before they are widened, in the shape that the contraction reads; ``kind``: their sign and
    bits, or bf16."""

    value: ir.Value
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    """The contraction's loop of each dimension."""
    kind: str

    @classmethod
    def of(cls, value: ir.Value, map_: ir.AffineMap) -> "NarrowFactor | None":
        """The factor behind an operand; None unless it is widened integers of 8 or 16 bits, or bf16. Without the dimensions along which it
        is broadcast, as a single row is along the columns."""
        if not all(isinstance(e, ir.AffineDimExpr) for e in map_.results):
            return None
        dims = dict(zip((e.position for e in map_.results), value.type.shape))
        op = defining_op(value)
        if op is not None and op.name == "vector.broadcast" and isinstance(op.operands[0].type, ir.VectorType):
            shape = list(op.operands[0].type.shape)
            inner = zip(list(dims.items())[-len(shape):], shape)
            dims = {d: size for (d, size), own in inner if own == size}
            op = defining_op(op.operands[0])
        while op is not None and op.name == "vector.shape_cast":
            op = defining_op(op.operands[0])
        if op is None or op.name not in WIDENING or op.operands[0].type.element_type.width not in (8, 16):
            return None
        source = op.operands[0]
        if isinstance(source.type.element_type, ir.F16Type):
            return None
        return cls(source, tuple(dims.values()), tuple(dims), f"{WIDENING[op.name]}{source.type.element_type.width}")

    @property
    def per_lane(self) -> int:
        """The numbers in a lane."""
        return LANE // self.value.type.element_type.width

    def grouped(self, group: int, outer: list[int]) -> ir.Value | None:
        """The numbers as ``[product of outer, per_lane]``, where ``outer`` are loops in order; other loops must have one step."""
        steps = dict(zip(self.dims, self.shape))
        if any(steps[d] != 1 for d in self.dims if d not in outer and d != group):
            return None
        kept = [d for d in self.dims if d in outer and steps[d] != 1]
        if kept != [d for d in outer if d in steps and steps[d] != 1]:
            return None
        count = prod(steps[d] for d in kept)
        inner = [d for d in self.dims if steps[d] != 1]
        value = self.value
        if inner and inner[-1] != group:
            if inner[0] != group:
                return None
            value = shape_cast(value, [self.per_lane, count])
            return vector.TransposeOp(ir.VectorType.get([count, self.per_lane], value.type.element_type), value, [1, 0]).result
        return shape_cast(value, [count, self.per_lane])


@dataclass(frozen=True)
class NarrowContraction:
    """A contraction of integers of 8 or 16 bits, or of bf16: columns are the result's last loop, rows its others."""

    op: ir.Operation
    rows: NarrowFactor
    columns: NarrowFactor
    group: int
    outer: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> "NarrowContraction | None":
        """The form of a ``vector.contract``; None where it is of another kind."""
        maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
        result = op.results[0].type
        if not isinstance(result, ir.VectorType) or bits_of(result.element_type) != LANE:
            return None
        if "add" not in str(op.attributes["kind"]):
            return None
        factors = [NarrowFactor.of(value, map_) for value, map_ in zip(op.operands, maps[:2])]
        first, second = factors
        if first is None or second is None or first.per_lane != second.per_lane:
            return None
        outer = tuple(e.position for e in maps[2].results)
        steps = {d: size for factor in (first, second) for d, size in zip(factor.dims, factor.shape)}
        reductions = [d for d in steps if d not in outer and steps[d] != 1]
        if len(reductions) != 1 or steps[reductions[0]] != first.per_lane or not outer:
            return None
        rows, columns = (first, second) if outer[-1] in second.dims else (second, first)
        if any(steps[d] != 1 and d in rows.dims for d in outer[-1:]) or any(steps[d] != 1 and d in columns.dims for d in outer[:-1]):
            return None
        made = cls(op, rows, columns, reductions[0], outer)
        return made if made.intrinsic in INTRINSICS else None

    def lowered(self) -> ir.Value | None:
        """The result, row by row; None where the order of the factors' loops is another one."""
        rows, columns = self.rows.grouped(self.group, list(self.outer[:-1])), self.columns.grouped(self.group, list(self.outer[-1:]))
        if rows is None or columns is None:
            return None
        result, sums = self.op.results[0], self.op.operands[2]
        height, width = rows.type.shape[0], columns.type.shape[0]
        lane = ir.IntegerType.get_signless(32)
        lanes = ir.VectorType.get([width], lane)
        ys = vector.BitCastOp(lanes, row_of(columns)).result
        flat = height == 1
        accumulator = shape_cast(sums, [width] if flat else [height, width])
        total = accumulator
        for i in range(height):
            bits = vector.BitCastOp(ir.VectorType.get([1], lane), vector.ExtractOp(rows, [], [i]).result).result
            xs = vector.BroadcastOp(lanes, vector.ExtractOp(bits, [], [0]).result).result
            row = accumulator if flat else vector.ExtractOp(accumulator, [], [i]).result
            row = self._dot(xs, ys, row)
            total = row if flat else vector.InsertOp(row, total, [], [i]).result
        return shape_cast(total, result.type.shape)

    @property
    def intrinsic(self) -> str:
        """The tir op of one lane, of which unsigned integers are the first operand."""
        return f"dot{self.rows.per_lane}_{''.join(sorted((self.rows.kind, self.columns.kind), reverse=True))}"

    def _dot(self, xs: ir.Value, ys: ir.Value, sums: ir.Value) -> ir.Value:
        operands = (ys, xs) if self.rows.kind < self.columns.kind else (xs, ys)
        return intrinsics.build(self.intrinsic, *operands, sums)


def shape_cast(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A vector's elements in another shape."""
    type_ = ir.VectorType.get(list(shape), value.type.element_type)
    while (op := defining_op(value)) is not None and op.name == "vector.shape_cast":
        value = op.operands[0]
    return value if value.type == type_ else vector.ShapeCastOp(type_, value).result


def row_of(value: ir.Value) -> ir.Value:
    """Groups ``[n, per lane]`` as one vector. Those that lie in a row in memory are read at once: by itself, each would be a load."""
    count = prod(value.type.shape)
    read = defining_op(value)
    if read is None or read.name != "vector.transfer_read" or not reads_row(read):
        return shape_cast(value, [count])
    source, rank = read.operands[0], read.operands[0].type.rank
    with ir.InsertionPoint(read), read.location:
        indices = list(read.operands)[1: rank + 1]
        joined = [[d] for d in range(rank - 2)] + [[rank - 2, rank - 1]]
        flat = collapsed(source, joined)
        start = arith.muli(indices[-2], index(value.type.shape[-1]))
        last = ir.AffineMapAttr.get(ir.AffineMap.get(rank - 1, 0, [ir.AffineExpr.get_dim(rank - 2)]))
        bounds = ir.ArrayAttr.get([ir.BoolAttr.get(True)])
        type_ = ir.VectorType.get([count], value.type.element_type)
        return vector.TransferReadOp(type_, flat, [*indices[:-2], start], last, read.operands[rank + 1], bounds).result


def reads_row(read: ir.Operation) -> bool:
    """Whether a read takes groups that follow each other in a buffer, in bounds and without a mask."""
    source, result = read.operands[0].type, read.results[0].type
    if not isinstance(source, ir.MemRefType) or source.rank < 2 or result.rank != 2 or len(read.operands) != source.rank + 2:
        return False
    strides, _ = source.get_strides_and_offset()
    minor = [ir.AffineExpr.get_dim(d) for d in (source.rank - 2, source.rank - 1)]
    group = result.shape[-1]
    return (list(read.attributes["permutation_map"].value.results) == minor and source.shape[-1] == group and strides[-2:] == [group, 1]
            and source.shape[-2] >= 0 and all(flag.value for flag in read.attributes["in_bounds"]))


def collapsed(source: ir.Value, groups: list[list[int]]) -> ir.Value:
    """A view whose last two dimensions are one."""
    type_ = source.type
    strides, offset = type_.get_strides_and_offset()
    shape = [*type_.shape[:-2], type_.shape[-2] * type_.shape[-1]]
    layout = None if type_.layout == ir.MemRefType.get(type_.shape, type_.element_type).layout else ir.StridedLayoutAttr.get(
        offset, [*strides[:-2], 1])
    made = ir.MemRefType.get(shape, type_.element_type, layout, type_.memory_space)
    return memref.CollapseShapeOp(made, source, groups).result
