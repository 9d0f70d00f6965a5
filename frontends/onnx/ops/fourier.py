"""Fourier transforms along the last axis, in f64, because large terms cancel.

A value is [..., 1 or 2, length]: real parts, or real and imaginary ones. A short transform is a product with a matrix of cosines and sines;
of a long one whose length is a product, the factors are transformed one after the other (Cooley and Tukey 1965), and of another one it is a
convolution by a chirp (Bluestein 1970), which longer transforms compute.
"""
import math
from functools import cache
from math import prod

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.values import MADE_ELEMENTS

STAGE = 80      # what moves values between two factors takes as long as so many multiply-adds of a value (20 in a cache, 100 beyond)
FACTOR = 128    # the greatest first one
CHIRP = 300     # likewise what a chirp takes besides its two transforms


def transform(node, z: ir.Value, bins: int, sign: int, scale: float = 1) -> ir.Value:
    """The first ``bins`` of the transform of [..., 1 or 2, length], as [..., 2, bins]: sums of ``scale * exp(sign * 2 pi i k n / length)``
    times the values. Refused if it is too long."""
    _, parts, length = _sizes(z)
    if _is_dense(length, parts, bins):
        return _product(node, z, _matrix(length, parts, bins, sign) * scale)
    y = _transformed(node, z, sign)
    y = y if scale == 1 else relax.multiply(y, node.literal(scale, np.float64))
    return y if bins == length else relax.strided_slice(y, begin=[0], end=[bins], axes=[y.type.rank - 1])


def real_inverse(node, z: ir.Value, length: int) -> ir.Value:
    """The real numbers [..., length] whose transform begins with z, [..., 2, length // 2 + 1]. Refused if they are too many."""
    bins, last = length // 2 + 1, z.type.rank - 1
    if _is_dense(length, 1, bins):
        both = np.full((bins, 1, 1), 2.0)       # each stands for its mirror image, too
        both[0] = 1                             # but the first one, and the last if it is its own
        if length % 2 == 0:
            both[-1] = 1
        matrix = _matrix(length, 2, length, 1)[:, :bins, :1] * both / length
        return relax.squeeze(_product(node, z, matrix), axis=[last - 1])
    sign = node.literal([[1], [-1]], np.float64)     # of the conjugate
    mirrored = relax.multiply(relax.take(z, node.literal(np.arange((length - 1) // 2, 0, -1)), axis=last), sign)
    # the first bin, and the last if it is its own mirror image, are real
    kept = np.ones((2, bins), bool)
    kept[1, 0] = False
    if length % 2 == 0:
        kept[1, -1] = False
    z = relax.where(node.constant_value(kept), z, node.literal(0, np.float64))
    y = _transformed(node, relax.concat([z, mirrored], axis=last), 1)
    y = relax.squeeze(relax.strided_slice(y, begin=[0], end=[1], axes=[last - 1]), axis=[last - 1])
    return relax.multiply(y, node.literal(1 / length, np.float64))


def _transformed(node, z: ir.Value, sign: int) -> ir.Value:
    """All bins, by factors or a chirp, of which a transform by a matrix is the last."""
    _, parts, length = _sizes(z)
    if _is_dense(length, parts, length):
        return _product(node, z, _matrix(length, parts, length, sign))
    first = _factor(length)
    return _chirped(node, z, sign) if first is None else _by_factors(node, z, first, sign)


def _by_factors(node, z: ir.Value, first: int, sign: int) -> ir.Value:
    """The transform of ``first * second`` values: of each column of ``first``, turned, then of each row of ``second``."""
    outer, parts, length = _sizes(z)
    second, rank = length // first, len(outer)

    def moved(value: ir.Value, *axes: int) -> ir.Value:
        return relax.permute_dims(value, axes=[*range(rank), *(rank + axis for axis in axes)])

    z = moved(relax.reshape(z, shape=[*outer, parts, first, second]), 2, 0, 1)
    z = _product(node, z, _matrix(first, parts, first, sign))     # [..., second, 2, first]
    steps = np.outer(np.arange(second), np.arange(first))
    z = moved(_turned(node, z, _waves(steps, length, sign)), 2, 1, 0)
    z = moved(_transformed(node, z, sign), 1, 2, 0)     # of [..., first, 2, second]
    return relax.reshape(z, shape=[*outer, 2, length])


def _chirped(node, z: ir.Value, sign: int) -> ir.Value:
    """The transform as a convolution, since 2 k n is k^2 + n^2 - (k - n)^2."""
    _, parts, length = _sizes(z)
    rank, size = z.type.rank, _chirp_size(length)
    chirp = _waves(np.arange(length) ** 2, 2 * length, sign)
    if parts == 1:
        z = relax.concat([z, relax.multiply(z, node.literal(0, np.float64))], axis=rank - 2)
    z = _turned(node, z, chirp)
    z = relax.pad(z, pads=[0] * (2 * rank - 1) + [size - length])
    spread = np.zeros(size, complex)
    spread[:length] = np.conj(chirp)
    spread[size - length + 1:] = np.conj(chirp[:0:-1])
    z = _turned(node, _transformed(node, z, -1), np.fft.fft(spread) / size)
    z = relax.strided_slice(_transformed(node, z, 1), begin=[0], end=[length], axes=[rank - 1])
    return _turned(node, z, chirp)


def _product(node, z: ir.Value, matrix: np.ndarray) -> ir.Value:
    """[..., parts, length] times [parts, length, parts made, bins]: [..., parts made, bins]."""
    outer, parts, length = _sizes(z)
    flat, made = relax.reshape(z, shape=[*outer, parts * length]), matrix.shape[2:]
    constant = node.constant_value(matrix.reshape(parts * length, prod(made)))
    return relax.reshape(relax.matmul(flat, constant), shape=[*outer, *made])


def _turned(node, z: ir.Value, waves: np.ndarray) -> ir.Value:
    """Complex numbers [..., 2, n] times others: [n], or [m, n] of [..., m, 2, n]."""
    real, imaginary = waves.real[..., None, :], waves.imag[..., None, :]
    swapped = relax.take(z, node.literal([1, 0]), axis=z.type.rank - 2)
    across = node.constant_value(np.concatenate([-imaginary, imaginary], -2))
    return relax.add(relax.multiply(z, node.constant_value(real)), relax.multiply(swapped, across))


def _sizes(z: ir.Value) -> tuple[list[Size], int, int]:
    """The sizes of the outer axes, the number of parts, and the length."""
    *outer, parts, length = TensorType.of(z.type).dims
    assert isinstance(parts, int) and isinstance(length, int)
    return outer, parts, length


def _matrix(length: int, parts: int, bins: int, sign: int) -> np.ndarray:
    """[parts, length, 2, bins]: what each part of a value gives to the parts of a bin."""
    waves = _waves(np.outer(np.arange(length), np.arange(bins)), length, sign)
    return np.stack([np.stack([waves.real, waves.imag], 1), np.stack([-waves.imag, waves.real], 1)][:parts])


def _waves(steps: np.ndarray, length: int, sign: int) -> np.ndarray:
    """exp(sign * 2 pi i steps / length), of steps below a turn."""
    angles = (steps % length).astype(np.float64) * (sign * 2 * math.pi / length)
    return np.cos(angles) + 1j * np.sin(angles)


# --- the choice: costs are multiply-adds for each complex value ---

def _is_dense(length: int, parts: int, bins: int) -> bool:
    """Whether a product with a matrix is the best way. Refused if there is none."""
    dense, other = _dense_cost(length, parts, bins), _cost(length)
    if dense == other == math.inf:
        raise Refused(f"a transform of {length} values would take too large tables")
    return dense <= other


def _dense_cost(length: int, parts: int, bins: int) -> float:
    """Of a product with a matrix."""
    return parts * bins / 2 if 2 * parts * length * bins <= MADE_ELEMENTS else math.inf


def _cost(length: int) -> float:
    """Of the better of factors and a chirp; infinite if neither is possible."""
    return _choice(length)[0]


def _factor(length: int) -> int | None:
    """The first factor; None for a chirp."""
    return _choice(length)[1]


@cache
def _choice(length: int) -> tuple[float, int | None]:
    if 2 * length > MADE_ELEMENTS:
        return math.inf, None
    found: list[tuple[float, int | None]] = [(_chirp_cost(length), None)]
    for first in range(2, min(FACTOR, length - 1) + 1):
        if length % first == 0:
            second = length // first
            found.append((STAGE + _dense_cost(first, 2, first) + min(_dense_cost(second, 2, second), _cost(second)), first))
    return min(found, key=lambda one: one[0])


def _chirp_size(length: int) -> int:
    """The length of the transforms of a convolution by a chirp: a power of two."""
    return 1 << (2 * length - 2).bit_length()


def _chirp_cost(length: int) -> float:
    """Of a chirp, where the length has a prime factor that is too large; its transforms, of powers of two, never need one."""
    rest = length
    for prime in range(2, FACTOR + 1):
        while rest % prime == 0:
            rest //= prime
    size = _chirp_size(length)
    return math.inf if rest == 1 else CHIRP + 2 * min(_dense_cost(size, 2, size), _cost(size)) * size / length
