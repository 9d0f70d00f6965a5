"""gather_weighted: the taps of a place are found once, and vectors of their rows are multiplied and added."""
from collections.abc import Callable, Sequence
from functools import partial, reduce

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dim, dims, product, quotient, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import extract, is_empty, looped
from legato.targets.cpu.channels import Channels, shared
from legato.targets.cpu.machine import Machine
from legato.targets.generic.indexing import batch_of_taps, place
from legato.targets.rule import kernel

WORTH_IT = 3 << 14    # products of vectors, from which on threads share them: rows may lie in another core's cache
SUMS = 8              # vectors in registers, of places whose rows are read together
FEW = 8               # taps whose rows and weights are found before the loop over vectors, where there are several


class Taps:
    """The taps of a few places of a batch, read together: those of one place lie far apart, those of its neighbours beside them."""

    def __init__(self, x: ir.Value, indices: ir.Value, weights: ir.Value, kinds: tuple[Element, Element], channels: Channels,
                 batch: ir.Value, places: Sequence[ir.Value], fused: bool) -> None:
        self.x, self.indices, self.weights, self.kinds, self.channels = x, indices, weights, kinds, channels
        self.batch, self.places, self.fused = batch, places, fused
        count, several = indices.type.shape[1], channels.blocks != 1
        few = several and not indices.type.is_dynamic_dim(1) and count <= FEW
        self.found = [self._tap(index_value(tap)) for tap in range(count)] if few else None

    def _tap(self, tap: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
        """A tap's row and a vector of its weight, of each place."""
        return [self._of_place(tap, at) for at in self.places]

    def _of_place(self, tap: ir.Value, at: ir.Value) -> tuple[ir.Value, ir.Value]:
        (number, factor), e = self.kinds, self.channels.kind.wide
        here = [batch_of_taps(self.indices, self.batch), tap, at]
        row = place(extract(self.indices, here), number, dim(self.x, 1))
        return row, self.channels.spread(factor.wide.cast(read(extract(self.weights, here), factor), e))

    def added(self, block: ir.Value) -> list[list[ir.Value]]:
        """The vectors of a block of each place, each multiplied by its tap's weight, in sums over the taps."""
        e, vectors = self.channels.kind.wide, self.channels.vectors
        start = [self.channels.spread(self.channels.kind.wide.const(0))] * (len(self.places) * vectors)

        def add(totals: Sequence[ir.Value], taps: list[tuple[ir.Value, ir.Value]]) -> list[ir.Value]:
            found = [(value, weight) for row, weight in taps for value in self.channels.read(self.x, [self.batch, row], block)]
            if self.fused:
                return [vector.FMAOp(value, weight, total).result for total, (value, weight) in zip(totals, found, strict=True)]
            return [e.add(total, e.mul(value, weight)) for total, (value, weight) in zip(totals, found, strict=True)]

        if self.found is None:
            sums = looped(dim(self.indices, 1), start, lambda tap, *totals: add(totals, self._tap(tap)))
        else:
            sums = reduce(add, self.found, start)
        return [sums[first:first + vectors] for first in range(0, len(sums), vectors)]


@kernel("relax.gather_weighted", priority=1)
def gather_weighted(k, x, indices, weights, out):
    """Places one after the other, of those that a thread has; rows that are one block of vectors several at a time."""
    machine, (kind, number, factor) = k.machine, map(element, k.input_types)
    if not isinstance(machine, Machine) or any(map(is_empty, (x, indices, out))):
        return Refusal("nothing to add, or no CPU")
    channels = Channels.of(kind, dims(x)[2], machine)
    if not channels.whole and not machine.masks(kind.bits):
        return Refusal(f"{machine.cpu} has no masks for elements of {kind.bits} bits")
    k.writes_all()
    together = SUMS // channels.vectors if channels.blocks == 1 else 1

    def sums(into: ir.Value, first: list[ir.Value]) -> ir.Value:
        """``into``, the slice of ``out`` that begins at ``first``."""
        batches, places, _ = dims(into)

        def of_places(batch: ir.Value, here: list[ir.Value], into: ir.Value) -> ir.Value:
            own = [arith.addi(first[1], at) for at in here]
            taps = Taps(x, indices, weights, (number, factor), channels, arith.addi(first[0], batch), own, machine.has("fma"))

            def write(block: ir.Value, into: ir.Value) -> list[ir.Value]:
                for at, values in zip(here, taps.added(block), strict=True):
                    into = channels.write(values, into, [batch, at], block)
                return [into]

            return looped(channels.blocks, [into], write)[0]

        return looped(batches, [into], lambda batch, into: [_in_groups(places, together, into, partial(of_places, batch))])[0]

    part = _part(out, dim(indices, 1), machine)
    if part is None:
        return sums(out, [index_value(0)] * 2)
    return shared(out, part, lambda places, into: sums(into, places[:2]))


def _in_groups(places: Size, together: int, into: ir.Value, body: Callable[[list[ir.Value], ir.Value], ir.Value]) -> ir.Value:
    """``body(places, into)`` of so many places at a time, and of those that are left one by one."""
    def several(group: ir.Value, into: ir.Value) -> list[ir.Value]:
        first = arith.muli(group, index_value(together))
        return [body([arith.addi(first, index_value(n)) for n in range(together)], into)]

    done: Size = 0
    if together > 1:
        groups = quotient(places, together)
        (into,), done = looped(groups, [into], several), times(groups, together)
    return into if done == places else looped(places, [into], lambda at, into: [body([at], into)], done)[0]


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
