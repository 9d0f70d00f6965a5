"""arg_max_pool: windows of neighbouring places side by side in a vector, whose taps are shuffled out of the rows of the image."""
from collections.abc import Callable, Sequence

import numpy as np

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir, vector
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import Size, dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import elementwise, empty, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.channels import shared
from legato.targets.cpu.machine import Machine
from legato.targets.generic.pooling import Windows
from legato.targets.generic.scatter import loop_nest
from legato.targets.rule import kernel

MOST = 1 << 31    # elements of a channel, whose places are numbers of 32 bits
WIDEST = 8        # stride of which a vector of windows reads all of its row
UNROLLED = 16     # taps of a window that are code in a row, not loops
WORTH_IT = 1 << 14    # taps, from which on threads share them


@kernel("relax.arg_max_pool1d", "relax.arg_max_pool2d", "relax.arg_max_pool3d", priority=1)
def arg_max_pool(k, x, out):
    """The greatest elements so far, and their places, are vectors; those of fewer than 32 bits are widened before. -1 marks a window of
    which no element was seen, as padding never counts."""
    machine, kind, windows = k.machine, element(k.input_types[0]), Windows(k, x, out)
    sizes = windows.inputs
    if not isinstance(machine, Machine) or is_empty(x) or is_empty(out):
        return Refusal("no windows, or no CPU")
    if not all(isinstance(size, int) for size in [*sizes, *windows.outputs]) or np.prod(sizes) >= MOST:
        return Refusal("the sizes of the images are not known, or too large")
    if windows.strides[-1] > WIDEST:
        return Refusal(f"a stride of {windows.strides[-1]} leaves most of a row out")
    if kind.is_bool or kind.is_narrow or not machine.masks(32):
        return Refusal(f"{machine.cpu} has no masks, or the elements are no numbers")
    k.writes_all()
    source = windows.padded(x, kind.const(kind.lowest))
    whole = source == x     # no window has padding
    if kind.bits < 32:
        source, kind = _widened(source, kind)
    pool = _ArgPool(source, windows, kind, machine.lanes(32), whole)
    counts = windows.outputs

    def slices(into: ir.Value, first: Sequence[ir.Value]) -> ir.Value:
        def block(here: list[ir.Value], into: ir.Value) -> ir.Value:
            *outer, number = here
            column = arith.muli(number, index_value(pool.lanes))
            image = [arith.addi(a, b) for a, b in zip(first, outer[:2])]
            return pool.write(pool.places(image, outer[2:], column), into, [*outer, column])

        return loop_nest([*dims(into)[:-1], -(-counts[-1] // pool.lanes)], into, block)

    part = _part(out, np.prod(windows.kernel), machine.threads)
    if part is None:
        return slices(out, [index_value(0)] * 2)
    return shared(out, part, lambda places, into: slices(into, places[:2]))


def _widened(x: ir.Value, kind: Element) -> tuple[ir.Value, Element]:
    """x in an element of 32 bits."""
    wide = Element(ir.F32Type.get() if kind.is_float else ir.IntegerType.get_signless(32))
    return elementwise(empty(dims(x), wide.type), [x], lambda value: kind.cast(read(value, kind), wide) if not kind.is_float
                       else read(value, kind)), wide


def _part(out: ir.Value, taps: int, threads: int) -> list[Size] | None:
    """The sizes of a thread's slice: images, or channels of one; None where one thread does all."""
    batch, channels, *rest = dims(out)
    if threads == 1 or (all(isinstance(size, int) for size in (batch, channels)) and batch * channels * np.prod(rest) * taps < WORTH_IT):
        return None
    if isinstance(batch, int) and batch >= threads:
        return [-(-batch // threads), channels, *rest]
    return [1, -(-channels // threads) if isinstance(channels, int) else arith.ceildivsi(channels, index_value(threads)), *rest]


class _ArgPool:
    """Vectors of windows along the last axis of a padded image. ``whole``: whether there is no padding."""

    def __init__(self, x: ir.Value, windows: Windows, kind: Element, lanes: int, whole: bool) -> None:
        self.x, self.windows, self.kind, self.lanes, self.whole = x, windows, kind, lanes, whole
        self.few = np.prod(windows.kernel) <= UNROLLED
        i32 = ir.IntegerType.get_signless(32)
        self.numbers, self.elements = ir.VectorType.get([lanes], i32), ir.VectorType.get([lanes], kind.type)
        steps = [ir.IntegerAttr.get(i32, lane * windows.strides[-1]) for lane in range(lanes)]
        self.steps = arith.ConstantOp(self.numbers, ir.DenseElementsAttr.get(steps, self.numbers)).result

    def _spread(self, value: ir.Value) -> ir.Value:
        """A vector of an index."""
        return vector.BroadcastOp(self.numbers, arith.index_cast(self.numbers.element_type, value)).result

    def places(self, image: list[ir.Value], rows: list[ir.Value], column: ir.Value) -> ir.Value:
        """The places of the greatest elements of the windows from a column on, in an image [batch, channel]."""
        windows, kind = self.windows, self.kind

        def row(axis: int, at: ir.Value, inside: ir.Value, taps: list[ir.Value], best: ir.Value, found: ir.Value) -> Sequence[ir.Value]:
            """Takes each tap of the axes from ``axis`` on; ``at``: the place of the row that the axes before choose."""
            def tap(number: ir.Value, best: ir.Value, found: ir.Value) -> Sequence[ir.Value]:
                last = axis == len(windows.kernel) - 1
                start = arith.muli(column if last else rows[axis], index_value(windows.strides[axis]))
                here = arith.addi(start, arith.muli(number, index_value(windows.dilations[axis])))
                first, size = arith.subi(here, index_value(windows.begins[axis])), index_value(windows.inputs[axis])
                if last:
                    return self._better([*taps, here], arith.muli(at, size), first, inside, best, found)
                real = arith.andi(inside, arith.cmpi(arith.CmpIPredicate.ult, first, size))
                return row(axis + 1, arith.addi(arith.muli(at, size), first), real, [*taps, here], best, found)

            return self._each(windows.kernel[axis], [best, found], tap)

        lowest = vector.BroadcastOp(self.elements, kind.const(kind.lowest)).result
        yes = arith.constant(ir.IntegerType.get_signless(1), 1)
        return row(0, index_value(0), yes, image, lowest, self._spread(index_value(-1)))[1]

    def _each(self, count: int, carried: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]]) -> Sequence[ir.Value]:
        """``body(number, *carried)`` for each of the taps of an axis: the last values."""
        if not self.few:
            return looped(count, carried, body)
        for number in range(count):
            carried = body(index_value(number), *carried)
        return carried

    def _better(self, at: list[ir.Value], row: ir.Value, column: ir.Value, inside: ir.Value, best: ir.Value,
                found: ir.Value) -> Sequence[ir.Value]:
        """The greatest elements and their places, with one tap more. ``at``: where the first window has it, in the padded image; ``row``,
        ``column``: the place of its row's first element, and its own column, in the image."""
        kind, compare, stride = self.kind, arith.CmpIPredicate, self.windows.strides[-1]
        columns = arith.addi(self.steps, self._spread(column))
        values = read_vector(self.x, at, stride * self.lanes, kind.const(kind.lowest), False)
        if stride > 1:
            values = vector.ShuffleOp(values, values, range(0, stride * self.lanes, stride)).result
        if kind.is_float:    # a NaN is greater than all numbers; the last one counts
            greater = arith.ori(arith.cmpf(arith.CmpFPredicate.OGT, values, best), arith.cmpf(arith.CmpFPredicate.UNO, values, values))
        else:
            greater = arith.cmpi(compare.ugt if kind.is_unsigned else compare.sgt, values, best)
        first = arith.cmpi(compare.slt, found, self._spread(index_value(0)))
        wins = arith.ori(first, greater)
        if not self.whole:
            real = arith.cmpi(compare.ult, columns, self._spread(index_value(self.windows.inputs[-1])))
            wins = arith.andi(wins, arith.andi(real, vector.BroadcastOp(real.type, inside).result))
        return [arith.select(wins, values, best), arith.select(wins, arith.addi(columns, self._spread(row)), found)]

    def write(self, places: ir.Value, into: ir.Value, at: list[ir.Value]) -> ir.Value:
        """``into`` with a vector of places."""
        whole = self.windows.outputs[-1] % self.lanes == 0
        places = arith.extsi(ir.VectorType.get([self.lanes], into.type.element_type), places)
        return write_vector(places, into, at, whole)


RULES = arg_max_pool
