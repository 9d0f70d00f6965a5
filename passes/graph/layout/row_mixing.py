"""Products with constant matrices along the rows of a value, not its columns: ``(x^T W)^T`` is ``W^T x``, which transposes no value."""
from legato.core.ir_helpers import only_use
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.functions import is_constant, permutation_of

MOST_BETWEEN = 8     # elementwise ops on a product


def exchanges_rows(op: ir.Operation | None) -> bool:
    """Whether an op is a permute_dims that exchanges the last two dimensions."""
    if op is None or op.name != "relax.permute_dims" or op.operands[0].type.rank < 2:
        return False
    rank = op.operands[0].type.rank
    return permutation_of(op) == (*range(rank - 2), rank - 1, rank - 2)


def mixes_rows(op: ir.Operation) -> bool:
    """Whether a permute_dims exchanges rows and columns for one product with a constant matrix, whose result is exchanged back."""
    use = only_use(op.results[0]) if exchanges_rows(op) and op.operands[0].type.rank > 2 else None
    product = None if use is None else use.owner.operation
    return product is not None and product.name == "relax.matmul" and product.operands[0] == op.results[0] and (
        is_matrix(product.operands[1]) and is_exchanged(product.results[0]))


def is_exchanged(value: ir.Value) -> bool:
    """Whether elementwise ops with constants, and nothing else, lead from a value to a permute_dims that exchanges its rows and columns."""
    for _ in range(MOST_BETWEEN):
        use = only_use(value)
        reader = None if use is None else use.owner.operation
        if reader is None or exchanges_rows(reader):
            return reader is not None
        cls = relax.op_class(reader)
        if cls is None or not cls.ELEMENTWISE or any(one != value and not is_constant(one) for one in reader.operands):
            return False
        value = reader.results[0]
    return False


def is_matrix(value: ir.Value) -> bool:
    """Whether a value is a constant matrix."""
    return is_constant(value) and value.type.rank == 2
