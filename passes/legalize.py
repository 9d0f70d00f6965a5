"""relax-legalize: graph ops become calls of prim_funcs, by the rules of a target and of its ancestors.

Every rule is one pattern of upstream's dialect conversion, with a benefit that falls with the distance of the target it belongs to. Dialect
conversion neither sees nor legalizes what Python builds, so the conversion is repeated until nothing changes, and what is left is looked
for afterwards and reported in one error.
"""
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..dialects import tir
from ..dialects.errors import LegatoError, Refusal
from ..dialects.locations import model_name
from ..dialects.module import Module
from ..mlir import arith, func, ir, rewrite
from .base import ModulePass, PassContext, TargetText, option
from .legalize_context import CONSTANT, GRAPH_OPS_UPSTREAM, KernelContext, OpContext, cast, splat, symbols_in

MAX_ROUNDS = 16


@dataclass
class Record:
    """What happened to one op: the rule that fired, and the nearer ones that refused, with their reasons."""

    op: str
    name: str | None
    target: str | None = None
    rule: str | None = None
    source: str | None = None
    refused: list[tuple[str, str, str]] = field(default_factory=list)


class Legalizer:
    """One run of the pass over one module."""

    def __init__(self, module: ir.Module, target: Any, report: list[Record]):
        self.module, self.target, self.report = module, target, report
        self.symbols = ir.SymbolTable(module.operation)
        self.kernels: dict[Any, str] = {}
        self.records: dict[tuple[str, str], Record] = {}
        self.changed = False

    def run(self) -> None:
        chain = self.target.chain()
        identity = lambda t: t  # noqa: E731  must outlive the converter, which keeps no reference
        converter = rewrite.TypeConverter()
        converter.add_conversion(identity)
        for _ in range(MAX_ROUNDS):
            ops = {op.operation.name for f in self.functions() for op in graph_ops(f)}
            if not ops:
                return
            patterns, keep = rewrite.RewritePatternSet(), []
            for depth, target in enumerate(chain):
                for rule in target.rules:
                    if rule.op in ops:
                        keep.append(self.pattern(target, rule))
                        benefit = (len(chain) - depth) * 100 + min(max(rule.priority, -49), 49)
                        patterns.add_conversion(rule.op, keep[-1], converter, benefit=benefit)
            self.changed = False
            # nothing is marked: what no rule takes stays where it is, so that all of it can be reported at once
            legal = rewrite.ConversionTarget()
            rewrite.apply_partial_conversion(self.module.operation, legal, patterns.freeze())
            if not self.changed:
                break
        self.complain(chain)

    def functions(self) -> list[func.FuncOp]:
        return [op for op in self.module.body.operations
                if op.operation.name == "func.func" and not op.is_external and not tir.is_prim_func(op)]

    def pattern(self, target: Any, rule: Any):
        def legalize(op: Any, adaptor: Any, _converter: Any, rewriter: Any) -> bool | None:
            record = self.record(op)
            operands = list(adaptor.operands)
            context = OpContext(op, operands, self.enclosing(op))
            reason = rule.refusal(context)
            values: Any = None
            if reason is None:
                with rewriter.ip, op.operation.location:
                    try:
                        values = self.apply(target, rule, context)
                    except LegatoError:
                        raise
                    except Exception as error:
                        raise LegatoError(f"relax-legalize: the rule {rule.name} ({rule.source}) of target '{target.name}' raised "
                                          f"{type(error).__name__} on {op.operation.name}{named(record.name)}: {error}\n"
                                          f"{traceback.format_exc()}") from error
                if isinstance(values, Refusal):
                    reason = values.reason
            if reason is not None:
                refusal = (target.name, rule.name, reason)
                if refusal not in record.refused:
                    record.refused.append(refusal)
                return True  # did not match: the conversion tries the next nearest rule
            record.target, record.rule, record.source = target.name, rule.name, rule.source
            self.report.append(record)
            with rewriter.ip, op.operation.location:
                rewriter.replace_op(op, [cast(v, r.type) for v, r in zip(values, op.operation.results, strict=True)])
            self.changed = True
            return None

        return legalize

    def apply(self, target: Any, rule: Any, context: OpContext) -> Any:
        """The values a rule gives for an op (checked), or its Refusal."""
        if rule.form == "kernel":
            values = self.call_kernel(rule, context)
        else:
            values = rule(context, *context.operands)
        if isinstance(values, Refusal):
            return values
        values = [values] if isinstance(values, ir.Value) else list(values)
        wanted = [tir.plain_type(t) for t in context.output_types]
        found = [tir.plain_type(v.type) for v in values]
        if not compatible(found, wanted):
            raise LegatoError(f"relax-legalize: the rule {rule.name} ({rule.source}) of target '{target.name}' gives {listed(found)} for "
                              f"{context.name}{named(model_name(context.op))}, whose results are {listed(wanted)}")
        return values

    def call_kernel(self, rule: Any, context: OpContext) -> Any:
        inside = [splat(v) for v in context.operands]
        scalars = symbols_in(context.attrs)
        outputs = [tir.plain_type(t) for t in context.output_types]
        passed = [v for v, constant in zip(context.operands, inside) if constant is None]
        inputs = [tir.plain_type(v.type) for v in passed]
        key = (rule, context.name, tuple(context.input_types), tuple(context.output_types), tuple(inside), tuple(scalars),
               tuple(sorted((k, str(v)) for k, v in context.attrs.items())))
        if key not in self.kernels:
            built = self.build(rule, context, inside, scalars, inputs, outputs)
            if isinstance(built, Refusal):
                return built
            self.kernels[key] = built
        operands = [context.plain(v) for v in passed] + [context.index(s) for s in scalars]
        return tir.call_tir(self.kernels[key], operands, outputs, [context.sizes(t) for t in context.output_types])

    def build(self, rule: Any, context: OpContext, inside: list[Any], scalars: list[Any], inputs: list[ir.Type],
              outputs: list[ir.Type]) -> "str | Refusal":
        """Builds the kernel of a rule for this op, by name; on a refusal nothing stays in the module."""
        def body(ins: list[ir.Value], outs: list[ir.Value]) -> Sequence[ir.Value]:
            given = iter(ins)
            arguments = [next(given) if c is None else constant(c) for c in inside]
            values = rule(KernelContext(context, dict(zip(scalars, given))), *arguments, *outs)
            if isinstance(values, Refusal):
                raise Refused(values)
            return [values] if isinstance(values, ir.Value) else values

        index = [ir.IndexType.get()] * len(scalars)
        name = "kernel_" + context.name.split(".")[-1]  # a bare @exp would be taken for libm's
        try:
            kernel = tir.prim_func(self.module, name, inputs + index, outputs, body, context.op.operation.location, self.symbols)
        except Refused as refused:
            return refused.refusal
        return kernel.name.value

    def enclosing(self, op: Any) -> func.FuncOp:
        parent = op.operation.parent
        while parent.name != "func.func":
            parent = parent.parent
        return parent.opview

    def record(self, op: Any) -> Record:
        key = (op.operation.name, str(op.operation.location))
        if key not in self.records:
            self.records[key] = Record(op.operation.name, model_name(op))
        return self.records[key]

    def complain(self, chain: Sequence[Any]) -> None:
        """One error for every op that no rule took."""
        left = [op for f in self.functions() for op in graph_ops(f)]
        if not left:
            return
        tried = " -> ".join(t.name for t in chain)
        lines = []
        for op in left:
            record = self.record(op)
            reasons = "; ".join(f"{t}/{r} refused: {why}" for t, r, why in record.refused) or f"no rule on {tried}"
            lines.append(f"  {op.operation.name}{named(record.name)}: {reasons}")
        raise LegatoError(f"relax-legalize: {len(left)} op(s) have no legalization for target '{self.target.name}' ({tried}):\n"
                          + "\n".join(lines) + "\nadd a rule for the op and this target, or one of its parents")


def constant(dense: ir.Attribute) -> ir.Value:
    """A constant of the graph inside a kernel."""
    return arith.ConstantOp(tir.plain_type(dense.type), tir.plain_attribute(dense)).result


class Refused(Exception):
    """Carries a kernel rule's refusal out of the body that was begun."""

    def __init__(self, refusal: Refusal):
        super().__init__(refusal.reason)
        self.refusal = refusal


def graph_ops(function: func.FuncOp) -> list[Any]:
    """The ops of a function that want a rule: relax ops but constants of the weight store, and upstream's graph ops."""
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in GRAPH_OPS_UPSTREAM or (op.name.startswith("relax.") and op.name != CONSTANT):
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found


def compatible(found: Sequence[ir.Type], wanted: Sequence[ir.Type]) -> bool:
    """Whether the types agree but for dimensions that one side does not know."""
    if len(found) != len(wanted):
        return False
    for a, b in zip(found, wanted):
        if a == b:
            continue
        tensors = isinstance(a, ir.RankedTensorType) and isinstance(b, ir.RankedTensorType)
        if not tensors or a.rank != b.rank or a.element_type != b.element_type:
            return False
        if any(x != y and not (a.is_dynamic_dim(i) or b.is_dynamic_dim(i)) for i, (x, y) in enumerate(zip(a.shape, b.shape))):
            return False
    return True


def listed(types: Sequence[ir.Type]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def named(name: str | None) -> str:
    return f" '{name}'" if name else ""


@dataclass(frozen=True)
class Legalize(ModulePass):
    """Replaces graph ops by calls of prim_funcs, by the rules of a target and, where it has none, of its ancestors."""

    name: ClassVar[str] = "relax-legalize"
    target: TargetText = option("llvm", "whose rules are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        report: list[Record] = []
        context.report.setdefault("legalize", report)
        legalizer = Legalizer(module.module, target, report)
        with module.context, ir.Location.unknown():
            legalizer.run()
            for function in legalizer.functions():
                tir.plain_types(function)
