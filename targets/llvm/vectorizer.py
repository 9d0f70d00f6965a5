"""How one loop nest is cut and vectorized: the parts that the schedules of elementwise kernels, reductions and rows are made of.

A nest is tiled until what is left is one vector (of several registers), peeled where its size is no multiple, and the rest is done under a
mask where the machine has masks for the element's width. Nothing is vectorized before ``close``: then all loops are there.
"""
from collections.abc import Sequence

from .machine import Machine
from .nests import Nest
from .script import ANY, Script

MAX_LANES = 256  # longer vectors are slow to compile and spill
DYNAMIC = -1


def power_of_two_below(n: int) -> int:
    """The greatest power of two that is not above n; n >= 1."""
    return 1 << (n.bit_length() - 1)


def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


def next_power_of_two(n: int) -> int:
    return n if is_power_of_two(n) else 1 << n.bit_length()


class Vectorizer:
    """Collects the cutting of nests in ``script``, and vectorizes all of them at the end."""

    def __init__(self, machine: Machine):
        self.machine, self.script = machine, Script()
        self._static: list[str] = []
        self._masked: list[tuple[str, list[int]]] = []

    def lanes(self, nest: Nest) -> int:
        """Elements of the nest's widest number in one register."""
        return self.machine.lanes(nest.bits)

    def masks(self, nest: Nest) -> bool:
        """Whether loads and stores of the nest's elements can be masked in hardware."""
        if self.machine.has("avx512bw"):
            return True
        return self.machine.has("avx2") and nest.memory_bits >= 32

    def split(self, handle: str, count: int) -> list[str]:
        """The handles of single ops from one of ``count``."""
        return [handle] if count == 1 else self.script.op("one", f"split_handle {handle}", count)

    def peel(self, loop: str) -> tuple[str, str]:
        """The op in the whole steps of a loop, and the one in its last, partial step."""
        whole, rest = self.script.peel(loop)
        return self.script.match("linalg.generic", within=whole), self.script.match("linalg.generic", within=rest)

    # --- nests without reductions ---

    def parallel(self, handle: str, nest: Nest, extents: Sequence[int], loop: int, registers: int = 8) -> None:
        """Loop ``loop`` becomes vectors of up to ``registers`` registers, the others loops of single steps."""
        lanes = self.lanes(nest)
        widest = min(lanes * registers, MAX_LANES)
        sizes = [0 if e == 1 else 1 for e in extents]
        extent = extents[loop]
        if 0 <= extent <= widest and (extent % lanes == 0 or is_power_of_two(extent) or self.masks(nest) or extent < lanes):
            sizes[loop] = 0
            tile = self.script.tile(handle, sizes)[0] if any(sizes) else handle
            self.whole(tile, nest, extent)
            return
        sizes[loop] = widest if extent < 0 else min(widest, power_of_two_below(extent))
        tile, loops = self.script.tile(handle, sizes)
        rest = None
        if extent < 0 or extent % sizes[loop]:
            tile, rest = self.peel(loops[-1])
        self._static.append(tile)
        if rest is not None:
            self.rest(rest, nest, len(extents), loop, DYNAMIC if extent < 0 else extent % sizes[loop])

    def whole(self, handle: str, nest: Nest, extent: int) -> None:
        """All that is left is one vector of ``extent`` elements."""
        if is_power_of_two(extent) or extent % self.lanes(nest) == 0 or not self.masks(nest):
            self._static.append(handle)
        else:
            self._masked.append((handle, [next_power_of_two(extent)]))

    def rest(self, handle: str, nest: Nest, rank: int, loop: int, extent: int) -> None:
        """What peeling left of one loop: vectors of one register, the last under a mask."""
        lanes = self.lanes(nest)
        if 0 <= extent <= lanes:
            self.whole(handle, nest, extent)
            return
        if extent < 0 and not self.masks(nest):
            return  # scalar
        tile, loops = self.script.tile(handle, [lanes if i == loop else 0 for i in range(rank)])
        if extent >= 0 and extent % lanes == 0:
            self._static.append(tile)
        elif self.masks(nest):
            self._masked.append((tile, [lanes]))
        else:
            self._static += self.peel(loops[-1])

    # --- reductions ---

    def across(self, handle: str, nest: Nest, extents: Sequence[int], loop: int, registers: int = 8) -> None:
        """A reduction whose innermost output loop is also the inputs': vectors along it, one step of the reduction at a time."""
        lanes = self.lanes(nest)
        widest = min(lanes * registers, MAX_LANES)
        sizes = [1 if kind == "parallel" and e != 1 else 0 for kind, e in zip(nest.kinds, extents)]
        steps = [1 if kind != "parallel" else 0 for kind in nest.kinds]
        extent = extents[loop]
        if 0 <= extent <= widest and (extent % lanes == 0 or is_power_of_two(extent) or self.masks(nest) or extent < lanes):
            sizes[loop] = 0
            tile = self.script.tile(handle, sizes)[0] if any(sizes) else handle
            self.whole(self.script.tile(tile, steps)[0], nest, extent)
            return
        sizes[loop] = widest if extent < 0 else min(widest, power_of_two_below(extent))
        tile, loops = self.script.tile(handle, sizes)
        rest = None
        if extent < 0 or extent % sizes[loop]:
            tile, rest = self.peel(loops[-1])
        self._static.append(self.script.tile(tile, steps)[0])
        if rest is not None and (extent >= 0 or self.masks(nest)):
            left = DYNAMIC if extent < 0 else extent % sizes[loop]
            if left < 0 or left > lanes:
                part, inner = self.script.tile(rest, [lanes if i == loop else 0 for i in range(len(extents))])
                if left >= 0 and left % lanes and not self.masks(nest):
                    part, end = self.peel(inner[-1])
                    self._static.append(self.script.tile(end, steps)[0])
                step = self.script.tile(part, steps)[0]
                if left >= 0 and (left % lanes == 0 or not self.masks(nest)):
                    self._static.append(step)
                else:
                    self._masked.append((step, [lanes]))
            else:
                self.whole(self.script.tile(rest, steps)[0], nest, left)

    def along(self, handle: str, nest: Nest, extents: Sequence[int], loop: int) -> bool:
        """A reduction along the innermost loop of its input: partial results in registers, joined at the end. False: not for this nest."""
        lanes = self.lanes(nest)
        extent = extents[loop]
        if nest.combiner is None or (not self.masks(nest) and (extent < 0 or extent % lanes)):
            return False
        registers = 8 if extent < 0 or extent >= 32 * lanes else 4
        width = min(lanes * registers, MAX_LANES)
        outer = [1 if i != loop and e != 1 and nest.kinds[i] == "parallel" else 0 for i, e in enumerate(extents)]
        if any(outer):
            handle = self.script.tile(handle, outer)[0]
        others = [1 if i != loop and kind != "parallel" and extents[i] != 1 else 0 for i, kind in enumerate(nest.kinds)]
        if 0 <= extent <= width:
            if any(others):
                handle = self.script.tile(handle, others)[0]
            self.whole(handle, nest, extent)
            return True
        sizes = [width if i == loop else 0 for i in range(len(extents))]
        fill, part, join, around = self.script.op("part", f"structured.tile_reduction_using_for {handle} by tile_sizes = {sizes}", 4)
        self._static += [fill, join]
        rest = None
        if extent < 0 or extent % width:
            part, rest = self.peel(around)
        for tile, masked in ((part, False), (rest, True)):
            if tile is not None:
                if any(others):
                    tile = self.script.tile(tile, others)[0]
                if masked:
                    self._masked.append((tile, [width]))
                else:
                    self._static.append(tile)
        return True

    def close(self) -> str:
        """Vectorizes everything that was cut; the script's text."""
        self.script.clean()
        self.script.patterns("drop-unit-dims", "canonicalize", "merge-slices")
        for handle, sizes in self._masked:
            self.script.line(f"transform.structured.vectorize {handle} vector_sizes {sizes} : {ANY}")
        for handle in self._static:
            self.script.line(f"transform.structured.vectorize {handle} : {ANY}")
        # a masked transfer bufferizes as any other, a mask around one only in place
        self.script.patterns("vector.lower_masked_transfers")
        self.script.finish()
        return self.script.text()
