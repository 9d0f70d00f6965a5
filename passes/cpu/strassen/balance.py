"""Whether numbers are so near to each other in size that sums of them lose nothing that counts."""
from __future__ import annotations

import numpy as np

from legato.core.mlir import arith, ir

APART = 16              # times as great as what it is added to, that a row, or a column, may be
LARGEST = 2.0 ** 54     # 2^17 products of sums of smaller numbers, of three each, add up to a finite one
AT_ONCE = 1 << 16       # numbers of a weight that are looked at once, in a core's cache


def is_balanced(weight: np.ndarray, width: int, blocks: int) -> bool:
    """Whether all numbers of a weight [depth, columns] are finite, and its rows and columns may be added to those of the other half of
    their block of the depth, and of the tile of ``width`` columns beside them."""
    depth, columns = weight.shape
    of_rows, of_columns = np.empty(depth, weight.dtype), np.zeros(columns, weight.dtype)
    step = max(1, AT_ONCE // columns)
    for first in range(0, depth, step):
        sizes = np.abs(weight[first:first + step])
        of_rows[first:first + step] = sizes.max(axis=1)
        np.maximum(of_columns, sizes.max(axis=0), out=of_columns)
    if not of_rows.max() < LARGEST:     # nor where it is NaN
        return False
    above, below = of_rows.reshape(blocks, 2, -1).transpose(1, 0, 2)
    whole = columns // (2 * width) * 2 * width
    left, right = of_columns[:whole].reshape(-1, 2, width).transpose(1, 0, 2)
    rest_left, rest_right = np.split(of_columns[whole:], [width])   # of the last panel, which zeros fill
    pairs = [(above, below), (left, right), (rest_left[:rest_right.size], rest_right)]
    return all(bool(((a <= APART * b) & (b <= APART * a)).all()) for a, b in pairs)


def are_balanced(one: ir.Value, other: ir.Value) -> ir.Value:
    """Whether two rows may be added, whose greatest magnitudes are given, as bits of f32: the difference of these is 2^23 times that of the
    logarithms, about."""
    apart = (APART.bit_length() - 1) << 23
    limit = int(np.float32(LARGEST).view(np.int32))
    offset, extent, largest = (arith.ConstantOp(one.type, number).result for number in (apart, 2 * apart, limit))
    near = arith.cmpi(arith.CmpIPredicate.ule, arith.addi(arith.subi(one, other), offset), extent)
    return arith.andi(near, arith.cmpi(arith.CmpIPredicate.ult, arith.maxui(one, other), largest))
