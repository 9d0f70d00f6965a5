"""Other names of ops: torch's exporter promotes operands of two element types by the first name only, and has one of those of a view."""
import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
_NAMES = {
    aten.divide: aten.div, aten.multiply: aten.mul, aten.subtract: aten.sub, aten.greater: aten.gt, aten.greater_equal: aten.ge,
    aten.less: aten.lt, aten.less_equal: aten.le, aten.not_equal: aten.ne,
}
ALIASES = {getattr(alias, overload): getattr(op, overload) for alias, op in _NAMES.items()
           for overload in ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode") if overload in alias.overloads()}
ALIASES[torch.ops.prims.view_of.default] = aten.alias.default
