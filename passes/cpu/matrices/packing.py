"""Filters of convolutions in the order in which products of pairs read them, and the sizes of the steps of these products."""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import ml_dtypes
import numpy as np

from legato.analysis.structured.groups import depth_of

FEW = 16                # channels of an image, from which on a matrix is filled by those of one column
PAIR = 2                # elements of bf16 in a lane of 32 bits
BYTES = 2               # of an element
DEPTH = 16              # pairs of channels that a matrix sums
COLUMNS = 32            # features of a panel: two matrices
STEP = PAIR * DEPTH     # elements that a step of a product sums
AT_ONCE = 1 << 16       # elements of a weight that are split at once, in a core's cache
DEEPEST = 32            # steps of a product that is not computed in blocks
IN_BLOCK = 24           # steps of a block, at most
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
    pair, and so on, so that vectors of rows need not be shuffled. ``at_run_time``: numbers are packed as they are, and split panel by
    panel when the kernel runs: two thirds of the parts' bytes come from memory, or all where there are two.
    ``least_blocks``: of the depth."""

    depth: int
    columns: int
    parts: int
    at_run_time: bool = False
    least_blocks: int = 1

    @property
    def steps(self) -> int:
        """Of the whole depth."""
        return -(-self.depth // STEP)

    @property
    def blocks(self) -> int:
        """Of the depth, so that what is read of some tiles of rows in one stays in the second cache."""
        return max(self.least_blocks, 1 if self.steps <= DEEPEST else -(-self.steps // IN_BLOCK))

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
        """The panels of each block, their steps, then for each part a matrix of pairs; or a step's rows."""
        outer = [self.blocks * self.panels, self.in_block]
        return [*outer, STEP, COLUMNS] if self.at_run_time else [*outer, self.parts, DEPTH, COLUMNS, PAIR]

    @property
    def dtype(self) -> np.dtype:
        """Of what is packed."""
        return np.dtype(np.float32 if self.at_run_time else ml_dtypes.bfloat16)

    @property
    def split_bytes(self) -> int:
        """The bytes of all parts."""
        return self.blocks * self.panels * self.in_block * self.parts * STEP * COLUMNS * BYTES

    def pack(self, weight: np.ndarray, result: np.ndarray) -> None:
        """Writes a weight of any rank, whose magnitudes are below 2^127, to ``result``, padded with zeros."""
        weight = weight.reshape(self.depth, self.columns)
        by_blocks = result.reshape(self.blocks, self.panels, *self.shape[1:])
        for block, packed in enumerate(by_blocks):
            given = weight[block * self.in_block * STEP:(block + 1) * self.in_block * STEP]
            (self._pack_numbers if self.at_run_time else self._pack_parts)(given, packed)

    def _pack_numbers(self, given: np.ndarray, packed: np.ndarray) -> None:
        """Writes a block's rows as they are."""
        rows, columns = len(given), self.columns // COLUMNS * COLUMNS
        panels = packed.reshape(self.panels, self.in_block * STEP, COLUMNS)
        panels[:columns // COLUMNS, :rows] = given[:, :columns].reshape(rows, -1, COLUMNS).transpose(1, 0, 2)
        panels[:, rows:] = 0
        if columns < self.columns:
            panels[-1, :rows, :self.columns - columns] = given[:, columns:]
            panels[-1, :rows, self.columns - columns:] = 0

    def _pack_parts(self, given: np.ndarray, packed: np.ndarray) -> None:
        """Writes the parts of a block's rows."""
        pairs = packed.view(np.uint32)[..., 0]
        wide = min(self.panels, max(1, AT_ONCE // (STEP * COLUMNS)))
        deep = min(self.in_block, max(1, AT_ONCE // (STEP * COLUMNS * wide)))
        for step, panel in product(range(0, self.in_block, deep), range(0, self.panels, wide)):
            into = pairs[panel:panel + wide, step:step + deep]
            self._pack_tile(given[step * STEP:(step + deep) * STEP, panel * COLUMNS:(panel + wide) * COLUMNS], into)

    def _pack_tile(self, given: np.ndarray, pairs: np.ndarray) -> None:
        """Writes the parts of some rows and columns, few enough that they stay in a cache: [panels, steps, parts, depth, columns]."""
        panels, steps = pairs.shape[:2]
        rest = np.zeros((steps, PAIR, DEPTH, panels * COLUMNS), np.float32)
        rest.reshape(steps * STEP, -1)[:given.shape[0], :given.shape[1]] = given
        bits, rounded, both = rest.view(np.uint32), np.empty(rest.shape, np.uint32), np.empty((steps, DEPTH, panels * COLUMNS), np.uint32)
        for part in range(self.parts):
            np.bitwise_and(np.add(bits, HALF, out=rounded), UPPER, out=rounded)
            np.bitwise_or(np.right_shift(rounded[:, 0], 16, out=both), rounded[:, 1], out=both)
            pairs[:, :, part] = both.reshape(steps, DEPTH, panels, COLUMNS).transpose(2, 0, 1, 3)
            rest -= rounded.view(np.float32)
