"""Attention among the blocks of a kernel: a product of queries and keys, softmax over the keys, and a product with values."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.analysis.accesses import ElementAccess, accesses_in
from legato.analysis.products import CASTS, axes_of, same_place
from legato.core.ir_helpers import body
from legato.core.mlir import arith, ir
from legato.dialects.tir.loops import REDUCE, SPATIAL, BlockOp, constant_of

LOWEST = -3e38   # starts of maxima are below


class NoAttention(Exception):
    """Why a block is not the last product of an attention."""


@dataclass(frozen=True)
class SummedTerm:
    """A block that adds values up, or takes their maximum. ``old``: the load of what it writes; ``term``: what is combined with it."""

    block: BlockOp
    old: ElementAccess
    term: ir.Value
    store: ElementAccess


@dataclass(frozen=True)
class BlockAttention:
    """``O[b, m, e] = sum_n softmax_n(f(sum_d Q[b, m, d] * K[b, n, d])) * V[b, n, e]``; each letter but n stands for any number of axes.

    ``first``, ``second``: the products; ``scores``: the elementwise block f between them, None for none; ``softmax``: the blocks of the
    maximum, the exponentials and their sum; ``query``, ``key``: the factors in ``first``; ``value``: that in ``second``. ``batch``,
    ``rows``, ``columns`` and ``keys`` are axes of ``second``, ``depth`` of ``first``; ``of_first``, ``of_scores``: the axes of ``second``
    by those of these blocks.
    """

    first: SummedTerm
    second: SummedTerm
    scores: BlockOp | None
    softmax: tuple[BlockOp, BlockOp, BlockOp]
    query: ir.Value
    key: ir.Value
    value: ir.Value
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    keys: int
    depth: tuple[int, ...]
    of_first: dict[int, int]
    of_scores: dict[int, int]
    guarded: bool
    """Whether the product takes weights that are NaN for 0."""

    @property
    def blocks(self) -> list[BlockOp]:
        """All its blocks, the last product last."""
        return [self.first.block, *([] if self.scores is None else [self.scores]), *self.softmax, self.second.block]


def attention_of(block: BlockOp, blocks: Sequence[BlockOp]) -> BlockAttention:
    """The attention whose product with values a block is; ``blocks``: those of its kernel. NoAttention for another block."""
    return _Reader(block, blocks).read()


def plain(value: ir.Value) -> ir.Value:
    """A value without its casts."""
    while (op := made_by(value)) is not None and op.name in CASTS:
        value = op.operands[0]
    return value


def made_by(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def combined(block: BlockOp, combiner: str) -> SummedTerm:
    """The form of a reduction. NoAttention for a block that is none by this op."""
    stores = [a for a in accesses_in([block.block]) if a.writes]
    op = made_by(stores[0].op.operands[0]) if len(stores) == 1 else None
    if block.init_block is None or op is None or not op.name.startswith(combiner) or any(len(o.regions) for o in body(block.block)):
        raise NoAttention(f"block '{block.name}' is no reduction by {combiner}")
    loads = [(n, ElementAccess(made)) for n, v in enumerate(op.operands) if (made := made_by(v)) is not None and made.name == "memref.load"]
    mine = [(n, access) for n, access in loads if access.buffer == stores[0].buffer and same_place(access, stores[0])]
    if len(mine) != 1:
        raise NoAttention(f"block '{block.name}' does not combine another value with what it writes")
    return SummedTerm(block, mine[0][1], op.operands[1 - mine[0][0]], stores[0])


def guarded(value: ir.Value) -> tuple[ir.Value, ir.Value | None]:
    """x and y of ``0 if isnan(y) else x``; a value of another form, and None."""
    op = made_by(plain(value))
    if op is None or op.name != "arith.select" or number(op.operands[1]) != 0:
        return value, None
    test = made_by(op.operands[0])
    if test is not None and test.name == "arith.cmpi" and test.attributes["predicate"].value == arith.CmpIPredicate.ne.value:
        byte = made_by(test.operands[0])    # a condition kept as a byte
        test = made_by(byte.operands[0]) if byte is not None and byte.name == "arith.extui" and constant_of(test.operands[1]) == 0 else None
    if test is None or test.name != "arith.cmpf" or test.attributes["predicate"].value != arith.CmpFPredicate.UNO.value:
        return value, None
    return (op.operands[2], test.operands[0]) if test.operands[0] == test.operands[1] else (value, None)


def start_of(block: BlockOp) -> float | None:
    """The number that a reduction begins with."""
    stores = [] if block.init_block is None else [a for a in accesses_in([block.init_block]) if a.writes]
    return number(stores[0].op.operands[0]) if len(stores) == 1 else None


def number(value: ir.Value) -> float | None:
    """The number that a constant is."""
    op = made_by(plain(value))
    found = op.attributes["value"] if op is not None and op.name == "arith.constant" else None
    return ir.FloatAttr(found).value if isinstance(found, ir.FloatAttr) else None


class _Reader:
    def __init__(self, block: BlockOp, blocks: Sequence[BlockOp]):
        self.block, self.blocks = block, blocks

    def read(self) -> BlockAttention:
        """The form."""
        second = combined(self.block, "arith.addf")
        keys = self.reduced(self.block)
        if len(keys) != 1 or start_of(self.block) != 0:
            raise NoAttention(f"block '{self.block.name}' does not add up, from 0, along one axis")
        power, value, total, guarded = self.weights(second)
        powers, place = self.written(power, {n: n for n in range(len(self.block.kinds))})
        sums, sum_place = self.written(total, {n: n for n in range(len(self.block.kinds))})
        added = combined(sums, "arith.addf")
        load = self.load(added.term)
        self.same(self.written(load, self.along(sum_place, sums, keys[0])), (powers, place))
        x, top = self.difference(powers)
        scores, of_scores = self.written(x, place)
        greatest, top_place = self.written(top, place)
        most = combined(greatest, "arith.max")
        self.same(self.written(self.load(most.term), self.along(top_place, greatest, keys[0])), (scores, of_scores))
        if start_of(sums) != 0 or (start := start_of(greatest)) is None or start > LOWEST:
            raise NoAttention("its sums begin with another number than 0, or its maxima with one that is not the lowest")
        first, between, of_first = self.product(scores, of_scores)
        return self.sorted(first, second, between, (greatest, powers, sums), value, keys[0], of_first, of_scores, guarded)

    # --- values ---

    @staticmethod
    def load(value: ir.Value) -> ElementAccess:
        """The load that a value is, through casts."""
        op = made_by(plain(value))
        if op is None or op.name != "memref.load":
            raise NoAttention("a value of its softmax is no element of a buffer")
        return ElementAccess(op)

    @staticmethod
    def reduced(block: BlockOp) -> list[int]:
        """The axes that a block reduces."""
        return [n for n, kind in enumerate(block.kinds) if kind == REDUCE]

    def weights(self, second: SummedTerm) -> tuple[ElementAccess, ir.Value, ElementAccess, bool]:
        """The exponential in the last product, the element of the values, the sum that divides the exponential, and whether their quotient
        counts as 0 where it is NaN."""
        term = made_by(second.term)
        if term is None or term.name != "arith.mulf":
            raise NoAttention(f"what block '{second.block.name}' adds is no product")
        for weight, value in (tuple(term.operands), tuple(term.operands)[::-1]):
            inside, tested = guarded(weight)
            pair = self.quotient(inside)
            if pair is not None:
                if tested is not None and not self.same_quotient(pair, tested):
                    raise NoAttention(f"block '{second.block.name}' tests another value than the one it takes")
                return pair[0], value, pair[1], tested is not None
        raise NoAttention(f"block '{second.block.name}' does not multiply by a quotient")

    def quotient(self, value: ir.Value) -> tuple[ElementAccess, ElementAccess] | None:
        """The elements whose quotient a value is; None for another value."""
        op = made_by(plain(value))
        if op is not None and op.name == "arith.divf":
            return self.load(op.operands[0]), self.load(op.operands[1])
        if op is not None and op.name == "arith.mulf":
            for power, inverse in (tuple(op.operands), tuple(op.operands)[::-1]):
                one = made_by(plain(inverse))
                if one is not None and one.name == "arith.divf" and number(one.operands[0]) == 1:
                    return self.load(power), self.load(one.operands[1])
        return None

    def same_quotient(self, pair: tuple[ElementAccess, ElementAccess], tested: ir.Value) -> bool:
        """Whether a value is the quotient of these elements."""
        other = self.quotient(tested)
        return other is not None and all(a.buffer == b.buffer and same_place(a, b) for a, b in zip(pair, other))

    def difference(self, powers: BlockOp) -> tuple[ElementAccess, ElementAccess]:
        """What the exponentials are of: the score, and what is subtracted."""
        stores = [a for a in accesses_in([powers.block]) if a.writes]
        op = made_by(plain(stores[0].op.operands[0])) if len(stores) == 1 else None
        inner = made_by(plain(op.operands[0])) if op is not None and op.name == "math.exp" else None
        if inner is None or inner.name != "arith.subf":
            raise NoAttention(f"block '{powers.name}' computes no exponential of a difference")
        x, top = inner.operands
        return self.load(x), self.load(top)

    # --- blocks ---

    def written(self, load: ElementAccess, place: dict[int, int]) -> tuple[BlockOp, dict[int, int]]:
        """The only block that writes what is loaded, and the axes of ``second`` by its own; ``place``: those of the reader's axes."""
        reader = next(b for b in self.blocks if b.block == load.op.block)
        found = [b for b in self.blocks if any(a.writes and a.buffer == load.buffer for a in accesses_in([b.block]))]
        if len(found) != 1 or load.buffer.owner.operation.name != "tir.alloc_buffer":
            raise NoAttention("a buffer of its softmax is not written by one block, or is no buffer of the kernel's own")
        writer = found[0]
        stores = [a for a in accesses_in([writer.block]) if a.writes]
        mine, theirs = list(writer.block.arguments), list(reader.block.arguments)
        result = {}
        for index, read in zip(stores[0].indices, load.indices):
            if index in mine and read in theirs:
                result[mine.index(index)] = place.get(theirs.index(read), -1)
            elif not (constant_of(index) == 0 or (index in mine and writer.extents[mine.index(index)] == 1)) or not (
                    constant_of(read) == 0 or (read in theirs and reader.extents[theirs.index(read)] == 1)):
                raise NoAttention(f"block '{reader.name}' does not read what block '{writer.name}' writes axis by axis")
        spatial = [n for n, kind in enumerate(writer.kinds) if kind == SPATIAL and writer.extents[n] != 1]
        if len(stores) != 1 or any(n not in result for n in spatial) or -1 in result.values() or len(set(result.values())) < len(result):
            raise NoAttention(f"block '{reader.name}' does not read what block '{writer.name}' writes axis by axis")
        return writer, result

    def along(self, place: dict[int, int], block: BlockOp, keys: int) -> dict[int, int]:
        """The axes of ``second`` by those of a reduction over the keys."""
        axes = self.reduced(block)
        if len(axes) != 1 or keys in place.values():
            raise NoAttention(f"block '{block.name}' does not reduce the keys")
        return {**place, axes[0]: keys}

    @staticmethod
    def same(one: tuple[BlockOp, dict[int, int]], other: tuple[BlockOp, dict[int, int]]) -> None:
        """NoAttention where two elements are not the same."""
        if one[0].operation != other[0].operation or one[1] != other[1]:
            raise NoAttention("its sums or maxima are of other elements than its exponentials")

    def product(self, scores: BlockOp, place: dict[int, int]) -> tuple[SummedTerm, BlockOp | None, dict[int, int]]:
        """The first product, and the block between it and the softmax."""
        if self.reduced(scores):
            return combined(scores, "arith.addf"), None, place
        found = []
        for access in accesses_in([scores.block]):
            writers = [b for b in self.blocks if b.block != scores.block
                       and any(a.writes and a.buffer == access.buffer for a in accesses_in([b.block]))]
            if not access.writes and writers and self.reduced(writers[0]):
                found.append(access)
            elif not access.writes and writers:
                raise NoAttention(f"block '{scores.name}' reads a buffer of the kernel's own: inline the block that writes it")
        if len(found) != 1:
            raise NoAttention(f"block '{scores.name}' does not read one product")
        writer, of_first = self.written(found[0], place)
        return combined(writer, "arith.addf"), scores, of_first

    def sorted(self, first: SummedTerm, second: SummedTerm, between: BlockOp | None, softmax: tuple[BlockOp, BlockOp, BlockOp],
               value: ir.Value, keys: int, of_first: dict[int, int], of_scores: dict[int, int], guarded: bool) -> BlockAttention:
        """The form, with the roles of axes."""
        term = made_by(first.term)
        if term is None or term.name != "arith.mulf" or start_of(first.block) != 0:
            raise NoAttention(f"block '{first.block.name}' does not add up products, from 0")
        depth = self.reduced(first.block)
        sides = [{of_first.get(n) for n in axes_of(first.block, v)} for v in term.operands]
        if (keys in sides[0]) == (keys in sides[1]) or set(of_scores.values()) - set(of_first.values()):
            raise NoAttention("keys are an axis of one factor of its first product")
        n = 0 if keys in sides[0] else 1
        of_values = axes_of(second.block, value)
        if keys not in of_values:
            raise NoAttention("its values do not move along the keys")
        bodies = [first.block, second.block, *([] if between is None else [between])]
        if any(len(op.regions) for block in bodies for op in body(block.block)):
            raise NoAttention("it has conditions")
        spatial = [axis for axis, kind in enumerate(second.block.kinds) if kind == SPATIAL]
        weighted = set(of_scores.values())
        batch = tuple(a for a in spatial if a in weighted and (a in of_values or a in sides[n]))
        rows = tuple(a for a in spatial if a in weighted and a not in batch)
        columns = tuple(a for a in spatial if a not in weighted)
        if any(second.block.extents[a] != 1 and a not in of_values for a in columns):
            raise NoAttention("it writes one value to several elements")
        return BlockAttention(first, second, between, softmax, term.operands[1 - n], term.operands[n], value, batch, rows, columns, keys,
                              tuple(depth), of_first, of_scores, guarded)
