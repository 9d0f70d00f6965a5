"""The difference of two integers that are data, where it depends on sizes alone: ``(at + seq) - at``."""
import operator

import numpy as np

from legato.core.dtypes import array_of
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Dim, Size

_SAME = ("relax.reshape", "relax.astype", "tensor.from_elements", "arith.index_cast")
_JOINED = {"relax.add": operator.add, "arith.addi": operator.add, "relax.subtract": operator.sub, "relax.multiply": operator.mul,
           "arith.muli": operator.mul}
_CONSTANT = ("relax.constant", "arith.constant")


def difference(a: ir.Value, b: ir.Value) -> Size | None:
    """a - b of two tensors of one int64 each; None where it depends on data."""
    opaque: dict[ir.Value, Dim] = {}
    found = _polynomial(a, opaque) - _polynomial(b, opaque)
    return None if dims.symbols(found) & {str(symbol) for symbol in opaque.values()} else found


def _polynomial(value: ir.Value, opaque: dict[ir.Value, Dim]) -> Size:
    """An integer as an expression of sizes and, for each value that is not computed from these, of a symbol that no model can name."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is not None and all(map(_is_one_integer, (value, *op.operands))):
        if op.name in _CONSTANT and "value" in op.attributes:
            return _number(op.attributes["value"])
        if op.name in _SAME:
            return _polynomial(op.operands[0], opaque)
        if op.name in _JOINED:
            return _JOINED[op.name](*(_polynomial(operand, opaque) for operand in op.operands))
    if op is not None and op.name == "tensor.dim":
        tensor, axis = op.operands
        size = dims.dims(tensor.type)[_number(axis.owner.attributes["value"])]
        if size is not dims.UNKNOWN:
            return size
    return opaque.setdefault(value, dims.symbol(f"%{len(opaque)}"))


def _number(attribute: ir.Attribute) -> int:
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else array_of(attribute).item()


def _is_one_integer(value: ir.Value) -> bool:
    """Whether a value is an integer of 64 bits, of which sizes are, or a tensor of one."""
    if not isinstance(value.type, ir.RankedTensorType):
        return isinstance(value.type, ir.IndexType) or value.type == ir.IntegerType.get_signless(64)
    found = relax.TensorType.of(value.type)
    return found.dtype == np.int64 and all(size == 1 for size in found.dims)
