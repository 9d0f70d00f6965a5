"""The loops of one convolution as products of matrices of bf16: what ``tir-matrix-convolutions`` makes of a kernel."""
from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from math import prod

import numpy as np

from legato.analysis.structured import ConvolutionForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import (
    Size,
    Vectors,
    below,
    if_else,
    in_parts,
    least,
    loop,
    minus,
    plus,
    quotient,
    remainder,
    scratch,
    times,
    value_of,
    when,
)
from legato.passes.cpu.elements import Buffers, Elements
from legato.passes.cpu.matrices.packing import COLUMNS, DEPTH, PAIR, blocks, read_shape
from legato.passes.cpu.matrices.steps import contracted, no_sums, read_matrix, rounded, scratch_rows, write_sums

ROWS = 32               # positions of a tile: two matrices
SHARE = 4               # of the second cache, its inverse, that the inputs of a thread's positions take
WORTH_IT = 1 << 22      # multiply-adds from which on several threads pay


class MatrixConvolution:
    """Builds the loops of one kernel at the insertion point. ``weights``: the filters as ``packing.pack_filters`` orders them."""

    def __init__(self, form: ConvolutionForm, machine: CpuMachine, buffers: Buffers, weights: ir.Value):
        self.form, self.buffers, self.weights = form, buffers, weights
        self.source, self.out = buffers.of(form.source), buffers.of(list(form.kernel.function.arguments)[-1])
        self.vectors, self.bf16 = Vectors(machine.lanes(32)), ir.BF16Type.get()
        shape = form.filter_shape
        *self.taps, self.run, self.features = read_shape(shape, form.dilations)
        self.channels = shape[2]
        self.depth = blocks(self.run) * DEPTH * PAIR       # of a position in the copy, in elements
        self.rows, self.columns = form.result_shape[1:3]
        self.step, self.dilation = form.strides, form.dilations
        reach = [(taps - 1) * dilation for taps, dilation in zip(self.taps, self.dilation)]
        self.phases = [min(step, one + 1) for step, one in zip(self.step, reach)]
        self.pitch = self.columns + reach[1] // self.step[1]        # positions in a row of the copy
        self.height = self.rows + reach[0] // self.step[0]
        self.positions = positions = (self.rows - 1) * self.pitch + self.columns
        self.tile = ROWS if positions > ROWS // 2 else ROWS // 2
        self.in_place = self._is_in_place()
        tiles = -(-positions // self.tile)
        share, small = machine.l2_bytes // SHARE, prod(weights.type.shape) * PAIR <= machine.l2_bytes // SHARE
        # beside a weight that stays in the cache, all features of a tile are computed, and written, one after the other
        most = 1 if small else max(1, share // (self.tile * self.depth * PAIR))
        self.chunks = -(-tiles // most)
        self.chunk = -(-tiles // self.chunks)       # tiles
        # of a phase; tiles that reach beyond the last position read behind its last row
        self.length = max(self.height * self.pitch, self.chunks * self.chunk * self.tile + reach[0] // self.step[0] * self.pitch
                          + reach[1] // self.step[1])
        self.panels = weights.type.shape[0]
        work = positions * self.taps[0] * self.taps[1] * self.run * self.features
        self.threads = machine.threads if work >= WORTH_IT else 1

    def _is_in_place(self) -> bool:
        """Whether the image is what a copy of it would be: of one tap, without padding, and bf16 in whole blocks of channels."""
        is_bf16, shape = self.source.type.element_type == self.bf16, self.form.source_shape
        same = (*self.taps, *self.step) == (1, 1, 1, 1) and [self.rows, self.columns, self.depth] == shape[1:]
        return is_bf16 and same and shape[0] >= 0 and self.positions >= self.tile

    def build(self) -> None:
        """Builds all loops: for each image its copy, then the products."""
        self.sums = scratch(self.threads, self.tile, COLUMNS)
        images = self.form.source_shape[0]
        if self.in_place:
            self._read_in_place()
        else:
            self._allocate_copy()
        loop(0, images if images >= 0 else memref.DimOp(self.source, value_of(0)).result, 1, self._image)

    def _read_in_place(self) -> None:
        count = self.form.source_shape[0] * self.positions
        last = self.source.type.rank - 1
        type_ = ir.MemRefType.get([count, self.depth], self.bf16)
        rows = memref.CollapseShapeOp(type_, self.source, [[*range(last)], [last]]).result
        pairs = ir.MemRefType.get([count, self.depth // PAIR, PAIR], self.bf16)
        self.pairs = memref.ExpandShapeOp(pairs, rows, [[0], [1, 2]], [], [count, self.depth // PAIR, PAIR]).result

    def _allocate_copy(self) -> None:
        count = self.phases[0] * self.phases[1] * self.length
        self.copy, self.pairs = scratch_rows(count, self.depth)
        *outer, width, channels = self.source.type.shape
        row = ir.MemRefType.get([*outer, width * channels], self.source.type.element_type)
        last = len(outer)
        self.image = memref.CollapseShapeOp(row, self.source, [*([d] for d in range(last)), [last, last + 1]]).result

    def _image(self, image: ir.Value) -> None:
        for a in range(0 if self.in_place else self.phases[0]):
            for b in range(self.phases[1]):
                self._each(self.height, lambda row, _, a=a, b=b: self._copied_row(image, row, a, b))
        self._each(self.chunks * self.panels, lambda item, thread: self._item(image, item, thread))

    def _each(self, count: int, body: Callable[[ir.Value, Size], None]) -> None:
        in_parts(count, self.threads, body)

    # --- the copy ---

    def _copied_row(self, image: ir.Value, row: ir.Value, a: int, b: int) -> None:
        """Copies one row of a phase: the image's row ``row * step + a``, and for each position the elements from column
        ``position * step + b`` on, those of one column, or of all that a window reads."""
        step, begins, (_, height, width, _) = self.step, self.form.begins, self.form.source_shape
        y = minus(plus(times(row, step[0]), a), begins[0])
        start = plus(times(row, self.pitch), (a * self.phases[1] + b) * self.length)
        columns = [w * step[1] + b - begins[1] for w in range(self.pitch)]
        inside = [w for w, x in enumerate(columns) if 0 <= x and x * self.channels + self.run <= width * self.channels]
        first, end = (inside[0], inside[-1] + 1) if inside else (0, 0)

        def zeros(w: ir.Value) -> None:
            loop(0, self.depth, self.vectors.lanes, lambda c: self._store(self._zeros(), plus(start, w), c))

        def copied(w: ir.Value) -> None:
            lanes, at = self.vectors.lanes, times(plus(times(w, step[1]), b - begins[1]), self.channels)
            whole = self.run - self.run % lanes
            loop(0, whole, lanes, lambda c: self._store(self._rounded([image, y, plus(at, c)]), plus(start, w), c))
            for c in range(whole, self.depth, lanes):
                self._part(image, y, plus(at, c), plus(start, w), c, 0, self.run)

        def at_edge(begin: int, end: int) -> None:
            for partly, positions in groupby(range(begin, end), lambda w: -self.run < columns[w] * self.channels < width * self.channels):
                places = list(positions)
                if not partly:
                    loop(places[0], places[-1] + 1, 1, zeros)
                for w in places if partly else ():
                    at = columns[w] * self.channels
                    low, high = max(0, -at), min(self.run, width * self.channels - at)
                    for c in range(0, self.depth, self.vectors.lanes):
                        self._part(image, y, at + c, plus(start, w), c, low, high)

        def exists() -> None:
            at_edge(0, first)
            loop(first, end, 1, copied)
            at_edge(end, self.pitch)

        def is_padding() -> None:
            loop(0, self.pitch, 1, zeros)

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
        return self.vectors.zeros(self.bf16)

    def _store(self, value: ir.Value, position: Size, channel: Size) -> None:
        self.vectors.store(value, self.copy, position, channel)

    # --- the products ---

    def _item(self, image: ir.Value, item: ir.Value, thread: Size) -> None:
        """The products of a chunk of tiles with a panel of features."""
        chunk, panel = quotient(item, self.panels), remainder(item, self.panels)

        def tile(number: ir.Value) -> None:
            position = times(plus(times(chunk, self.chunk), number), self.tile)
            if not self.in_place:
                self._product(position, panel, thread)
                self._outputs(image, position, 0, panel, thread)
                return
            # the last tiles begin earlier: nothing may be read behind the image
            begin = least(position, self.positions - self.tile)
            self._product(plus(times(image, self.positions), begin), panel, thread)
            self._outputs(image, begin, minus(position, begin), panel, thread)

        loop(0, self.chunk, 1, tile)

    def _product(self, position: Size, panel: Size, thread: Size) -> None:
        """One tile of positions by a panel, in the buffer of sums."""
        height, width = self.taps
        deep = blocks(self.run)

        def row(i: ir.Value, sums: ir.Value) -> list[ir.Value]:
            return loop(0, width, 1, lambda j, carried: column(i, j, carried), [sums])

        def column(i: ir.Value, j: ir.Value, sums: ir.Value) -> list[ir.Value]:
            place, phase = self._shifted(position, i, j)
            first = plus(place, times(phase, self.length))
            matrix = times(plus(times(i, width), j), deep)
            return loop(0, deep, 1, lambda block, carried: step(first, plus(matrix, block), block, carried), [sums])

        def step(first: Size, matrix: Size, block: ir.Value, sums: ir.Value) -> list[ir.Value]:
            left = read_matrix(self.pairs, [first, times(block, DEPTH), 0], [self.tile, DEPTH, PAIR])
            right = read_matrix(self.weights, [panel, matrix, 0, 0, 0], [DEPTH, COLUMNS, PAIR])
            return [contracted(left, right, sums)]

        result = loop(0, height, 1, row, [no_sums(self.tile, COLUMNS)])[0]
        write_sums(result, self.sums, thread, 0, 0)

    def _shifted(self, position: Size, i: ir.Value, j: ir.Value) -> tuple[Size, Size]:
        """Where the input of tap (i, j) lies, in its phase; and the phase."""
        down, right = times(i, self.dilation[0]), times(j, self.dilation[1])
        phase = plus(times(remainder(down, self.step[0]), self.phases[1]), remainder(right, self.step[1]))
        shift = plus(times(quotient(down, self.step[0]), self.pitch), quotient(right, self.step[1]))
        return plus(position, shift), phase

    # --- the outputs ---

    def _outputs(self, image: ir.Value, position: Size, written: Size, panel: Size, thread: Size) -> None:
        """Writes the positions of a tile that lie in the result, through the elementwise ops after the convolution; not the first ones,
        which another tile writes: their memory may be that of an operand."""
        lanes, some = self.vectors.lanes, bool(self.features % COLUMNS)
        feature = times(panel, COLUMNS)

        def one(number: ir.Value, h: ir.Value, w: ir.Value) -> list[ir.Value]:
            def write() -> None:
                for j in range(0, COLUMNS, lanes):
                    place = plus(feature, j)
                    count = minus(self.features, place) if some else None
                    places: dict[str | int, Size] = {"n": image, "h": h, "w": w, "f": place}
                    value = self.vectors.load(self.sums, thread, number, j)
                    elements = Elements(self.form.kernel, self.buffers, self.vectors, places, "f", count, {self.form.result: value})
                    result = self._narrowed(elements.tensor(self.form.returned, self.form.out))
                    at = [term if isinstance(term, int) else places[term] for term in self.form.out]
                    self.vectors.store_if(None if count is None else self.vectors.mask(count), result, self.out, *at)

            inside = arith.andi(below(h, self.rows), below(w, self.columns))
            when(arith.andi(inside, below(minus(written, 1), number)) if self.in_place else inside, write)
            next_ = value_of(plus(w, 1))
            ends = arith.cmpi(arith.CmpIPredicate.eq, next_, value_of(self.pitch))
            return [arith.select(ends, value_of(plus(h, 1)), h), arith.select(ends, value_of(0), next_)]

        start = [value_of(quotient(position, self.pitch)), value_of(remainder(position, self.pitch))]
        loop(0, self.tile, 1, one, start)

    def _narrowed(self, value: ir.Value) -> ir.Value:
        """A vector of the result as it is stored."""
        if value.type.element_type == self.out.type.element_type:
            return value
        return rounded(self.vectors, value)     # only products of matrices read it
