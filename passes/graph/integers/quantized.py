"""Quantized values: what a graph computes as (integers - zero point) * scale.

Importers write a dequantization as ``multiply(astype(subtract(astype(x, i32), astype(zero, i32)), f32), scale)``. Integer ops have no
scale, and a model may leave a zero point of 0 out.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import CONSTANT, Constants, is_graph_op, permutation_of

BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
WIDE = tuple(map(np.dtype, ("int32", "float32", "float64")))  # hold the difference of two bytes exactly
VIEWS = ("relax.reshape", "relax.expand_dims", "relax.squeeze")
FEW = 1 << 16  # elements of scales and zero points, which are computed here if they are expressions of constants


@dataclass(frozen=True)
class Quantized:
    """``(integers - zero) * scale``; ``zero`` and ``scale`` are None where they are not there, and broadcast to the integers."""

    integers: ir.Value
    zero: ir.Value | None = None
    scale: ir.Value | None = None


@dataclass(frozen=True)
class Weight:
    """A constant quantized value. ``zero`` and ``scale`` have the integers' rank, with sizes of 1 where they are the same for all."""

    integers: np.ndarray
    zero: np.ndarray
    scale: np.ndarray | None

    def differences(self) -> np.ndarray:
        """The integers less their zero point, in i32."""
        return self.integers.astype(np.int32) - self.zero

    def signed(self) -> tuple[np.ndarray, np.ndarray]:
        """The integers as signed bytes, and the zero points that are left: 0 where the differences from them are signed bytes."""
        if self.integers.dtype == np.int8 and not self.zero.any():
            return self.integers, self.zero
        differences = self.differences()
        if differences.size == 0 or (differences.min() >= -128 and differences.max() <= 127):
            return differences.astype(np.int8), np.zeros_like(self.zero)
        if self.integers.dtype == np.int8:
            return self.integers, self.zero
        return (self.integers.astype(np.int32) - 128).astype(np.int8), self.zero - 128


def dtype_of(value: ir.Value) -> np.dtype:
    """The element type of a value."""
    return numpy_dtype(value.type.element_type)


def quantized(value: ir.Value) -> Quantized | None:
    """The quantized form of a value of bytes, or of a dequantized or widened one; None for any other."""
    if dtype_of(value) in BYTES:
        return Quantized(value)
    op = defining_op(value)
    if op is None or dtype_of(value) not in WIDE:
        return None
    if op.name == "relax.astype":
        x = quantized(op.operands[0])
        return x if x is not None and x.scale is None else None  # a cast of scaled values rounds them
    if op.name == "relax.subtract":
        x = quantized(op.operands[0])
        plain = x is not None and x.zero is None and x.scale is None
        return replace(x, zero=op.operands[1]) if x is not None and plain and keeps_shape(value, op.operands[0]) else None
    if op.name == "relax.multiply" and dtype_of(value) == np.float32:
        for a, b in (op.operands, reversed(op.operands)):
            x = quantized(a)
            if x is not None and x.scale is None and keeps_shape(value, a):
                return replace(x, scale=b)
    return None


def is_quantized(value: ir.Value) -> bool:
    """Whether a value, also after reshapes and permutations, has a quantized form."""
    while (op := defining_op(value)) is not None and op.name in (*VIEWS, "relax.permute_dims"):
        value = op.operands[0]
    return quantized(value) is not None


def keeps_shape(value: ir.Value, operand: ir.Value) -> bool:
    """Whether the other operand of an op with this result is broadcast to this one."""
    return list(dims(value.type)) == list(dims(operand.type)) and UNKNOWN not in dims(value.type)


class Reader:
    """Reads quantized values of one function, whose ops must not be erased meanwhile: arrays are kept by their values."""

    def __init__(self, constants: Constants):
        self.constants = constants
        self._arrays: dict[ir.Value, np.ndarray | None] = {}

    def array(self, value: ir.Value) -> np.ndarray | None:
        """The elements of a value that is an expression of constants; None for any other."""
        if value not in self._arrays:
            self._arrays[value] = self._computed(value)
        return self._arrays[value]

    def _computed(self, value: ir.Value) -> np.ndarray | None:
        op = defining_op(value)
        if op is None:
            return None
        if op.name == CONSTANT:
            return self.constants.array(value)
        if not is_graph_op(op) or not len(op.operands) or len(op.results) != 1 or not value.type.has_static_shape or relax.has_symbols(op):
            return None
        arrays = [array for operand in op.operands if (array := self.array(operand)) is not None]
        return relax.evaluate(op, arrays)[0] if len(arrays) == len(op.operands) else None

    def weight(self, value: ir.Value) -> Weight | None:
        """A constant quantized value, also after permutations; None for any other."""
        op = defining_op(value)
        if op is not None and op.name == "relax.permute_dims":
            inner, axes = self.weight(op.operands[0]), permutation_of(op)
            if inner is None:
                return None
            scale = None if inner.scale is None else inner.scale.transpose(axes)
            return Weight(inner.integers.transpose(axes), inner.zero.transpose(axes), scale)
        found = quantized(value)
        integers = None if found is None else self.array(found.integers)
        if found is None or integers is None:
            return None
        zero = np.zeros((), np.int32) if found.zero is None else self.few(found.zero)
        scale = None if found.scale is None else self.few(found.scale)
        if zero is None or (found.scale is not None and scale is None) or not _is_difference_of_bytes(zero):
            return None

        def ranked(array: np.ndarray) -> np.ndarray:
            return array.reshape((1,) * (integers.ndim - array.ndim) + array.shape)

        return Weight(integers, ranked(zero.astype(np.int32)), None if scale is None else ranked(scale))

    def few(self, value: ir.Value) -> np.ndarray | None:
        """The elements of a scale or zero point that is an expression of constants."""
        return self.array(value) if value.type.has_static_shape and np.prod(value.type.shape, dtype=np.int64) <= FEW else None

    def activation(self, value: ir.Value) -> Quantized | None:
        """A quantized value with a single zero point and a single scale, also after reshapes and permutations; None for any other.

        Its zero point is of i32, its scale of f32; both have rank 0.
        """
        op = defining_op(value)
        if op is not None and op.name in (*VIEWS, "relax.permute_dims"):
            inner = self.activation(op.operands[0])
            if inner is None or UNKNOWN in dims(value.type):
                return None
            if op.name == "relax.permute_dims":
                return replace(inner, integers=relax.permute_dims(inner.integers, list(permutation_of(op))))
            return replace(inner, integers=relax.reshape(inner.integers, list(dims(value.type))))
        found = quantized(value)
        if found is None:
            return None
        zero = None if found.zero is None else self._single_zero(found.zero)
        scale = None if found.scale is None else _single(found.scale)
        if (found.zero is not None and zero is None) or (found.scale is not None and scale is None):
            return None
        return replace(found, zero=zero, scale=scale)

    def _single_zero(self, value: ir.Value) -> ir.Value | None:
        """A single zero point in i32, which is known to be a byte."""
        single, array = _single(value), self.few(value)
        if single is None:
            return None
        if array is not None:
            return relax.constant(array.astype(np.int32).reshape(())) if _is_difference_of_bytes(array) else None
        op = defining_op(value)
        while op is not None and op.name in VIEWS:
            op = defining_op(op.operands[0])
        if op is None or op.name != "relax.astype" or dtype_of(op.operands[0]) not in BYTES:
            return None
        return single if dtype_of(single) == np.int32 else relax.astype(single, dtype=np.dtype(np.int32))


def _single(value: ir.Value) -> ir.Value | None:
    """A value of one element as a scalar."""
    if any(size != 1 for size in dims(value.type)):
        return None
    return relax.reshape(value, []) if value.type.rank else value


def _is_difference_of_bytes(array: np.ndarray) -> bool:
    return bool((array == np.rint(array)).all() and (np.abs(array) <= 255).all())
