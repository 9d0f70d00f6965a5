"""The choice between a convolution's definition and Winograd's algorithm, and the sizes of the latter's blocks.

Costs are in cycles of a core. What is computed counts as on one that starts two multiply-adds of vectors a cycle, and twice on others.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.convolution import are_few
from legato.analysis.structured.grouped_convolution import GroupedConvolutionForm, ImageConvolutionForm, winograd_convolution
from legato.core.interfaces import WinogradFactor, WinogradOrder
from legato.core.mlir import ir
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.register_tiles import choose, steps
from legato.targets.cpu.threads import WORTH_IT

VECTORS = 2                     # of features in a register tile
TILES = (2, 4)                  # outputs along a side of a tile
TILES_OF_PAIRS = (2,)           # of bf16: errors are 1.6 times those of a direct convolution, with tiles of 4 ten times
PAIR_OF_INTEGERS = 1.4          # the time of a product of pairs of integers and of adding it up, in multiply-adds
SPARE = 2                       # registers for products of pairs that are added up next
SEGMENT = 14                    # most tiles of a row that are transformed at once
MANY = 32                       # registers: direct convolutions of few channels are faster than transforms of padded ones, and panels fit
FEW_TILES = 2                   # of a segment, where the length of rows is not known
TYPICAL = 14                    # assumed height and width of an image, where they are not known: blocks for these suit larger ones, too
LARGE = 56                      # the same where threads are given out
INPUTS = {2: 45, 4: 110}        # cycles for the transform of a tile's inputs, for a vector of channels; by the side of a tile
OUTPUTS = {2: 25, 4: 75}        # of its products
STREAM = 20                     # bytes of weights that cross from the outer caches in a cycle, beside products
MEMORY = 3                      # from memory, to one core: inside of a model, other weights have filled the caches
CROSS = 5                       # of what another core has written
THIRD = 1 << 25                 # bytes of a third cache
TRANSFORMED: tuple[WinogradOrder, ...] = ("blocks", "points")    # orders of weights that are transformed at compile time
PANELS = 4                      # the side of a tile of outputs where the kernel transforms filters
ROWS = 4                        # tiles in a register tile there, by the points of a row of the transform
STEP = 25                       # cycles of a step of such a register tile
DEEP = 64                       # channels whose filters stay in the first cache, or close to it
BLOCKS = (1, 2, 3, 4, 6, 8)     # numbers of blocks that are tried, where weights go by point by point
DIRECT = 1.15                   # time of a direct convolution, by that of its multiply-adds
REGIONS = {"points": 3, "panels": 2}    # parallel loops of a block that threads share
START = 40_000                  # cycles from the end of one parallel loop to the begin of the next on all threads
SHARE = 4                       # of the second cache, its inverse, that a block of a group takes
GAIN = 0.9                      # most time by the algorithm, as a part of the direct convolution's, that is worth its rounding


@dataclass(frozen=True)
class WinogradTiles:
    """The sizes of the blocks of a convolution.

    ``outputs``: the side of a tile of outputs, 2 or 4; ``rows`` by ``vectors`` of ``lanes``: a register tile of products; ``segment``: the
    tiles of a row of the result that are transformed at once; ``segments``: of a block; ``threads``: parts that run in parallel; ``order``:
    "blocks", where each thread computes blocks of its own, panel by panel, "points", where all share one, point by point, or "panels",
    where they share one, panel by panel, and transform the filters themselves, of so many ``channels`` at a time; ``factor``: the type of
    transformed inputs and weights, which are multiplied in pairs of channels where they have 16 bits; ``registers``: the names of the
    CPU's; ``narrower``: what is taken for filters of integers whose sums are too great for these tiles.
    """

    outputs: int
    rows: int
    vectors: int
    lanes: int
    segment: int
    segments: int
    threads: int
    order: WinogradOrder
    channels: int
    factor: WinogradFactor
    registers: tuple[str, ...]
    narrower: WinogradTiles | None = None


def choose_winograd(kernel: StructuredKernel, machine: Machine) -> WinogradTiles | None:
    """The sizes of the blocks; None where the kernel is no convolution of 3 x 3, or a direct one is about as fast."""
    form = winograd_convolution(kernel)
    if form is None or form.filter_shape[:2] != [3, 3] or (*form.strides, *form.dilations) != (1, 1, 1, 1):
        return None
    if max(*form.begins, *form.ends) > 2 or not machine.has("fma"):
        return None
    if isinstance(form, GroupedConvolutionForm) and form.direct.is_of_bytes:
        return _of_integers(form, machine)
    if form.filter.type.element_type != form.result.type.element_type:
        return None
    channels, features, lanes = *form.filter_shape[2:], machine.lanes(32)
    if form.groups > 1 and (channels % lanes or features % lanes or machine.rounds_factors):
        return None
    if form.depth is not None and channels % lanes:
        return None
    if are_few(features, channels, lanes) or (channels < lanes // 2 and machine.registers >= MANY):
        return None    # direct convolutions fill vectors of these
    most = machine.threads if 9 * prod(_sizes(form, LARGE)) >= WORTH_IT else 1
    only = _sizes(form, LARGE) != _sizes(form)    # a call may have work for all of them
    factors: list[WinogradFactor] = ["f32", "bf16"] if machine.rounds_factors and machine.has("avx512bf16") else ["f32"]
    candidates = []
    for threads in {most} if only else {1, most}:
        if form.groups > 1:
            candidates += _in_groups(form, machine, threads)
            continue
        for order, factor in product(TRANSFORMED, factors):
            candidates += _candidates(form, machine, threads, order, factor)
        if machine.registers >= MANY:
            candidates.append(_panels(form, machine, threads))
    cost, tiles = min(candidates, key=lambda candidate: candidate[0])
    return tiles if cost < GAIN * _direct(form, machine, most) else None


def _of_integers(form: GroupedConvolutionForm, machine: Machine) -> WinogradTiles | None:
    """The sizes of blocks of a convolution of bytes in 16 bits, of whole vectors of channels and features: with tiles of 4 x 4, if these
    take the least time, those of 2 x 2 beside them, if they pay, too."""
    channels, features = form.filter_shape[2:]
    if form.groups > 1 or channels % machine.lanes(16) or features % machine.lanes(32):
        return None
    most = machine.threads if 9 * prod(_sizes(form, LARGE)) >= WORTH_IT else 1
    only = _sizes(form, LARGE) != _sizes(form)
    found = [candidate for threads in ({most} if only else {1, most}) for order in TRANSFORMED
             for candidate in _candidates(form, machine, threads, order, "i16")]
    paying = sorted((one for one in found if one[0] < GAIN * _direct(form, machine, most)), key=lambda one: one[0])
    best, narrow = (next((tiles for _, tiles in paying if tiles.outputs in outputs), None) for outputs in (TILES, TILES[:1]))
    return best if best is None or best is narrow else replace(best, narrower=narrow)


def _sizes(form: ImageConvolutionForm, typical: int = TYPICAL) -> tuple[int, int, int, int, int]:
    """Images, rows and columns of the result, channels and features; ``typical`` ones where they are not known. The channels
    are those of a group, the features those of all. Slices of volumes are images, and those that a window takes are channels."""
    images, *_, rows, columns, _ = form.result.type.shape if form.groups == 1 else form.result_shape
    channels, features = form.filter_shape[2], form.filter_shape[3] * form.groups
    slices, taken = (1, 1) if form.depth is None else (form.depth.count, form.depth.taps)
    return max(images, 1) * slices, rows if rows > 0 else typical, columns if columns > 0 else typical, channels * taken, features


def _direct(form: ImageConvolutionForm, machine: Machine, threads: int) -> float:
    """The cost of the convolution by its definition."""
    images, rows, columns, channels, features = _sizes(form)
    weights = 9 * channels * features
    vectors = -(-features // machine.lanes(32))
    computed = images * rows * columns * 9 * channels * vectors / 2
    computed *= DIRECT * _inside(form) if form.groups == 1 else _taps_inside(form)
    size = 4
    if form.result.type.element_type == ir.IntegerType.get_signless(32):
        computed, size = computed * PAIR_OF_INTEGERS / 2, 2
    elif machine.rounds_factors and machine.multiplies_pairs and form.depth is None:
        computed, size = computed / 2, 2    # of pairs of bf16
    loops = START if threads > 1 else 0
    return max((computed * _slowness(machine) + size * weights / STREAM) / threads + loops, size * weights / _memory(threads))


def _slowness(machine: Machine) -> float:
    """The time of an operation on vectors, by that on a CPU that starts two a cycle."""
    return 2 / machine.multiply_adds


def _inside(form: ImageConvolutionForm) -> float:
    """The part of the slices that windows take which are not padding: a direct convolution leaves that out."""
    axis = form.depth
    if axis is None or axis.count == 0:
        return 1
    places = [at * axis.stride - axis.begin + tap * axis.dilation for at in range(axis.count) for tap in range(axis.taps)]
    return sum(0 <= place < axis.size for place in places) / len(places)


def _taps_inside(form: ImageConvolutionForm) -> float:
    """The part of the elements of windows that are not padding: direct convolutions in groups leave that out."""
    found = 1.0
    for size, begin, end in zip(form.source_shape[1:3], form.begins, form.ends, strict=True):
        size = size if size >= 0 else TYPICAL
        count = size + begin + end - 2
        found *= sum(0 <= at + tap - begin < size for at in range(count) for tap in range(3)) / (3 * count)
    return found


def _memory(threads: int) -> int:
    """Bytes of weights that cross from memory in a cycle: a core waits for a few lines at a time, two wait for twice as many."""
    return MEMORY * min(threads, 2)


def _candidates(form: ImageConvolutionForm, machine: Machine, threads: int, order: WinogradOrder,
                factor: WinogradFactor) -> Iterator[tuple[float, WinogradTiles]]:
    """Sizes of blocks whose weights are transformed at compile time, with their cost."""
    *_, channels, features = _sizes(form)
    lanes = machine.lanes(32)
    panels, chunks = -(-features // (VECTORS * lanes)), -(-channels // lanes)
    whole_blocks = order == "blocks"
    summed, size = (channels, 4) if factor == "f32" else (-(-channels // 2), 2)    # steps of a sum; bytes of a factor
    is_whole = factor == "i16"
    each, registers = (PAIR_OF_INTEGERS, machine.registers - SPARE) if is_whole else (1, machine.registers)
    for outputs in TILES_OF_PAIRS if factor == "bf16" else TILES:
        points = (outputs + 2) ** 2
        segment, total = _in_segments(form, outputs)
        weights = size * points * channels * panels * VECTORS * lanes
        alone = threads if whole_blocks else 1    # threads that have blocks of their own
        inputs = size * points * chunks * lanes * segment    # bytes of a segment
        scratch = inputs + 4 * points * panels * VECTORS * lanes * segment    # if all panels' products are kept
        most = _segments(-(-total // alone), inputs, weights, machine)
        if whole_blocks:    # fewer may be the same number for all threads
            tried = range(1, most + 1) if alone > 1 else [most]
        else:
            room = min(max(weights, machine.l2_bytes) // scratch, machine.l2_bytes // 2 * points // inputs)
            tried = {most, *(-(-total // blocks) for blocks in BLOCKS if total <= room * blocks)}
        for segments in tried:
            tile = choose(segments * segment, VECTORS * lanes, lanes, registers, VECTORS * lanes).rows[0]
            blocks = -(-total // segments)
            products = panels * points * -(-segments * segment // tile) * (summed * each * steps(tile, VECTORS) / 2 + tile * VECTORS)
            transforms = segments * segment * (chunks * INPUTS[outputs] / (2 if is_whole else 1) + panels * VECTORS * OUTPUTS[outputs])
            computed = (products + transforms) * _slowness(machine)
            rounds, sharing = -(-blocks // alone), threads // alone
            streams = (rounds * weights if weights / sharing > machine.l2_bytes / 2 else weights) / sharing
            if not whole_blocks and segments * scratch > machine.l2_bytes // 2:
                streams += 2 * blocks * segments * scratch / sharing    # written and read
            regions = 0 if threads == 1 else 1 if whole_blocks else REGIONS[order] * blocks
            fetched = weights * (rounds if weights > THIRD else 1)
            cost = max(rounds * computed / sharing + streams / STREAM + regions * START, fetched / _memory(threads))
            yield cost, WinogradTiles(outputs, tile, VECTORS, lanes, segment, segments, threads, order, channels, factor,
                                      machine.vector_registers)


def _in_groups(form: ImageConvolutionForm, machine: Machine, threads: int) -> Iterator[tuple[float, WinogradTiles]]:
    """Sizes of blocks of a convolution in groups, of whole vectors of channels and features, with their cost: a group goes through all
    blocks before the next does, so its weights stay in the cache."""
    *_, channels, features = _sizes(form)
    lanes = machine.lanes(32)
    vectors = VECTORS if form.filter_shape[3] % (VECTORS * lanes) == 0 else 1
    panels, chunks = features // (vectors * lanes), form.groups * channels // lanes
    for outputs in TILES:
        points = (outputs + 2) ** 2
        segment, total = _in_segments(form, outputs)
        scratch = 4 * points * segment * (channels + vectors * lanes)    # bytes of a segment's inputs and of its products
        segments = max(1, min(total, machine.l2_bytes // SHARE // scratch))
        tile = choose(segments * segment, vectors * lanes, lanes, machine.registers, vectors * lanes).rows[0]
        blocks, weights = -(-total // segments), 4 * points * channels * features
        products = blocks * panels * points * -(-segments * segment // tile) * (channels * steps(tile, vectors) / 2 + tile * vectors)
        transforms = total * segment * (chunks * INPUTS[outputs] + panels * vectors * OUTPUTS[outputs])
        computed = (products + transforms) * _slowness(machine)
        cost = max((computed + weights / STREAM) / threads + (START if threads > 1 else 0), weights / _memory(threads))
        yield cost, WinogradTiles(outputs, tile, vectors, lanes, segment, segments, threads, "blocks", channels, "f32",
                                  machine.vector_registers)


def _panels(form: ImageConvolutionForm, machine: Machine, threads: int) -> tuple[float, WinogradTiles]:
    """The sizes of blocks whose filters the kernel transforms, and their cost."""
    *_, channels, features = _sizes(form)
    lanes, side = machine.lanes(32), PANELS + 2
    panels, chunks = -(-features // lanes), -(-channels // lanes)
    segment, total = _in_segments(form, PANELS)
    inputs = 4 * side ** 2 * chunks * lanes * segment    # bytes of a segment
    segments = _segments(total, inputs, machine.l2_bytes, machine)
    blocks, groups = -(-total // segments), -(-segments * segment // ROWS)
    transforms = segments * segment * (chunks * INPUTS[PANELS] + panels * OUTPUTS[PANELS])
    computed = (panels * groups * channels * side * STEP + transforms) * _slowness(machine)
    filters = 4 * 9 * channels * panels * lanes
    crossing = inputs * segments * (1 - 1 / threads) / CROSS
    regions = 0 if threads == 1 else REGIONS["panels"]
    cost = blocks * ((computed + filters / STREAM) / threads + crossing + regions * START)
    fetched = filters * (blocks if filters > THIRD else 1)
    return max(cost, fetched / _memory(threads)), WinogradTiles(
        PANELS, ROWS, 1, lanes, segment, segments, threads, "panels", min(channels, DEEP), "f32", machine.vector_registers)


def _in_segments(form: ImageConvolutionForm, outputs: int) -> tuple[int, int]:
    """The tiles of a segment, and the segments of all images."""
    images, rows, columns, *_ = _sizes(form)
    in_row = -(-columns // outputs)
    known = form.result.type.shape[-2] if form.groups == 1 else form.result_shape[2]
    segment = -(-in_row // -(-in_row // SEGMENT)) if known == columns else FEW_TILES
    return segment, images * -(-rows // outputs) * -(-in_row // segment)


def _segments(total: int, each: int, weights: int, machine: Machine) -> int:
    """The segments of a block. ``each``: the bytes of a segment's transformed inputs; ``weights``: those of all weights, which stay in the
    cache between blocks where they are few."""
    if total * each <= machine.l2_bytes // 2:
        return total
    room = machine.l2_bytes // (8 if weights <= machine.l2_bytes // 2 else 2)
    most = max(1, room // each)
    return -(-total // -(-total // most))
