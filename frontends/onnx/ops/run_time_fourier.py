"""Fourier transforms of a length that only the call knows, in f64: by two factors, or where one of them would be large by a chirp.

A value is [..., 1 or 2, length], as in ``fourier``. The two factors are as near to each other as there are, so that a transform of
n values takes about 2 n sqrt(n) multiply-adds. The chirp (Bluestein 1970) takes two transforms of a power of two.
"""
import math
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Dim, Size, product
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx import run_time
from legato.frontends.onnx.branches import branch
from legato.frontends.onnx.ops.run_time_resize import as_f64, f64

FACTORS = 1024      # the first factor is less
MOST_BITS = 40      # of a power of two
DENSE = 256         # sums of factors that are taken in any case
CHIRP = 600         # what a chirp takes for each value besides its products, in multiply-adds


def factors_of(length: ir.Value) -> ir.Value:
    """Two factors of a length, [1] of int64, as near to each other as there are, the less one first: [2]. 1 and 0 of a 0."""
    found = run_time.literal(np.arange(1, FACTORS))
    divides = relax.equal(relax.mod(length, found), run_time.literal(0))
    fits = relax.logical_and(divides, relax.less_equal(relax.multiply(found, found), length))
    first = relax.max(relax.where(fits, found, run_time.literal(1)), axis=[0], keepdims=True)
    return run_time.joined(first, relax.floor_divide(length, first))


def transformed(node, z: ir.Value, factors: Sequence[Dim], sign: int) -> ir.Value:
    """The transform of [..., 1 or 2, length], as [..., 2, length]: sums of ``exp(sign * 2 pi i k n / length)`` times the values.
    ``factors``: the length's, symbols."""
    first, second = (run_time.vector(node, [factor]) for factor in factors)
    total, count = relax.add(first, second), relax.multiply(first, second)
    size = as_f64(_power_of_two(count))
    chirped = relax.add(relax.multiply(relax.divide(relax.multiply(f64(4), size), as_f64(count)), relax.sqrt(size)), f64(CHIRP))
    is_dense = relax.logical_or(relax.less_equal(total, run_time.literal(DENSE)), relax.less_equal(as_f64(total), chirped))
    one = run_time.literal([1, 1])
    taken = run_time.symbols(node, relax.where(is_dense, run_time.joined(first, second), one), "factors")
    length, held = factors[0] * factors[1], taken[0] * taken[1]

    def by_factors() -> ir.Value:      # memory for matrices of factors that are not taken would be had all the same
        part = relax.strided_slice(z, begin=[0], end=[held], axes=[z.type.rank - 1])
        return fitted(node, _by_factors(node, part, taken, sign), held, length)

    return branch(node.emitter, is_dense, (by_factors, lambda: _chirped(node, z, factors, sign)), lambda value, _: [value], node.label)[0]


def _waves(steps: ir.Value, length: ir.Value, sign: int) -> ir.Value:
    """cos and sin of ``sign * 2 pi steps / length``: [2, steps]. ``steps``: int64 from 0 to ``length``, [1] of int64 that is not 0."""
    angles = relax.multiply(relax.divide(f64(sign * 2 * math.pi), as_f64(length)), as_f64(relax.expand_dims(steps, axis=[0])))
    return relax.concat([relax.cos(angles), relax.sin(angles)], axis=0)


def _by_factors(node, z: ir.Value, factors: Sequence[Size], sign: int) -> ir.Value:
    """As ``fourier`` has it: of each column of the first factor, turned, then of each row of the second."""
    *outer, parts, length = TensorType.of(z.type).dims
    (first, second), rank = factors, len(outer)

    def moved(value: ir.Value, *axes: int) -> ir.Value:
        return relax.permute_dims(value, axes=[*range(rank), *(rank + axis for axis in axes)])

    turn = relax.maximum(run_time.vector(node, [first * second]), run_time.literal(1))
    circle = _waves(run_time.counted(first * second), turn, sign)
    z = moved(relax.reshape(z, shape=[*outer, parts, first, second]), 2, 0, 1)
    z = _product(node, z, circle, first, second)        # [..., second, 2, first]
    z = _turned(z, relax.permute_dims(relax.take(circle, _products(second, first), axis=1), axes=[1, 0, 2]))
    z = _product(node, moved(z, 2, 1, 0), circle, second, first)        # [..., first, 2, second]
    return relax.reshape(moved(z, 1, 2, 0), shape=[*outer, 2, length])


def _chirped(node, z: ir.Value, factors: Sequence[Dim], sign: int) -> ir.Value:
    """As a convolution, since 2 k n is k^2 + n^2 - (k - n)^2."""
    *outer, parts, length = TensorType.of(z.type).dims
    count, rows = run_time.vector(node, [factors[0] * factors[1]]), product(outer)
    wider = run_time.symbols(node, factors_of(_power_of_two(count)), "chirp")
    size = wider[0] * wider[1]
    number = run_time.counted(size)
    back = relax.minimum(number, relax.subtract(run_time.vector(node, [size]), number))      # how far from the ends of the convolution
    turn = relax.maximum(relax.multiply(run_time.literal(2), count), run_time.literal(1))
    waves = _waves(relax.mod(relax.multiply(back, back), turn), turn, sign)
    chirp = relax.strided_slice(waves, begin=[0], end=[length], axes=[1])
    spread = relax.multiply(relax.where(relax.less(back, count), waves, f64(0)), f64([[1], [-1]]))
    z = relax.reshape(z, shape=[rows, parts, length])
    if parts == 1:
        z = relax.concat([z, relax.multiply(z, f64(0))], axis=1)
    z = fitted(node, _turned(z, chirp), length, size)
    both = _by_factors(node, relax.concat([z, relax.expand_dims(spread, axis=[0])], axis=0), wider, -1)
    z, spectrum = (relax.strided_slice(both, begin=[begin], end=[end], axes=[0]) for begin, end in ((0, rows), (rows, rows + 1)))
    spectrum = relax.divide(relax.reshape(spectrum, shape=[2, size]), as_f64(run_time.vector(node, [size])))
    z = _by_factors(node, _turned(z, spectrum), wider, 1)
    z = _turned(relax.strided_slice(z, begin=[0], end=[length], axes=[2]), chirp)
    return relax.reshape(z, shape=[*outer, 2, length])


def fitted(node, x: ir.Value, size: Size, length: Size) -> ir.Value:
    """The last axis, of a size, cut or filled with zeros to a length."""
    if size == length:
        return x
    number = run_time.counted(length)
    end = run_time.vector(node, [size])
    read = relax.take(x, relax.minimum(number, relax.subtract(end, run_time.literal(1))), axis=x.type.rank - 1)
    return relax.where(relax.less(number, end), read, f64(0))


def _power_of_two(length: ir.Value) -> ir.Value:
    """The least power of two that holds a convolution of two signals of a length: [1] of int64."""
    found = run_time.literal(1 << np.arange(MOST_BITS + 1))
    holds = relax.greater_equal(found, relax.subtract(relax.multiply(run_time.literal(2), length), run_time.literal(1)))
    return relax.min(relax.where(holds, found, run_time.literal(1 << MOST_BITS)), axis=[0], keepdims=True)


def _products(rows: Size, columns: Size) -> ir.Value:
    """The products of the indices of a matrix."""
    return relax.multiply(relax.expand_dims(run_time.counted(rows), axis=[1]), run_time.counted(columns))


def _product(node, z: ir.Value, circle: ir.Value, length: Size, step: Size) -> ir.Value:
    """The transform of [..., 1 or 2, length] by a matrix: [..., 2, length]. ``circle``: the waves of ``length * step`` values."""
    *outer, parts, _ = TensorType.of(z.type).dims
    size, apart = (run_time.vector(node, [number]) for number in (length, step))
    places = relax.multiply(relax.mod(_products(length, length), relax.maximum(size, run_time.literal(1))), apart)
    waves = relax.permute_dims(relax.take(circle, places, axis=1), axes=[1, 0, 2])      # [length, 2, length]
    matrix = waves if parts == 1 else relax.concat([waves, _across(waves)], axis=0)
    flat = relax.reshape(z, shape=[*outer, parts * length])
    made = relax.matmul(flat, relax.reshape(matrix, shape=[parts * length, 2 * length]))
    return relax.reshape(made, shape=[*outer, 2, length])


def _turned(z: ir.Value, waves: ir.Value) -> ir.Value:
    """Complex numbers [..., 2, n] times others: [2, n], or [m, 2, n] of [..., m, 2, n]."""
    real, imaginary = (relax.strided_slice(waves, begin=[part], end=[part + 1], axes=[waves.type.rank - 2]) for part in range(2))
    return relax.add(relax.multiply(z, real), relax.multiply(_across(z), imaginary))


def _across(z: ir.Value) -> ir.Value:
    """Complex numbers [..., 2, n] times i."""
    return relax.multiply(relax.take(z, run_time.literal([1, 0]), axis=z.type.rank - 2), f64([[-1], [1]]))
