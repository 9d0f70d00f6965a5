"""relax-legalize: replaces graph ops by calls of prim_funcs, by the rules of a target and of its ancestors.

Ops without a rule are collected, and reported in one error.
"""
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from legato.core.errors import LegatoError, Refusal
from legato.core.interfaces import RuleLike, TargetLike
from legato.core.ir_helpers import present, splat
from legato.core.locations import model_name
from legato.core.mlir import arith, func, ir
from legato.core.records import RuleRecord
from legato.dialects import relax, tir
from legato.dialects.module import Module
from legato.dialects.relax import dims, origins
from legato.dialects.relax.markers import PACKED
from legato.dialects.tir.markers import OUT
from legato.dialects.tir.plain import plain_weights
from legato.passes.legalize.context import CONSTANT, KernelContext, OpContext, cast, symbols_in
from legato.passes.legalize.conversion import MAX_ROUNDS, Conversion, RuleFailed, listed, named, values_of
from legato.passes.legalize.kernel_key import kernel_key
from legato.passes.legalize.returned import callee, check_written, compatible, is_the_same, is_unwritten, updated_operand
from legato.passes.legalize.symbol_values import SymbolValues
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding


class Legalizer(Conversion):
    """One run of the pass on one module."""

    title = "relax-legalize"

    def __init__(self, module: Module, target: TargetLike, report: list[RuleRecord]):
        super().__init__(module.module, target, report)
        self.weights = module.weights
        self.symbols = ir.SymbolTable(module.operation)
        self.kernels: dict[Any, str] = {}
        self.texts: dict[Any, str] = {}
        self.sequences: dict[str, list[ir.Operation]] = {}  # of the schedules that rules give to kernels
        self.rule: RuleLike | None = None  # the one that is applied
        self.values: dict[str, SymbolValues] = {}  # in a round, by function
        self.type_texts: dict[ir.Type, str] = {}
        self.moved = 0.0    # how far kernels move what they read, relative to it, besides rounding

    def run(self) -> None:
        """Converts until no graph ops are left. RuleError if some have no rule."""
        for _ in range(MAX_ROUNDS):
            left = [op for f in self.functions() for op in relax.graph_ops(f)]
            left = [op for op in left if not self.replace_empty(op)]
            if not left:
                return self.check_kernels()
            self.values = {f.name.value: SymbolValues(f) for f in self.functions()}
            changed = self.convert({op.operation.name for op in left})
            for values in self.values.values():
                values.drop_unused()
            self.values.clear()
            if not changed:
                raise self.complaint(left, "add a rule for the op and this target, or one of its parents")
        raise self.endless()

    def symbols_of(self, function: func.FuncOp) -> "SymbolValues | func.FuncOp":
        """Where the values of a function's symbols are."""
        values = self.values.get(function.name.value)
        return function if values is None else values

    def replace_empty(self, op: Any) -> bool:
        """Replaces an op whose results have no elements, by their types, by ``tensor.empty``: there is nothing to compute, and upstream's
        passes reject loops and reshapes with a static 0 among dynamic sizes.
        """
        types = [result.type for result in op.operation.results]
        if present(relax.op_class(op)).DEFINES_SIZES:
            return False
        if not all(isinstance(t, ir.RankedTensorType) and 0 in t.shape and dims.UNKNOWN not in dims.dims(t) for t in types):
            return False
        context = self.context(op, list(op.operation.operands))
        with ir.InsertionPoint(op), op.operation.location:
            values = [cast(tir.empty(tir.plain_type(t), context.sizes(t)), t) for t in types]
        for result, value in zip(op.operation.results, values):
            result.replace_all_uses_with(value)
        op.operation.erase()
        return True

    def functions(self) -> list[func.FuncOp]:
        """The functions of graph ops."""
        return [op for op in self.module.body.operations
                if op.operation.name == "func.func" and not op.is_external and not tir.is_prim_func(op)]

    def key(self, op: Any) -> Any:
        operation = op.operation
        return operation.name, operation.location.attr, operation.results[0].type

    def type_text(self, type_: ir.Type) -> str:
        if type_ not in self.type_texts:
            self.type_texts[type_] = str(relax.TensorType.of(type_) if isinstance(type_, ir.RankedTensorType) else type_)
        return self.type_texts[type_]

    def takes(self, rule: RuleLike) -> bool:
        return rule.form != "intrinsic"

    def context(self, op: Any, operands: Sequence[ir.Value]) -> OpContext:
        return OpContext(op, operands, enclosing(op), self)

    def apply(self, target: TargetLike, rule: RuleLike, context: OpContext) -> Any:
        before, self.rule = (len(self.kernels), len(self.texts)), rule
        values = self.call_kernel(rule, context) if rule.form == "kernel" else rule(context, *context.operands)
        if isinstance(values, Refusal):
            self.remove_functions(*before)
            return values
        values = values_of(values)
        who = (self.who(target, rule), f"{context.name}{named(model_name(context.op))}")
        wanted = [tir.plain_type(t) for t in context.output_types]
        found = [tir.plain_type(v.type) for v in values]
        if not compatible(found, wanted):
            raise RuleFailed(f"{who[0]} gives {listed(found)} for {who[1]}, whose results are {listed(wanted)}")
        if any(is_the_same(v, context) for v in values):
            raise RuleFailed(f"{who[0]} gives for {who[1]} the same op again")
        if any(is_unwritten(v, []) for v in values if 0 not in v.type.shape):
            raise RuleFailed(f"{who[0]} returns an output of {who[1]} that nothing is written to")
        record = self.record(context.op)
        record.kernel = context.kernel or callee(values[0])
        if rule.schedule is not None:
            if not any(callee(value) in self.sequences for value in values):
                raise LegatoError("it has a schedule=, and makes no kernel for it: its values are those of other graph ops, or of packed "
                                  "functions")
            from legato.schedule.attach import described

            record.schedule = described(rule.schedule)
        for value in values:
            if callee(value):
                origins.mark(value.owner, context.op.operation)
        return [cast(v, t) for v, t in zip(values, context.output_types, strict=True)]

    def remove_functions(self, kernels: int, texts: int) -> None:
        """Erases the functions that a rule added before it refused, all but the first ``kernels`` and ``texts``."""
        for made, kept in ((self.kernels, kernels), (self.texts, texts)):
            while len(made) > kept:
                _, name = made.popitem()
                self.symbols.erase(self.symbols[name])
                for one in self.sequences.pop(name, ()):
                    one.erase()

    def schedule_kernel(self, kernel: func.FuncOp) -> None:
        """Gives a kernel that a rule made the rule's schedule."""
        if self.rule is not None and self.rule.schedule is not None:
            from legato.schedule.attach import attach_of_rule

            self.sequences[kernel.name.value] = attach_of_rule(self.module, kernel, self.rule.schedule)

    def check_kernels(self) -> None:
        """Checks the conventions of kernels that rules built without the driver, and blames the rule."""
        made = {record.kernel: record for record in self.records.values()}
        for kernel in tir.prim_funcs(self.module):
            record = made.get(kernel.name.value)
            try:
                tir.check_prim_func(kernel)
                if record is not None:
                    check_written(kernel)
            except LegatoError as error:
                if record is None:
                    raise
                raise LegatoError(f"relax-legalize: the rule {record.rule} ({record.source}) of target '{record.target}' made a kernel for "
                                  f"{record.op}{named(record.name)} that breaks the conventions: {error}") from error

    def call_kernel(self, rule: RuleLike, context: OpContext) -> Any:
        """A call of the kernel that a kernel rule builds; ops that are equal but for the names of symbols share a kernel."""
        inside = [splat(v, CONSTANT) for v in context.operands]
        scalars = symbols_in(context.attrs)
        outputs = [tir.plain_type(t) for t in context.output_types]
        updated = updated_operand(rule, context.operands, inside, outputs)
        passed = [v for number, (v, constant) in enumerate(zip(context.operands, inside)) if constant is None and number != updated]
        inputs = [tir.plain_type(v.type) for v in passed]
        key = (rule, kernel_key(context, inside, scalars))
        if key not in self.kernels:
            built = self.build(rule, context, inside, scalars, inputs, outputs, updated)
            if isinstance(built, Refusal):
                return built
            self.kernels[key] = built
        context.kernel = self.kernels[key]
        operands = [context.plain(v) for v in passed] + [context.index(s) for s in scalars]
        starts = {} if updated is None else {0: context.plain(context.operands[updated])}
        return tir.call_tir(self.kernels[key], operands, outputs, [context.sizes(t) for t in context.output_types], starts)

    def build(self, rule: RuleLike, context: OpContext, inside: list[Any], scalars: list[Any], inputs: list[ir.Type],
              outputs: list[ir.Type], updated: int | None) -> "str | Refusal":
        """Builds the kernel of a rule for this op, whose output starts as the operand ``updated``. Returns its name; after a refusal the
        module is unchanged."""
        def body(ins: list[ir.Value], outs: list[ir.Value]) -> Sequence[ir.Value]:
            given = iter(ins)
            arguments = [constant(c) if c is not None else outs[0] if number == updated else next(given)
                         for number, c in enumerate(inside)]
            values = rule(KernelContext(context, dict(zip(scalars, given))), *arguments, *outs)
            if isinstance(values, Refusal):
                raise RuleRefused(values)
            return values_of(values)

        index = [ir.IndexType.get()] * len(scalars)
        try:
            kernel = tir.prim_func(self.module, kernel_name(context.name), inputs + index, outputs, body, context.op.operation.location,
                                   self.symbols)
        except RuleRefused as refused:
            return refused.refusal
        self.schedule_kernel(kernel)
        return kernel.name.value

    def kernel_of_body(self, body: tir.KernelBody, name: str, inputs: Sequence[ir.Type], outputs: Sequence[ir.Type]) -> func.FuncOp:
        """The prim_func that a function builds, added to the module unless an equal one is there."""
        kernel = tir.prim_func(self.module, kernel_name(name), inputs, outputs, body, symbols=self.symbols)
        given = kernel.name.value
        kernel.attributes["sym_name"] = ir.StringAttr.get(kernel_name(name))     # equal but for the name
        # of the kernel alone: a text in the scope of the module has the whole of it verified first
        key = (kernel.operation.get_asm(use_local_scope=True, assume_verified=True), self.rule.schedule if self.rule is not None else None)
        kernel.attributes["sym_name"] = ir.StringAttr.get(given)
        if key in self.texts:
            self.symbols.erase(kernel)
            return self.symbols[self.texts[key]]
        self.texts[key] = given
        self.schedule_kernel(kernel)
        return kernel

    def kernel_of_text(self, text: str, name: str) -> func.FuncOp:
        """The prim_func that a text defines, added to the module once."""
        key = (text, self.rule.schedule if self.rule is not None else None)
        if key not in self.texts:
            kernel = tir.parse_prim_func(text)
            kernel.attributes["sym_name"] = ir.StringAttr.get(kernel_name(name))
            self.module.body.append(kernel)
            self.symbols.insert(kernel)
            self.texts[key] = kernel.name.value
            self.schedule_kernel(kernel)
        return self.symbols[self.texts[key]]

    def packed(self, name: str, inputs: list[ir.Type], outputs: list[ir.Type]) -> str:
        """The name of the declaration of a packed function for these types."""
        key = (name, *inputs, None, *outputs)
        if key not in self.kernels:
            with ir.InsertionPoint(self.module.body):
                function = func.FuncOp(re.sub(r"\W", "_", name), ir.FunctionType.get([*inputs, *outputs], outputs), visibility="private")
            function.attributes[PACKED] = ir.StringAttr.get(name)
            out, empty = ir.DictAttr.get({OUT: ir.UnitAttr.get()}), ir.DictAttr.get({})
            function.attributes["arg_attrs"] = ir.ArrayAttr.get([empty] * len(inputs) + [out] * len(outputs))
            self.symbols.insert(function)
            self.kernels[key] = function.name.value
        return self.kernels[key]


def constant(value: ir.Attribute) -> ir.Value:
    """A constant of the graph, inside a kernel."""
    return arith.ConstantOp(tir.plain_type(value.type), tir.plain_attribute(value)).result


def kernel_name(op: str) -> str:
    """The kernel's name. It has a prefix, since a bare @exp would be taken for libm's."""
    return "kernel_" + op.split(".")[-1]


def enclosing(op: Any) -> func.FuncOp:
    """The function that contains an op."""
    parent = op.operation.parent
    while parent.name != "func.func":
        parent = parent.parent
    return parent.opview


class RuleRefused(Exception):
    """Carries a kernel rule's refusal out of the body being built."""

    def __init__(self, refusal: Refusal):
        super().__init__(refusal.reason)
        self.refusal = refusal


def declarations(module: ir.Module) -> list[func.FuncOp]:
    """Functions without a body that main calls on tensors."""
    return [op for op in module.body.operations if op.operation.name == "func.func" and op.is_external]


@dataclass(frozen=True)
class Legalize(ModulePass):
    """Replaces graph ops by calls of prim_funcs, by the rules of a target or, where it has none, of its ancestors."""

    name: ClassVar[str] = "relax-legalize"
    target: TargetText = option("llvm", "whose rules are used")

    def entitlement(self, context: PassContext) -> Rounding:
        """As much as the rules of the last run say that their kernels move values."""
        return replace(REORDERED, relative=context.report.get("moved", 0.0))

    def run(self, module: Module, context: PassContext) -> None:
        report: list[RuleRecord] = context.report.setdefault("legalize", [])
        target = context.report["target"] = context.target(self.target)
        legalizer = Legalizer(module, target, report)
        with module.context, ir.Location.unknown():
            legalizer.run()
            context.report["moved"] = legalizer.moved
            for function in (*legalizer.functions(), *declarations(module.module)):
                tir.plain_types(function)
            plain_weights(legalizer.functions(), module.weights)
