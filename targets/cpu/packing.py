"""The packed layout of a kernel's weight: blocks of the register tile's columns, the reductions of each block contiguous."""
from dataclasses import dataclass

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.contraction import VIEWS
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.targets.cpu.contraction import tiles_of
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.matrix_tiles import matrix_depth


@dataclass(frozen=True)
class Packing:
    """A layout for one argument of a kernel: ``packed[outer..., 1..., tile]``, read by one operand of one op.

    The argument is read in the shape ``shape``. Its dimensions are put into the order ``order``; the last of them, the columns, is cut
    into blocks of ``tile`` (the last block is padded with zeros). ``outer`` is the order of the packed dimensions, as numbers of the
    reordered ones, where the number of blocks takes the place of the columns. So ``[K, N]`` with order (0, 1), outer (1, 0) and tile 32
    becomes ``[ceil(N / 32), K, 1, 32]``. ``trailing`` dimensions follow the columns in the order, and stand whole after the tile:
    ``[K, 4, N]`` with order (0, 2, 1), outer (1, 0, 2), tile 32 and 1 trailing becomes ``[ceil(N / 32), K, 1, 1, 32, 4]``. ``depth``: a
    divisor of the size of the dimension before the columns, by which it is cut into blocks, too: with depth 16 that becomes
    ``[ceil(N / 32), K / 16, 1, 16, 32, 4]``.
    """

    argument: int
    op: ir.Operation
    operand: int
    shape: tuple[int, ...]
    order: tuple[int, ...]
    outer: tuple[int, ...]
    tile: int
    trailing: int = 0
    depth: int = 1


def choose_packing(kernel: StructuredKernel, machine: Machine) -> Packing | None:
    """The packing of a kernel's weight if it is constant; None where the kernel has no weight, or reads it best unpacked."""
    form = kernel.contraction
    if form is None:
        return None
    value = form.op.operands[form.weight]
    argument = _argument(value)
    if argument is None or not value.type.has_static_shape or (form.is_window and form.extents[form.reductions[-1]] == 1):
        return None
    loops = form.heart.loops_of(form.weight)
    if None in loops or form.column not in loops:
        return None
    columns = loops.index(form.column)
    behind = () if form.group is None else (loops.index(form.group),)
    order = (*(d for d in range(len(loops)) if d not in (columns, *behind)), columns, *behind)
    in_order = order == tuple(range(len(loops)))
    depth = matrix_depth(form, machine)
    tile = tiles_of(form, machine, matrices=depth is not None).columns[0]
    if in_order and form.extents[form.column] == tile:
        return None
    if not in_order and "indexing_maps" not in form.op.attributes:
        return None
    batch = [d for d in range(len(order)) if loops[order[d]] in form.batch]
    place = len(order) - 1 - len(behind)
    outer = (*batch, place, *(d for d in range(len(order)) if d not in (*batch, place)))
    return Packing(argument.arg_number, form.op, form.weight, tuple(value.type.shape), order, outer, tile, len(behind), depth or 1)


def _argument(value: ir.Value) -> ir.BlockArgument | None:
    """The argument that a value is, or is a reshape of; None where anything else reads it."""
    while len(list(value.uses)) == 1:
        op = defining_op(value)
        if op is None:
            return ir.BlockArgument(value)
        if op.name not in VIEWS:
            return None
        value = op.operands[0]
    return None
