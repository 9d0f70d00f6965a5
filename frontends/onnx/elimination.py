"""What Gaussian eliminations of square matrices share: their operand."""
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dim import Size
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Malformed


def square_matrices(node: OnnxNode) -> tuple[ir.Value, list[Size], Size]:
    """The input as [matrices, rows, rows], its sizes before the last two axes, and its rows. Malformed where it has no square matrices;
    where only a call can tell, the call is checked."""
    *batch, rows, columns = sizes = list(node.dims())
    if len(sizes) < 2 or (isinstance(rows, int) and isinstance(columns, int) and rows != columns):
        raise Malformed(f"its input must be square matrices, has the shape {sizes}")
    if rows != columns:
        node.require_equal(rows, columns, f"square matrices, and has {rows} rows and {columns} columns")
    return relax.reshape(node.x(), shape=[relax.dims.product(batch), rows, rows]), batch, rows
