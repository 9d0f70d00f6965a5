"""The features of direct convolutions in blocks of as many as a vector has lanes, and filters packed in this order."""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.window import WindowAxis
from legato.core.dtypes import element_bytes
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir

POSITIONS = 12          # of a tile, at most
IN_FLIGHT = 8           # sums that hide how long a multiply-add takes
MOST_PRODUCTS = 512     # of a narrow group, which are written out for a row of a window
MOST_PARTS = 16         # of the channels
QUARTER = 4             # lanes, of 128 bits, in which shuffles stay that take no indices
SHARE = 2               # of the second cache, its inverse, that filters take


@dataclass(frozen=True)
class Blocks:
    """How the features of groups are cut into blocks of as many as a vector has lanes. ``channels``, ``features``: of a group; ``vectors``:
    the blocks that are computed at once; ``joins``: whether narrow groups share a block; ``per_lane``: the channels of a lane, of which
    ``channels`` are counted."""

    groups: int
    channels: int
    features: int
    lanes: int
    vectors: int
    joins: bool = True
    per_lane: int = 1

    @property
    def together(self) -> int:
        """The groups of a block: 1 where it has features of one group only."""
        return max(1, min(self.groups, self.lanes // self.features)) if self.joins else 1

    @property
    def each(self) -> int:
        """The blocks of a group, or 1 of several groups."""
        return -(-self.features // self.lanes)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return -(-self.groups // self.together) * self.each

    def positions(self, registers: int, axis: WindowAxis) -> int:
        """The positions of a tile: as many as have sums in registers, beside a row of the filter and an element, or in narrow groups all
        elements of a row."""
        if self.together == 1:
            return max(1, min(POSITIONS, (registers - 2) // self.vectors - axis.taps))
        spare = registers - 2 * axis.taps - (axis.taps - 1) * (axis.dilation - 1) - 1 + axis.stride
        return max(1, min(POSITIONS, spare // (axis.stride + 1)))

    def writes_out(self, axis: WindowAxis) -> bool:
        """Whether the products of narrow groups, for windows of these columns, are few enough to be written out."""
        return self.together * self.channels <= 2 * self.lanes and axis.taps * self.channels * POSITIONS <= MOST_PRODUCTS

    @property
    def turns(self) -> bool:
        """Whether lanes take the channels of their group in orders of their own, each from its quarter on: of groups that have as many
        channels as features, in several quarters."""
        return self.together > 1 and self.per_lane == 1 and self.channels == self.features > QUARTER and self.features % QUARTER == 0

    def channel(self, step: int, lane: int) -> int:
        """The channel of its group that a lane multiplies in a step."""
        quarters = self.features // QUARTER
        return (step // QUARTER + lane // QUARTER) % quarters * QUARTER + step % QUARTER if self.turns else step

    @property
    def at_once(self) -> int:
        """The features that are computed at once."""
        return self.vectors * self.lanes

    @property
    def units(self) -> int:
        """The parts of as many features as are computed at once, or the rest of a group's; 0 where a block has several groups."""
        return 0 if self.together > 1 else self.groups * -(-self.features // self.at_once)

    def packed_shape(self, shape: Sequence[int]) -> list[int]:
        """The shape of packed filters: blocks, then the windows' rows, the channels and the windows' columns, then the lanes of a block."""
        return [self.count, prod(shape[:-3]), self.channels, shape[-3], self.lanes * self.per_lane]


def blocks_of(form: DirectForm, machine: CpuMachine) -> Blocks:
    """The blocks of a convolution: two at once where there are two, there are registers for their sums, and what they multiply stays in the
    second cache."""
    lanes = machine.lanes(32)
    pair = Blocks(form.groups, form.depth, form.features, lanes, 2, per_lane=form.per_lane)
    fits = parts_of(form, machine, pair) > 0
    many = pair.positions(machine.registers, form.axes[-1]) * 2 >= IN_FLIGHT
    return pair if form.features > lanes and fits and many else replace(pair, vectors=1)


def pack(filters: np.ndarray, result: np.ndarray, blocks: Blocks) -> None:
    """Writes filters, ``[..., width, channels, features]``, to ``result`` of the shape ``Blocks.packed_shape``, padded with zeros."""
    count, height, channels, width, _ = result.shape
    whole = in_lanes(filters.reshape(height, width, -1, blocks.groups, blocks.features), 2, blocks.per_lane)
    if blocks.together > 1:
        padded = np.zeros((*whole.shape[:4], count * blocks.together, blocks.features), filters.dtype)
        padded[..., :blocks.groups, :] = whole
        whole = padded.reshape(*whole.shape[:4], count, blocks.together * blocks.features)
    padded = np.zeros((*whole.shape[:5], blocks.each * blocks.lanes), filters.dtype)
    padded[..., :whole.shape[-1]] = whole
    split = padded.reshape(height, width, channels, blocks.per_lane, count, blocks.lanes)
    if blocks.turns:
        order = [[blocks.channel(step, lane) for lane in range(blocks.lanes)] for step in range(channels)]
        split = np.take_along_axis(split, np.array(order).reshape(1, 1, channels, 1, 1, -1), 2)
    result[...] = split.transpose(4, 0, 2, 1, 5, 3).reshape(result.shape)


def pack_rows(filters: np.ndarray, result: np.ndarray, blocks: Blocks) -> None:
    """Writes filters to ``result``, whose lanes have neighbouring elements of a window's row: the last ones those at its end, with zeros
    for elements that lanes before have."""
    count, height, _, groups, _ = result.shape
    padded = np.zeros((height, groups, blocks.per_lane, count * blocks.lanes), filters.dtype)
    padded[..., :blocks.features] = in_lanes(filters.reshape(height, -1, blocks.features), 1, blocks.per_lane)
    split = padded.reshape(height, groups, blocks.per_lane, count, blocks.lanes)
    result[...] = split.transpose(3, 0, 1, 4, 2).reshape(result.shape)


def in_lanes(array: np.ndarray, axis: int, per_lane: int) -> np.ndarray:
    """An array whose ``axis`` is split into lanes. The last one has the last elements, with zeros for those that lanes before have."""
    size = array.shape[axis]
    if size % per_lane == 0:
        return array.reshape(*array.shape[:axis], size // per_lane, per_lane, *array.shape[axis + 1:])
    starts = np.minimum(np.arange(0, size, per_lane), size - per_lane)
    places = starts[:, None] + np.arange(per_lane)
    lanes = np.take(array, places, axis)
    has_before = places < np.arange(0, size, per_lane)[:, None]
    lanes[(slice(None),) * axis + (has_before,)] = 0
    return lanes


def parts_of(form: DirectForm, machine: CpuMachine, blocks: Blocks) -> int:
    """The parts of the channels whose filters stay in the second cache, for the features that are computed at once; 0 where there are too
    many. 1 for integers, whose filters are small, and whose sums no result of bytes keeps."""
    if form.per_lane > 1:
        return 1
    most = MOST_PARTS if blocks.units and form.returned.type.element_type == ir.F32Type.get() else 1
    return next((parts for parts in range(1, most + 1) if stays_in_cache(form, machine, max(1, blocks.units) * parts)), 0)


def stays_in_cache(form: DirectForm, machine: CpuMachine, parts: int = 1) -> bool:
    """Whether a convolution's filter, or one of so many parts of it, stays in the second cache."""
    return prod(form.filter.type.shape) * element_bytes(form.element) // parts <= machine.l2_bytes // SHARE
