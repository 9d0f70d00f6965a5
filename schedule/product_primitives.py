"""tile_product: a product as blocks of rows and columns, with tiles of its operands and of its result."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from legato.analysis.accesses import ElementAccess
from legato.analysis.products import NoProduct, ProductForm, product_of
from legato.core.ir_helpers import body, copy, index, present
from legato.core.mlir import arith, ir, memref, scf
from legato.dialects.tir.loops import REDUCE, SERIAL, SPATIAL, BlockOp, before_end, loop_of, make_block, make_buffer
from legato.dialects.tir.walk import buffer_name
from legato.schedule.loop_primitives import nest
from legato.schedule.reduction_primitives import rebuild
from legato.schedule.state import Kernel, ScheduleError, only_accessed, only_block, predicate_of

LETTERS = ("batch", "rows", "columns", "depth")
Size = int | ir.Value
Test = tuple[ir.Value, ir.Value]   # a value, and what it has to be less than


def tile_product(kernel: Kernel, block: BlockOp, tiles: list[int], unconverted: bool = False, depth_last: bool = False,
                 through_shared: bool = False, slices: int = 1) -> list[BlockOp]:
    """Computes a product ``C[b, m, n] += A[b, m, k] * B[b, k, n]`` in tiles; each letter is all axes of that kind together.

    ``tiles``: rows, columns and depth of a tile. The loops are the batch, the blocks of rows and those of columns; in them stand five
    blocks: one that initializes a tile of the result, in scope ``local``; under a loop over the depth two that copy a tile of each operand
    to a buffer of scope ``shared``, and the product; and one that writes the result's tile back. Beyond the ends of the operands their
    tiles are 0; beyond those of the result nothing is written. An operand's tile is contiguous along the same axis as the operand, except
    that the second one's last axis is always the columns. Returns the five blocks; the product's keeps its name.

    ``unconverted``: the operands' tiles have the operands' own element types, which are converted where they are multiplied, and the second
    one's tile is contiguous along the same axis as the operand, too: what matrix instructions take. ``depth_last``: both tiles are
    contiguous along the depth, whatever the operands are: what matrix instructions on bytes take. ``through_shared``: the result's tile
    is copied to a buffer of scope ``shared`` by a sixth block, the last but one, and written back from there: for matrices of which no
    thread knows its elements. ``slices``: above 1, each of so many iterations of one more loop takes every ``slices``-th tile of the
    depth, with tiles of its own, and copies its result so; the last block adds these.
    """
    if slices < 1:
        raise ScheduleError(f"tile_product: takes a positive number of slices of the depth, not {slices}")
    if len(tiles) != 3 or any(t < 1 for t in tiles):
        raise ScheduleError(f"tile_product: takes three sizes, of rows, columns and depth; not {tiles}")
    top = only_block(kernel, block, "tile_product")
    try:
        form = product_of(block)
    except NoProduct as reason:
        raise ScheduleError(f"tile_product: block '{block.name}' is no sum of products of two elements: {reason}") from None
    loops = [loop_of(v) for v in block.values]
    if predicate_of(block) is not None or any(
            loop is None or (e is not None and loop.extent != e) for loop, e in zip(loops, block.extents)):
        raise ScheduleError(f"tile_product: each axis of block '{block.name}' has to be one loop over all its values")
    for access in (form.left, form.right, form.store):
        only_accessed(kernel, access.buffer, "tile_product")
    if slices > 1 and not is_zero(initial(form)):
        raise ScheduleError(f"tile_product: block '{block.name}' starts from another value than 0, which each slice of its depth would add")
    with ir.InsertionPoint(top), block.operation.location:
        bounds = [present(loop).bounds[1] for loop in loops]
        made = _Tiling(kernel, form, tiles, bounds, unconverted, depth_last, slices).build(through_shared)
    kernel.replaced(block.operation, made[3].operation)
    kernel.erase(top)
    return made


@dataclass(frozen=True)
class Letter:
    """Several axes as one. ``size``: the number of its values; ``sizes``: those of each axis; ``tile``: how many a tile has."""

    axes: tuple[int, ...]
    sizes: tuple[Size, ...]
    size: Size
    tile: int

    @property
    def blocks(self) -> Size:
        """The number of tiles, at the insertion point."""
        return self.steps(1)

    def steps(self, slices: int) -> Size:
        """The number of tiles that each of some slices takes, at the insertion point."""
        together = self.tile * slices
        if isinstance(self.size, int):
            return -(-self.size // together)
        return arith.DivUIOp(arith.AddIOp(self.size, index(together - 1)).result, index(together)).result

    @property
    def is_whole(self) -> bool:
        """Whether the last tile is known to be full."""
        return self.tile == 1 or (isinstance(self.size, int) and self.size % self.tile == 0)

    def spread(self, value: ir.Value, begin: ir.Value | None = None, inside: ir.Value | None = None) -> dict[int, ir.Value]:
        """The value of each axis, at the insertion point. ``begin``, ``inside``: the tile's first value, and the place in the tile, whose
        sum ``value`` is: where whole tiles lie along the last axis, only that one moves in a tile."""
        found, rest = {}, value
        long = [n for n, size in enumerate(self.sizes) if size != 1]
        for n, axis in enumerate(self.axes):
            if n not in long:
                found[axis] = index(0)
        for n in reversed(long[1:]):
            size = value_of(self.sizes[n])
            along = n == long[-1] and begin is not None and isinstance(self.sizes[n], int) and self.sizes[n] % self.tile == 0
            rest = begin if along else rest
            place = arith.RemUIOp(rest, size).result
            found[self.axes[n]], rest = arith.AddIOp(place, inside).result if along else place, arith.DivUIOp(rest, size).result
        if long:
            found[self.axes[long[0]]] = rest
        return found


def value_of(size: Size) -> ir.Value:
    """A size as a value, at the insertion point."""
    return index(size) if isinstance(size, int) else size


class _Tiling:
    """Builds the loops and blocks of one product at the insertion point."""

    def __init__(self, kernel: Kernel, form: ProductForm, tiles: Sequence[int], bounds: Sequence[ir.Value], unconverted: bool,
                 depth_last: bool, slices: int):
        self.kernel, self.form, self.unconverted, self.depth_last, self.slices = kernel, form, unconverted, depth_last, slices
        self.factors = (form.left.op.results[0], form.right.op.results[0]) if unconverted else form.factors   # as they are in tiles
        for name, tile in zip(LETTERS, (1, *tiles)):
            axes = getattr(form, name)
            extents = [form.block.extents[axis] for axis in axes]
            sizes = tuple(bounds[axis] if extent is None else extent for axis, extent in zip(axes, extents))
            setattr(self, name, Letter(axes, sizes, total(sizes), tile))

    batch: Letter
    rows: Letter
    columns: Letter
    depth: Letter
    counts: dict[str, Size]   # the steps of each loop around tiles

    def build(self, through_shared: bool) -> list[BlockOp]:
        """The five blocks, or six."""
        form, name = self.form, self.form.block.name
        rows, columns, depth = self.rows.tile, self.columns.tile, self.depth.tile
        across = form.run(form.left, form.rows) > 1 >= form.run(form.left, form.depth)
        along = form.run(form.right, form.depth) > 1 >= form.run(form.right, form.columns)
        high = across and not self.depth_last       # whether the left operand's tile has the depth along its columns
        turned = self.depth_last or (along and self.unconverted)
        left = self.buffer(form.left, self.factors[0], (depth, rows) if high else (rows, depth), "shared")
        right = self.buffer(form.right, self.factors[1], (columns, depth) if turned else (depth, columns), "shared")
        result = self.buffer(form.store, form.old.op.results[0], (rows, columns), "local")
        added = self.buffer(form.store, form.old.op.results[0], (rows, columns), "shared") if through_shared or self.slices > 1 else result
        self.counts = {"b": self.batch.size, "i": self.rows.blocks, "j": self.columns.blocks, "s": self.slices,
                       "l": self.depth.steps(self.slices)}
        outer = loops(("b", "i", "j"), [self.counts[letter] for letter in "bij"])
        with before_end(outer[-1].block):
            own, around = {}, outer[-1].block
            if self.slices > 1:
                slices = loops(("s",), [self.slices])[0]
                own, around = {"s": slices.variable}, slices.block
            b, i, j = (loop.variable for loop in outer)
            with before_end(around):
                init = self.tile_block(f"{name}_init", {"b": b, "i": i, "j": j, **own}, {"m": rows, "n": columns},
                                       lambda at: memref.StoreOp(rebuild(initial(form), {}), result, place(at, "m", "n")))
                steps = loops(("l",), [self.counts["l"]])[0]
                with before_end(steps.block):
                    step = steps.variable
                    first = self.tile_block(f"{name}_left", {"b": b, "i": i, **own, "l": step},
                                            {"k": depth, "m": rows} if across else {"m": rows, "k": depth},
                                            lambda at: self.take(form.left, self.factors[0], left, at, ("k", "m") if high else ("m", "k")))
                    second = self.tile_block(f"{name}_right", {"b": b, "j": j, **own, "l": step},
                                             {"n": columns, "k": depth} if along else {"k": depth, "n": columns}, lambda at: self.take(
                                                 form.right, self.factors[1], right, at, ("n", "k") if turned else ("k", "n")))
                    product = self.tile_block(name, {"b": b, "i": i, "j": j, **own, "l": step}, {"m": rows, "n": columns, "k": depth},
                                              lambda at: self.multiply(left, right, result, at, high, turned))
                parts = []
                if added is not result:
                    parts = [self.tile_block(f"{name}_shared", {"b": b, "i": i, "j": j, **own}, {"m": rows, "n": columns},
                                             lambda at: memref.StoreOp(memref.LoadOp(result, place(at, "m", "n")).result, added,
                                                                       place(at, "m", "n")))]
            last = self.tile_block(f"{name}_result", {"b": b, "i": i, "j": j}, {"m": rows, "n": columns},
                                   lambda at: self.give(added, at))
        return [init, first, second, product, *parts, last]

    def buffer(self, access: ElementAccess, value: ir.Value, shape: Sequence[int], scope: str) -> ir.Value:
        """A buffer for a tile of what an access is of, for each slice, with elements of the type of ``value``."""
        type_ = ir.MemRefType.get([self.slices, *shape] if self.slices > 1 else list(shape), value.type)
        return make_buffer(type_, f"{buffer_name(access.buffer)}_{scope}", scope)

    def tile_block(self, name: str, outer: dict[str, ir.Value], inner: dict[str, int],
                   fill: Callable[[dict[str, ir.Value]], object]) -> BlockOp:
        """Loops over a tile with a block in them, whose body ``fill`` builds of the axes' values."""
        made = loops(tuple(inner), tuple(inner.values()))
        values = [*outer.values(), *(loop.variable for loop in made)]
        extents = [size if isinstance(size, int) else None for size in (*(self.counts[letter] for letter in outer), *inner.values())]
        names = [*outer, *inner]
        is_product = name == self.form.block.name
        kinds = [REDUCE if letter in ("l", "k") and is_product else SPATIAL for letter in names]
        with before_end(made[-1].block):
            block = make_block(name if is_product else self.kernel.unique(name), [f"v{letter}" for letter in names], kinds, extents, values)
            with before_end(block.block):
                fill(dict(zip(names, block.block.arguments)))
        return block

    def places(self, at: dict[str, ir.Value], *letters: str) -> tuple[dict[ir.Value, ir.Value], list[Test]]:
        """What the axes of some letters are at a place in a tile, by the arguments of the product's block; and the bounds to be kept."""
        arguments, extents = list(self.form.block.block.arguments), self.form.block.extents
        mapping = {argument: index(0) for argument, extent in zip(arguments, extents) if extent == 1}
        tests: list[Test] = []
        for letter, block, inside in (("batch", "b", None), ("rows", "i", "m"), ("columns", "j", "n"), ("depth", "l", "k")):
            if letter not in letters:
                continue
            one: Letter = getattr(self, letter)
            value = at[block]
            whole = one.is_whole
            if block == "l" and self.slices > 1:
                value = arith.AddIOp(arith.MulIOp(value, index(self.slices)).result, at["s"]).result
                whole = isinstance(one.size, int) and one.size % (one.tile * self.slices) == 0
            begin, place = None, None if inside is None else at[inside]
            if place is not None:
                only = self.counts[block] == 1 and (block != "l" or self.slices == 1)
                begin = None if only else arith.MulIOp(value, index(one.tile)).result
                value = place if begin is None else arith.AddIOp(begin, place).result
            if not whole:
                tests.append((value, value_of(one.size)))
            mapping |= {arguments[axis]: index_ for axis, index_ in one.spread(value, begin, place).items()}
        return mapping, tests

    def take(self, access: ElementAccess, value: ir.Value, tile: ir.Value, at: dict[str, ir.Value], order: Sequence[str]) -> None:
        """Copies an element of an operand to its tile, as the factor that is made of it."""
        mapping, tests = self.places(at, "batch", "rows" if "m" in order else "columns", "depth")
        element = value.type

        def load() -> ir.Value:
            loaded = memref.LoadOp(access.buffer, [rebuild(v, mapping) for v in access.indices]).result
            return rebuild(value, {access.op.results[0]: loaded})

        if not tests:
            memref.StoreOp(load(), tile, place(at, *order))
            return
        either = scf.IfOp(less(tests), [element], has_else=True)
        with ir.InsertionPoint(either.then_block):
            scf.YieldOp([load()])
        with ir.InsertionPoint(either.else_block):
            scf.YieldOp([arith.ConstantOp(element, 0.0 if isinstance(element, ir.FloatType) else 0).result])
        memref.StoreOp(either.results[0], tile, place(at, *order))

    def multiply(self, left: ir.Value, right: ir.Value, result: ir.Value, at: dict[str, ir.Value], across: bool, turned: bool) -> None:
        """Adds the product of two elements of the tiles. ``across``, ``turned``: whether the operands' tiles are transposed."""
        form = self.form
        mapping = {self.factors[0]: memref.LoadOp(left, place(at, *("km" if across else "mk"))).result,
                   self.factors[1]: memref.LoadOp(right, place(at, *("nk" if turned else "kn"))).result,
                   form.old.op.results[0]: memref.LoadOp(result, place(at, "m", "n")).result}
        mapping = copy([op for op in body(form.block.block) if needed(op, form.store.op.operands[0], set(mapping))], mapping)
        memref.StoreOp(mapping[form.store.op.operands[0]], result, place(at, "m", "n"))

    def give(self, result: ir.Value, at: dict[str, ir.Value]) -> None:
        """Writes an element of the result's tile to the result."""
        store = self.form.store
        mapping, tests = self.places(at, "batch", "rows", "columns")
        with where(tests):
            value = self.sum_of(result, at)
            memref.StoreOp(value, store.buffer, [rebuild(v, mapping) for v in store.indices])


    def sum_of(self, result: ir.Value, at: dict[str, ir.Value]) -> ir.Value:
        """An element of the result's tile: the sum of those of all slices."""
        parts = [memref.LoadOp(result, place(at | ({"s": index(n)} if self.slices > 1 else {}), "m", "n")).result
                 for n in range(self.slices)]
        add = arith.AddFOp if isinstance(parts[0].type, ir.FloatType) else arith.AddIOp
        found = parts[0]
        for one in parts[1:]:
            found = add(found, one).result
        return found


def place(at: dict[str, ir.Value], *letters: str) -> list[ir.Value]:
    """The indices of an element of a tile, which has a slice's first."""
    return [at[letter] for letter in ("s", *letters) if letter in at]


def initial(form: ProductForm) -> ir.Value:
    """The value that a product begins with."""
    return next(op for op in body(present(form.block.init_block)) if op.name == "memref.store").operands[0]


def is_zero(value: ir.Value) -> bool:
    """Whether a value is the constant 0."""
    owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
    return owner is not None and owner.name == "arith.constant" and owner.attributes["value"].value == 0


def total(sizes: Sequence[Size]) -> Size:
    """The product of sizes, at the insertion point."""
    number = prod(size for size in sizes if isinstance(size, int))
    found: Size = number
    for size in sizes:
        if not isinstance(size, int):
            found = size if found == 1 else arith.MulIOp(value_of(found), size).result
    return found


def loops(names: Sequence[str], sizes: Sequence[Size]) -> list:
    """Nested loops at the insertion point."""
    return nest([((index(0), value_of(size)), SERIAL, name, None) for name, size in zip(names, sizes)])


def less(tests: Sequence[Test]) -> ir.Value:
    """Whether all values are less than their bounds, at the insertion point."""
    found: ir.Value | None = None
    for value, bound in tests:
        one = arith.CmpIOp(arith.CmpIPredicate.slt, value, bound).result
        found = one if found is None else arith.AndIOp(found, one).result
    return present(found)


def where(tests: Sequence[Test]) -> ir.InsertionPoint:
    """The insertion point of what is done if all values are less than their bounds: in a condition, or here where there are none."""
    if not tests:
        return ir.InsertionPoint.current
    inside = scf.IfOp(less(tests))
    with ir.InsertionPoint(inside.then_block):
        return ir.InsertionPoint(scf.YieldOp([]))


def needed(op: ir.Operation, value: ir.Value, known: set[ir.Value]) -> bool:
    """Whether a value is computed by an op, from values that are known."""
    if value in known or isinstance(value.owner, ir.Block):
        return False
    owner = value.owner.operation
    return owner == op or any(needed(op, operand, known) for operand in owner.operands)
