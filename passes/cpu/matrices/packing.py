"""Filters of convolutions in the order in which products of pairs read them, and the sizes of the steps of these products."""
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from legato.analysis.structured.groups import depth_of

FEW = 16                # channels of an image, from which on a matrix is filled by those of one column
PAIR = 2                # elements of bf16 in a lane of 32 bits
DEPTH = 16              # pairs of channels that a matrix sums
COLUMNS = 32            # features of a panel: two matrices
STEP = PAIR * DEPTH     # elements that a step of a product sums
AT_ONCE = 1 << 20       # elements of a weight that are split by a call of numpy
DEEPEST = 32            # steps of a product that is not computed in blocks
HALF, UPPER = np.uint32(0x8000), np.uint32(0xFFFF0000)     # of f32's bits, half of the last one of bf16, and those of bf16


@dataclass(frozen=True)
class PairTiles:
    """The sizes of a step of a product: ``positions`` by ``features`` sums, of ``depth`` pairs of channels each. ``in_rows``: whether the
    positions of a tile lie in one row of the result, or follow each other through all rows of the image's copy."""

    positions: int
    features: int = COLUMNS
    depth: int = DEPTH
    in_rows: bool = False

    def blocks(self, channels: int) -> int:
        """The blocks of channels that a step sums each; the last one is padded with zeros."""
        return -(-channels // (PAIR * self.depth))


def read_shape(shape: Sequence[int], dilations: Sequence[int], groups: int) -> list[int]:
    """How filters [height, width, channels, features] of a group are read: of few channels, which are all, whole rows of a window are read
    like channels."""
    height, width, channels, features = shape
    return [height, 1, width * channels, features] if _reads_rows(channels, dilations, groups) else [height, width, channels, features]


def overlapping_column(shape: Sequence[int], dilations: Sequence[int], groups: int) -> int:
    """The elements of a column in a copy where the windows of neighbouring positions overlap: a power of two, at least a pair, so that no
    vector of the copy divides a column. 0 where windows are not read row by row, or no divisor of a row's pairs fills a matrix."""
    _, width, channels, _ = shape
    column = max(1 << (channels - 1).bit_length(), PAIR)
    return column if _reads_rows(channels, dilations, groups) and depth_of(width * column // PAIR) is not None else 0


def overlapping_shape(shape: Sequence[int], dilations: Sequence[int], groups: int) -> list[int]:
    """As ``read_shape``, where windows may overlap in the copy of an image."""
    height, width, _, features = shape
    column = overlapping_column(shape, dilations, groups)
    return [height, 1, width * column, features] if column else read_shape(shape, dilations, groups)


def _reads_rows(channels: int, dilations: Sequence[int], groups: int) -> bool:
    return channels < FEW and dilations[1] == 1 and groups == 1


def packed_shape(shape: Sequence[int], tiles: PairTiles, groups: int) -> list[int]:
    """The shape of packed filters, of what ``read_shape`` gives: panels of features, group by group, taps and blocks of channels, then a
    matrix of pairs of channels."""
    height, width, channels, features = shape
    return [groups * -(-features // tiles.features), height * width * tiles.blocks(channels), tiles.depth, tiles.features, PAIR]


def pack_filters(filters: np.ndarray, result: np.ndarray, shape: Sequence[int], groups: int) -> None:
    """Writes filters of all groups, rounded to bf16, to ``result`` of the shape ``packed_shape``. ``shape``: how those of one are read."""
    for part, panels in zip(np.split(filters, groups, axis=-1), np.split(result, groups), strict=True):
        _pack_group(part, panels, shape)


def _pack_group(filters: np.ndarray, result: np.ndarray, shape: Sequence[int]) -> None:
    height, width, channels, features = shape
    if missing := height * width * channels * features - filters.size:      # windows overlap: columns are read with more channels
        places = filters.size // filters.shape[-2]
        filters = np.pad(filters, [(0, 0)] * (filters.ndim - 2) + [(0, missing // places), (0, 0)])
    panels, steps, deep, columns, pair = result.shape
    padded = np.zeros((height * width, steps // (height * width) * deep * pair, panels * columns), ml_dtypes.bfloat16)
    with np.errstate(over="ignore", invalid="ignore"):
        padded[:, :channels, :features] = filters.reshape(height * width, channels, features)
    pairs = padded.reshape(steps, deep, pair, panels, columns)
    result[...] = pairs.transpose(3, 0, 1, 4, 2)


@dataclass(frozen=True)
class PartsPacking:
    """How a weight [depth, columns] of f32 is packed that products read in ``parts`` of bf16: three are its numbers, which have 24 bits;
    two are rounded to 16 bits. Depths are cut into blocks of equally many steps. The first element of a step and its middle one are a
    pair, and so on, so that vectors of rows need not be shuffled."""

    depth: int
    columns: int
    parts: int

    @property
    def steps(self) -> int:
        """Of the whole depth."""
        return -(-self.depth // STEP)

    @property
    def blocks(self) -> int:
        """Of the depth, so that what is read of some tiles of rows in one stays in the second cache."""
        return -(-self.steps // DEEPEST)

    @property
    def in_block(self) -> int:
        """Steps of a block; the last one may have fewer."""
        return -(-self.steps // self.blocks)

    @property
    def panels(self) -> int:
        """Of columns."""
        return -(-self.columns // COLUMNS)

    @property
    def shape(self) -> list[int]:
        """The panels of each block, their steps, then for each part a matrix of pairs."""
        return [self.blocks * self.panels, self.in_block, self.parts, DEPTH, COLUMNS, PAIR]

    def pack(self, weight: np.ndarray, result: np.ndarray) -> None:
        """Writes the parts of a weight of any rank, whose magnitudes are below 2^127, to ``result``, padded with zeros."""
        weight = weight.reshape(self.depth, self.columns)
        panels, by_blocks = self.panels, result.reshape(self.blocks, self.panels, *self.shape[1:])
        at_once = max(1, AT_ONCE // (STEP * self.columns))      # steps
        for first in range(0, self.blocks * self.in_block, at_once):
            count = min(at_once, self.blocks * self.in_block - first)
            rest = np.zeros((count * STEP, panels * COLUMNS), np.float32)
            given = weight[first * STEP:(first + count) * STEP]
            rest[:len(given), :self.columns] = given
            for part in range(self.parts):
                bits = (rest.view(np.uint32) + HALF) & UPPER    # rounded
                halves = (bits >> 16).astype(np.uint16).view(ml_dtypes.bfloat16).reshape(count, PAIR, DEPTH, panels, COLUMNS)
                for number, matrices in enumerate(halves.transpose(0, 3, 2, 4, 1), first):
                    by_blocks[number // self.in_block, :, number % self.in_block, part] = matrices
                rest -= bits.view(np.float32)
