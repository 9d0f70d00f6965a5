"""The form of a kernel with one contraction or convolution: the roles of its loops, and the readers of its result.

In terms of a matrix multiplication: *columns* are loops of the output and of one operand (usually the weight), *rows* of the output and of
the other operand, *batch* loops of all three. The output's innermost loop is vectorized and has to be a column; where it belongs to the
first operand, the operands swap roles.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.maps import dim_positions, dims_in
from legato.analysis.structured.ops import CONTRACTION, StructuredOp, bits_of
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir, linalg

LANE = 32  # bits of the sums that instructions on groups make
VIEWS = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")


@dataclass(frozen=True)
class ContractionForm:
    """A kernel's contraction and its readers. Loops are numbers of the contraction's loops; dynamic extents are None."""

    heart: StructuredOp
    extents: tuple[int | None, ...]
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reductions: tuple[int, ...]
    filters: tuple[int, ...]
    weight: int
    """Number of the operand with the columns."""
    strides: dict[int | None, int]
    """The window stride of each loop over output positions."""
    epilogue: tuple[StructuredOp, ...]
    """The chain of elementwise readers of the result; the last one's result is returned."""
    path: tuple[int, ...]
    """The operand numbers that lead from the returned value back to the contraction."""
    dims: dict[int, int]
    """The dimension of each batch, row and column loop in the last op's iteration space."""

    @classmethod
    def of(cls, kernel: KernelOps) -> ContractionForm | None:
        """The form of a kernel; None where it has no contraction, several, or one whose result is used in unsupported ways."""
        heart, returns = kernel.heart, kernel.ops[-1]
        if heart is None or heart.kind != CONTRACTION or len(heart.op.operands) != 3 or len(returns.operands) != 1:
            return None
        chain = _chain(kernel, returns.operands[0], heart)
        if chain is None:
            return None
        epilogue, path = chain
        initial = defining_op(heart.op.operands[2])
        known = [heart.op, *(reader.op for reader in epilogue), *([] if initial is None else [initial])]
        if any(op.op not in known and op.op.name != "linalg.unpack" for op in kernel.structured):
            return None  # work before the contraction would be repeated for each tile
        return _roles(heart, epilogue, path)

    @classmethod
    def of_op(cls, op: StructuredOp) -> ContractionForm | None:
        """The form of one contraction, without its readers; None where its loops have no such roles."""
        return _roles(op, (), ()) if len(op.op.operands) == 3 else None

    def with_extent(self, loop: int, extent: int) -> ContractionForm:
        """The form with another extent of one loop."""
        return replace(self, extents=(*self.extents[:loop], extent, *self.extents[loop + 1:]))

    @property
    def op(self) -> ir.Operation:
        """The contraction."""
        return self.heart.op

    @property
    def column(self) -> int:
        """The innermost loop of the output: the vectorized one."""
        return self.columns[-1]

    @property
    def row(self) -> int | None:
        """The loop whose iterations share a register tile; None for a single row."""
        return self.rows[-1] if self.rows else None

    @property
    def row_bytes(self) -> int | None:
        """The distance of neighbouring rows of the first operand in memory, in bytes; None where it is dynamic."""
        operand = 1 - self.weight
        type_ = self.op.operands[operand].type
        for position, expression in enumerate(self.heart.maps[operand].results):
            inner = [type_.is_dynamic_dim(d) for d in range(position + 1, type_.rank)]
            if self.row in dims_in(expression) and not any(inner):
                return prod(type_.shape[position + 1:]) * self.row_stride * bits_of(type_.element_type) // 8
        return None

    @property
    def row_element_bits(self) -> int:
        """The width of an element of the operand with the rows, in memory."""
        return bits_of(self.heart.inputs[1 - self.weight].type.element_type)

    @property
    def last(self) -> StructuredOp:
        """The op whose result is returned."""
        return self.epilogue[-1] if self.epilogue else self.heart

    @property
    def last_rank(self) -> int:
        """The number of loops of the last op, reductions included."""
        return len(self.last.iterator_types)

    @property
    def is_window(self) -> bool:
        """Whether the first operand is read in windows, as in convolutions."""
        return bool(self.filters)

    def is_dot_product(self, enough_rows: int) -> bool:
        """Whether it is a matmul of fewer than ``enough_rows`` rows whose weight is contiguous along the reduction: its elements are
        sums along vectors. A dynamic number of rows is enough. Groups of narrow elements, which instructions multiply, are none."""
        if self.group is not None:
            return False
        loops = self.heart.loops_of(self.weight)
        rows = prod(enough_rows if (extent := self.extents[loop]) is None else extent for loop in self.rows)
        return not self.filters and rows < enough_rows and bool(loops) and loops[-1] in self.reductions

    @property
    def decomposes(self) -> bool:
        """Whether upstream can vectorize a tile one row high as a one-dimensional convolution, or the op is one."""
        return self.op.name in ("linalg.conv_2d_nhwc_hwcf", "linalg.conv_1d_nwc_wcf")

    @property
    def row_stride(self) -> int:
        """The stride between the windows of neighbouring rows."""
        return self.strides.get(self.row, 1)

    @property
    def widens(self) -> bool:
        """Whether a factor has narrower elements than the result."""
        types = [value.type.element_type for value in self.op.operands]
        return any(type_ != types[-1] for type_ in types[:-1])

    @property
    def group(self) -> int | None:
        """The reduction over four neighbouring bytes, or two neighbouring integers or bf16 of 16 bits, of both operands, whose products an
        instruction sums into one lane of 32 bits; None where there is none."""
        last, element = self.reductions[-1], self.heart.inputs[0].type.element_type
        if element not in map(ir.IntegerType.get_signless, (8, 16)) and not isinstance(element, ir.BF16Type):
            return None
        if len(self.reductions) < 2 and bits_of(element) == 16:
            return None    # a sum of two products
        if self.extents[last] != LANE // bits_of(element) or any(value.type.element_type != element for value in self.heart.inputs):
            return None
        return last if self.bits == LANE and self.heart.loops_of(1 - self.weight)[-1] == last else None

    @property
    def bits(self) -> int:
        """The width of the accumulator's elements."""
        return bits_of(self.op.results[0].type.element_type)


def _chain(kernel: KernelOps, returned: ir.Value, heart: StructuredOp) -> tuple[tuple[StructuredOp, ...], tuple[int, ...]] | None:
    """The elementwise ops from the contraction to the returned value, and the way back as operand numbers; None where there is no
    such chain."""
    epilogue: list[StructuredOp] = []
    path = [0]
    op = defining_op(returned)
    while op is not None and op.name in VIEWS:
        path.append(0)
        op = defining_op(op.operands[0])
    while op is not None and op != heart.op:
        reader = kernel.op(op)
        if reader is None or not reader.is_pointwise:
            return None
        inputs = reader.inputs
        paths = [i for i, v in enumerate(inputs) if _leads_to(kernel, v, heart)]
        if not paths or len({inputs[i] for i in paths}) > 1:
            return None
        epilogue.insert(0, reader)
        path.append(paths[0])
        op = defining_op(inputs[paths[0]])
    if op is None or any(len({u.owner for u in e.op.results[0].uses}) != 1 for e in (heart, *epilogue)):
        return None
    return tuple(epilogue), tuple(path)


def _leads_to(kernel: KernelOps, value: ir.Value, heart: StructuredOp) -> bool:
    op = defining_op(value)
    if op is None or op == heart.op:
        return op is not None
    reader = kernel.op(op)
    return reader is not None and reader.is_pointwise and any(_leads_to(kernel, v, heart) for v in op.operands)


def _roles(heart: StructuredOp, epilogue: tuple[StructuredOp, ...], path: tuple[int, ...]) -> ContractionForm | None:
    out = heart.out_loops
    strides: dict[int | None, int] = {}
    filters: tuple[int, ...] = ()
    if (found := heart.convolution) is None:
        found = linalg.infer_contraction_dimensions(heart.op)
        batch, rows, columns, reductions = (tuple(x) for x in (found.batch, found.m, found.n, found.k))
        if len({*batch, *rows, *columns, *reductions}) != len(heart.extents):
            return None    # a reduction over a loop of one operand only
    else:
        batch, rows, columns = tuple(found.depth), (*found.batch, *found.output_image), tuple(found.output_channel)
        filters, strides = tuple(found.filter_loop), dict(zip(found.output_image, found.strides))
        reductions = (*filters, *found.input_channel)
    if not out or not heart.writes_plainly:
        return None
    batch, rows, columns = (tuple(sorted(loops, key=out.index)) for loops in (batch, rows, columns))
    weight = 1
    if out[-1] in rows and not filters:
        rows, columns, weight = columns, rows, 0
    dims = _dims_of_last(heart, epilogue)
    if dims is None or out[-1] not in columns:
        return None
    extents = tuple(extent if extent >= 0 else None for extent in heart.extents)
    return ContractionForm(heart, extents, batch, rows, columns, reductions, filters, weight, strides, epilogue, path, dims)


def _dims_of_last(heart: StructuredOp, epilogue: tuple[StructuredOp, ...]) -> dict[int, int] | None:
    """The dimension of each output loop in the last op; None where a reader does not follow the result dimension by dimension."""
    where = [loop for loop in heart.out_loops if loop is not None]  # the contraction's loop for each dimension of ``value``
    dims = {loop: loop for loop in where}
    value = heart.op.results[0]
    for reader in epilogue:
        read = next(dim_positions(m) for v, m in zip(reader.op.operands, reader.maps) if v == value)
        by_dim = {d: loop for d, loop in zip(read, where) if d is not None}
        if len(by_dim) != len(where):
            return None    # upstream vectorizes no tile that is read at a constant place
        if any(d not in by_dim and extent != 1 for d, extent in enumerate(reader.extents)) or None in reader.out_loops:
            return None
        dims = {loop: d for d, loop in by_dim.items()}
        where = [-1 if d is None else by_dim.get(d, -1) for d in reader.out_loops]
        value = reader.op.results[0]
    return dims
