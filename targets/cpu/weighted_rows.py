"""gather_weighted: the taps of a place are found once, and vectors of their rows are multiplied and added."""
from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dim, dims, product
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import extract, is_empty, looped
from legato.targets.cpu.channels import Channels, shared
from legato.targets.cpu.machine import Machine
from legato.targets.generic.indexing import place
from legato.targets.generic.scatter import loop_nest
from legato.targets.rule import kernel

WORTH_IT = 1 << 14    # products, from which on threads share them


@kernel("relax.gather_weighted", priority=1)
def gather_weighted(k, x, indices, weights, out):
    """Places one after the other, of those that a thread has."""
    machine, (kind, number, factor) = k.machine, map(element, k.input_types)
    if not isinstance(machine, Machine) or any(map(is_empty, (x, indices, out))):
        return Refusal("nothing to add, or no CPU")
    channels, e = Channels.of(kind, dims(x)[2], machine), kind.wide
    if not channels.whole and not machine.masks(kind.bits):
        return Refusal(f"{machine.cpu} has no masks for elements of {kind.bits} bits")
    k.writes_all()

    def sums(into: ir.Value, first: list[ir.Value]) -> ir.Value:
        """``into``, the slice of ``out`` that begins at ``first``."""
        def of_block(here: list[ir.Value], into: ir.Value) -> ir.Value:
            batch, at = (arith.addi(a, b) for a, b in zip(first, here))

            def add(tap: ir.Value, *totals: ir.Value) -> list[ir.Value]:
                row = place(extract(indices, [batch, tap, at]), number, dim(x, 1))
                weight = channels.spread(factor.wide.cast(read(extract(weights, [batch, tap, at]), factor), e))
                found = channels.read(x, [batch, row], here[2])
                return [e.add(total, e.mul(value, weight)) for total, value in zip(totals, found, strict=True)]

            totals = looped(dim(indices, 1), [channels.spread(e.const(0))] * channels.vectors, add)
            return channels.write(totals, into, here[:2], here[2])

        return loop_nest([*dims(into)[:2], channels.blocks], into, of_block)

    part = _part(out, dim(indices, 1), machine.threads)
    if part is None:
        return sums(out, [index_value(0)] * 2)
    return shared(out, part, lambda places, into: sums(into, places[:2]))


def _part(out: ir.Value, taps: Size, threads: int) -> list[Size] | None:
    """The sizes of a thread's slice: places of one batch; None where one thread does all."""
    batch, places, width = dims(out)
    work = product([batch, places, width, taps]) if all(isinstance(size, int) for size in (batch, places, width, taps)) else WORTH_IT
    if threads == 1 or (isinstance(work, int) and work < WORTH_IT):
        return None
    if isinstance(places, int):
        return [1, -(-places // threads), width]
    return [1, arith.ceildivsi(places, index_value(threads)), width]


RULES = (gather_weighted,)
