"""Winograd's transforms of convolutions with filters of 3 x 3, for tiles of 2 x 2 or 4 x 4 outputs.

A tile of m outputs along one axis is ``A^T [(G g) * (B^T d)]`` of m + 2 inputs d and 3 weights g, with m + 2 products in place of 3 m
(Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308). In two dimensions each transform is applied to
the columns, then to the rows.

Of integers everything is exact: G has no fractions, and A^T is made up for it by factors, so that along one axis an output comes out
multiplied by the number in ``SCALES``: an odd number, by whose inverse it is multiplied, as 32 bits wrap, times a power of two, by which it
is shifted down. So much fewer bits are left for a result than i32 has (``bits_left``). Inputs of bytes and their transforms fit in 16 bits.
"""
import itertools
from collections.abc import Sequence

import numpy as np

from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import arith, ir, math
from legato.core.vector_loops import Vectors

TAPS = 3
AT_ONCE = 1 << 20     # elements that are transformed by a call of numpy: few calls, since each waits for Python's lock
ALONE = 1 << 18       # multiplications up to which a BLAS does a product without threads, which would take the processors of other work
OF_WEIGHTS = {
    2: ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
    4: ((1 / 4, 0, 0), (-1 / 6, -1 / 6, -1 / 6), (-1 / 6, 1 / 6, -1 / 6), (1 / 24, 1 / 12, 1 / 6), (1 / 24, -1 / 12, 1 / 6), (0, 0, 1)),
}
WHOLE = {
    2: ((1, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 1)),
    4: ((1, 0, 0), (1, 1, 1), (1, -1, 1), (1, 2, 4), (1, -2, 4), (0, 0, 1)),
}
SCALES = {2: (2, 2), 4: (24, 12, 6, 6)}
BITS = 32             # of sums of integers
FACTORS = {2: (1, 1 / 2, 1 / 2, 1), 4: (1 / 4, -1 / 6, -1 / 6, 1 / 24, 1 / 24, 1)}    # that the rows have


def transform_weights(weights: np.ndarray, result: np.ndarray, outputs: int, panel: int, by_points: bool, pair: int = 1,
                      whole: bool = False) -> None:
    """Writes the transform of weights [3, 3, channels, features] to ``result`` [features / panel * points, channels / pair * panel * pair]:
    for each panel of features, one matrix for each of the (outputs + 2)^2 points, or ``by_points``, for each point one for each panel. The
    last panel is padded with zeros, as is the last of ``pair`` neighbouring channels. Of weights [depth, 3, 3, channels, features] there
    are depth * channels channels. ``whole``: without fractions, of integers."""
    weights = _taps(weights)
    g = np.array((WHOLE if whole else OF_WEIGHTS)[outputs], np.float64)
    both = np.kron(g, g)                          # of both axes: [points, 9], in double precision
    channels, features = weights.shape[1:]
    panels, points, steps = -(-features // panel), len(both), -(-channels // pair)
    order = (points, panels) if by_points else (panels, points)
    to = result.reshape(*order, steps, panel, pair)
    to = to.swapaxes(0, 1) if by_points else to
    taps = weights.swapaxes(0, 1)
    wide = min(panels, max(1, ALONE // (both.size * panel)))               # panels in a product, which is one for each channel
    deep = min(steps, max(1, AT_ONCE // (points * wide * panel * pair)))
    given, made = np.empty((deep * pair, TAPS ** 2, wide * panel)), np.empty((deep * pair, points, wide * panel))
    for p, s in itertools.product(range(0, panels, wide), range(0, steps, deep)):
        count, rows = min(wide, panels - p), min(deep, steps - s)
        part = taps[s * pair:(s + rows) * pair, :, p * panel:(p + count) * panel]
        before, after = given[:rows * pair, :, :count * panel], made[:rows * pair, :, :count * panel]
        if part.shape != before.shape:
            before[...] = 0
        before[:len(part), :, :part.shape[2]] = part
        np.matmul(both, before, out=after)
        to[p:p + count, :, s:s + rows] = after.reshape(rows, pair, points, count, panel).transpose(3, 2, 0, 4, 1)


def _taps(weights: np.ndarray) -> np.ndarray:
    """Weights [depth, 3, 3, channels, features], or without a depth, as [9, depth * channels, features]."""
    if weights.ndim == 5:
        weights = np.moveaxis(weights, 0, 2)
    return weights.reshape(TAPS ** 2, -1, weights.shape[-1])


def pack_panels(weights: np.ndarray, result: np.ndarray, panel: int) -> None:
    """Writes weights [3, 3, channels, features] as they are to ``result`` [features / panel, channels * 9 * panel]: of each panel of
    features, of each channel, the elements of the filters, row by row. The last panel is padded with zeros. Of weights
    [depth, 3, 3, channels, features] there are depth * channels channels."""
    taps = _taps(weights)
    channels, features = taps.shape[1:]
    to = result.reshape(-1, channels, TAPS ** 2, panel)
    whole = features // panel
    to[:whole] = taps[:, :, :whole * panel].reshape(TAPS ** 2, channels, whole, panel).transpose(2, 1, 0, 3)
    if whole < len(to):
        to[whole] = 0
        to[whole, :, :, :features - whole * panel] = taps[:, :, whole * panel:].transpose(1, 0, 2)


def bits_left(outputs: int) -> int:
    """The bits of outputs of integers that their transform keeps, of which one is the sign."""
    return BITS - 2 * (max(SCALES[outputs]).bit_length() - _odd(max(SCALES[outputs])).bit_length())


def _odd(number: int) -> int:
    """A number without its factors of two."""
    return number // (number & -number)


class Transforms:
    """The transforms of inputs, filters and products along one axis, of vectors at the insertion point."""

    def __init__(self, outputs: int, vectors: Vectors):
        self.outputs, self.vectors = outputs, vectors

    def of_inputs(self, d: Sequence[ir.Value]) -> list[ir.Value]:
        """B^T d."""
        if self.outputs == 2:
            return [self._less(d[0], d[2]), self._plus(d[1], d[2]), self._less(d[2], d[1]), self._less(d[1], d[3])]
        even, odd = self._scaled(-4, d[2], d[4]), self._scaled(-4, d[1], d[3])
        left, right = self._less(d[4], d[2]), self._less(d[3], d[1])
        return [self._scaled(4, d[0], self._scaled(-5, d[2], d[4])), self._plus(even, odd), self._less(even, odd),
                self._scaled(2, right, left), self._scaled(-2, right, left), self._scaled(4, d[1], self._scaled(-5, d[3], d[5]))]

    def of_inputs_scaled(self, d: Sequence[ir.Value]) -> list[ir.Value]:
        """B^T d times the factors of the rows of G."""
        return [value if factor == 1 else arith.mulf(value, self.vectors.splat(factor))
                for value, factor in zip(self.of_inputs(d), FACTORS[self.outputs], strict=True)]

    def of_filters(self, g: Sequence[ir.Value]) -> list[ir.Value]:
        """G g, without the factors of its rows, which ``of_inputs_scaled`` has."""
        ends = self._plus(g[0], g[2])
        near = [self._plus(ends, g[1]), self._less(ends, g[1])]
        if self.outputs == 2:
            return [g[0], *near, g[2]]
        far = self._scaled(4, g[2], g[0])
        return [g[0], *near, self._scaled(2, g[1], far), self._scaled(-2, g[1], far), g[2]]

    def of_products(self, m: Sequence[ir.Value]) -> list[ir.Value]:
        """A^T m."""
        near, across = self._plus(m[1], m[2]), self._less(m[1], m[2])
        if self.outputs == 2:
            return [self._plus(m[0], near), self._less(across, m[3])]
        far, apart = self._plus(m[3], m[4]), self._less(m[3], m[4])
        return [self._plus(m[0], self._plus(near, far)), self._scaled(2, apart, across), self._scaled(4, far, near),
                self._plus(m[5], self._scaled(8, apart, across))]

    def output(self, value: ir.Value, row: int, column: int) -> ir.Value:
        """The output of this row and column of a tile, of what ``of_products`` gives along both axes."""
        return value

    def _plus(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return arith.addf(x, y)

    def _less(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return arith.subf(x, y)

    def _scaled(self, factor: int, x: ir.Value, y: ir.Value) -> ir.Value:
        """factor * x + y."""
        return math.fma(x, self.vectors.splat(factor), y)


class WholeTransforms(Transforms):
    """Those of integers, all exact: of inputs in 16 bits, of products in 32, which wrap."""

    def of_products(self, m: Sequence[ir.Value]) -> list[ir.Value]:
        """A^T m, of products with filters that have no fractions, each times the number in ``SCALES``."""
        near, across = self._plus(m[1], m[2]), self._less(m[1], m[2])
        if self.outputs == 2:
            return [self._scaled(2, m[0], near), self._scaled(-2, m[3], across)]
        far, apart = self._plus(m[3], m[4]), self._less(m[3], m[4])
        return [self._scaled(6, m[0], self._scaled(-4, near, far)), self._scaled(-2, across, apart), self._less(far, near),
                self._scaled(6, m[5], self._less(self._plus(apart, apart), across))]

    def output(self, value: ir.Value, row: int, column: int) -> ir.Value:
        scale = SCALES[self.outputs][row] * SCALES[self.outputs][column]
        odd, element = _odd(scale), value.type.element_type
        if odd != 1:
            inverse = pow(odd, -1, 1 << BITS)
            value = arith.muli(value, self.vectors.constant(inverse - (inverse >> (BITS - 1) << BITS), element))
        return arith.shrsi(value, self.vectors.constant((scale // odd).bit_length() - 1, element))

    def _plus(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return arith.addi(x, y)

    def _less(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return arith.subi(x, y)

    def _scaled(self, factor: int, x: ir.Value, y: ir.Value) -> ir.Value:
        return arith.addi(arith.muli(x, self.vectors.constant(factor, x.type.element_type)), y)


def transforms_of(tiles: WinogradTilesLike, vectors: Vectors) -> Transforms:
    """The transforms of a convolution's factors, of integers or floats."""
    return (WholeTransforms if tiles.factor == "i16" else Transforms)(tiles.outputs, vectors)
