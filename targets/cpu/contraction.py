"""Schedules of contractions and convolutions with an elementwise epilogue.

The last reader of the result is tiled into register tiles, and the product, its initial value and its packed weight are fused into them;
reductions are tiled by 1. Vectorized, each step of the reduction is an outer product whose accumulator stays in registers.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from legato.analysis.structured import ContractionForm, StructuredKernel
from legato.core.cpu_table import LINE
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.matrix_tiles import matrix_tiles
from legato.targets.cpu.register_tiles import RegisterTiles, choose
from legato.targets.cpu.row_blocks import SHARE, row_block
from legato.targets.cpu.script import ANY, Script
from legato.targets.cpu.threads import parallel_part

# Registers that sums leave to what follows them, on CPUs whose multiply-adds of whole vectors need fewer sums to be busy:
# on Zen 4 ResNet-50 takes 0.984 of the time, and no model longer.
SPARED = 7
LAST, PRODUCT = "legato.last", "legato.product"


def schedule_contraction(kernel: StructuredKernel, machine: Machine) -> str | None:
    """The transform script of a kernel with one contraction or convolution; None for any other kernel."""
    form = kernel.contraction
    if form is None or kernel.pads or form.is_dot_product(machine.transpose_rows):
        return None
    return _ContractionScript(form, machine).text()


def tiles_of(form: ContractionForm, machine: Machine, width: int | None = None, matrices: bool = False) -> RegisterTiles:
    """The register tiles of a form, which its schedule uses and its packed weight has to fit. ``width``: columns, where they are
    fixed. ``matrices``: of instructions on matrices."""
    single = form.row is None or (form.row_stride > 1 and not form.decomposes)  # tiled as windows: its rows are no plain index
    rows = 1 if single or form.row is None else form.extents[form.row]
    if matrices:
        return matrix_tiles(rows, form.extents[form.column] or 0, width)
    most = None if form.row_bytes is None else machine.rows_in_l1(form.row_bytes)
    registers = machine.registers - (SPARED if machine.multiply_adds == 1 else 0)
    fills = (form.group is None or form.extents[form.group] == 1) and isinstance(form.op.results[0].type.element_type, ir.FloatType)
    return choose(rows, form.extents[form.column], machine.lanes(form.bits), registers, width, most,
                  form.row_element_bits / 8 / LINE if _rows_are_far(form, machine) else 0, fills)


def _rows_are_far(form: ContractionForm, machine: Machine) -> bool:
    """Whether the rows of a product do not stay in the L2 cache beside the panels of its weight. Those of larger windows than 1 x 1 are
    read again soon."""
    elements = prod(form.extents[loop] or 0 for loop in (*form.rows, *form.reductions))  # 0: not constant
    windows = any(form.extents[loop] != 1 for loop in form.filters)
    return not windows and elements * form.row_element_bits // 8 > machine.l2_bytes // SHARE


@dataclass(frozen=True)
class _Rest:
    """The last columns or rows, behind ``before`` others that threads share: less than a part, which one thread cuts by ``tiles``."""

    form: ContractionForm
    loop: int
    before: int
    tiles: RegisterTiles


class _ContractionScript:
    """Writes the script of one form."""

    def __init__(self, form: ContractionForm, machine: Machine) -> None:
        weight = defining_op(form.op.operands[form.weight])
        self.packed = weight is not None and weight.name == "linalg.unpack"
        column = -1 if form.group is None else -2  # groups stand behind the columns
        inner = list(weight.attributes["static_inner_tiles"]) if weight is not None and self.packed else []
        width = inner[column] if inner else None
        self.depth = inner[column - 1] if len(inner) > 2 and inner[column - 1] > 1 else None  # of a step on matrices
        self.tiles = tiles_of(form, machine, width, self.depth is not None)
        self.part = parallel_part(form, (self.tiles.rows[0], self.tiles.columns[0]), machine, self.depth is not None)
        self.rest: _Rest | None = None
        for loop, size in self.part.items():
            if loop in (form.column, form.row) and (left := (form.extents[loop] or 0) % size):
                rest = form.with_extent(loop, left)
                tiles = replace(self.tiles, columns=self.tiles.columns[1:])
                if loop == form.row:
                    tiles = tiles_of(rest, machine, self.tiles.columns[0])
                self.rest = _Rest(rest, loop, present(form.extents[loop]) - left, tiles)
            if form.extents[loop] is not None or size == 1:     # else the last part is shorter
                form = form.with_extent(loop, size)
        if self.part:
            self.tiles = tiles_of(form, machine, self.tiles.columns[0], self.depth is not None)
        self.form, self.machine = form, machine
        self.script = Script()
        self.parts = 0

    @property
    def _by_hand(self) -> bool:
        return self.form.is_window and not self.form.decomposes

    def text(self) -> str:
        script, form = self.script, self.form
        outer = [loop for loop in (*form.batch, *form.columns[:-1]) if form.extents[loop] != 1]
        last = self._find()
        rest = ""
        if self.part:
            sizes = [0] * form.last_rank
            for loop, size in self.part.items():
                sizes[form.dims[loop]] = size
            if self.rest is not None:
                last, rest = self._peel(self._tile(last, {self.rest.loop: self.rest.before}))
            last = script.tile_parallel(last, sizes)
        self._row_blocks(last, dict.fromkeys(outer, 1))
        if self.rest is not None:
            self.form, self.tiles = self.rest.form, self.rest.tiles
            self._columns(self._rest(rest), self.tiles.columns, self.form.extents[self.form.column], dict.fromkeys(outer, 1))
        script.clean()
        self._reductions()
        script.clean()
        script.lower_unpacks()
        if self.depth is not None:
            self._rows_of_epilogue()
        script.vectorize(fold_slices=not self._by_hand, widening=form.widens)
        return script.text()

    def _find(self) -> str:
        """The last op. Annotates it and the product, to find their copies after tiling."""
        script = self.script
        chain = [script.match("func.return")]
        for operand in self.form.path:
            chain.append(script.producer(chain[-1], operand))
        last = chain[-1 - len(self.form.epilogue)]
        script.annotate(chain[-1], PRODUCT)
        script.annotate(last, LAST)
        return last

    # --- register tiles ---

    def _tile(self, last: str, sizes: dict[int, int]) -> str:
        """Tiles the last op, with its producers, by these sizes in this order. Returns the innermost loop."""
        dims = {self.form.dims[loop]: size for loop, size in sizes.items()}
        _, loops = self.script.tile_and_fuse(last, [dims.get(d, 0) for d in range(self.form.last_rank)], list(dims))
        return loops[-1]

    def _peel(self, loop: str) -> tuple[str, str]:
        """Peels the loop. Returns the last op in whole tiles, and the attribute by which ``_rest`` finds the one in the rest."""
        whole, rest = self.script.peel(loop)
        self.parts += 1
        part = f"legato.part{self.parts}"
        self.script.annotate(self.script.match(attribute=LAST, within=rest), part)
        return self.script.match(attribute=LAST, within=whole), part

    def _rest(self, part: str) -> str:
        """The last op in a rest, after canonicalization made sizes static."""
        self.script.clean()
        return self.script.match(attribute=part)

    def _row_blocks(self, last: str, outer: dict[int, int]) -> None:
        """Tiles the rows by blocks that stay in the cache, with all columns inside of each."""
        form, block = self.form, row_block(self.form, self.machine, self.tiles)
        widths, columns = self.tiles.columns, form.extents[form.column]
        if block is None:
            self._columns(last, widths, columns, outer)
            return
        loop, size, rest = block
        tiled = self._tile(last, {loop: size})
        self.form = form.with_extent(loop, size)
        if rest == 0:
            self._columns(self.script.match(attribute=LAST, within=tiled), widths, columns, outer)
            return
        whole, part = self._peel(tiled)
        self._columns(whole, widths, columns, outer)
        self.form = form.with_extent(loop, rest)
        self._columns(self._rest(part), widths, columns, outer)

    def _columns(self, last: str, widths: Sequence[int], extent: int | None, outer: dict[int, int]) -> None:
        """Tiles the columns by the widths, each for what the one before left; ``outer``: sizes of the loops around them."""
        width, column = widths[0], self.form.column
        if extent == width:
            self._rows(last, outer)
        elif width == 1 or (extent is not None and extent % width == 0):
            self._rows(last, outer | {column: width})
        else:
            whole, part = self._peel(self._tile(last, outer | {column: width}))
            self._rows(whole, {})
            self._columns(self._rest(part), widths[1:], extent and extent % width, {})

    def _rows(self, last: str, outer: dict[int, int]) -> None:
        """Tiles the rows likewise, inside of ``outer``."""
        form = self.form
        others = {loop: 1 for loop in form.rows[:-1] if form.extents[loop] != 1}
        extent = 1 if form.row is None else form.extents[form.row]
        self._row_tiles(last, self.tiles.rows, extent, outer | others)

    def _row_tiles(self, last: str, tiles: Sequence[int], extent: int | None, outer: dict[int, int]) -> None:
        tile = tiles[0]
        if extent == tile:
            if outer:
                self._tile(last, outer)
        elif tile == 1 or (extent is not None and extent % tile == 0):
            self._tile(last, outer | {self.form.row: tile})
        else:
            _, part = self._peel(self._tile(last, outer | {self.form.row: tile}))
            if extent is None:
                self._row_tiles(self._rest(part), tiles[1:], None, {})

    # --- reductions ---

    def _reductions(self) -> None:
        """Tiles every reduction by 1; a step reads one vector of a packed weight's block."""
        script, form = self.script, self.form
        if self._by_hand:
            self._windows()
            return
        with script.foreach(script.match(attribute=PRODUCT)) as product:
            sizes = [int(loop in form.reductions and loop != form.group) for loop in range(len(form.extents))]
            if self.depth is not None:
                sizes[form.reductions[-2]] = self.depth
            self._step(product, sizes)
        if form.op.name == "linalg.conv_2d_nhwc_hwcf":
            script.clean()
            script.op("window", f"structured.decompose {script.match(attribute=PRODUCT)}")

    def _rows_of_epilogue(self) -> None:
        """Vectorizes the product, whose result instructions on matrices leave in memory, and tiles its readers by single rows."""
        script, form = self.script, self.form
        if not form.epilogue:
            return
        names = ("linalg.fill", "linalg.copy", "linalg.transpose")
        script.line(f"transform.structured.vectorize {script.merge([script.match(*names), script.match(attribute=PRODUCT)])} : {ANY}")
        with script.foreach(script.match(attribute=LAST)) as last:
            script.tile_and_fuse(last, [0 if loop == form.dims[form.column] else 1 for loop in range(form.last_rank)])
        script.clean()

    def _windows(self) -> None:
        """Tiles the filter loops of other window ops by 1, which leaves plain contractions once unit dimensions are dropped."""
        script, form = self.script, self.form
        if form.op.name != "linalg.generic":
            script.op("loops", f"structured.generalize {script.match(attribute=PRODUCT)}")
        with script.foreach(script.match(attribute=PRODUCT)) as product:
            script.tile(product, [int(loop in form.filters) for loop in range(len(form.extents))])
        script.clean()
        script.patterns("drop-unit-dims", "canonicalize")
        for parallel in (2, 1, 0):  # rows and columns; a rest may have only one of them
            sums = ["reduction"] * (1 if form.group is None else 2)
            kinds = ", ".join([f"#linalg.iterator_type<{kind}>" for kind in ["parallel"] * parallel + sums])
            with script.foreach(script.match("linalg.generic", attribute=f"iterator_types = [{kinds}]")) as product:
                self._step(product, [0] * parallel + [1] + [0] * (len(sums) - 1))

    def _step(self, product: str, sizes: Sequence[int]) -> None:
        """Tiles one product, and fuses its part of the packed weight into the innermost loop."""
        step, loops = self.script.tile(product, sizes)
        if self.packed:
            self.script.patterns("merge-slices", within=loops[-1], cse=False)
            block = self.script.producer(self.script.producer(step, self.form.weight), 0)
            self.script.fuse(block, loops[-1])
