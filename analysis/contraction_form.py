"""What a kernel around one contraction or convolution looks like: which loops are rows, columns and reductions, and who reads the result.

In the words of matrix multiplication: *columns* are loops of the output and of one operand (the weight, as a rule), *rows* of the output
and of the other operand, *batch* loops of all three. The output's innermost loop is the one that is vectorized; it has to be a column, so
where it belongs to the first operand, the operands change roles.
"""
import re
from dataclasses import dataclass, replace
from math import prod

from legato.analysis.kind import body_ops, iterators
from legato.core.mlir import func, ir, linalg

VIEWS = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")


@dataclass(frozen=True)
class Form:
    """A kernel's contraction with its surroundings. Loops are numbers of the contraction's own; extents are None where they are dynamic."""

    op: ir.Operation
    extents: tuple[int | None, ...]
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reductions: tuple[int, ...]
    filters: tuple[int, ...]
    weight: int
    """Operand number of the side that has the columns."""
    strides: dict[int | None, int]
    """For the loops over windows: their distance."""
    epilogue: tuple[ir.Operation, ...]
    """Elementwise readers of the result, each of the one before; the last one's result is returned."""
    path: tuple[int, ...]
    """From the returned value back to the contraction: operand numbers."""
    dims: dict[int, int]
    """For the batch, row and column loops: the dimension of the last op's own iteration space."""

    def with_extent(self, loop: int, extent: int) -> "Form":
        """The form of a part: one loop has another extent."""
        return replace(self, extents=(*self.extents[:loop], extent, *self.extents[loop + 1:]))

    @property
    def column(self) -> int:
        """The innermost loop of the output: the vectorized one."""
        return self.columns[-1]

    @property
    def row(self) -> int | None:
        """The loop whose steps share a register tile; None for a single row."""
        return self.rows[-1] if self.rows else None

    @property
    def row_bytes(self) -> int | None:
        """How far neighbouring rows of the first operand are apart in memory; None where it is not known."""
        operand = 1 - self.weight
        type_, loop = self.op.operands[operand].type, re.compile(rf"\bd{self.row}\b")
        for position, expression in enumerate(indexing_maps(self.op)[operand].results):
            inner = [type_.is_dynamic_dim(d) for d in range(position + 1, type_.rank)]
            if loop.search(str(expression)) and not any(inner):
                return prod(type_.shape[position + 1:]) * self.row_stride * element_bits(type_.element_type) // 8
        return None

    @property
    def last(self) -> ir.Operation:
        return self.epilogue[-1] if self.epilogue else self.op

    @property
    def last_rank(self) -> int:
        """Dimensions of the last op's iteration space, reductions included."""
        return indexing_maps(self.last)[0].n_dims

    @property
    def is_window(self) -> bool:
        """Whether the first operand is read in windows, as convolutions do."""
        return bool(self.filters)

    @property
    def decomposes(self) -> bool:
        """Whether upstream makes a one-dimensional convolution, which it can vectorize, of a tile one row high; or it is one."""
        return self.op.name in ("linalg.conv_2d_nhwc_hwcf", "linalg.conv_1d_nwc_wcf")

    @property
    def row_stride(self) -> int:
        """How far the windows of neighbouring rows are apart."""
        return self.strides.get(self.row, 1)

    @property
    def bits(self) -> int:
        """Width of an element of the accumulator."""
        return element_bits(self.op.results[0].type.element_type)


def element_bits(type_: ir.Type) -> int:
    """Width of a number in memory."""
    return 64 if isinstance(type_, ir.IndexType) else type_.width


def producer(value: ir.Value) -> ir.Operation | None:
    """The op that made the value; None for an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def dim_positions(map_: ir.AffineMap) -> list[int | None]:
    """For each result of an affine map the dimension it is, or None where it is something else."""
    return [e.position if isinstance(e, ir.AffineDimExpr) else None for e in map_.results]


def indexing_maps(op: ir.Operation) -> list[ir.AffineMap]:
    """A structured op's indexing maps, one an operand."""
    return [attribute.value for attribute in linalg.get_indexing_maps(op)]


def is_contraction(op: ir.Operation) -> bool:
    """A sum of products of two operands, as upstream understands it, or a convolution that is not depthwise."""
    if not op.name.startswith("linalg.") or len(op.results) != 1 or len(op.operands) != 3:
        return False
    if linalg.isa_contraction_op(op):
        return True
    return linalg.isa_convolution_op(op) and not op.name.startswith("linalg.pooling") and bool(
        list(linalg.infer_convolution_dimensions(op).output_channel))


def is_elementwise(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and set(iterators(op)) <= {"parallel"} and "tensor.extract" not in body_ops(op)


def analyze(kernel: func.FuncOp) -> Form | None:
    """The form of a kernel, or None where it has no contraction, several, or one whose result goes ways that are not known here."""
    ops = [op.operation for op in kernel.body.blocks[0].operations]
    found = [op for op in ops if is_contraction(op)]
    if len(found) != 1 or len(ops[-1].operands) != 1:
        return None
    chain = _chain(ops[-1].operands[0], found[0])
    if chain is None:
        return None
    epilogue, path = chain
    known = [*found, *epilogue, producer(found[0].operands[2])]
    if any(op.name.startswith("linalg.") and op.name != "linalg.unpack" and op not in known for op in ops):
        return None  # work in front of the contraction would be done again for each of its tiles
    return _roles(found[0], epilogue, path)


def _chain(returned: ir.Value, root: ir.Operation) -> tuple[tuple[ir.Operation, ...], tuple[int, ...]] | None:
    """The elementwise ops between the contraction and the returned value (first reader first), and the way back as operand numbers."""
    epilogue: list[ir.Operation] = []
    path = [0]
    op = producer(returned)
    while op is not None and op.name in VIEWS:
        path.append(0)
        op = producer(op.operands[0])
    while op is not None and op != root:
        if not is_elementwise(op):
            return None
        inputs = list(op.operands)[: len(op.operands) - len(op.results)]
        readers = [i for i, v in enumerate(inputs) if _leads_to(v, root)]
        if not readers or len({inputs[i] for i in readers}) > 1:
            return None
        epilogue.insert(0, op)
        path.append(readers[0])
        op = producer(inputs[readers[0]])
    if op is None or any(len({u.owner for u in e.results[0].uses}) != 1 for e in (root, *epilogue)):
        return None
    return tuple(epilogue), tuple(path)


def _leads_to(value: ir.Value, root: ir.Operation) -> bool:
    op = producer(value)
    return op is not None and (op == root or (is_elementwise(op) and any(_leads_to(v, root) for v in op.operands)))


def _roles(op: ir.Operation, epilogue: tuple[ir.Operation, ...], path: tuple[int, ...]) -> Form | None:
    maps = indexing_maps(op)
    extents = _extents(op, maps)
    out = dim_positions(maps[-1])
    strides: dict[int | None, int] = {}
    if linalg.isa_contraction_op(op):
        found = linalg.infer_contraction_dimensions(op)
        batch, rows, columns, reductions = (tuple(x) for x in (found.batch, found.m, found.n, found.k))
        filters: tuple[int, ...] = ()
    else:
        found = linalg.infer_convolution_dimensions(op)
        batch, rows, columns = tuple(found.depth), (*found.batch, *found.output_image), tuple(found.output_channel)
        filters, strides = tuple(found.filter_loop), dict(zip(found.output_image, found.strides))
        reductions = (*filters, *found.input_channel)
    in_order = lambda loops: tuple(sorted(loops, key=out.index))  # noqa: E731
    if not out or None in out or len(out) != len(set(out)):
        return None
    batch, rows, columns = in_order(batch), in_order(rows), in_order(columns)
    weight = 1
    if out[-1] in rows and not filters:
        rows, columns, weight = columns, rows, 0
    dims = _dims_of_last(out, op, epilogue)
    if dims is None or out[-1] not in columns:
        return None
    return Form(op, extents, batch, rows, columns, reductions, filters, weight, strides, epilogue, path, dims)


def _extents(op: ir.Operation, maps: list[ir.AffineMap]) -> tuple[int | None, ...]:
    """The extent of each loop, from the operands that it indexes alone."""
    extents: list[int | None] = [None] * maps[0].n_dims
    for operand, map_ in zip(op.operands, maps, strict=True):
        for position, loop in enumerate(dim_positions(map_)):
            if loop is not None and not operand.type.is_dynamic_dim(position):
                extents[loop] = operand.type.get_dim_size(position)
    return tuple(extents)


def _dims_of_last(out: list[int], op: ir.Operation, epilogue: tuple[ir.Operation, ...]) -> dict[int, int] | None:
    """For each loop of the output its dimension in the last op; None where a reader does not follow the result dimension by dimension."""
    if not epilogue:
        return {loop: loop for loop in out}
    where = list(out)  # the contraction's loop at each position of the value at hand
    dims: dict[int, int] = {}
    value = op.results[0]
    for reader in epilogue:
        maps = indexing_maps(reader)
        read = next(dim_positions(m) for v, m in zip(reader.operands, maps) if v == value)
        by_dim = {d: loop for d, loop in zip(read, where) if d is not None}
        units = [loop for d, loop in zip(read, where) if d is None]
        sizes = _extents(reader, maps)
        if len(by_dim) + len(units) != len(where) or any(d not in by_dim and sizes[d] != 1 for d in range(maps[0].n_dims)):
            return None
        written = dim_positions(maps[-1])
        if None in written:
            return None
        dims = {loop: d for d, loop in by_dim.items()}
        where = [by_dim.get(d, -1) for d in written]
        value = reader.results[0]
    return dims
