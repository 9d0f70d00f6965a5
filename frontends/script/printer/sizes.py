"""The sizes of a graph's tensors as expressions of symbols, with relax's dims in the types or without."""

from typing import Any

from legato.core.mlir import func, ir
from legato.dialects.relax import dims
from legato.dialects.relax.markers import SIGNATURE
from legato.dialects.tir.loops import constant_of

CASTS = ("builtin.unrealized_conversion_cast", "tensor.cast", "tensor.bitcast")


class GraphSizes:
    """Finds sizes, and collects in ``used`` the symbols that were printed; each needs a line ``n = T.int64()``."""

    def __init__(self, function: func.FuncOp):
        self.used: dict[str, None] = {}
        attributes = function.attributes
        arguments = list(function.arguments)
        types = attributes[SIGNATURE].value.inputs if SIGNATURE in attributes else [a.type for a in arguments]
        self.known = {a: dims.dims(t) for a, t in zip(arguments, types) if not isinstance(t, ir.IndexType)}

    def of(self, value: ir.Value) -> tuple[Any, ...]:
        """The sizes of a tensor; UNKNOWN for those that no type, cast or op determines."""
        if value in self.known:
            return self.known[value]
        named = [u.owner.operation.results[0].type for u in value.uses if u.owner.operation.name in CASTS]
        found = next((dims.dims(t) for t in (value.type, *named) if dims.UNKNOWN not in dims.dims(t)), dims.dims(value.type))
        owner = value.owner
        if dims.UNKNOWN in found and not isinstance(owner, ir.Block):
            found = self.made(owner.operation, ir.OpResult(value).result_number, found)
        self.known[value] = found
        return found

    def made(self, op: ir.Operation, number: int, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """The sizes of an op's result, from its operands."""
        if op.name in CASTS:
            return self.of(op.operands[0])
        if op.name == "func.call":
            return self.of(op.operands[len(op.operands) - len(op.results) + number])
        if op.name in ("tensor.empty", "tensor.expand_shape"):
            sizes = iter(list(op.operands)[1 if op.name == "tensor.expand_shape" else 0:])
            known = [self.integer(next(sizes)) if s is dims.UNKNOWN else s for s in found]
            return tuple(dims.UNKNOWN if s is None else s for s in known)
        if op.name == "tensor.collapse_shape":
            groups = [[ir.IntegerAttr(i).value for i in ir.ArrayAttr(g)] for g in ir.ArrayAttr(op.attributes["reassociation"])]
            sizes = self.of(op.operands[0])
            return tuple(dims.product([sizes[i] for i in group]) for group in groups)
        return found

    def integer(self, value: ir.Value) -> Any:
        """The size that an integer value is; None where it is not computed from sizes."""
        number = constant_of(value)
        if number is not None:
            return number
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        name, operands = owner.name, list(owner.operands)
        if name == "tensor.dim" and (axis := constant_of(operands[1])) is not None:
            return self.of(operands[0])[axis]
        build = {"arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b, "arith.muli": lambda a, b: a * b,
                 "arith.floordivsi": dims.floor_divide, "arith.remsi": dims.modulo, "arith.maxsi": dims.maximum,
                 "arith.minsi": dims.minimum}
        if name not in build:
            return None
        a, b = (self.integer(v) for v in operands)
        return None if a is None or b is None or dims.UNKNOWN in (a, b) else build[name](a, b)

    def shown(self, size: Any) -> str:
        """The source of a size."""
        if not isinstance(size, int):
            self.used |= dict.fromkeys(sorted(dims.symbols(size)))
        return str(size)
