"""tir-fill-vectors: vectors of a product's last columns, fewer than registers have lanes, become vectors of a power of two.

LLVM widens such vectors itself, but takes many ops on them apart into scalars: an exponential of 13 elements takes as long as the product
before it, and a sum of 24 twenty times as long as one of 32. Only reads and writes know that lanes behind the columns are not there: these
are zeros at first, and what is computed in them is not used.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from legato.core.ir_helpers import find, present, splat, terminator
from legato.core.mlir import arith, ir, vector
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

CONTRACT, CONSTANT, READ, WRITE = "vector.contract", "arith.constant", "vector.transfer_read", "vector.transfer_write"
ELEMENTWISE = ("arith", "math", "tir")      # dialects whose ops on vectors are
TRAPS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi")
PARTS = ("vector.extract", "vector.insert", "vector.insert_strided_slice")
CARRIED = 3     # operands of scf.for before the values that it carries

Tied = list[tuple[ir.Value, int]]     # vectors, and the dimension of each that is widened


@dataclass(frozen=True)
class FillVectors(ModulePass):
    """Widens the columns of a product's result, and what is computed of them, to a power of two; reads and writes get masks."""

    name: ClassVar[str] = "tir-fill-vectors"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                for product in find(kernel.operation, CONTRACT):
                    columns = Columns.of(product)
                    if columns is not None:
                        columns.widen()


@dataclass
class Columns:
    """The vectors that have to have as many columns as the result of a product, and the ops on these."""

    size: int
    axes: dict[ir.Value, int] = field(default_factory=dict)
    ops: dict[ir.Operation, None] = field(default_factory=dict)     # in the order they are found

    @classmethod
    def of(cls, product: ir.Operation) -> Columns | None:
        """Those of a product of columns that are no power of two. None where an op on one of them needs to know how many there are."""
        type_ = product.results[0].type
        if not isinstance(type_, ir.VectorType) or is_power_of_two(type_.shape[-1]):
            return None
        columns = cls(type_.shape[-1])
        return columns if columns._follow(product.results[0], type_.rank - 1) else None

    def _follow(self, value: ir.Value, axis: int) -> bool:
        """Finds all of them, from one on."""
        left = [(value, axis)]
        while left:
            value, axis = left.pop()
            if value in self.axes:
                if self.axes[value] != axis:
                    return False
                continue
            if not isinstance(value.type, ir.VectorType) or value.type.shape[axis] != self.size:
                return False
            self.axes[value] = axis
            owner = value.owner
            made_by = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
            for op in (made_by, *(use.owner.operation for use in value.uses)):
                tied = self._tied(op, value)
                if tied is None:
                    return False
                self.ops[op] = None
                left += tied
        return True

    def _tied(self, op: ir.Operation, value: ir.Value) -> Tied | None:
        """The vectors that an op ties to one of its own; None for an op that needs their sizes."""
        axis = self.axes[value]
        if op.name in ("scf.for", "scf.yield"):
            return carried(op, value, axis)
        if op.name == CONTRACT:
            return contraction(op, value, axis)
        if op.name in (READ, WRITE):
            return [] if is_whole(op) else None
        if op.name in ("vector.shape_cast", "vector.broadcast", "vector.transpose"):
            return rearranged(op, value, axis)
        if op.name in PARTS:
            return part_and_whole(op, value, axis)
        if op.name.partition(".")[0] not in ELEMENTWISE or op.name in TRAPS or len(op.regions):
            return [] if op.name == "ub.poison" else None
        if op.name == CONSTANT and splat(op.results[0], CONSTANT) is None:
            return None
        return [(one, axis) for one in (*op.operands, *op.results) if isinstance(one.type, ir.VectorType)]

    def widen(self) -> None:
        """Changes the types, and rewrites constants, reads and writes."""
        for value, axis in self.axes.items():
            shape = list(value.type.shape)
            shape[axis] = 1 << self.size.bit_length()
            value.set_type(ir.VectorType.get(shape, value.type.element_type))
        for op in self.ops:
            with ir.InsertionPoint(op), op.location:
                if op.name == CONSTANT:
                    element = present(splat(op.results[0], CONSTANT)).get_splat_value()
                    op.attributes["value"] = ir.DenseElementsAttr.get_splat(op.results[0].type, element)
                elif op.name in (READ, WRITE):
                    self._mask(op)

    def _mask(self, op: ir.Operation) -> None:
        """Gives a read or write a mask without the lanes that were not there."""
        place = 1 if op.name == READ else 2
        moved = op.results[0] if op.name == READ else op.operands[0]
        map_, bounds = op.attributes["permutation_map"], op.attributes["in_bounds"]
        axes = [axis for _, axis in sorted((one.position, axis) for axis, one in along(map_.value))]
        kind = ir.VectorType.get([moved.type.shape[axis] for axis in axes], ir.IntegerType.get_signless(1))
        there = [self.size if axis == self.axes[moved] else moved.type.shape[axis] for axis in axes]
        mask = vector.ConstantMaskOp(kind, there).result if self.axes[moved] in axes else None
        indices = list(op.operands)[place:place + op.operands[place - 1].type.rank]
        if op.name == READ:
            element = moved.type.element_type
            zero = arith.constant(element, 0 if isinstance(element, ir.IntegerType) else 0.0)
            moved.replace_all_uses_with(vector.TransferReadOp(moved.type, op.operands[0], indices, map_, zero, bounds, mask=mask).result)
        else:
            vector.TransferWriteOp(None, moved, op.operands[1], indices, map_, bounds, mask=mask)
        op.erase()


def is_power_of_two(size: int) -> bool:
    """Whether a size, of at least 1, is a power of two."""
    return size & (size - 1) == 0


def along(map_: ir.AffineMap) -> list[tuple[int, ir.AffineDimExpr]]:
    """The dimensions of a vector that a transfer moves along dimensions of its buffer: others are repeated."""
    return [(axis, one) for axis, one in enumerate(map_.results) if isinstance(one, ir.AffineDimExpr)]


def is_whole(transfer: ir.Operation) -> bool:
    """Whether a buffer is read or written in bounds, without a mask."""
    buffer = transfer.operands[0 if transfer.name == READ else 1]
    unmasked = len(transfer.operands) == buffer.type.rank + 2
    return unmasked and isinstance(buffer.type, ir.MemRefType) and all(flag.value for flag in transfer.attributes["in_bounds"])


def contraction(op: ir.Operation, value: ir.Value, axis: int) -> Tied | None:
    """The operands and the result that have the dimension, unless it is reduced."""
    maps = [one.value for one in op.attributes["indexing_maps"]]
    maps.append(maps[2])
    values = [*op.operands, op.results[0]]
    dim = maps[values.index(value)].results[axis].position
    places = [[one.position for one in map_.results] for map_ in maps]
    return [(one, place.index(dim)) for one, place in zip(values, places) if dim in place] if dim in places[-1] else None


def carried(op: ir.Operation, value: ir.Value, axis: int) -> Tied | None:
    """What a loop carries as the same value: at its start, in it, at the end of a step and after it."""
    loop = op if op.name == "scf.for" else op.parent.operation
    if loop.name != "scf.for":
        return None
    block = loop.regions[0].blocks[0]
    every = zip(list(loop.operands)[CARRIED:], list(block.arguments)[1:], terminator(block).operands, loop.results)
    return [(one, axis) for values in every if value in values for one in values]


def rearranged(op: ir.Operation, value: ir.Value, axis: int) -> Tied | None:
    """The other vector of a cast, a broadcast or a transposition; none where a broadcast repeats elements along the dimension."""
    source, result = op.operands[0], op.results[0]
    if op.name == "vector.transpose":
        order = list(op.attributes["permutation"])
        return [(source, order[axis])] if value == result else [(result, order.index(axis))]
    other = result if value == source else source
    if op.name == "vector.broadcast":
        place = axis + other.type.rank - value.type.rank if isinstance(other.type, ir.VectorType) else -1
        return [(other, place)] if place >= 0 and other.type.shape[place] != 1 else []
    shapes = [[(size, place) for place, size in enumerate(one.type.shape) if size != 1] for one in (value, other)]
    if [size for size, _ in shapes[0]] != [size for size, _ in shapes[1]]:
        return None
    return [(other, after) for (_, before), (_, after) in zip(*shapes) if before == axis]


def part_and_whole(op: ir.Operation, value: ir.Value, axis: int) -> Tied | None:
    """Both vectors of an extraction, or all of an insertion, where all columns are moved."""
    wholes = [op.operands[0]] if op.name == "vector.extract" else [op.operands[1], op.results[0]]
    part = op.results[0] if op.name == "vector.extract" else op.operands[0]
    outer = wholes[0].type.rank - part.type.rank if isinstance(part.type, ir.VectorType) else wholes[0].type.rank
    place = axis if value in wholes else axis + outer
    tied = [*((whole, place) for whole in wholes), (part, place - outer)]
    return tied if place >= outer and part.type.shape[place - outer] == wholes[0].type.shape[place] else None
