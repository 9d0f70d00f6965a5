"""Products of two matrices of the run: which of them a CPU computes without a transposed copy of a whole one, and in which form.

Measured on a Zen 4, with vectors of 512 and of 256 bits, beside register tiles that read the right factor as it lies, or its transpose.
"""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.structured.contraction import ContractionForm
from legato.core.cpu_table import WAY
from legato.core.interfaces import CpuMachine

ROWS = 2            # of the left factor, at least; the sums of one are the default schedule's
DEPTH = 256         # of rows of which the number is not known: where the sums of lanes, at the end of each, take little of the time
FEW = 32            # rows that tiles of two, as 16 registers hold, multiply faster by rows than by columns
LONG = 1 << 10      # bytes of a row that is added to others
BEYOND_L1 = 1 << 18     # bytes of a matrix whose rows are added
SMALL = 1 << 16     # bytes of a right factor that the first cache nearly holds
LARGE = 1 << 23     # bytes of a right factor that is read from beyond the second cache for each tile of rows
MANY = 64           # rows that it is read for so
WORK = 1 << 30      # rows, times bytes of a turned factor, from which on copies of its panels take less time than sums along rows
BYTES = 4           # of an element


@dataclass(frozen=True)
class RunProduct:
    """A product of f32, ``rows`` by ``depth`` by ``columns``; None: not known. ``turned``: whether the depth lies along the rows of the
    right factor, too; ``alone``: whether it is one of two matrices, not a batch of them."""

    rows: int | None
    depth: int | None
    columns: int | None
    turned: bool
    alone: bool = True

    @classmethod
    def of(cls, form: ContractionForm | None) -> RunProduct | None:
        """The sizes of a contraction; None unless it is a product of matrices of f32."""
        if form is None or {str(value.type.element_type) for value in form.op.operands} != {"f32"}:
            return None
        if form.is_window or len(form.reductions) != 1:
            return None
        heart, depth, column = form.heart, form.reductions[0], form.column
        left, right, out = heart.loops_of(1 - form.weight), heart.loops_of(form.weight), heart.out_loops
        row = [] if form.row is None else [form.row]
        if left[-1 - len(row):] != [*row, depth] or out[-1 - len(row):] != [*row, column]:
            return None
        if right[-2:] not in ([depth, column], [column, depth]):
            return None
        alone = len(left) == len(out) == 1 + len(row) and len(right) == 2
        return cls(form.extents[row[0]] if row else 1, form.extents[depth], form.extents[column], right[-1] == depth, alone)

    def sums_rows(self, machine: CpuMachine) -> bool:
        """Whether tiles of sums along the rows of both factors take the least time (``tir-turned-products``): a transpose takes time for
        each element of the right factor, these for each element of the result, whose lanes they add up."""
        if not self.turned or self.depth is None or not suits(machine) or self.copies_panels(machine):
            return False
        if self.rows is None:
            return self.depth >= DEPTH
        return ROWS <= self.rows <= self.depth // 2 and (has_wide_tiles(machine) or self.rows < FEW)

    def adds_rows(self, machine: CpuMachine) -> bool:
        """Whether a sum of the right factor's rows takes the least time (``tir-sum-rows``), as of one row by a matrix whose rows are long:
        down a tile of columns each row is on another page."""
        if self.rows != 1 or self.depth is None or self.columns is None or self.turned or not self.alone or not suits(machine):
            return False
        row = self.columns * BYTES
        return row >= LONG and self.depth * row >= BEYOND_L1

    def copies_panels(self, machine: CpuMachine) -> bool:
        """Whether copies of panels of the right factor take the least time (``tir-copy-panels``). One of 256 bits has a line of each of its
        rows, which meet in few sets of a cache at more distances than two lines of each."""
        if self.depth is None or self.columns is None or not self.alone or not suits(machine):
            return False
        rows, row, wide = self.rows or 0, self.columns * BYTES, has_wide_tiles(machine)
        if self.turned:
            return rows * self.depth * row >= WORK if wide else rows >= 3 * FEW // 2 and self.depth * row >= SMALL
        meet = row % (WAY if wide else WAY // 2) == 0
        return rows >= (MANY if wide else MANY // 4) if meet else rows >= MANY and self.depth * row >= LARGE


def suits(machine: CpuMachine) -> bool:
    """Whether a CPU has the instructions, and multiplies factors of f32 as they are."""
    return machine.has("fma") and machine.lanes(32) >= 8 and not machine.rounds_factors


def has_wide_tiles(machine: CpuMachine) -> bool:
    """Whether 32 registers hold the sums of a tile."""
    return machine.registers == 32
