"""gather_weighted: the taps of a place are found once, and vectors of their rows are multiplied and added."""
from collections.abc import Sequence
from functools import reduce

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dim, dims, product
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import extract, is_empty, looped
from legato.targets.cpu.channels import Channels, shared
from legato.targets.cpu.machine import Machine
from legato.targets.generic.indexing import batch_of_taps, place
from legato.targets.generic.scatter import loop_nest
from legato.targets.rule import kernel

WORTH_IT = 3 << 14    # products of vectors, from which on threads share them: rows may lie in another core's cache
FEW = 8               # taps whose rows and weights are found before the loop over vectors, where there are several


class Taps:
    """The taps of a place, [batch, place]."""

    def __init__(self, x: ir.Value, indices: ir.Value, weights: ir.Value, kinds: tuple[Element, Element], channels: Channels,
                 at: list[ir.Value]) -> None:
        self.x, self.indices, self.weights, self.kinds, self.channels, self.at = x, indices, weights, kinds, channels, at
        count, several = indices.type.shape[1], channels.blocks != 1
        few = several and not indices.type.is_dynamic_dim(1) and count <= FEW
        self.found = [self._tap(index_value(tap)) for tap in range(count)] if few else None

    def _tap(self, tap: ir.Value) -> tuple[ir.Value, ir.Value]:
        """A tap's row, and a vector of its weight."""
        (batch, at), (number, factor), e = self.at, self.kinds, self.channels.kind.wide
        here = [batch_of_taps(self.indices, batch), tap, at]
        row = place(extract(self.indices, here), number, dim(self.x, 1))
        return row, self.channels.spread(factor.wide.cast(read(extract(self.weights, here), factor), e))

    def added(self, block: ir.Value) -> list[ir.Value]:
        """The vectors of a block, each multiplied by its tap's weight, in sums over the taps."""
        e, start = self.channels.kind.wide, [self.channels.spread(self.channels.kind.wide.const(0))] * self.channels.vectors

        def add(totals: Sequence[ir.Value], row: ir.Value, weight: ir.Value) -> list[ir.Value]:
            found = self.channels.read(self.x, [self.at[0], row], block)
            return [e.add(total, e.mul(value, weight)) for total, value in zip(totals, found, strict=True)]

        if self.found is None:
            return looped(dim(self.indices, 1), start, lambda tap, *totals: add(totals, *self._tap(tap)))
        return reduce(lambda totals, tap: add(totals, *tap), self.found, start)


@kernel("relax.gather_weighted", priority=1)
def gather_weighted(k, x, indices, weights, out):
    """Places one after the other, of those that a thread has."""
    machine, (kind, number, factor) = k.machine, map(element, k.input_types)
    if not isinstance(machine, Machine) or any(map(is_empty, (x, indices, out))):
        return Refusal("nothing to add, or no CPU")
    channels = Channels.of(kind, dims(x)[2], machine)
    if not channels.whole and not machine.masks(kind.bits):
        return Refusal(f"{machine.cpu} has no masks for elements of {kind.bits} bits")
    k.writes_all()

    def sums(into: ir.Value, first: list[ir.Value]) -> ir.Value:
        """``into``, the slice of ``out`` that begins at ``first``."""
        def of_place(here: list[ir.Value], into: ir.Value) -> ir.Value:
            batch, at = (arith.addi(a, b) for a, b in zip(first, here))
            taps = Taps(x, indices, weights, (number, factor), channels, [batch, at])
            return loop_nest([channels.blocks], into, lambda block, into: channels.write(taps.added(*block), into, here, *block))

        return loop_nest(dims(into)[:2], into, of_place)

    part = _part(out, dim(indices, 1), machine)
    if part is None:
        return sums(out, [index_value(0)] * 2)
    return shared(out, part, lambda places, into: sums(into, places[:2]))


def _part(out: ir.Value, taps: Size, machine: Machine) -> list[Size] | None:
    """The sizes of a thread's slice: batches, or places of one; None where one thread does all."""
    batch, places, width = dims(out)
    known = [size for size in (batch, places, width, taps) if isinstance(size, int)]
    vectors = -(-width // machine.lanes(32)) if isinstance(width, int) else 1
    if machine.threads == 1 or (len(known) == 4 and product([batch, places, taps]) * vectors < WORTH_IT):
        return None
    if isinstance(batch, int) and batch >= machine.threads:
        return [-(-batch // machine.threads), places, width]
    if isinstance(places, int):
        return [1, -(-places // machine.threads), width]
    return [1, arith.ceildivsi(places, index_value(machine.threads)), width]


RULES = (gather_weighted,)
