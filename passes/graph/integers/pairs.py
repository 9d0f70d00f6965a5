"""Products of two quantized values that are not constant, as in attention: sums of products of bytes on GPUs.

``((x - zx) * sx) @ ((y - zy) * sy)`` becomes ``(x @ y - zx * sums of y's columns - zy * sums of x's rows + depth * zx * zy) * (sx * sy)``;
zero points of 0 need none. A product whose result a softmax reads and whose weights are multiplied in floats stays in floats: one launch
computes such an attention.
"""
from __future__ import annotations

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.passes.graph.functions import defining_op, permutation_of
from legato.passes.graph.integers.quantized import BYTES, VIEWS, Quantized, Reader, dtype_of
from legato.passes.graph.integers.raised import I8, I32, Raised

F32 = np.dtype(np.float32)
LIMIT = 1 << 31
LEAST = 8    # rows and columns from which on matrix instructions pay


def product(op: ir.Operation, reader: Reader, raised: Raised) -> tuple[ir.Value, ir.Value] | None:
    """The sums in i32, and what replaces the op's result; None where a factor is not quantized by one scale and zero point, or sums in i32
    might not be exact. ``raised``: gives factors other signs."""
    result = dtype_of(op.results[0])
    if result not in (I32, F32) or not _takes(op) or (result == F32 and _feeds_attention(op.results[0])):
        return None
    depth = dims.dims(op.operands[0].type)[-1]
    assert isinstance(depth, int)
    if result == F32 and 255 * 255 * depth >= LIMIT:
        return None
    left, right = (reader.activation(operand) for operand in op.operands)
    if left is None or right is None or (result == I32 and (left.scale is not None or right.scale is not None)):
        return None
    (x, zx), (y, zy) = (_factor(one, reader, raised) for one in (left, right))
    sums = _corrected((x, zx), (_turned(y), zy), depth)
    scaled = sums if result == I32 else relax.astype(sums, dtype=result)
    for scale in _scales(left.scale, right.scale, reader):
        scaled = relax.multiply(scaled, scale)
    return sums, scaled


def _takes(op: ir.Operation) -> bool:
    """Whether an op is a product of matrices, in known batches, that instructions may multiply."""
    if op.name != "relax.matmul":
        return False
    a, b = (dims.dims(operand.type) for operand in op.operands)
    if len(a) < 2 or len(b) < 2 or dims.UNKNOWN in (*a, *b) or not isinstance(a[-1], int):
        return False
    return not any(isinstance(size, int) and size < LEAST for size in (a[-2], b[-1], a[-1]))


def _feeds_attention(value: ir.Value) -> bool:
    """Whether a softmax reads a value, through elementwise ops, and a product of floats what it makes of it."""
    has_softmax = False
    while len(uses := list(value.uses)) == 1:
        op = uses[0].owner.operation
        cls = relax.op_class(op)
        if op.name == "relax.matmul":
            return has_softmax
        has_softmax |= op.name == "relax.softmax"
        if op.name not in ("relax.softmax", *VIEWS) and (cls is None or not cls.ELEMENTWISE):
            return False
        value = op.results[0]
        if has_softmax and dtype_of(value) in BYTES:
            return False
    return False


def _factor(x: Quantized, reader: Reader, raised: Raised) -> tuple[ir.Value, ir.Value | int]:
    """The bytes of a factor, and its zero point: a number where it is constant. Bytes get other signs where instructions take no
    others, and where their zero point becomes 0, as that of a softmax does."""
    zero = 0 if x.zero is None else x.zero if (array := reader.few(x.zero)) is None else int(array)
    gains = raised.dtype == I8 or (isinstance(zero, int) and raised.zero(zero) == 0)
    if dtype_of(x.integers) == raised.dtype or not gains:
        return x.integers, zero
    return raised.of(x.integers), raised.zero(zero)


def _turned(y: ir.Value) -> tuple[ir.Value, str]:
    """The right factor and its layout: with the depth along its rows, where it is made of such a value by a permutation."""
    op, rank = defining_op(y), y.type.rank
    if op is not None and op.name == "relax.permute_dims" and permutation_of(op)[-1] != rank - 1:
        return relax.permute_dims(y, [*range(rank - 2), rank - 1, rank - 2]), "OI"
    return y, "IO"


def _corrected(left: tuple[ir.Value, ir.Value | int], right: tuple[tuple[ir.Value, str], ir.Value | int], depth: int) -> ir.Value:
    """The sums of bytes, less those of the zero points."""
    (x, zx), ((y, layout), zy) = left, right
    sums = relax.matmul_integer(x, y, kernel_layout=layout)

    def times(value: ir.Value, zero: ir.Value | int) -> ir.Value:
        return relax.multiply(value, relax.constant(np.int32(zero)) if isinstance(zero, int) else zero)

    if zx != 0:
        columns = times(relax.sum(relax.astype(y, dtype=I32), axis=[layout.index("I") - 2]), zx)
        *batch, number = dims.dims(columns.type)
        sums = relax.subtract(sums, relax.reshape(columns, [*batch, 1, number]))
    if zy != 0:
        rows = relax.sum(relax.astype(x, dtype=I32), axis=[-1], keepdims=True)
        if zx != 0:
            rows = relax.subtract(rows, times(relax.constant(np.int32(depth)), zx))
        sums = relax.subtract(sums, times(rows, zy))
    return sums


def _scales(left: ir.Value | None, right: ir.Value | None, reader: Reader) -> list[ir.Value]:
    """What the sums are multiplied by: one number, where both are constant."""
    found = [one for one in (left, right) if one is not None]
    arrays = [array for one in found if (array := reader.few(one)) is not None]
    return [relax.constant(arrays[0] * arrays[1])] if len(arrays) == 2 else found
