"""Matrices of subgroups on the CPU: vectors, which each thread of a subgroup loads, multiplies and stores by itself."""
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.tir.markers import FACTOR_TYPES

MATRICES = ("tir.load_matrix", "tir.multiply_matrices", "tir.store_matrix")
MAPS = "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"


def rewrite_matrices(region):
    """Puts upstream's ops on vectors in the places of a region's ops on matrices."""
    for op in find(region, *MATRICES):
        with ir.InsertionPoint(op), op.location:
            made = REWRITTEN[op.name](op)
        if made is not None:
            op.results[0].replace_all_uses_with(made)
        op.erase()


def load(op):
    """A part of a buffer, transposed where its rows are columns."""
    buffer, *place = op.operands
    rank, type_ = buffer.type.rank, op.results[0].type
    order = (rank - 1, rank - 2) if op.attributes["turned"].value else (rank - 2, rank - 1)
    is_float = isinstance(type_.element_type, ir.FloatType)
    zero = ir.FloatAttr.get(type_.element_type, 0.0) if is_float else ir.IntegerAttr.get(type_.element_type, 0)
    padding = ir.Operation.create("arith.constant", [type_.element_type], [], {"value": zero}).results[0]
    return ir.Operation.create("vector.transfer_read", [type_], [buffer, *place, padding], transfer(rank, order, 1)).results[0]


def store(op):
    """A part of a buffer is written."""
    matrix, buffer, *place = op.operands
    rank = buffer.type.rank
    ir.Operation.create("vector.transfer_write", [], [matrix, buffer, *place], transfer(rank, (rank - 2, rank - 1), None))


def transfer(rank, order, padding):
    """The attributes of a transfer of all elements."""
    axes = ", ".join(f"d{n}" for n in range(rank))
    segments = [1, rank, padding, 0] if padding else [1, 1, rank, 0]
    return {"permutation_map": ir.Attribute.parse(f"affine_map<({axes}) -> (d{order[0]}, d{order[1]})>"),
            "in_bounds": ir.Attribute.parse("[true, true]"), "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments)}


def multiply(op):
    """A product in the type of the sums."""
    left, right, added = op.operands
    left, right = (widened(v, added.type.element_type, one.value) for v, one in zip((left, right), op.attributes[FACTOR_TYPES]))
    kinds = ir.Attribute.parse('[#vector.iterator_type<parallel>, #vector.iterator_type<parallel>, #vector.iterator_type<reduction>]')
    return ir.Operation.create("vector.contract", [added.type], [left, right, added], {
        "indexing_maps": ir.Attribute.parse(MAPS), "iterator_types": kinds, "kind": ir.Attribute.parse("#vector.kind<add>")}).results[0]


def widened(value, element, factor):
    """A factor in another type."""
    if value.type.element_type == element:
        return value
    how = {"s8": "arith.extsi", "u8": "arith.extui"}.get(factor, "arith.extf")
    return ir.Operation.create(how, [ir.VectorType.get(value.type.shape, element)], [value]).results[0]


REWRITTEN = dict(zip(MATRICES, (load, multiply, store)))
