"""Tiling and vectorization of single loop nests, from which the schedules of elementwise kernels, reductions and rows are built.

A nest is tiled to one vector (of several registers) and peeled where the tile does not divide the extent. The rest is vectorized under a
mask where the machine has masks for the element's width. Vectorization happens in ``close``, after all tiling.
"""
from collections.abc import Callable, Mapping, Sequence

from legato.analysis.structured import PARALLEL, StructuredOp
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.reading_order import block_loops, part_of_crossed_rows
from legato.targets.cpu.script import ANY, Script

MAX_LANES = 256  # longer vectors are slow to compile and spill
DYNAMIC = -1
ROW = 32         # elements of a row of unknown length, which may be short, that are combined at once
LEAST_ROWS = {32: 7, 16: 10}    # by the bits of an element: the rows from which on a block of 16 takes less time than one of their number


def power_of_two_below(n: int) -> int:
    """The greatest power of two <= n; n >= 1."""
    return 1 << (n.bit_length() - 1)


def is_power_of_two(n: int) -> bool:
    """Whether n is a power of two."""
    return n > 0 and n & (n - 1) == 0


def next_power_of_two(n: int) -> int:
    """The least power of two >= n; n >= 1."""
    return n if is_power_of_two(n) else 1 << n.bit_length()


class Vectorizer:
    """Tiles nests in ``script``, and vectorizes all of them at the end.

    ``extents`` of the methods are those of the op behind a handle, which may be a tile of the nest; ``limit`` bounds a dynamic extent.
    """

    def __init__(self, machine: Machine):
        self.machine, self.script = machine, Script()
        self._static: list[str] = []
        self._masked: list[tuple[str, tuple[int, ...]]] = []

    def lanes(self, nest: StructuredOp) -> int:
        """The number of elements of the nest's widest type in one register."""
        return self.machine.lanes(nest.bits)

    def masks(self, nest: StructuredOp, extent: int) -> bool:
        """Whether the nest can run under a mask of ``extent`` lanes, which divisions cannot: lanes outside of it are undefined. A number
        of lanes that only the call knows takes masks of the CPU; others are taken apart where it has none (``tir-split-masks``)."""
        return not nest.divides_integers and (extent >= 0 or self.machine.masks(nest.memory_bits))

    def fits(self, nest: StructuredOp, extent: int) -> bool:
        """Whether a loop can be one vector: in half of the registers, without many idle lanes."""
        lanes = self.lanes(nest)
        if not 0 <= extent <= min(lanes * self.machine.registers // 2, MAX_LANES):
            return False
        if is_power_of_two(extent) or extent < lanes:
            return True
        idle = (next_power_of_two(extent) - extent) // lanes
        return extent % lanes != 0 and self.masks(nest, extent) and idle * 4 <= next_power_of_two(extent) // lanes

    def strip(self, nest: StructuredOp, extent: int, registers: int = 8) -> int:
        """The tile size of a loop to vectorize; 0 for the whole loop. Half of the greatest size where only that divides the extent."""
        widest = min(self.lanes(nest) * registers, MAX_LANES)
        if self.fits(nest, extent):
            return 0
        if extent < 0:
            return widest if len(nest.iterator_types) == 1 else self._of_unknown_row(nest, widest)
        widest = min(widest, power_of_two_below(extent))
        return widest // 2 if extent % widest and extent % (widest // 2) == 0 and widest // 2 >= self.lanes(nest) * 4 else widest

    def _of_unknown_row(self, nest: StructuredOp, widest: int) -> int:
        """The tile size of rows that may be short: the rest of each is written under masks, which takes long without AVX-512. Functions
        take less time of two registers than of one, whose instructions wait for each other."""
        if self.machine.has("avx512vl"):
            return widest
        is_cheap = all(name.startswith(("arith.", "linalg.", "math.absf")) for name in nest.body_names)
        return min(self.lanes(nest) * (1 if is_cheap else 2), widest)

    def unmasked_strip(self, nest: StructuredOp, extent: int, registers: int) -> int:
        """As ``strip``, avoiding masked accumulators: prefers sizes that divide the extent or leave a power of two."""
        lanes = self.lanes(nest)
        sizes = [size for size in (8 * lanes, 4 * lanes, 2 * lanes, lanes) if size <= min(extent, registers * lanes, MAX_LANES)]
        if not sizes or extent in sizes:
            return self.strip(nest, extent, registers)
        whole = [size for size in sizes if extent % size == 0 and size * 2 >= min(registers, 8) * lanes]
        even = [size for size in sizes if extent % size == 0 or is_power_of_two(extent % size)]
        return next(iter([*whole, *even, *sizes]))

    def split(self, handle: str, count: int) -> list[str]:
        """One handle for each of the ``count`` ops of a handle."""
        return [handle] if count == 1 else self.script.op("one", f"split_handle {handle}", count)

    def tile(self, handle: str, sizes: Sequence[int], along: int | None = None) -> tuple[str, str | None]:
        """The tile, and the loop over dimension ``along`` (None: the innermost); the op itself and None where all sizes are 0."""
        if not any(sizes):
            return handle, None
        tile, loops = self.script.tile(handle, sizes)
        return tile, loops[-1 if along is None else sum(size != 0 for size in sizes[:along])]

    def peel(self, loop: str) -> tuple[str, str]:
        """The generic op in the loop of whole tiles, and the one in the last, partial iteration."""
        whole, rest = self.script.peel(loop)
        return self.script.match("linalg.generic", within=whole), self.script.match("linalg.generic", within=rest)

    # --- vectors along a parallel loop ---

    def parallel(self, handle: str, nest: StructuredOp, extents: Sequence[int], loop: int, limit: int | None = None) -> None:
        """Vectorizes loop ``loop``; the others are tiled by 1, reductions innermost."""
        steps = [1 if kind != PARALLEL and e != 1 else 0 for kind, e in zip(nest.iterator_types, extents)]
        sizes = [1 if kind == PARALLEL and e != 1 else 0 for kind, e in zip(nest.iterator_types, extents)]
        extent = extents[loop]
        sizes[loop] = 0 if limit else self.strip(nest, extent)
        if not sizes[loop] and (part := part_of_crossed_rows(nest, extents, loop)) is not None:
            other, count = part
            handle, _ = self.tile(handle, [count if i == other else 0 for i in range(len(sizes))])
            handle, _ = self.tile(handle, [0 if i == other else size for i, size in enumerate(sizes)])
            sizes = [size if i == other else 0 for i, size in enumerate(sizes)]
        tile, around = self.tile(handle, sizes, loop if sizes[loop] else None)
        if not sizes[loop]:
            self.whole(self.tile(tile, steps)[0], nest, extent, limit)
            return
        rest = None
        if extent < 0 or extent % sizes[loop]:
            tile, rest = self.peel(around)
        self._static.append(self.tile(tile, steps)[0])
        if rest is not None:
            self.rest(rest, nest, steps, loop, DYNAMIC if extent < 0 else extent % sizes[loop])

    def unrolled(self, handle: str, nest: StructuredOp, extents: Sequence[int], loop: int, copies: int, again: Callable[[], str]) -> None:
        """As ``parallel``, for a nest that is one vector along ``loop``; loop ``copies`` is unrolled inside of the reductions.

        ``again()`` gives a handle to all copies of the nest's op.
        """
        steps = [1 if kind != PARALLEL and e != 1 else 0 for kind, e in zip(nest.iterator_types, extents)]
        sizes = [1 if kind == PARALLEL and e != 1 else 0 for kind, e in zip(nest.iterator_types, extents)]
        sizes[loop] = sizes[copies] = 0
        tile = self.tile(self.tile(handle, sizes)[0], steps)[0]
        if extents[copies] != 1:
            tile, around = self.tile(tile, [1 if i == copies else 0 for i in range(len(extents))])
            self.script.line(f"transform.loop.unroll {around} {{factor = {extents[copies]}}} : {ANY}")
            tile = again()
        self.whole(tile, nest, extents[loop])

    def whole(self, handle: str, nest: StructuredOp, extent: int, limit: int | None = None) -> None:
        """Vectorizes an op of ``extent`` elements as one vector."""
        if extent >= 0 and (is_power_of_two(extent) or extent % self.lanes(nest) == 0 or not self.masks(nest, extent)):
            self._static.append(handle)
        elif self.masks(nest, extent):
            self._masked.append((handle, (next_power_of_two(extent) if extent >= 0 else limit,)))

    def rest(self, handle: str, nest: StructuredOp, steps: Sequence[int], loop: int, extent: int) -> None:
        """Vectorizes what peeling left of one loop: as one vector under a mask; where only the call knows the extent, vectors of one
        register, the last under a mask; without masks, whole registers and what is left of them."""
        lanes = self.lanes(nest)
        if extent >= 0 and (extent <= lanes or self.masks(nest, extent)):
            self.whole(self.tile(handle, steps)[0], nest, extent)
            return
        if extent < 0 and not self.masks(nest, extent):
            return  # scalar
        tile, around = self.tile(handle, [lanes if i == loop else 0 for i in range(len(steps))])
        if extent >= 0 and extent % lanes:
            tile, end = self.peel(around)
            self._static.append(self.tile(end, steps)[0])
        tile = self.tile(tile, steps)[0]
        if extent >= 0:
            self._static.append(tile)
        else:
            self._masked.append((tile, (lanes,)))

    # --- blocks of two loops, one innermost in the output, one in an input ---

    def side(self, nest: StructuredOp) -> int:
        """The rows and columns of a block."""
        return min(16, max(4, self.lanes(nest)))

    def transposed(self, handle: str, nest: StructuredOp, extents: Sequence[int], loop: int, other: int) -> None:
        """Transposes blocks of the loops ``loop`` (the output's innermost) and ``other`` (an input's innermost) in registers."""
        side = self.side(nest)
        outer = [0 if e == 1 or i in (loop, other) else 1 for i, e in enumerate(extents)]
        short = [axis for axis in (other, loop) if 0 <= extents[axis] <= side]
        filled = [axis for axis in short if self._fills_block(nest, extents[axis], side)]
        if all(is_power_of_two(extents[axis]) for axis in (other, loop)):
            filled = []
        shape = tuple(extents[axis] if axis in short and axis not in filled else side for axis in sorted((loop, other)))
        masked = self.masks(nest, min(extents[loop], extents[other]))

        def cut(tile: str, kind: str, sizes: Mapping[int, int], loops: Sequence[tuple[int, int]]) -> None:
            """Cuts a part whose loops are as long as ``sizes`` says, by the first of ``loops``."""
            if loops:
                (axis, size), *inner = loops
                tile, around = self.tile(tile, [size if i == axis else 0 for i in range(len(extents))])
                whole = sizes[axis] % size == 0     # not where it is dynamic, and negative
                peeled = kind != "masked" and not whole and (size == side or sizes[axis] >= 0)
                if peeled:
                    tile, rest = self.peel(around)
                    cut(rest, self._rest_kind(kind, sizes[axis], side), sizes, [(i, step) for i, step in inner if i != axis])
                cut(tile, kind, {**sizes, axis: size if whole or peeled else DYNAMIC}, inner)
            elif kind in ("whole", "unit"):
                self._static.append(tile)
            elif kind == "masked" and masked:
                self._masked.append((tile, shape))

        loops = [(axis, size) for axis, size in block_loops(nest, extents, loop, other, side) if axis not in short]
        cut(self.tile(handle, outer)[0], "masked" if filled else "whole", {loop: extents[loop], other: extents[other]}, loops)

    def _fills_block(self, nest: StructuredOp, extent: int, side: int) -> bool:
        """Whether so few rows or columns are transposed in a whole block of 16, under a mask: its shuffles are fixed, while a block of an
        odd size is taken apart element by element."""
        least = LEAST_ROWS.get(nest.memory_bits)
        return least is not None and side == 16 and least <= extent < side and self.machine.masks(16) and self.masks(nest, extent)

    @staticmethod
    def _rest_kind(kind: str, extent: int, side: int) -> str:
        """How the partial block at the end of one loop is vectorized: "masked", or, where it is one element wide in either loop and
        upstream cannot transpose it under a mask, as it is ("unit"), or not at all ("scalar")."""
        if kind == "whole":
            return "unit" if extent >= 0 and extent % side == 1 else "masked"
        return kind if extent >= 0 else "scalar"

    # --- vectors along a reduction loop ---

    def along(self, handle: str, nest: StructuredOp, extents: Sequence[int], loop: int) -> bool:
        """Vectorizes a reduction along its input's innermost loop: partial results in lanes, combined at the end.

        Returns False for a nest that this does not support.
        """
        lanes = self.lanes(nest)
        extent = extents[loop]
        if nest.combiner is None or (not self.masks(nest, extent) and (extent < 0 or extent % lanes)):
            return False
        outer = [1 if kind == PARALLEL and e != 1 else 0 for kind, e in zip(nest.iterator_types, extents)]
        others = [1 if i != loop and kind != PARALLEL and extents[i] != 1 else 0 for i, kind in enumerate(nest.iterator_types)]
        tile = self.tile(handle, outer)[0]
        if 0 <= extent <= min(lanes * self.machine.registers // 2, MAX_LANES) and (self.masks(nest, extent) or is_power_of_two(extent)):
            if is_power_of_two(extent):
                self._static.append(self.tile(tile, others)[0])
            else:
                self._masked.append((self.tile(tile, others)[0], (next_power_of_two(extent),)))
            return True
        width = self._row(nest) if extent < 0 else min(lanes * (8 if extent >= 32 * lanes else 4), MAX_LANES)
        sizes = [width if i == loop else 0 for i in range(len(extents))]
        fill, part, join, around = self.script.op("part", f"structured.tile_reduction_using_for {tile} by tile_sizes = {sizes}", 4)
        self._static += [fill, join]
        if extent < 0 or extent % width:
            part, rest = self.peel(around)
            rest = self.tile(rest, others)[0]
            if extent >= 0 and is_power_of_two(extent % width):  # a single element leaves no loop to mask
                self._static.append(rest)
            else:
                self._masked.append((rest, (width,)))
        self._static.append(self.tile(part, others)[0])
        return True

    def _row(self, nest: StructuredOp) -> int:
        """The elements of a row of unknown length that are combined at once. It may be short; functions need registers of their own."""
        has_functions = any(name.startswith("math.") for name in nest.body_names)
        return max(2 * self.lanes(nest), 0 if has_functions else ROW)

    def close(self) -> str:
        """Vectorizes all tiled ops. Returns the script's text."""
        self.script.clean()
        self.script.patterns("drop-unit-dims", "canonicalize", "merge-slices")
        for sizes in sorted({sizes for _, sizes in self._masked}):
            self._vectorize([handle for handle, own in self._masked if own == sizes], f" vector_sizes {list(sizes)}")
        self._vectorize(self._static, "")
        # masked transfers bufferize as others do, vector.mask around one only in place
        self.script.patterns("vector.lower_masked_transfers")
        # computes uniform values as scalars: also those that transfers broadcast
        self.script.patterns("transfer-permutations", "vector.sink_ops", "canonicalize")
        self.script.finish()
        return self.script.text()

    def _vectorize(self, handles: Sequence[str], how: str) -> None:
        """Vectorizes the ops of some handles, of which equal ones may have been merged."""
        if handles:
            self.script.line(f"transform.structured.vectorize {self.script.merge(handles)}{how} : {ANY}")
