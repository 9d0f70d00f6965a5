"""Filters of convolutions in the order in which products of matrices read them."""
from collections.abc import Sequence

import ml_dtypes
import numpy as np

FEW = 16                # channels of an image, from which on a matrix is filled by those of one column
PAIR = 2                # elements of bf16 in a lane of 32 bits
DEPTH = 16              # pairs of channels that a matrix sums
COLUMNS = 32            # features of a panel: two matrices


def blocks(channels: int) -> int:
    """The blocks of channels that a step sums each; the last one is padded with zeros."""
    return -(-channels // (PAIR * DEPTH))


def read_shape(shape: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """How filters [height, width, channels, features] are read: of few channels, whole rows of a window are read like channels."""
    height, width, channels, features = shape
    return [height, 1, width * channels, features] if channels < FEW and dilations[1] == 1 else [height, width, channels, features]


def packed_shape(shape: Sequence[int]) -> list[int]:
    """The shape of packed filters, of what ``read_shape`` gives: panels of features, taps and blocks of channels, then a matrix of pairs of
    channels."""
    height, width, channels, features = shape
    return [-(-features // COLUMNS), height * width * blocks(channels), DEPTH, COLUMNS, PAIR]


def pack_filters(filters: np.ndarray, result: np.ndarray, shape: Sequence[int]) -> None:
    """Writes filters, rounded to bf16, to ``result`` of the shape ``packed_shape``. ``shape``: how they are read."""
    height, width, channels, features = shape
    panels, depth = result.shape[0], blocks(channels) * DEPTH * PAIR
    padded = np.zeros((height * width, depth, panels * COLUMNS), ml_dtypes.bfloat16)
    with np.errstate(over="ignore", invalid="ignore"):
        padded[:, :channels, :features] = filters.reshape(height * width, channels, features)
    pairs = padded.reshape(height * width * blocks(channels), DEPTH, PAIR, panels, COLUMNS)
    result[...] = pairs.transpose(3, 0, 1, 4, 2)
