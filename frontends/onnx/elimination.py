"""What Gaussian eliminations of square matrices share: their operand, and the choice of pivots."""
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dim import Size
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Malformed
from legato.frontends.onnx.regions import Turn


def square_matrices(node: OnnxNode) -> tuple[ir.Value, list[Size], Size]:
    """The input as [matrices, rows, rows], its sizes before the last two axes, and its rows. Malformed where it has no square matrices;
    where only a call can tell, the call is checked."""
    *batch, rows, columns = sizes = list(node.dims())
    if len(sizes) < 2 or (isinstance(rows, int) and isinstance(columns, int) and rows != columns):
        raise Malformed(f"its input must be square matrices, has the shape {sizes}")
    if rows != columns:
        node.require_equal(rows, columns, f"square matrices, and has {rows} rows and {columns} columns")
    return relax.reshape(node.x(), shape=[relax.dims.product(batch), rows, rows]), batch, rows


def pivot_order(row: ir.Value, column: ir.Value, at: Turn) -> tuple[ir.Value, ir.Value]:
    """The row of each matrix whose element in a column is the greatest, from the step's own row on, [matrices, 1], and the rows in the
    order in which these two have changed places, [matrices, rows]. ``row``: the rows' numbers, [1, rows]; ``column``: [matrices, rows]."""
    minus = relax.constant(relax.TensorType.of(column.type).dtype.type(-1))
    best = relax.argmax(relax.where(relax.less(row, at.number), minus, relax.abs(column)), axis=1)
    best = relax.expand_dims(best, axis=[1])
    return best, relax.where(relax.equal(row, best), at.number, relax.where(relax.equal(row, at.number), best, row))
