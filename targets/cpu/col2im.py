"""col2im: for each tap of a block, rows of its elements are added to those of the image that they cover, plane by plane."""
from collections.abc import Callable, Sequence
from math import prod

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dims, largest, minus, plus, quotient, smallest, times
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import collapse, compute, expand, filled, inserted, is_empty, looped, names, window
from legato.targets.cpu.channels import shared
from legato.targets.cpu.machine import Machine
from legato.targets.rule import kernel

WRITTEN = 64            # taps that are written out
WORTH_IT = 1 << 15      # sums from which on threads pay
PIECES = 4              # parts of the planes for each thread


@kernel("relax.col2im", priority=1)
def col2im(k, x, out):
    """Of elements that are added as they are in memory."""
    kind, rank, machine = element(k.input_types[0]), out.type.rank - 2, k.machine
    if not isinstance(machine, Machine) or kind.wide.type != out.type.element_type or is_empty(x) or is_empty(out):
        return Refusal("nothing to add, or sums of another type")
    k.writes_all()
    planes = [[0, 1], *([axis] for axis in range(2, 2 + rank))]
    blocks = collapse(x, [[0, 1], *([axis] for axis in range(2, 2 + 2 * rank))])
    image = _Planes(kind, blocks, rank, *(k.attrs[name] for name in ("strides", "padding", "dilations")))
    flat = collapse(out, planes)
    count, *sizes = dims(flat)
    work = prod(size for size in dims(blocks) if isinstance(size, int))
    if machine.threads > 1 and count != 1 and work >= WORTH_IT:
        part = -(-count // (PIECES * machine.threads)) if isinstance(count, int) else 1
        flat = shared(flat, [part, *sizes], lambda places, into: image.each(into, places[0]))
    else:
        flat = image.each(flat, index_value(0))
    return expand(flat, planes, dims(out))


class _Planes:
    """The planes of images, one for each channel, as sums of ``blocks``: [planes, block..., places...]."""

    def __init__(self, kind: Element, blocks: ir.Value, rank: int, strides: Sequence[int], padding: Sequence[int],
                 dilations: Sequence[int]) -> None:
        self.kind, self.blocks, self.rank, self.strides, self.padding, self.dilations = kind, blocks, rank, strides, padding, dilations
        self.block, self.places = dims(blocks)[1:1 + rank], dims(blocks)[1 + rank:]
        self.writes_out = prod(size if isinstance(size, int) else WRITTEN + 1 for size in self.block) <= WRITTEN

    def each(self, into: ir.Value, first: ir.Value) -> ir.Value:
        """``into``, the planes from ``first`` on."""
        def plane(number: ir.Value, into: ir.Value) -> list[ir.Value]:
            sizes, at = [1, *dims(into)[1:]], [number, *[0] * self.rank]
            own = filled(window(into, at, sizes), self.kind.const(0))
            made = self._taps(own, lambda tap, own: self._added(own, arith.addi(first, number), tap))
            return [inserted(made, into, at)]

        return looped(dims(into)[0], [into], plane)[0]

    def _taps(self, own: ir.Value, add: Callable[[list[Size], ir.Value], ir.Value], *tap: Size) -> ir.Value:
        """``add(tap, own)`` for all taps of a block, one after the other."""
        if len(tap) == self.rank:
            return add([*tap], own)
        count = self.block[len(tap)]
        if self.writes_out and isinstance(count, int):
            for number in range(count):
                own = self._taps(own, add, *tap, number)
            return own
        return looped(count, [own], lambda number, own: [self._taps(own, add, *tap, number)])[0]

    def _added(self, own: ir.Value, plane: ir.Value, tap: Sequence[Size]) -> ir.Value:
        """A plane with the elements of one tap added."""
        spans = [self._span(axis, size, number) for axis, (size, number) in enumerate(zip(dims(own)[1:], tap, strict=True))]
        counts = [count for _, count, _ in spans]
        if 0 in counts:
            return own
        part = window(self.blocks, [plane, *tap, *(first for first, _, _ in spans)], [1, *[1] * self.rank, *counts])
        covered, strides = [0, *(begin for _, _, begin in spans)], [1, *self.strides]
        loops = names(1 + self.rank)
        read = ", ".join([loops[0], *["0"] * self.rank, *loops[1:]])
        made = compute(window(own, covered, [1, *counts], strides), ", ".join(loops), [(part, read)], self.kind.add)
        return inserted(made, own, covered, strides)

    def _span(self, axis: int, size: Size, tap: Size) -> tuple[Size, Size, Size]:
        """Of a tap along an axis: the first place where it lies in the image, the number of such places, and the first element there."""
        stride, begin = self.strides[axis], minus(times(tap, self.dilations[axis]), self.padding[axis])
        places = self.places[axis]
        first = smallest(quotient(largest(minus(stride - 1, begin), 0), stride), places)
        end = smallest(quotient(largest(plus(minus(size, begin), stride - 1), 0), stride), places)
        return first, largest(minus(end, first), 0), smallest(plus(times(first, stride), begin), size)


RULES = (col2im,)
