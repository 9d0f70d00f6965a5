"""Blocks of threads that stay on a multiprocessor, one on each, and compute one tile of a grid after the other (tir-specialize-warps)."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from legato.core.ir_helpers import find, index
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.tiles import MULTIPROCESSORS

AXES = "xyz"
RESIDENT = 128     # blocks that a large device runs at once, one on each multiprocessor


@dataclass(frozen=True)
class ResidentTiles:
    """The loop of a block over its tiles, and where in the grid that the kernel was written for a step of it is: what the kernel had of
    ``gpu.block_id``, and the value that takes its place."""

    loop: scf.ForOp
    places: dict[ir.Value, ir.Value]

    @property
    def done(self) -> ir.Value:
        """What steps before have carried to this one: the number of their own steps."""
        return self.loop.inner_iter_args[0]


def tile_loop(numbers: Sequence[ir.Value], grid: Sequence[ir.Value]) -> ResidentTiles:
    """Makes the loop at the insertion point. ``numbers``: the kernel's ``gpu.block_id``; ``grid``: the sizes of the grid that it was
    written for, whose blocks come in the order in which a device launches them."""
    total = multiplied(grid)
    first, by = (ir.Operation.create(name, [ir.IndexType.get()], [], {"dimension": ir.Attribute.parse("#gpu<dim x>")}).results[0]
                 for name in ("gpu.block_id", "gpu.grid_dim"))
    loop = scf.ForOp(first, total, by, [index(0)])
    with ir.InsertionPoint(loop.body):
        rest, places = loop.induction_variable, []
        for size in grid[:2]:
            places.append(arith.RemUIOp(rest, size).result)
            rest = arith.DivUIOp(rest, size).result
        places.append(rest)
        scf.YieldOp([loop.inner_iter_args[0]])
    return ResidentTiles(loop, {value: places[axis_of(value)] for value in numbers})


def count_steps(tiles: ResidentTiles, bounds: Sequence[ir.Value]) -> None:
    """Lets a tile loop carry the steps of the loop with these bounds, too; they are known where it ends."""
    lower, upper, by = bounds
    end = tiles.loop.body.operations[len(tiles.loop.body.operations) - 1].operation
    with ir.InsertionPoint(end):
        steps = arith.CeilDivUIOp(arith.SubIOp(upper, lower).result, by).result
        end.operands[0] = arith.AddIOp(tiles.done, steps).result


def multiplied(sizes: Sequence[ir.Value]) -> ir.Value:
    """A product of indices."""
    whole = sizes[0]
    for size in sizes[1:]:
        whole = arith.MulIOp(whole, size).result
    return whole


def axis_of(number: ir.Value) -> int:
    """The axis of a ``gpu.block_id``."""
    return next(n for n, axis in enumerate(AXES) if f"dim {axis}>" in str(number.owner.operation.attributes["dimension"]))


def block_numbers(kernel: ir.Operation) -> list[ir.Value]:
    """What a kernel has of ``gpu.block_id``."""
    return [op.results[0] for op in find(kernel, "gpu.block_id")]


def known_sizes(launches: Sequence[ir.Operation]) -> list[int] | None:
    """The sizes of the grid that all launches have, if they are constant."""
    found = {tuple(constant_of(v) for v in list(op.operands)[:3]) for op in launches}
    sizes = [size for size in next(iter(found)) if size is not None] if len(found) == 1 else []
    return sizes if len(sizes) == len(AXES) else None


def worthwhile(sizes: Sequence[int] | None) -> bool:
    """Whether a block of a grid may get several tiles: of few, each has a block of its own, which keeps fewer registers. ``sizes``: of the
    grid, None where they are known at run time only."""
    return sizes is None or prod(sizes) > RESIDENT


def resident(grid: Sequence[ir.Value]) -> list[ir.Value]:
    """The sizes of a grid with a block for each multiprocessor, at most, made on the host."""
    many = ir.Operation.create(MULTIPROCESSORS, [ir.IndexType.get()], []).results[0]
    return [arith.MinUIOp(multiplied(grid), many).result, index(1), index(1)]
