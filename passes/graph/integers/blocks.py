"""Constant weights that a graph dequantizes, block by block, before a product: what they are made of, and their packed form.

``(integers - zero) * scale``, where scale and zero are taken for each row, or are the same for all rows.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from legato.core.dtypes import kind
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.core.weights import WeightStore
from legato.dialects import relax
from legato.dialects.relax.ops.quantized import DTYPES, rows_per_word
from legato.passes.graph.functions import permutation_of
from legato.passes.graph.integers.quantized import WIDE, Reader, dtype_of
from legato.passes.graph.integers.words import Integers, Whole, unpacked

PANELS = (16, 32, 64)  # columns
ALIGNED = 16  # columns that each row of a single panel is padded to a multiple of
LEAST_BLOCK, LARGEST_BLOCK = 256, 1024  # of rows that all share a scale: parts that are dequantized at once fit a cache
MOST = 255  # magnitude of integers and of zeros that are whole
HALF = np.dtype(np.float16)  # holds these exactly
HALVES = ("float16", "bfloat16")


@dataclass(frozen=True)
class PerRow:
    """A scale or zero of each element: ``table[group of the row, column]``; a table of one row, or one column, holds for all."""

    table: np.ndarray
    groups: np.ndarray | None  # of each row; None where the table has one row

    def of_blocks(self, first_rows: np.ndarray, columns: int) -> np.ndarray:
        """The values of blocks that begin with these rows (in the weight's order), for all columns."""
        rows = self.table if self.groups is None else self.table[self.groups[first_rows]]
        return np.broadcast_to(rows, (len(first_rows), columns))


@dataclass(frozen=True)
class BlockWeight:
    """A dequantized weight as a matrix."""

    integers: Integers
    scale: PerRow
    zero: PerRow | None


@dataclass(frozen=True)
class PackedWeight:
    """The operands and attributes of ``relax.matmul_quantized``, and what has to be done to its input: the order of its columns, where
    it is another one (None: none), and their number with padding. ``fill`` writes the elements of a weight of this shape and type."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fill: Callable[[np.ndarray], None]
    scale: np.ndarray
    zero: np.ndarray
    bits: int
    columns: int
    order: np.ndarray | None
    depth: int


def block_weight(value: ir.Value, reader: Reader) -> BlockWeight | None:
    """What a dequantized constant matrix is made of; None for any other value."""
    transposed = False
    while (op := defining_op(value)) is not None and (op.name == "relax.permute_dims" or _rounds(op)):
        transposed ^= op.name == "relax.permute_dims" and permutation_of(op) == (1, 0)
        value = op.operands[0]
    if op is None or op.name != "relax.multiply" or value.type.rank != 2 or not value.type.has_static_shape:
        return None
    for factor, scale in (op.operands, reversed(op.operands)):
        found = _differences(factor, list(value.type.shape), transposed, reader)
        of_scale = _per_row(scale, transposed, reader) if found is not None else None
        if found is None or of_scale is None:
            continue
        integers, zero = found
        of_zero = None if zero is None else _per_row(zero, transposed, reader)
        if zero is None or of_zero is not None:
            return BlockWeight(integers, of_scale, of_zero)
    return None


def _rounds(op: ir.Operation) -> bool:
    """Whether an op rounds dequantized values to halves."""
    return op.name == "relax.astype" and str(dtype_of(op.operands[0])) == "float32" and str(dtype_of(op.results[0])) in HALVES


def _differences(value: ir.Value, shape: list[int], transposed: bool, reader: Reader) -> tuple[Integers, ir.Value | None] | None:
    """The integers, of the transpose if the weight is that, and the zeros of widened integers, less zeros or not."""
    value, zero = _widened(value), None
    op = defining_op(value)
    if op is not None and op.name == "relax.subtract":
        value, zero = _widened(op.operands[0]), op.operands[1]
    if kind(dtype_of(value)) not in ("int", "uint") or list(value.type.shape) != shape:
        return None
    shared = unpacked(value, reader.constants) if transposed else None
    if shared is not None:
        return shared, zero
    array = reader.array(value)
    if array is None:
        return None
    integers = Whole(array.T if transposed else array)
    return None if integers.low < -MOST or integers.high > MOST else (integers, zero)


def _widened(value: ir.Value) -> ir.Value:
    """What is after casts to types that hold bytes and their differences."""
    while (op := defining_op(value)) is not None and op.name == "relax.astype" and dtype_of(value) in (*WIDE, HALF):
        value = op.operands[0]
    return value


def _per_row(value: ir.Value, transposed: bool, reader: Reader) -> PerRow | None:
    """A scale or zero of the weight, ``transposed`` if that is; None where it is no expression of constants, or a large one."""
    while (op := defining_op(value)) is not None and op.name == "relax.astype" and dtype_of(op.operands[0]).itemsize <= dtype_of(
            value).itemsize:
        value = op.operands[0]
    rows = 1 if transposed else 0
    groups = None
    if op is not None and op.name == "relax.take" and relax.attributes_of(op)["axis"] % value.type.rank == rows and value.type.rank == 2:
        groups, value = reader.few(op.operands[1]), op.operands[0]
        if groups is None or groups.ndim != 1:
            return None
        table = reader.array(value)
    else:
        table = reader.few(value)
    if table is None or table.ndim > 2:
        return None
    table = table.reshape((1,) * (2 - table.ndim) + table.shape)
    table = table.T if transposed else table
    if groups is None:
        return PerRow(table, None) if table.shape[0] == 1 else None
    return PerRow(table, np.where(groups < 0, groups + table.shape[0], groups)) if groups.size else None


def packed(found: BlockWeight, one_panel: bool, store: WeightStore) -> PackedWeight | None:
    """A weight in the form of ``relax.matmul_quantized``; None where its rows are in no blocks of equal sizes. ``one_panel``: of all
    columns. ``store``: in whose memory its scales and zeros are."""
    depth, columns = found.integers.shape
    blocks = _blocks(found, depth)
    if blocks is None or not depth or not columns:
        return None
    order, block = blocks
    firsts = np.arange(0, depth, block) if order is None else order[np.arange(0, depth, block)]
    scale = found.scale.of_blocks(firsts, columns)
    zero = np.broadcast_to(np.float32(0), scale.shape) if found.zero is None else found.zero.of_blocks(firsts, columns)
    low, high, same = found.integers.low, found.integers.high, zero.flat[0]
    whole = (zero == same).all() and same == np.rint(same) and abs(same) <= MOST
    if whole and _signed_bits(low - int(same), high - int(same)) is not None:
        less, zero = int(same), None
    else:
        less = 1 << (_bits(high) - 1) if low >= 0 and high > 1 else 0
        zero = zero.astype(np.float32) - less
    bits = _signed_bits(low - less, high - less)
    if bits is None:
        return None
    per = rows_per_word(bits)
    if block % per and len(firsts) > 1:
        return None  # a word would hold rows of two blocks
    block = -(-block // per) * per
    width = -(-columns // ALIGNED) * ALIGNED if one_panel else next((width for width in PANELS if columns <= width), PANELS[-1])
    zeros = np.zeros(0, np.float32) if zero is None else _narrow(_panels(zero, width, store))
    shape = (-(-columns // width), len(firsts), block // per, width)

    def fill(panels: np.ndarray) -> None:
        panels[-1] = 0     # of columns that there are not
        found.integers.write(panels, less, bits, order)

    return PackedWeight(shape, DTYPES[bits], fill, _panels(scale, width, store), zeros, bits, columns, order, len(firsts) * block)


def _blocks(found: BlockWeight, depth: int) -> tuple[np.ndarray | None, int] | None:
    """The order of the rows in which those of one block follow each other (None: theirs), and the number of rows of a block."""
    given = [one.groups for one in (found.scale, found.zero) if one is not None and one.groups is not None]
    if not given:
        sizes = range(LARGEST_BLOCK, LEAST_BLOCK - 1, -rows_per_word(2))
        return None, next((block for block in sizes if depth > block and depth % block == 0), depth)
    groups = given[0]
    if groups.size != depth or any(not np.array_equal(groups, other) for other in given[1:]):
        return None
    order = None
    if (np.diff(groups) < 0).any():
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    block = int(starts[1]) if len(starts) > 1 else depth
    return (order, block) if np.array_equal(starts, np.arange(0, depth, block)) else None


def _bits(high: int) -> int:
    """The bits of unsigned integers up to this one: 2, 4 or 8."""
    return 2 if high < 4 else 4 if high < 16 else 8


def _signed_bits(low: int, high: int) -> int | None:
    return next((bits for bits in (2, 4, 8) if low >= -(1 << (bits - 1)) and high < 1 << (bits - 1)), None)


def _panels(array: np.ndarray, width: int, store: WeightStore) -> np.ndarray:
    """An array with its last axis in panels, which become the first axis; the last panel is padded with zeros."""
    columns = array.shape[-1]
    count = -(-columns // width)
    whole = array
    if columns % width:
        whole = np.zeros((*array.shape[:-1], count * width), array.dtype)
        whole[..., :columns] = array
    panels = np.moveaxis(whole.reshape(*array.shape[:-1], count, width), -2, 0)
    result = store.empty(panels.shape, panels.dtype)
    result[...] = panels
    return result


def _narrow(zeros: np.ndarray) -> np.ndarray:
    """Zeros as bytes, where they are whole and fit."""
    return zeros.astype(np.int8) if (zeros == np.rint(zeros)).all() and (zeros >= -128).all() and (zeros < 128).all() else zeros
