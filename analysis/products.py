"""Blocks that are products: sums over reduce axes of products of two elements, and which axes are rows, columns and batch of them."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from legato.analysis.accesses import ElementAccess, accesses_in
from legato.analysis.indices.forms import linear
from legato.core.ir_helpers import body
from legato.core.mlir import ir
from legato.dialects.tir.loops import REDUCE, SPATIAL, BlockOp
from legato.dialects.tir.markers import ROWS

SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}
CASTS = ("arith.extf", "arith.extsi", "arith.extui", "arith.truncf", "arith.trunci", "arith.sitofp", "arith.uitofp",
         "arith.bitcast")   # 0 stays 0


class NoProduct(Exception):
    """Why a block is no product."""


@dataclass(frozen=True)
class ProductForm:
    """A product ``C[b, m, n] += A[b, m, k] * B[b, k, n]``, each of whose letters stands for any number of the block's axes, by number;
    axes of one value may be none of them.

    ``left``, ``right``: the loads of A and B, and ``factors`` their values as they are multiplied, after casts; ``old``: the load of C;
    ``store``: C's store. The last axis of C that has more than one value is
    a column (or a batch). Each list of axes begins with the slowest: in C, or in the operand whose last index a reduce axis is.
    """

    block: BlockOp
    left: ElementAccess
    right: ElementAccess
    factors: tuple[ir.Value, ir.Value]
    old: ElementAccess
    store: ElementAccess
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]

    def extent(self, axes: Sequence[int]) -> int | None:
        """The number of values of several axes together; None where it is not known."""
        total = 1
        for axis in axes:
            one = self.block.extents[axis]
            if one is None:
                return None
            total *= one
        return total

    def known_part(self, axes: Sequence[int]) -> int:
        """The product of those of several axes' numbers of values that are known."""
        return prod(one for axis in axes if (one := self.block.extents[axis]) is not None)

    @property
    def least_rows(self) -> int:
        """The least that the unknown sizes of its result are together where the kernel is launched; 0 where it is launched for any."""
        return least_rows(self.block.operation)

    @property
    def has_many_rows(self) -> bool:
        """Whether the kernel is launched for many rows only, where their number is not known."""
        return self.least_rows > 0

    def run(self, access: ElementAccess, axes: Sequence[int]) -> int:
        """A number of values of the last of some axes for which an access moves by one element in each step, such that each such run
        begins at a multiple of the number in memory; 1 where there is none.
        """
        if not axes or not access.indices:
            return 1
        variable, extent, size = self.block.block.arguments[axes[-1]], self.block.extents[axes[-1]], access.buffer.type.shape[-1]
        form = linear(access.indices[-1])
        if extent is None or size < 0 or form.coefficient(variable) != 1 or not isinstance(form.constant, int):
            return 1
        if any(axes[-1] in axes_of(self.block, one) for one in access.indices[:-1]) or any(
                axes[-1] in axes_of(self.block, term) for term in form.terms if isinstance(term, ir.Value) and term != variable):
            return 1
        return gcd(extent, size, form.constant, *(number for term, number in form.terms.items() if term != variable))


def least_rows(op: ir.Operation) -> int:
    """The least that the unknown sizes of the result of a kernel, by it or an op in it, are together where it is launched; 0 for any."""
    while op.name != "func.func" and op.parent is not None:
        op = op.parent.operation
    if ROWS not in op.attributes:
        return 0
    least, most = ir.DenseI64ArrayAttr(op.attributes[ROWS])
    return least if most == -1 else 0


def axes_of(block: BlockOp, value: ir.Value) -> set[int]:
    """The axes that a value in a block's body is computed from."""
    arguments = list(block.block.arguments)
    if value in arguments:
        return {arguments.index(value)}
    if isinstance(value.owner, ir.Block) or value.owner.operation.block != block.block:
        return set()
    return {axis for operand in value.owner.operation.operands for axis in axes_of(block, operand)}


def same_place(one: ElementAccess, other: ElementAccess) -> bool:
    """Whether two accesses are of one element."""
    return all(a == b or linear(a) == linear(b) for a, b in zip(one.indices, other.indices))


def factor(value: ir.Value) -> ElementAccess:
    """The load that a factor is, through casts. NoProduct for anything else."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in CASTS:
        value = value.owner.operation.operands[0]
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "memref.load":
        raise NoProduct("a factor is no element of a buffer")
    return ElementAccess(value.owner.operation)


def maker(value: ir.Value, name: str) -> ir.Operation | None:
    """The op of that name that computes a value."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) or owner.operation.name != name else owner.operation


def multiplied_as(factor: ir.Value) -> tuple[ir.Value, str]:
    """What a factor is before it is widened, and the type as which a matrix instruction takes it: that of the value, of an 8-bit float
    that its byte is, or that of a signed or unsigned byte (``s8``, ``u8``)."""
    for cast, byte in (("arith.extsi", "s8"), ("arith.extui", "u8")):
        if (op := maker(factor, cast)) is not None and op.operands[0].type.width == 8:
            return op.operands[0], byte
    if (op := maker(factor, "arith.extf")) is not None and str(factor.type) == "f32":
        narrow = op.operands[0]
        code = maker(narrow, "arith.bitcast")
        return (narrow if code is None else code.operands[0]), str(narrow.type)
    return factor, str(factor.type)


def product_of(block: BlockOp) -> ProductForm:
    """The form of a block. NoProduct for one that is none, with the reason."""
    found = accesses_in([block.block])
    stores, loads = [a for a in found if a.writes], [a for a in found if not a.writes]
    if block.init_block is None or len(stores) != 1 or len(loads) != 3:
        raise NoProduct("it does not read two elements, and add to one that it has initialized")
    store = stores[0]
    total = store.op.operands[0].owner
    if isinstance(total, ir.Block) or total.operation.name not in SUMS:
        raise NoProduct("it does not add")
    sides = list(total.operation.operands)
    mine = [n for n, v in enumerate(sides) if not isinstance(v.owner, ir.Block) and v.owner.operation.name == "memref.load"
            and ElementAccess(v.owner.operation).buffer == store.buffer]
    if len(mine) != 1 or not same_place(ElementAccess(sides[mine[0]].owner.operation), store):
        raise NoProduct("it does not add to the element that it writes")
    term = sides[1 - mine[0]].owner
    if isinstance(term, ir.Block) or term.operation.name != SUMS[total.operation.name]:
        raise NoProduct("what it adds is no product")
    factors = tuple(term.operation.operands)
    left, right = (factor(v) for v in factors)
    if left.op == right.op or any(op.operation.block != block.block for op in (left.op, right.op, store.op)):
        raise NoProduct("it does not read two elements, unconditionally")
    if any(len(op.regions) for op in body(block.block)):
        raise NoProduct("it has conditions")
    return _sorted(block, [(left, factors[0]), (right, factors[1])], ElementAccess(sides[mine[0]].owner.operation), store)


def _sorted(block: BlockOp, operands: list[tuple[ElementAccess, ir.Value]], old: ElementAccess, store: ElementAccess) -> ProductForm:
    """The form, its operands in the order in which the second has the columns."""
    (left, _), (right, _) = operands
    uses = {id(a): set().union(*(axes_of(block, v) for v in a.indices)) for a in (left, right, store)}
    long = [n for n, e in enumerate(block.extents) if e != 1]
    spatial = [n for n, kind in enumerate(block.kinds) if kind == SPATIAL]
    depth = [n for n, kind in enumerate(block.kinds) if kind == REDUCE]
    written = [n for v in store.indices for n in sorted(axes_of(block, v))]
    if sorted(n for n in written if n in long) != [n for n in spatial if n in long] or len(depth) + len(spatial) != len(block.kinds):
        raise NoProduct("it does not write one element for each value of its spatial axes")
    last = next((n for n in reversed(written) if n in long), None)
    if last is not None and last in uses[id(left)] and last not in uses[id(right)]:
        operands.reverse()
    (left, first), (right, second) = operands
    a, b = uses[id(left)], uses[id(right)]
    if any(n in long and n not in a and n not in b for n in spatial):
        raise NoProduct("it writes one value to several elements")
    batch = tuple(n for n in written if n in a and n in b)
    columns = tuple(n for n in written if n in b and n not in a)
    rows = tuple(n for n in written if n not in b)
    last_indices = [access.indices[-1] for access in (left, right) if access.indices]
    moved = [n for n in depth if block.block.arguments[n] in last_indices]
    inner = moved[-1:]
    return ProductForm(block, left, right, (first, second), old, store, batch, rows, columns,
                       (*(n for n in depth if n not in inner), *inner))
