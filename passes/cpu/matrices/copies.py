"""The copy of an image, padded and rounded to bf16, of which products of pairs read the windows of a convolution."""
from __future__ import annotations

from itertools import groupby

import numpy as np

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import Size, Vectors, below, exceeds, if_else, loop, minus, plus, quotient, remainder, times, value_of, when
from legato.passes.cpu.matrices.geometry import CopyGeometry
from legato.passes.cpu.matrices.steps import rounded, scratch_rows


class ImageCopy:
    """Memory for the copy of one image of a convolution, made at the insertion point. ``depth``: the elements of a position in a group, of
    which those after its own are zeros; ``length``: the positions of a phase; ``shares``: the parts of a row that are copied apart.
    ``pairs``: the copy as [positions, depth / 2, 2], group by group."""

    def __init__(self, form: ImageConvolutionForm, geometry: CopyGeometry, vectors: Vectors, source: ir.Value, depth: int, length: int,
                 shares: int = 1):
        self.form, self.geometry, self.vectors, self.depth, self.length = form, geometry, vectors, depth, length
        self.shares = shares
        self.channels = form.filter_shape[2]
        self.group = geometry.phases[0] * geometry.phases[1] * length      # positions
        self.memory, self.pairs = scratch_rows(form.groups * self.group, depth)
        *outer, width, channels = source.type.shape
        row = ir.MemRefType.get([*outer, width * channels], source.type.element_type)
        last = len(outer)
        self.image = memref.CollapseShapeOp(row, source, [*([d] for d in range(last)), [last, last + 1]]).result

    def row(self, image: ir.Value, item: ir.Value, a: int, b: int) -> None:
        """Copies one row of a phase, or a share of it, for all groups."""
        row, share = (item, 0) if self.shares == 1 else (quotient(item, self.shares), remainder(item, self.shares))
        if self.form.groups == 1:
            self._row(image, row, share, a, b, 0)
        else:
            loop(0, self.form.groups, 1, lambda group: self._row(image, row, share, a, b, group))

    def _row(self, image: ir.Value, row: Size, share: Size, a: int, b: int, group: Size) -> None:
        """Copies one row of a phase for a group: the image's row ``row * step + a``, and for each position the elements from column
        ``position * step + b`` on, those of one column, or of all that a window reads."""
        geometry, begins, (_, height, width, _) = self.geometry, self.form.begins, self.form.source_shape
        step, run, pitch = geometry.step, geometry.run, geometry.pitch
        y = minus(plus(times(row, step[0]), a), begins[0])
        start = plus(plus(times(row, pitch), (a * geometry.phases[1] + b) * self.length), times(group, self.group))
        between, before = self.channels * self.form.groups, times(group, self.channels)     # columns; of other groups in a column
        columns = [w * step[1] + b - begins[1] for w in range(pitch)]
        inside = [w for w, x in enumerate(columns) if 0 <= x and x * self.channels + run <= width * self.channels]
        first, end = (inside[0], inside[-1] + 1) if inside else (0, 0)

        def zeros(w: ir.Value) -> None:
            loop(0, self.depth, self.vectors.lanes, lambda c: self._store(self._zeros(), plus(start, w), c))

        def copied(w: ir.Value) -> None:
            lanes, at = self.vectors.lanes, plus(times(plus(times(w, step[1]), b - begins[1]), between), before)
            whole = run - run % lanes
            loop(0, whole, lanes, lambda c: self._store(self._rounded([image, y, plus(at, c)]), plus(start, w), c))
            for c in range(whole, self.depth, lanes):
                self._part(image, y, plus(at, c), plus(start, w), c, 0, run)

        def at_edge(begin: int, end: int) -> None:
            for partly, positions in groupby(range(begin, end), lambda w: -run < columns[w] * self.channels < width * self.channels):
                places = list(positions)
                if not partly:
                    loop(places[0], places[-1] + 1, 1, zeros)
                for w in places if partly else ():
                    at = columns[w] * self.channels
                    low, high = max(0, -at), min(run, width * self.channels - at)
                    for c in range(0, self.depth, self.vectors.lanes):
                        self._part(image, y, plus(before, columns[w] * between + c), plus(start, w), c, low, high)

        def begin_of(share: Size) -> Size:
            return plus(first, quotient(times(share, end - first), self.shares))

        def exists() -> None:
            if self.shares == 1:
                at_edge(0, first)
                loop(first, end, 1, copied)
                at_edge(end, pitch)
                return
            when(below(share, 1), lambda: at_edge(0, first))
            loop(value_of(begin_of(share)), value_of(begin_of(plus(share, 1))), 1, copied)
            when(exceeds(share, self.shares - 2), lambda: at_edge(end, pitch))

        def is_padding() -> None:
            loop(0, pitch, 1, zeros)

        if_else(arith.andi(below(-1, y), below(y, height)), exists, is_padding)

    def _part(self, image: ir.Value, y: Size, at: Size, position: Size, element: int, low: int, high: int) -> None:
        """Copies a vector from ``element`` on of those of a position, of which ``low`` to ``high`` exist."""
        lanes = [low <= element + lane < high for lane in range(self.vectors.lanes)]
        if not any(lanes):
            self._store(self._zeros(), position, element)
            return
        mask = None
        if not all(lanes):
            type_ = self.vectors.of(ir.IntegerType.get_signless(1))
            mask = arith.ConstantOp(type_, ir.DenseElementsAttr.get(np.array(lanes), type=type_)).result
        self._store(self._rounded([image, y, at], mask), position, element)

    def _rounded(self, at: list[Size], mask: ir.Value | None = None) -> ir.Value:
        """A vector of the image in bf16, with zeros in the lanes that a mask leaves out."""
        image, row, element = at
        place = [image, row, element] if self.image.type.rank == 3 else [image, element]
        return rounded(self.vectors, self.vectors.load_if(mask, self.image, *place))

    def _zeros(self) -> ir.Value:
        return self.vectors.zeros(ir.BF16Type.get())

    def _store(self, value: ir.Value, position: Size, channel: Size) -> None:
        self.vectors.store(value, self.memory, position, channel)
