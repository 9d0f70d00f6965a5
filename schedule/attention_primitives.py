"""tile_attention: an attention as blocks of rows and of keys, whose scores are never written to global memory.

Softmax is that of the keys so far ("online softmax": Milakov and Gimelshein, arXiv:1805.02867; Dao and others, arXiv:2205.14135).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from legato.analysis.block_attention import BlockAttention, NoAttention, attention_of
from legato.analysis.indices.forms import linear
from legato.analysis.products import multiplied_as
from legato.core.ir_helpers import index, present
from legato.core.mlir import arith, ir, memref, scf
from legato.core.vector_loops import read, write
from legato.dialects.tir.loops import REDUCE, SPATIAL, BlockOp, before_end, loop_of, make_block, make_buffer
from legato.dialects.tir.walk import blocks
from legato.schedule.attention_numbers import LOG2_E, ScoreNumbers
from legato.schedule.attention_operands import copied, loads_of, scaling, unscaled, widened
from legato.schedule.product_primitives import Letter, Size, Test, less, loops, total, value_of, where
from legato.schedule.state import Kernel, ScheduleError, only_block, predicate_of

Place = dict[str, ir.Value]


def tile_attention(kernel: Kernel, block: BlockOp, tiles: list[int], unconverted: bool = False) -> list[BlockOp]:
    """Computes an attention ``O[b, m, e] = sum_n softmax_n(f(sum_d Q[b, m, d] * K[b, n, d])) * V[b, n, e]`` in tiles of rows m and keys n.

    ``block``: the product with values. The blocks before it, from the product of queries and keys on, are erased; between that and the
    softmax at most one elementwise block may stand (compute_inline makes one of several). ``tiles``: the rows and keys of a tile, and the
    depth d and the columns e, at least as many as there are. The loops are the batch and the blocks of rows, then those of keys. Returns
    sixteen blocks, by what they do:

    - for a tile of rows: ``queries`` copies them (scope ``shared``), ``start`` and ``clear`` initialize the rows' maxima and sums, and the
      sums over values (``local``);
    - for each tile of keys: ``keys`` and ``values`` copy them (``shared``; keys as columns); ``zero`` and ``scores`` multiply (``local``);
      ``mask`` computes f, -inf beyond the last key; ``greatest``, ``powers`` and ``sums`` are softmax, of the keys so far; ``rescale``
      updates the rows' maxima and sums; ``weights`` copies the exponentials (``shared``); ``scale`` scales the sums over values; the
      product with values, which keeps its block's name, adds to them;
    - ``result`` writes them, divided.

    Tiles are 0 beyond the ends. Scores and sums are of f32. ``unconverted``: what matrix instructions take. Tiles have the types of the
    operands, which are converted where they are multiplied; that of keys is contiguous along the same axis as the keys; weights are
    rounded to the values' type, and ``local``. Constants that queries and keys are multiplied by are multiplied by their product instead,
    and scores are computed in f32, whatever the types of the blocks before the softmax.
    """
    top = only_block(kernel, block, "tile_attention")
    every = blocks(kernel.function.operation)
    try:
        form = attention_of(block, every)
    except NoAttention as reason:
        raise ScheduleError(f"tile_attention: block '{block.name}' is not the last product of an attention: {reason}") from None
    nests = [only_block(kernel, one, "tile_attention") for one in form.blocks[:-1]]
    bounds = {one.name: extents_of(one) for one in form.blocks}
    check(kernel, form, tiles)
    with ir.InsertionPoint(top), block.operation.location:
        made = _AttentionTiling(kernel, form, tiles, bounds, unconverted).build()
    kernel.replaced(block.operation, made[-2].operation)
    for nest in (*nests, top):
        kernel.erase(nest)
    return made


def extents_of(block: BlockOp) -> list[Size]:
    """The extents of a block's axes. ScheduleError where one is not a loop over all its values."""
    nest = [loop_of(v) for v in block.values]
    if predicate_of(block) is not None or any(
            loop is None or (e is not None and loop.extent != e) for loop, e in zip(nest, block.extents)):
        raise ScheduleError(f"tile_attention: each axis of block '{block.name}' has to be one loop over all its values")
    return [present(loop).bounds[1] if e is None else e for loop, e in zip(nest, block.extents)]


def check(kernel: Kernel, form: BlockAttention, tiles: Sequence[int]) -> None:
    """ScheduleError for sizes or types that there are no tiles for, and where others read what would not be computed any more."""
    if len(tiles) != 4 or any(t < 1 for t in tiles):
        raise ScheduleError(f"tile_attention: takes four sizes, of rows, keys, depth and columns; not {tiles}")
    first, second = form.first.block, form.second.block
    for what, block, axes, tile in (("depth", first, form.depth, tiles[2]), ("columns", second, form.columns, tiles[3])):
        extents = [block.extents[axis] for axis in axes]
        if any(e is None for e in extents) or total([present(e) for e in extents]) > tile:
            raise ScheduleError(f"tile_attention: a tile has {tile} for the {what}, and block '{block.name}' has "
                                f"{' x '.join('?' if e is None else str(e) for e in extents)}")
    for one in (form.first, form.second):
        element = one.store.buffer.type.element_type
        if not isinstance(element, ir.FloatType) or element.width > 32:
            raise ScheduleError(f"tile_attention: block '{one.block.name}' adds up {element}, and sums are of f32")
    mine = {one.operation for one in form.blocks}
    for one in form.blocks[:-1]:
        for buffer in {op.operands[1] for op in one.block.operations if op.operation.name == "memref.store"}:
            readers = [b for b in blocks(kernel.function.operation) if b.operation not in mine
                       and any(u.owner.operation.name == "memref.load" and u.owner.operation.block == b.block for u in buffer.uses)]
            if readers or kernel.is_output(buffer):
                raise ScheduleError(f"tile_attention: what block '{one.name}' writes is wanted by others too")


class _AttentionTiling:
    """Builds the loops and blocks of one attention at the insertion point."""

    def __init__(self, kernel: Kernel, form: BlockAttention, tiles: Sequence[int], bounds: dict[str, list[Size]],
                 unconverted: bool):
        self.kernel, self.form, self.unconverted = kernel, form, unconverted
        self.query, self.key, self.value, scale = form.query, form.key, form.value, 1.0
        if unconverted:
            (self.query, of_query), (self.key, of_key) = unscaled(form.query), unscaled(form.key)
            self.value, scale = multiplied_as(form.value)[0], of_query * of_key
        self.product, self.stored = self.read_scores()
        factor = None if self.stored is None else scaling(self.stored, self.product)
        self.plain = unconverted and (self.stored is None or factor is not None)     # scores are multiples of products
        if self.plain:
            scale *= 1 if factor is None else factor
        unit = LOG2_E
        if self.plain and 0 < scale * LOG2_E < inf:
            unit, scale = scale * LOG2_E, 1.0
        self.numbers = ScoreNumbers(form.first.store.buffer.type.element_type, scale, unit, by_powers_of_2=unconverted,
                                    may_be_enormous=not self.plain)
        rows, keys, depth, columns = tiles
        second, first = bounds[form.second.block.name], bounds[form.first.block.name]

        def letter(axes: Sequence[int], sizes: Sequence[Size], tile: int) -> Letter:
            chosen = tuple(sizes[axis] for axis in axes)
            return Letter(tuple(axes), chosen, total(chosen), tile)

        self.letters = {"b": letter(form.batch, second, 1), "m": letter(form.rows, second, rows), "n": letter((form.keys,), second, keys),
                        "e": letter(form.columns, second, columns), "d": letter(form.depth, first, depth)}
        self.name = form.second.block.name

    def build(self) -> list[BlockOp]:
        """All blocks."""
        tile = {letter: one.tile for letter, one in self.letters.items()}
        self.counts = {"b": self.letters["b"].size, "i": self.letters["m"].blocks, "l": self.letters["n"].blocks}
        queries = self.buffer("queries", (tile["m"], tile["d"]), "shared", self.query.type)
        order = ("n", "d") if self.unconverted and not self.keys_are_columns() else ("d", "n")
        keys = self.buffer("keys", tuple(tile[letter] for letter in order), "shared", self.key.type)
        values = self.buffer("values", (tile["n"], tile["e"]), "shared", self.value.type)
        weights = (self.buffer("weights", (tile["m"], tile["n"]), "local", self.value.type) if self.unconverted
                   else self.buffer("weights", (tile["m"], tile["n"]), "shared"))
        scores, masked, powers = (self.buffer(name, (tile["m"], tile["n"])) for name in ("scores", "masked", "powers"))
        tops, sums, following, added, factors = (
            self.buffer(name, (tile["m"],)) for name in ("tops", "sums", "following", "added", "factors"))
        out = self.buffer("out", (tile["m"], tile["e"]))
        outer = loops(("b", "i"), [self.counts["b"], self.counts["i"]])
        with before_end(outer[-1].block):
            around = {"b": outer[0].variable, "i": outer[1].variable}
            q = self.block("queries", around, ("m", "d"), lambda at: self.copy(self.query, queries, at, ("m", "d")))
            start = self.block("start", around, ("m",), lambda at: (
                write(self.numbers.number(-inf), tops, at["m"]), write(self.numbers.number(0), sums, at["m"])))
            clear = self.block("clear", around, ("m", "e"), lambda at: write(self.numbers.number(0), out, at["m"], at["e"]))
            steps = loops(("l",), [self.counts["l"]])[0]
            with before_end(steps.block):
                around |= {"l": steps.variable}
                k = self.block("keys", around, order, lambda at: self.copy(self.key, keys, at, order))
                v = self.block("values", around, ("n", "e"), lambda at: self.copy(self.value, values, at, ("n", "e")))
                zero = self.block("zero", around, ("m", "n"), lambda at: write(self.numbers.number(0), scores, at["m"], at["n"]))
                product = self.block("scores", around, ("m", "n", "d"), lambda at: add(
                    scores, (at["m"], at["n"]), self.numbers.wide(read(queries, at["m"], at["d"])),
                    self.numbers.wide(read(keys, *(at[letter] for letter in order)))), "d")
                mask = self.block("mask", around, ("m", "n"), lambda at: write(
                    self.score(read(scores, at["m"], at["n"]), at), masked, at["m"], at["n"]))
                greatest = self.block("greatest", around, ("m", "n"), lambda at: write(
                    arith.maxnumf(read(masked, at["m"], at["n"]), read(following, at["m"])), following, at["m"]), "n",
                    init=lambda at: write(read(tops, at["m"]), following, at["m"]))
                power = self.block("powers", around, ("m", "n"), lambda at: write(self.numbers.weight(
                    read(masked, at["m"], at["n"]), read(following, at["m"])), powers, at["m"], at["n"]))
                total_ = self.block("sums", around, ("m", "n"), lambda at: write(
                    arith.addf(read(added, at["m"]), read(powers, at["m"], at["n"])), added, at["m"]), "n",
                    init=lambda at: write(self.numbers.number(0), added, at["m"]))
                rescale = self.block("rescale", around, ("m",), lambda at: self.rescale(tops, sums, following, added, factors, at["m"]))
                weight = self.block("weights", around, ("m", "n"), lambda at: write(
                    self.numbers.rounded(read(powers, at["m"], at["n"]), weights.type.element_type), weights, at["m"], at["n"]))
                scale = self.block("scale", around, ("m", "e"), lambda at: write(
                    arith.mulf(read(out, at["m"], at["e"]), read(factors, at["m"])), out, at["m"], at["e"]))
                second = self.block("", around, ("m", "e", "n"), lambda at: add(
                    out, (at["m"], at["e"]), self.numbers.wide(read(weights, at["m"], at["n"])),
                    self.numbers.wide(read(values, at["n"], at["e"]))), "n")
            del around["l"]
            result = self.block("result", around, ("m", "e"), lambda at: self.give(out, sums, at))
        return [q, start, clear, k, v, zero, product, mask, greatest, power, total_, rescale, weight, scale, second, result]

    def buffer(self, name: str, shape: Sequence[int], scope: str = "local", element: ir.Type | None = None) -> ir.Value:
        """A buffer of the tiles."""
        return make_buffer(ir.MemRefType.get(list(shape), element or self.numbers.f32), f"{self.name}_{name}", scope)

    def block(self, name: str, outer: Place, inner: Sequence[str], fill: Callable[[Place], object], reduced: str = "",
              init: Callable[[Place], object] | None = None) -> BlockOp:
        """Loops over a tile with a block in them. ``reduced``: the letter that is summed up, with the tiles of it."""
        sizes = [self.letters[letter].tile for letter in inner]
        made = loops(tuple(inner), sizes)
        names, kinds = [*outer, *inner], []
        values = [*outer.values(), *(loop.variable for loop in made)]
        extents = [size if isinstance(size, int) else None for size in (*(self.counts[letter] for letter in outer), *sizes)]
        for letter in names:
            follows = letter == "l" and name in ("rescale", "scale", "")   # these update what the step before left
            kinds.append(REDUCE if letter == reduced or follows else SPATIAL)
        with before_end(made[-1].block):
            title = self.name if not name else self.kernel.unique(f"{self.name}_{name}")
            block = make_block(title, [f"v{letter}" for letter in names], kinds, extents, values, init is not None)
            if init is not None:
                with before_end(present(block.init_block)):
                    init(dict(zip(names, present(block.init_block).arguments)))
            with before_end(block.block):
                fill(dict(zip(names, block.block.arguments)))
        return block

    def keys_are_columns(self) -> bool:
        """Whether neighbours in the keys' buffers are different keys."""
        block = self.form.first.block
        key = next(n for n, axis in self.form.of_first.items() if axis == self.form.keys)
        last = [linear(list(op.operands)[-1]) for op in loads_of(self.key, block)]
        return any(block.block.arguments[key] in one.terms for one in last)

    # --- places ---

    def places(self, at: Place, *letters: str, clamped: bool = False) -> tuple[dict[int, ir.Value], dict[int, ir.Value], list[Test]]:
        """What the axes of the second product, and the depth's of the first, are at a place in a tile; and the bounds to be kept.
        ``clamped``: beyond the ends the axes are at their first values."""
        found: dict[str, dict[int, ir.Value]] = {"d": {}, "": {}}
        tests: list[Test] = []
        for letter in letters:
            one, block = self.letters[letter], {"m": "i", "n": "l"}.get(letter)
            value = at[letter]
            if block is not None and self.counts[block] != 1:
                value = arith.AddIOp(arith.MulIOp(at[block], index(one.tile)).result, value).result
            if not one.is_whole:
                tests.append((value, value_of(one.size)))
            if not one.is_whole and clamped:
                value = arith.select(less(tests[-1:]), value, index(0))
            found["d" if letter == "d" else ""] |= one.spread(value)
        return found[""], found["d"], tests

    def arguments(self, block: BlockOp, axes: dict[int, int], known: dict[int, ir.Value], own: dict[int, ir.Value]) -> dict:
        """The values of a block's arguments; ``axes``: those of the second product by its own."""
        mapping = {}
        for number, argument in enumerate(block.block.arguments):
            if number in own:
                mapping[argument] = own[number]
            elif axes.get(number) in known:
                mapping[argument] = known[axes[number]]
            elif block.extents[number] == 1:
                mapping[argument] = index(0)
        return mapping

    # --- bodies ---

    def copy(self, value: ir.Value, tile: ir.Value, at: Place, order: Sequence[str]) -> None:
        """Copies an element of queries, keys or values to its tile, 0 beyond the ends."""
        known, own, tests = self.places(at, "b", *order)
        first = "d" in order
        block = self.form.first.block if first else self.form.second.block
        axes = self.form.of_first if first else {n: n for n in range(len(block.kinds))}
        mapping = self.arguments(block, axes, known, own)
        zero = arith.ConstantOp(value.type, ir.FloatAttr.get(value.type, 0.0)).result
        write(chosen(tests, value.type, lambda: copied(value, mapping, block), zero), tile, *(at[letter] for letter in order))

    def read_scores(self) -> tuple[list[ir.Value], ir.Value | None]:
        """The products that the block before the softmax loads, and what it writes; none, and None, without such a block."""
        if self.form.scores is None:
            return [], None
        ops = [op.operation for op in self.form.scores.block.operations]
        first = self.form.first.store.buffer
        return ([op.results[0] for op in ops if op.name == "memref.load" and op.operands[0] == first],
                next(op for op in ops if op.name == "memref.store").operands[0])

    def score(self, product: ir.Value, at: Place) -> ir.Value:
        """What softmax reads, of the product of a query and a key, divided by what exponents are multiplied by; -inf beyond the ends."""
        scores, stored = self.form.scores, self.stored
        known, own, tests = self.places(at, "b", "m", "n", clamped=self.unconverted)
        if scores is None or stored is None or self.plain:
            return self.inside(tests, at, lambda: self.numbers.scaled(product))

        def value() -> ir.Value:
            mapping = self.arguments(scores, self.form.of_scores, known, own)
            narrow = {load: self.numbers.narrow(product) for load in self.product}
            if self.unconverted:
                return widened(stored, dict.fromkeys(self.product, self.numbers.scaled(product)), mapping | narrow, scores)
            return self.numbers.wide(copied(stored, mapping | narrow, scores))

        return self.inside(tests, at, value)

    def inside(self, tests: Sequence[Test], at: Place, value: Callable[[], ir.Value]) -> ir.Value:
        """A score, or -inf beyond the ends. Threads of matrices have many, and do not branch for each: it is computed at other places
        there, and beyond the last row it is anything."""
        if not self.unconverted:
            return chosen(tests, self.numbers.f32, value, self.numbers.number(-inf))
        tests = self.places(at, "n")[2]
        return arith.select(less(tests), value(), self.numbers.number(-inf)) if tests else value()

    def rescale(self, tops: ir.Value, sums: ir.Value, following: ir.Value, added: ir.Value, factors: ir.Value, m: ir.Value) -> None:
        """Updates the maximum and the sum of a row by those of a tile of keys."""
        following_ = read(following, m)
        factor = self.numbers.factor(read(tops, m), following_)
        write(factor, factors, m)
        write(arith.addf(arith.mulf(read(sums, m), factor), read(added, m)), sums, m)
        write(following_, tops, m)

    def give(self, out: ir.Value, sums: ir.Value, at: Place) -> None:
        """Writes an element of the result."""
        store = self.form.second.store
        known, _, tests = self.places(at, "b", "m", "e")
        mapping = self.arguments(self.form.second.block, {n: n for n in range(len(self.form.second.block.kinds))}, known, {})
        with where(tests):
            divisor, size = read(sums, at["m"]), self.letters["n"].size
            if not isinstance(size, int):   # of no keys, the sum over values is 0
                divisor = arith.select(arith.cmpi(arith.CmpIPredicate.eq, size, index(0)), self.numbers.number(1), divisor)
            if self.unconverted:     # a thread has many columns of a row, which share the division
                value = arith.mulf(read(out, at["m"], at["e"]), arith.divf(self.numbers.number(1), divisor))
            else:
                value = arith.divf(read(out, at["m"], at["e"]), divisor)
            if self.form.guarded:      # a sum that is 0 or NaN
                some = arith.cmpf(arith.CmpFPredicate.OGT, read(sums, at["m"]), self.numbers.number(0))
                value = arith.select(some, value, self.numbers.number(0))
            memref.StoreOp(self.numbers.rounded(value, store.buffer.type.element_type), store.buffer,
                           [copied(v, mapping, self.form.second.block) for v in store.indices])

def add(buffer: ir.Value, at: Sequence[ir.Value], a: ir.Value, b: ir.Value) -> None:
    """Adds a product to an element of a buffer."""
    contract = ir.Attribute.parse("#arith.fastmath<contract>")
    product = arith.MulFOp(a, b, fastmath=contract).result
    write(arith.AddFOp(read(buffer, *at), product, fastmath=contract).result, buffer, *at)


def chosen(tests: Sequence[Test], type_: ir.Type, value: Callable[[], ir.Value], other: ir.Value) -> ir.Value:
    """``value()`` where all tests hold, else ``other``."""
    if not tests:
        return value()
    either = scf.IfOp(less(tests), [type_], has_else=True)
    with ir.InsertionPoint(either.then_block):
        scf.YieldOp([value()])
    with ir.InsertionPoint(either.else_block):
        scf.YieldOp([other])
    return either.results[0]
