"""Scalar and vector ops by the rules of a target, after scheduling: what tir-legalize-intrinsics and tir-lower-intrinsics share.

*Legalize* replaces ops that the device lacks by expressions or statements of ops that it has; *lower* maps an intrinsic to an instruction
of the device or a library function. Ops without a rule are left to upstream's conversions; ops of tir, relax or a user's dialect, which
upstream does not know, are an error.
"""
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from legato.core import search
from legato.core.errors import Refusal
from legato.core.halves import is_half
from legato.core.interfaces import MachineLike, RuleLike, TargetLike
from legato.core.ir_helpers import element_of, find, kinds
from legato.core.locations import model_name
from legato.core.mlir import arith, ext, ir, vector
from legato.core.records import RuleRecord
from legato.dialects.tir.matrices import LOAD_MATRIX, MULTIPLY_MATRICES, STORE_MATRIX
from legato.dialects.tir.tiles import MULTIPROCESSORS, TENSOR_MAP
from legato.passes.legalize.conversion import MAX_ROUNDS, Conversion, RuleFailed, listed, named, values_of

HALF = ("f16", "bf16")
LATER = (TENSOR_MAP, MULTIPROCESSORS, LOAD_MATRIX, STORE_MATRIX, MULTIPLY_MATRICES)     # which tir-call-driver and tir-lower-matrices take
FUNCTIONS = ("func.func", "gpu.func", "llvm.func")


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """The type of the same shape with another element type."""
    return ir.VectorType.get(type_.shape, element, scalable=type_.scalable_dims) if isinstance(type_, ir.VectorType) else element


class IntrinsicContext:
    """A scalar or vector op for its rules.

    ``op``: the op; ``operands``: its operands, converted already, and promoted to f32 if the rule does not support their type;
    ``input_types``, ``output_types``: the types to compute in; ``machine``: the target's machine.
    """

    def __init__(self, op: Any, operands: Sequence[ir.Value], output_types: Sequence[ir.Type], machine: MachineLike | None):
        self.op, self.name, self.machine = op.operation, op.operation.name, machine
        self.operands = list(operands)
        self.input_types = [v.type for v in operands]
        self.output_types = list(output_types)

    @property
    def attrs(self) -> dict[str, Any]:
        """The op's attributes; numbers and strings as Python values."""
        found = {name: self.op.attributes[name] for name in self.op.attributes}
        return {name: getattr(a, "value", a) for name, a in found.items()}

    @property
    def dtype(self) -> str:
        """The element type of the first operand (``"f32"``), or of the result if there are no operands."""
        types = [*self.input_types, *self.output_types]
        return str(element_of(types[0])) if types else ""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """A vector's shape; None for scalars."""
        types = [*self.output_types, *self.input_types]
        return tuple(types[0].shape) if types and isinstance(types[0], ir.VectorType) else None

    def each(self, function: Callable[..., ir.Value]) -> ir.Value:
        """Computes the op element by element: calls ``function(*scalars)`` for each lane of a vector, once for scalars."""
        if self.shape is None:
            return function(*self.operands)
        if len(self.shape) == 1:
            lanes = [function(*(vector.ExtractOp(v, [], [i]).result for v in self.operands)) for i in range(self.shape[0])]
            return vector.FromElementsOp(self.output_types[0], lanes).result
        count = math.prod(self.shape)

        def flat(type_: ir.Type) -> ir.Type:
            return ir.VectorType.get([count], type_.element_type)

        operands = [vector.ShapeCastOp(flat(v.type), v).result for v in self.operands]
        lanes = [function(*(vector.ExtractOp(v, [], [i]).result for v in operands)) for i in range(count)]
        whole = vector.FromElementsOp(flat(self.output_types[0]), lanes).result
        return vector.ShapeCastOp(self.output_types[0], whole).result

    def promoted(self) -> "IntrinsicContext":
        """The same op on f32, with its operands extended at the insertion point."""
        f32 = ir.F32Type.get()
        operands = [arith.ExtFOp(with_element(v.type, f32), v).result if is_half(v.type) else v for v in self.operands]
        outputs = [with_element(t, f32) if is_half(t) else t for t in self.output_types]
        return IntrinsicContext(self.op, operands, outputs, self.machine)


def knows(rule: RuleLike, context: IntrinsicContext) -> bool:
    """Whether the rule supports the op's element type, directly or promoted to f32."""
    return not rule.dtypes or context.dtype in rule.dtypes or (context.dtype in HALF and "f32" in rule.dtypes)


class Intrinsics(Conversion):
    """Applies the rules of one moment to the scalar and vector ops of one module."""

    def __init__(self, module: ir.Module, target: TargetLike, report: list[RuleRecord], moment: str):
        super().__init__(module, target, report)
        self.moment = moment
        self.title = f"tir-{moment}-intrinsics"
        self.machine = target.machine
        self.elements: set[str] = set()     # the element types of the module's values, at the beginning of a round
        # if a nearer target lowers an op, the device supports it: legalizations of its ancestors do not apply
        self.depths = {t.name: depth for depth, t in enumerate(target.chain())}
        self.has: dict[str, list[tuple[TargetLike, RuleLike]]] = {}
        for nearer, rule in target.ranked("lower") if moment == "legalize" else ():
            self.has.setdefault(rule.op, []).append((nearer, rule))

    def run(self) -> None:
        """Converts until nothing changes."""
        for _ in range(MAX_ROUNDS):
            if not self.convert():
                return
        raise self.endless()

    def takes(self, rule: RuleLike) -> bool:
        return rule.form == "intrinsic"

    def convert(self, names: Iterable[str] | None = None) -> bool:
        functions = (one for one in find(self.module, *FUNCTIONS) if len(one.regions[0].blocks))
        arguments = (value.type for one in functions for value in one.regions[0].blocks[0].arguments)
        self.elements = {str(element_of(type_)) for type_ in {*search.by.result_types(self.module.operation), *arguments}}
        return super().convert(names)

    def may_apply(self, op: str, rules: Sequence[RuleLike]) -> bool:
        known = {dtype for rule in rules for dtype in rule.dtypes}
        if not all(rule.dtypes for rule in rules) or "f32" in known or not known.isdisjoint(self.elements):
            return True
        return op in unknown_upstream()     # complain says why each rule refuses it

    def key(self, op: Any) -> Any:
        operation = op.operation
        types = operation.results[0].type if len(operation.results) else operation.operands[0].type if len(operation.operands) else None
        return operation.name, types, model_name(op), enclosing(operation)

    def record(self, op: Any) -> RuleRecord:
        record = super().record(op)
        if record.type is None:
            record.type = next(iter((*record.results, *record.operands)), "")
            record.kernel = enclosing(op.operation)
        return record

    def context(self, op: Any, operands: Sequence[ir.Value]) -> IntrinsicContext:
        return IntrinsicContext(op, operands, [r.type for r in op.operation.results], self.machine)

    def apply(self, target: TargetLike, rule: RuleLike, context: IntrinsicContext) -> Any:
        for nearer, lowering in self.has.get(context.name, ()):
            if self.depths[nearer.name] < self.depths[target.name] and knows(lowering, context) and lowering.refusal(context) is None:
                return Refusal(f"target '{nearer.name}' lowers it by {lowering.name}")
        if not knows(rule, context):
            return Refusal(f"knows {', '.join(rule.dtypes)}, not {context.dtype}")
        promote = bool(rule.dtypes) and context.dtype not in rule.dtypes
        seen = context.promoted() if promote else context
        values = rule(seen, *seen.operands)
        if isinstance(values, Refusal):
            return values
        values = values_of(values) if values is not None or seen.output_types else []
        found = [v.type for v in values]
        if found != seen.output_types:
            raise RuleFailed(f"{self.who(target, rule)} gives {listed(found)} for {context.name}{named(model_name(context.op))}, whose "
                             f"results are {listed(seen.output_types)}")
        return [v if v.type == t else arith.TruncFOp(t, v).result for v, t in zip(values, context.output_types, strict=True)]

    def complain(self) -> None:
        """RuleError with all remaining ops of dialects that upstream does not know."""
        left = find(self.module, *{op.name for op in kinds(self.module)} & unknown_upstream() - set(LATER), inner_first=True)
        if left:
            raise self.complaint(left, "add a rule by @legato.legalize_intrinsic or @legato.lower_intrinsic for this target, or a parent")


def unknown_upstream() -> set[str]:
    """The names of ops of tir, relax and users' dialects."""
    return {op.OPERATION_NAME for d in ext.Dialect.__subclasses__() for op in d.operations if hasattr(op, "OPERATION_NAME")}


def enclosing(op: ir.Operation) -> str | None:
    """The name of the function that contains an op; None for one outside of functions."""
    parent = op.parent
    while parent is not None and parent.name not in FUNCTIONS:
        parent = parent.operation.parent
    return None if parent is None else ir.StringAttr(parent.attributes["sym_name"]).value
