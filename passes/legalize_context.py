"""What a legalization rule sees of an op: its attributes, types and operands as Python values."""
from collections.abc import Sequence
from typing import Any

from ..dialects import relax, tir
from ..dialects.relax import dims
from ..mlir import arith, builtin, func, ir

CONSTANT = "relax.constant"
GRAPH_OPS_UPSTREAM = ("tensor.concat",)


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """``value`` as the same tensor in relax's type or in the plain one; these casts vanish when the types are stripped."""
    return value if value.type == type_ else builtin.unrealized_conversion_cast([type_], [value])


class OpContext:
    """One op as a rewrite rule sees it. ``attrs``: its attributes as Python values; ``input_types``, ``output_types``: its relax types."""

    def __init__(self, op: Any, operands: Sequence[ir.Value], function: func.FuncOp):
        self.op, self.name = op, op.operation.name
        self.attrs = relax.attributes_of(op)
        self.operands = list(operands)
        self.input_types = [v.type for v in operands]
        self.output_types = [r.type for r in op.operation.results]
        self._function = function

    def index(self, dim: Any) -> ir.Value:
        """The run-time value of a dimension (int or symbolic), as an index."""
        if isinstance(dim, int):
            return arith.ConstantOp(ir.IndexType.get(), dim).result
        return dims.materialize(dim, self._function)

    def sizes(self, type_: ir.Type) -> list[ir.Value]:
        """The index values of a relax type's dynamic dimensions, in order."""
        return [self.index(d) for d, s in zip(dims.dims(type_), dynamic(type_)) if s]

    def plain(self, value: ir.Value) -> ir.Value:
        """``value`` without encoding and signedness."""
        return cast(value, tir.plain_type(value.type))


class KernelContext:
    """One op as a kernel rule sees it, inside the prim_func; ``index`` gives dimensions that the attributes name."""

    def __init__(self, context: OpContext, scalars: dict[Any, ir.Value]):
        self.op, self.name, self.attrs = context.op, context.name, context.attrs
        self.input_types, self.output_types = context.input_types, context.output_types
        self._scalars = scalars

    def index(self, dim: Any) -> ir.Value:
        """The index value of a dimension: a constant, or the prim_func's argument that carries it."""
        return arith.ConstantOp(ir.IndexType.get(), dim).result if isinstance(dim, int) else self._scalars[dim]


def dynamic(type_: ir.Type) -> list[bool]:
    """For each dimension whether it is dynamic."""
    return [type_.is_dynamic_dim(i) for i in range(type_.rank)]


def symbols_in(value: Any) -> list[Any]:
    """The symbolic dimensions in attribute values, each once, in order."""
    found: dict[Any, None] = {}

    def visit(v: Any) -> None:
        if isinstance(v, dict):
            v = list(v.values())
        if isinstance(v, (list, tuple)):
            for item in v:
                visit(item)
        elif isinstance(v, dims.Dim):
            found[v] = None

    visit(value)
    return list(found)


def splat(value: ir.Value) -> ir.Attribute | None:
    """The value of a constant whose elements are all equal: it goes into the kernel instead of being passed."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != CONSTANT or "value" not in owner.attributes:
        return None
    dense = owner.attributes["value"]
    return dense if isinstance(dense, ir.DenseElementsAttr) and dense.is_splat else None
