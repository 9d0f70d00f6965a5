"""The relax dialect: graphs of tensor ops with symbolic shapes.

``relax.<op>(operands..., attribute=value, ..., loc=None, ip=None)`` builds an op at the insertion point, infers its type, and returns its
result. ``OPS`` lists the op classes by name; ``semantics`` maps op names to their numpy semantics. docs/relax-ops.md describes each op.
"""

from collections.abc import Callable

from legato.dialects.relax import dims
from legato.dialects.relax.calls import call_dps_packed, call_packed
from legato.dialects.relax.dialect import DimsAttr, Relax
from legato.dialects.relax.graph import attributes_of, evaluate, graph_ops, has_symbols, infer_op, op_class
from legato.dialects.relax.op import SEMANTICS as semantics
from legato.dialects.relax.op import GraphOp, graph_op, signature
from legato.dialects.relax.ops import Concat
from legato.dialects.relax.ops.constant import constant, weight
from legato.dialects.relax.types import TensorType

__all__ = [
    "OPS", "DimsAttr", "Relax", "TensorType", "attributes_of", "call_dps_packed", "call_packed", "constant", "dims", "evaluate", "graph_op",
    "graph_ops", "has_symbols", "infer_op", "op_class", "semantics", "weight",
]  # fmt: skip

Relax.OPS["concat"] = Concat
OPS: dict[str, type[GraphOp]] = Relax.OPS


def _builder(name: str, cls: type) -> Callable:
    def build(*args, **kwargs):
        return cls.build(*args, **kwargs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = cls.__doc__
    build.__signature__ = signature(cls)
    return build


globals().update({name: _builder(name, cls) for name, cls in OPS.items() if name != "constant"})


def __getattr__(name: str):
    raise AttributeError(f"relax has no op or function '{name}'")
