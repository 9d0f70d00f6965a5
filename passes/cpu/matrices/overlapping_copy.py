"""The copy of an image of few channels, padded and rounded to bf16, in which the windows of neighbouring positions overlap.

Rows of columns follow each other, those of one phase down, as long as all positions of a row of the result reach. The elements that a row
of a window reads are neighbours, and the next position's begin some columns later: matrices are read from the copy at that distance. A
column has a power of two of elements, so that vectors have whole columns; those behind its channels are zeros, as the filters' are.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.core.mlir import arith, ir, memref, vector
from legato.core.vector_loops import Size, Vectors, below, if_else, loop, minus, plus, times
from legato.passes.cpu.matrices.geometry import CopyGeometry
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.cpu.matrices.steps import rounded


class OverlappingCopy:
    """Memory for the copy of one image of a convolution, made at the insertion point. ``length``: the positions of a phase. ``pairs``: the
    copy as [positions, pairs of a window's row, 2]."""

    group = 0       # there is one

    def __init__(self, form: ImageConvolutionForm, geometry: CopyGeometry, vectors: Vectors, source: ir.Value, length: int):
        self.form, self.geometry, self.vectors, self.length = form, geometry, vectors, length
        self.channels, self.column = form.filter_shape[2], geometry.column
        self.between = between = geometry.step[1] * geometry.column     # elements from a position to the next
        bf16, positions = ir.BF16Type.get(), geometry.phases[0] * length
        elements = positions * between + geometry.run      # the last windows reach beyond
        self.memory = memref.AllocOp(ir.MemRefType.get([elements], bf16), [], [], alignment=64).result
        shape, strides = [positions, geometry.run // PAIR, PAIR], [between, PAIR, 1]
        type_ = ir.MemRefType.get(shape, bf16, ir.StridedLayoutAttr.get(0, strides))
        self.pairs = memref.ReinterpretCastOp(type_, self.memory, [], [], [], [0], shape, strides).result
        *outer, width, channels = source.type.shape
        row = ir.MemRefType.get([*outer, width * channels], source.type.element_type)
        last = len(outer)
        self.image = memref.CollapseShapeOp(row, source, [*([d] for d in range(last)), [last, last + 1]]).result

    def row(self, image: ir.Value, row: ir.Value, a: int, _: int) -> None:
        """Copies one row of a phase: the image's row ``row * step + a``."""
        geometry, begins, (_, height, width, _) = self.geometry, self.form.begins, self.form.source_shape
        y = minus(plus(times(row, geometry.step[0]), a), begins[0])
        start = times(plus(times(row, geometry.pitch), a * self.length), self.between)
        count, each = geometry.pitch * geometry.step[1], self.vectors.lanes // self.column    # columns, in all and of a vector
        firsts = [*range(0, count - each, each), max(count - each, 0)]
        inside = [first for first in firsts[:-1] if 0 <= first - begins[1] and first - begins[1] + each <= width]

        def at_edge(first: int) -> None:
            places = [first + number - begins[1] for number in range(each)]
            exists = [0 <= place < width for place in places]
            value = self._columns(image, y, places[0], exists) if any(exists) else self.vectors.zeros(ir.BF16Type.get())
            self._store(value, start, first, min(count, each))

        def copied(first: ir.Value) -> None:
            self._store(self._columns(image, y, minus(first, begins[1]), [True] * each), start, first, each)

        def exists() -> None:
            before = [first for first in firsts if not inside or first < inside[0]]
            for first in before:
                at_edge(first)
            if inside:
                loop(inside[0], inside[-1] + each, each, copied)
            for first in firsts[len(before) + len(inside):]:
                at_edge(first)

        def is_padding() -> None:
            for first in firsts:
                self._store(self.vectors.zeros(ir.BF16Type.get()), start, first, min(count, each))

        if_else(arith.andi(below(-1, y), below(y, height)), exists, is_padding)

    def _columns(self, image: ir.Value, y: Size, first: Size, exists: Sequence[bool]) -> ir.Value:
        """A vector of columns of the image in bf16, with zeros for those that do not exist, and behind the channels of each."""
        lanes = [lane < len(exists) * self.channels and exists[lane // self.channels] for lane in range(self.vectors.lanes)]
        mask = None
        if not all(lanes):
            type_ = self.vectors.of(ir.IntegerType.get_signless(1))
            mask = arith.ConstantOp(type_, ir.DenseElementsAttr.get(np.array(lanes), type=type_)).result
        at = times(first, self.channels)
        place = [image, y, at] if self.image.type.rank == 3 else [image, at]
        value = rounded(self.vectors, self.vectors.load_if(mask, self.image, *place))
        if self.channels == self.column:
            return value
        columns = [divmod(lane, self.column) for lane in range(self.vectors.lanes)]
        order = [at * self.channels + channel if channel < self.channels else self.vectors.lanes for at, channel in columns]
        return vector.ShuffleOp(value, self.vectors.zeros(value.type.element_type), order).result

    def _store(self, value: ir.Value, start: Size, first: Size, columns: int) -> None:
        """Writes so many columns of a vector."""
        elements = columns * self.column
        mask = None if elements == self.vectors.lanes else self.vectors.mask(elements)
        self.vectors.store_if(mask, value, self.memory, plus(start, times(first, self.column)))
