"""Vectors of a tensor's last axis, read at places that are computed; and slices of a tensor that threads share."""
from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, scf, tensor, vector
from legato.targets.builders.element import Element
from legato.targets.builders.sizes import Size, dims, shape_of, values_of
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import window
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.machine import Machine


def shared(out: ir.Value, part: Sequence[Size], body: Callable[[list[ir.Value], ir.Value], ir.Value]) -> ir.Value:
    """``out`` in slices that threads compute, of the sizes ``part``; the last along an axis may be smaller. ``body(places, slice)``: the
    slice whose first element is at these places."""
    whole = dims(out)
    rank, steps = len(part), [index_value(size) for size in part]
    loop = scf.ForallOp([0] * rank, list(whole), list(part), [out])
    with ir.InsertionPoint(loop.body):
        places, into = list(loop.induction_variables), loop.inner_iter_args[0]
        sizes = [size if _divides(size, all_) else arith.minsi(step, arith.subi(index_value(all_), place))
                 for size, step, all_, place in zip(part, steps, whole, places, strict=True)]
        made = body(places, window(into, places, sizes))
        ending = scf.InParallelOp()
        with ir.InsertionPoint(ending.regions[0].blocks[0]):
            tensor.ParallelInsertSliceOp(made, into, values_of(places), values_of(sizes), [], shape_of(places), shape_of(sizes), [1] * rank)
    return loop.results[0]


def _divides(part: Size, whole: Size) -> bool:
    """Whether all slices along an axis are known to have one size."""
    if isinstance(part, int) and isinstance(whole, int):
        return whole % part == 0
    return part == 1 or part is whole


class Channels:
    """The last axis in ``blocks`` of ``vectors`` vectors. ``whole``: whether these end where the axis does."""

    MOST = 4    # vectors whose sums are in registers, beside as many that are read

    def __init__(self, kind: Element, lanes: int, vectors: int, blocks: int | ir.Value, whole: bool) -> None:
        self.kind, self.lanes, self.vectors, self.blocks, self.whole = kind, lanes, vectors, blocks, whole
        self.type = ir.VectorType.get([lanes], kind.wide.type)

    @classmethod
    def of(cls, kind: Element, channels: int | ir.Value, machine: Machine) -> "Channels":
        """The channels of an image; one vector at a time where their number is not known."""
        lanes = machine.lanes(kind.wide.bits)
        if not isinstance(channels, int):
            return cls(kind, lanes, 1, arith.ceildivsi(channels, index_value(lanes)), False)
        count = -(-channels // lanes)
        vectors = max(n for n in range(1, cls.MOST + 1) if count % n == 0)
        return cls(kind, lanes, vectors, count // vectors, channels % lanes == 0)

    def spread(self, scalar: ir.Value) -> ir.Value:
        """A vector of equal elements."""
        return vector.BroadcastOp(self.type, scalar).result

    def read(self, x: ir.Value, at: Sequence[ir.Value], block: ir.Value) -> list[ir.Value]:
        """The vectors of a block, in the element to compute in."""
        zero = self.kind.const(0)
        found = [read_vector(x, [*at, place], self.lanes, zero, self.whole) for place in self._places(block)]
        return found if self.kind == self.kind.wide else [arith.extf(self.type, value) for value in found]

    def write(self, values: Sequence[ir.Value], into: ir.Value, at: Sequence[ir.Value], block: ir.Value) -> ir.Value:
        """``into`` with the vectors of a block."""
        for value, place in zip(values, self._places(block), strict=True):
            if self.kind != self.kind.wide:
                value = arith.truncf(ir.VectorType.get([self.lanes], self.kind.type), value)
            into = write_vector(value, into, [*at, place], self.whole)
        return into

    def _places(self, block: ir.Value) -> list[ir.Value]:
        first = arith.muli(block, index_value(self.vectors * self.lanes))
        return [arith.addi(first, index_value(number * self.lanes)) for number in range(self.vectors)]
