"""Products of two quantized values that are not constant, as in attention: sums of products of bytes.

``((x - zx) * sx) @ ((y - zy) * sy)`` becomes ``(x @ y - zx * sums of y's columns - zy * sums of x's rows + depth * zx * zy) * (sx * sy)``;
zero points of 0 need none. On CPUs one factor is unsigned and the other signed, and their depth is padded to whole lanes of an instruction;
without one for bytes, both are widened to 16 bits, less their zero points. A product whose result a softmax reads and whose weights are
multiplied in floats stays in floats: one kernel computes such an attention.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.passes.graph.functions import permutation_of
from legato.passes.graph.integers.quantized import BYTES, VIEWS, Quantized, Reader, dtype_of
from legato.passes.graph.integers.raised import I8, I32, U8, Raised
from legato.passes.graph.integers.shorts import SHORT, Shorts

F32 = np.dtype(np.float32)
LIMIT = 1 << 31
LANE = 4     # bytes, whose products an instruction of CPUs sums
LEAST = 8    # rows (on GPUs), columns and steps of the depth, from which on instructions pay


@dataclass(frozen=True)
class FactorForms:
    """What gives bytes the form that instructions take: ``raised`` other signs; on CPUs, ``lowered`` those of the second factor, or
    ``shorts`` 16 bits."""

    raised: Raised
    lowered: Raised | None = None
    shorts: Shorts | None = None

    @property
    def least_rows(self) -> int:
        """The rows from which on instructions pay."""
        return LEAST if self.lowered is None and self.shorts is None else 1


def product(op: ir.Operation, reader: Reader, forms: FactorForms) -> tuple[ir.Value, ir.Value] | None:
    """The sums in i32, and what replaces the op's result; None where a factor is not quantized by one scale and zero point, or sums in i32
    might not be exact."""
    result = dtype_of(op.results[0])
    if result not in (I32, F32) or not _takes(op, forms.least_rows) or (result == F32 and _feeds_attention(op.results[0])):
        return None
    depth = dims.dims(op.operands[0].type)[-1]
    assert isinstance(depth, int)
    if result == F32 and 255 * 255 * depth >= LIMIT:
        return None
    left, right = (reader.activation(operand) for operand in op.operands)
    if left is None or right is None or (result == I32 and (left.scale is not None or right.scale is not None)):
        return None
    sums = _sums(left, right, depth, reader, forms)
    scaled = sums if result == I32 else relax.astype(sums, dtype=result)
    for scale in _scales(left.scale, right.scale, reader):
        scaled = relax.multiply(scaled, scale)
    return sums, scaled


def _sums(left: Quantized, right: Quantized, depth: int, reader: Reader, forms: FactorForms) -> ir.Value:
    """The sums of products of the factors' integers less their zero points."""
    if forms.shorts is not None:
        x, y = (_difference(one, reader, forms.shorts) for one in (left, right))
        return relax.matmul_integer(_in_lanes(x, -1), _in_lanes(y, -2))
    if forms.lowered is None:
        (x, zx), (y, zy) = (_factor(one, reader, forms.raised) for one in (left, right))
        return _corrected((x, zx), (_turned(y), zy), depth)
    signs = forms.raised, forms.lowered
    if (dtype_of(left.integers), dtype_of(right.integers)) == (I8, U8):
        signs = forms.lowered, forms.raised
    (x, zx), (y, zy) = (_of_signs(one, reader, wanted) for one, wanted in zip((left, right), signs, strict=True))
    return _corrected((_in_lanes(x, -1), zx), ((_in_lanes(y, -2), "IO"), zy), depth)


def _takes(op: ir.Operation, least_rows: int) -> bool:
    """Whether an op is a product of matrices, in known batches, that instructions may multiply."""
    if op.name != "relax.matmul" or 0 in op.results[0].type.shape:
        return False
    a, b = (dims.dims(operand.type) for operand in op.operands)
    if len(a) < 2 or len(b) < 2 or dims.UNKNOWN in (*a, *b) or not isinstance(a[-1], int) or b[-2] != a[-1]:
        return False    # a depth of b that only the call knows could not be padded as that of a
    sizes = (a[-2], least_rows), (b[-1], LEAST), (a[-1], LEAST)
    return not any(isinstance(size, int) and size < least for size, least in sizes)


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
    zero = _zero(x, reader)
    gains = raised.dtype == I8 or (isinstance(zero, int) and raised.zero(zero) == 0)
    if dtype_of(x.integers) == raised.dtype or not gains:
        return x.integers, zero
    return raised.of(x.integers), raised.zero(zero)


def _of_signs(x: Quantized, reader: Reader, signs: Raised) -> tuple[ir.Value, ir.Value | int]:
    """The bytes of a factor with these signs, and their zero point."""
    zero = _zero(x, reader)
    return (x.integers, zero) if dtype_of(x.integers) == signs.dtype else (signs.of(x.integers), signs.zero(zero))


def _difference(x: Quantized, reader: Reader, shorts: Shorts) -> ir.Value:
    """A factor less its zero point, in 16 bits."""
    zero, value = _zero(x, reader), shorts.of(x.integers)
    if zero == 0:
        return value
    return relax.subtract(value, relax.constant(SHORT.type(zero)) if isinstance(zero, int) else relax.astype(zero, dtype=SHORT))


def _zero(x: Quantized, reader: Reader) -> ir.Value | int:
    """The zero point of a factor: a number where it is constant."""
    return 0 if x.zero is None else x.zero if (array := reader.few(x.zero)) is None else int(array)


def _in_lanes(value: ir.Value, axis: int) -> ir.Value:
    """A factor whose depth, ``axis`` from the end, is padded with zeros to whole lanes."""
    rank, missing = value.type.rank, -value.type.shape[axis] % (LANE // dtype_of(value).itemsize)
    return value if not missing else relax.pad(value, pads=[0] * rank + [missing if d == rank + axis else 0 for d in range(rank)])


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
