"""Tiles of contractions for AMX, whose registers are matrices: 16 rows of 64 bytes.

Two by two of them are accumulators of 32 rows and 32 columns. A step of the reduction reads two matrices of each factor, 16 groups of
neighbouring elements (pairs of bf16, four bytes) deep, and multiplies them by four instructions. What is left of the rows, and of the
columns, has accumulators of fewer of either.
"""
from legato.analysis.structured import ContractionForm
from legato.analysis.structured.groups import ENOUGH_ROWS_OF_BYTES, SIDE, depth_of, fills_registers
from legato.analysis.structured.ops import bits_of
from legato.core.mlir import ir
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.register_tiles import RegisterTiles, binary

ROWS = COLUMNS = 2 * SIDE


def matrix_depth(form: ContractionForm, machine: Machine) -> int | None:
    """The groups in a step of the reduction of a form that is computed by instructions on matrices, and whose weight is packed so; None
    where the machine has none for it, as for integers of 16 bits, or others are faster for its shape."""
    if form.group is None or form.is_window or len(form.reductions) < 2:
        return None
    groups = form.extents[form.reductions[-2]]
    element = form.heart.inputs[0].type.element_type
    if isinstance(element, ir.BF16Type):    # in groups only where it gains: tir-group-factors
        return depth_of(groups) if machine.has("amx-bf16") else None
    rows = 1 if form.row is None else form.extents[form.row]
    gains = fills_registers(rows, form.extents[form.column], groups, ENOUGH_ROWS_OF_BYTES)
    return depth_of(groups) if gains and machine.has("amx-int8") and bits_of(element) == 8 else None


def matrix_tiles(rows: int | None, columns: int, width: int | None = None) -> RegisterTiles:
    """The tiles for a product of ``rows`` by ``columns``. ``width``: the first width of columns, if it is given."""
    first = min(COLUMNS, 1 << columns.bit_length() - 1) if width is None else width
    widths = ((first,) if columns >= first else ()) + binary(columns % first)
    if rows is None:
        return RegisterTiles(tuple(ROWS >> i for i in range(ROWS.bit_length())), widths)
    tile = min(ROWS, rows)
    return RegisterTiles((tile, rows % tile) if rows % tile else (tile,), widths)
