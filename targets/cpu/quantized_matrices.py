"""The loops of a product of many rows, rounded to bf16, with a weight of few bits, by instructions on matrices (AMX).

A block of the weight, 32 columns wide, is dequantized to pairs of bf16 in the first-level cache, for all tiles of rows. The last tile reads
memory behind the last row, and what it adds up there is not used.
"""
from __future__ import annotations

from legato.analysis.structured.groups import SIDE
from legato.core.matrix_steps import contracted, no_sums, read_matrix, write_sums
from legato.core.mlir import ir, memref, vector
from legato.core.vector_loops import Size, loop, plus, quotient, rounded_up, scratch, times
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.quantized_loops import QuantizedProduct
from legato.targets.cpu.quantized_pairs import PAIR, QuantizedPairs

TILE = 2 * SIDE         # rows that are multiplied at once, and columns
ENOUGH_ROWS = 8         # from which on they are faster than vectors


def fills_matrices(product: QuantizedProduct, machine: Machine) -> bool:
    """Whether a product that pairs take is one for matrices: of enough rows, and blocks that equal steps go through."""
    enough = not isinstance(product.rows, int) or product.rows >= ENOUGH_ROWS
    return machine.has("amx-bf16") and enough and product.lanes == SIDE and product.block % SIDE == 0


class QuantizedMatrices(QuantizedPairs):
    """Builds the loops over one panel of columns at the insertion point, after the rows are rounded."""

    def __init__(self, product: QuantizedProduct, machine: Machine, threads: int) -> None:
        self.height = SIDE if isinstance(product.rows, int) and product.rows <= SIDE else TILE
        super().__init__(product, machine, threads)
        pairs, wide = product.block // PAIR, self.group * SIDE
        self.step = SIDE if pairs % SIDE == 0 else SIDE // 2
        self.factors = _in_pairs(self.x, [self.whole_rows, product.depth // PAIR])
        self.filters = _in_pairs(self.panel, [threads, pairs, wide])
        self.sums = scratch(threads, self.height, wide)

    def row_tiles(self) -> tuple[int, ...]:
        return (self.height,)

    @property
    def whole_rows(self) -> Size:
        return times(rounded_up(self.rows, self.height), self.height)

    def make_panel(self, threads: int) -> ir.Value:
        return scratch(threads, self.product.block // PAIR, self.group * SIDE * PAIR, element=ir.BF16Type.get())

    def write_pairs(self, value: ir.Value, thread: Size, pair: Size, number: int) -> None:
        halves = vector.BitCastOp(ir.VectorType.get([PAIR * SIDE], ir.BF16Type.get()), value).result
        self.v.store(halves, self.panel, thread, pair, number * SIDE * PAIR)

    def multiply(self, thread: Size, columns: list[int], scales: list[ir.Value], start: Size, first: Size, count: Size) -> None:
        wide = len(columns) * SIDE

        def tile(row: ir.Value) -> None:
            def step(at: ir.Value, sums: ir.Value) -> list[ir.Value]:
                left = read_matrix(self.factors, [plus(first, row), plus(quotient(start, PAIR), at), 0], [self.height, self.step, PAIR])
                right = read_matrix(self.filters, [thread, at, 0, 0], [self.step, wide, PAIR])
                return [contracted(left, right, sums)]

            sums, = loop(0, self.product.block // PAIR, self.step, step, [no_sums(self.height, wide)])
            write_sums(sums, self.sums, thread, 0, 0)
            loop(0, self.height, 1, lambda i: add(i, plus(row, i)))

        def add(i: ir.Value, row: Size) -> None:
            for j, column in enumerate(columns):
                total = self.v.load(self.totals, thread, row, column)
                product = self.v.load(self.sums, thread, i, j * SIDE)
                self.v.store(vector.FMAOp(product, scales[j], total).result, self.totals, thread, row, column)

        loop(0, count, self.height, tile)


def _in_pairs(buffer: ir.Value, shape: list[Size]) -> ir.Value:
    """A view of a buffer of bf16, whose last dimension is pairs, of this shape and two."""
    dynamic = [size for size in shape if not isinstance(size, int)]
    static = [size if isinstance(size, int) else ir.ShapedType.get_dynamic_size() for size in shape] + [PAIR]
    groups = [*([axis] for axis in range(len(shape) - 1)), [len(shape) - 1, len(shape)]]
    return memref.ExpandShapeOp(ir.MemRefType.get(static, ir.BF16Type.get()), buffer, groups, dynamic, static).result
