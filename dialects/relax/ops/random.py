"""Random numbers from a key, without a state: the hash Threefry-2x32 with 20 rounds of a count.

The numbers are those of ``jax.random.bits`` and ``jax.random.fold_in`` with ``jax_threefry_partitionable``, JAX's default. The hash:
Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""
from collections.abc import Sequence
from itertools import cycle
from math import prod

import numpy as np

from legato.core.dtypes import spelling
from legato.core.errors import ElementTypeError, InferenceError
from legato.dialects.relax.attributes import DType, Shape
from legato.dialects.relax.dims import Size
from legato.dialects.relax.op import Operand, RelaxOp
from legato.dialects.relax.types import TensorType

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA     # makes the third word of the key, so that a key of zeros is no weak one
GROUPS = 5              # of four rounds, each with a part of the key added behind

UNSIGNED = frozenset({"uint"})
U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)


def threefry(key: Sequence, count: Sequence, add, xor, rotate, constant) -> tuple:
    """Both words of the hash of a count of two words of 32 bits. ``add``, ``xor``, ``rotate`` (left by a number of bits) compute on such
    words; ``constant`` makes one."""
    words = (*key, xor(xor(*key), constant(PARITY)))
    a, b = add(count[0], words[0]), add(count[1], words[1])
    for group, bits in zip(range(1, GROUPS + 1), cycle(ROTATIONS)):
        for number in bits:
            a = add(a, b)
            b = xor(a, rotate(b, number))
        a, b = add(a, words[group % 3]), add(add(b, words[(group + 1) % 3]), constant(group))
    return a, b


def _hashed(key: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    def rotate(x: np.ndarray, bits: int) -> np.ndarray:
        return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))

    return threefry(_words(key), _words(count), np.add, np.bitwise_xor, rotate, np.uint32)


def _words(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The higher and the lower half."""
    return (x >> np.uint64(32)).astype(U32), x.astype(U32)


def _joined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    return high.astype(U64) << np.uint64(32) | low


def _check_scalars(**operands: TensorType) -> None:
    for name, operand in operands.items():
        if operand.dtype != U64:
            raise ElementTypeError(f"operand '{name}' must have ui64 elements, has {spelling(operand.dtype)}")
        if operand.rank != 0:
            raise InferenceError(f"operand '{name}' must be a scalar, has {list(operand.dims)}")


class RandomBits(RelaxOp, name="random_bits"):
    """Random bits, the same for the same key on every target.

    An element of 64 bits is the hash Threefry-2x32 (20 rounds) of its number in row-major order; one of 32 bits is the exclusive or of the
    hash's halves. They are the bits of `jax.random.bits`, whose keys are two words, here the higher and the lower half of one.

    ```mlir
    %y = "relax.random_bits"(%key) {shape = #relax.dims<["n", 64]>, dtype = ui64}
        : (tensor<ui64>) -> tensor<?x64xui64, #relax.dims<["n", 64]>>
    ```
    """

    key = Operand(UNSIGNED, "a scalar; `fold_in` makes others of it")
    shape = Shape()
    dtype = DType(U32)

    @staticmethod
    def result_type(key: TensorType, shape: Sequence[Size], dtype: np.dtype) -> TensorType:
        _check_scalars(key=key)
        if dtype not in (U32, U64):
            raise ElementTypeError(f"attribute 'dtype' is {spelling(dtype)}, expected ui32 or ui64")
        if any(isinstance(size, int) and size < 0 for size in shape):
            raise InferenceError(f"attribute 'shape' is {list(shape)}, expected sizes of 0 or more")
        return TensorType(tuple(shape), dtype)

    @staticmethod
    def compute(key, shape, dtype):
        high, low = _hashed(key, np.arange(prod(shape), dtype=U64).reshape(shape))
        return high ^ low if dtype == U32 else _joined(high, low)


class FoldIn(RelaxOp, name="fold_in"):
    """Another key for random numbers, made of a key and a number.

    It is the hash Threefry-2x32 (20 rounds) of `data`, as `jax.random.fold_in`. Keys made of different numbers give numbers that are
    independent of each other.

    ```mlir
    %y = "relax.fold_in"(%key, %number) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    ```
    """

    key = Operand(UNSIGNED)
    data = Operand(UNSIGNED)

    @staticmethod
    def result_type(key: TensorType, data: TensorType) -> TensorType:
        _check_scalars(key=key, data=data)
        return key

    @staticmethod
    def compute(key, data):
        return _joined(*_hashed(key, data))
