"""The loops around the product of two matrices of a kernel, which steps of one loop go through."""
from __future__ import annotations

from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.pair_product import PairProductForm, term
from legato.core.mlir import memref
from legato.core.vector_loops import Size, quotient, remainder, times, value_of
from legato.passes.cpu.elements import Buffers


class OuterLoops:
    """The loops of a product but for its rows, columns and depth. Made where their sizes may be asked for."""

    def __init__(self, form: PairProductForm, buffers: Buffers):
        self._factors = [(buffers.of(form.left), form.left_index), (buffers.of(form.right), form.right_index)]
        self._extents = [(term(loop), self.extent(term(loop))) for loop in form.outer]
        self.steps: Size = 1
        for _, extent in self._extents:
            self.steps = times(self.steps, extent)

    def extent(self, name: Term) -> Size:
        """The steps of any loop of the product."""
        buffer, place = next((buffer, place) for buffer, place in self._factors if name in place)
        known = buffer.type.shape[place.index(name)]
        return known if known >= 0 else memref.DimOp(buffer, value_of(place.index(name))).result

    def places(self, step: Size) -> dict[Term, Size]:
        """The position in each loop, the last of which goes fastest, at one of all steps."""
        places: dict[Term, Size] = {}
        for name, extent in reversed(self._extents):
            places[name], step = remainder(step, extent), quotient(step, extent)
        return places


def element_at(place: Index, places: dict[Term, Size]) -> list[Size]:
    """Where an element is, by the positions in the loops."""
    return [one if isinstance(one, int) else places[one] for one in place]
