"""Filters of convolutions in the order in which products of pairs read them, and the sizes of the steps of these products."""
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

FEW = 16                # channels of an image, from which on a matrix is filled by those of one column
PAIR = 2                # elements of bf16 in a lane of 32 bits
DEPTH = 16              # pairs of channels that a matrix sums
COLUMNS = 32            # features of a panel: two matrices


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


def read_shape(shape: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """How filters [height, width, channels, features] are read: of few channels, whole rows of a window are read like channels."""
    height, width, channels, features = shape
    return [height, 1, width * channels, features] if channels < FEW and dilations[1] == 1 else [height, width, channels, features]


def packed_shape(shape: Sequence[int], tiles: PairTiles) -> list[int]:
    """The shape of packed filters, of what ``read_shape`` gives: panels of features, taps and blocks of channels, then a matrix of pairs of
    channels."""
    height, width, channels, features = shape
    return [-(-features // tiles.features), height * width * tiles.blocks(channels), tiles.depth, tiles.features, PAIR]


def pack_filters(filters: np.ndarray, result: np.ndarray, shape: Sequence[int]) -> None:
    """Writes filters, rounded to bf16, to ``result`` of the shape ``packed_shape``. ``shape``: how they are read."""
    height, width, channels, features = shape
    panels, steps, deep, columns, pair = result.shape
    padded = np.zeros((height * width, steps // (height * width) * deep * pair, panels * columns), ml_dtypes.bfloat16)
    with np.errstate(over="ignore", invalid="ignore"):
        padded[:, :channels, :features] = filters.reshape(height * width, channels, features)
    pairs = padded.reshape(steps, deep, pair, panels, columns)
    result[...] = pairs.transpose(3, 0, 1, 4, 2)
