"""Applies rules by upstream's dialect conversion; shared by graph ops and intrinsics.

Every rule is a pattern whose benefit decreases along the fallback chain: the conversion tries the nearest first, and the next if a rule
refuses. Dialect conversion does not visit ops built from Python, so it is repeated until nothing changes.
"""
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from legato.core.errors import LegatoError, Refusal
from legato.core.interfaces import RuleLike, TargetLike
from legato.core.locations import model_name
from legato.core.mlir import ir, rewrite
from legato.core.records import RuleRecord
from legato.core.user_code import prefixed, raised_in
from legato.passes.legalize.built import BuiltOps

MAX_ROUNDS = 16


class RuleError(LegatoError):
    """Some ops have no rule; the report has them as records without a rule."""


class RuleFailed(LegatoError):
    """A rule's result is not what its op needs; the text names the rule."""


class Conversion:
    """Applies the rules of a target's chain for one moment to one module. Subclasses define the context that rules get."""

    title = "legalize"  # the pass, for error messages
    moment = "legalize"

    def __init__(self, module: ir.Module, target: TargetLike, report: list[RuleRecord]):
        self.module, self.target, self.report = module, target, report
        self.records: dict[Any, RuleRecord] = {}
        self.fired: Counter[str] = Counter()
        self.refusers: dict[tuple[int, tuple[str, str, str]], RuleLike] = {}  # of a record's refusals: rules may have equal names
        self.takers: dict[int, RuleLike] = {}  # of records

    def context(self, op: Any, operands: Sequence[ir.Value]) -> Any:
        """The context that the op's rules get."""
        raise NotImplementedError

    def apply(self, target: TargetLike, rule: RuleLike, context: Any) -> "Sequence[ir.Value] | Refusal":
        """The values that a rule returns for an op (checked), or its Refusal. Called at the op's insertion point."""
        raise NotImplementedError

    def key(self, op: Any) -> Any:
        """The key of the op's record: ops with equal keys share a record."""
        raise NotImplementedError

    def takes(self, rule: RuleLike) -> bool:
        """Whether the rule is one of those to apply."""
        return True

    def may_apply(self, op: str, rules: Sequence[RuleLike]) -> bool:
        """Whether the module may have an op of this name that one of the rules takes; False saves asking each rule about each op."""
        return True

    def convert(self, names: Iterable[str] | None = None) -> bool:
        """Runs the conversion once, with the rules for these ops (None: for all). Returns whether anything changed."""
        chosen = None if names is None else set(names)
        by_op: dict[str, list[tuple[TargetLike, RuleLike]]] = {}
        for target, rule in self.target.ranked(self.moment):  # best first
            if (chosen is None or rule.op in chosen) and self.takes(rule):
                by_op.setdefault(rule.op, []).append((target, rule))
        identity = lambda t: t  # noqa: E731  must outlive the converter, which keeps no reference
        converter = rewrite.TypeConverter()
        converter.add_conversion(identity)
        patterns, keep = rewrite.RewritePatternSet(), []
        for op, rules in by_op.items():
            if not self.module.context.is_registered_operation(op) or not self.may_apply(op, [rule for _, rule in rules]):
                continue  # its dialect is not loaded, or no value has a type that they know
            for place, (target, rule) in enumerate(rules):
                keep.append(self._pattern(target, rule))
                patterns.add_conversion(op, keep[-1], converter, benefit=len(rules) - place)
        self.fired.clear()
        if not keep:
            return False
        # no op is illegal: those without a rule stay, so that all of them can be reported together
        config = rewrite.ConversionConfig()
        config.folding_mode = rewrite.DialectConversionFoldingMode.NEVER
        rewrite.apply_partial_conversion(self.module.operation, rewrite.ConversionTarget(), patterns.freeze(), config)
        return bool(self.fired)

    def endless(self) -> LegatoError:
        """The error for rules that do not reach a fixed point."""
        return LegatoError(f"{self.title}: after {MAX_ROUNDS} rounds the rules still find something to do for target '{self.target.name}'; "
                           f"those that fired last undo each other, or build what they replace: {', '.join(self.fired)}")

    def _pattern(self, target: TargetLike, rule: RuleLike):
        def legalize(op: Any, adaptor: Any, _converter: Any, rewriter: Any) -> bool | None:
            record = self.record(op)
            context = self.context(op, list(adaptor.operands))
            with rewriter.ip, op.operation.location:
                values = self._guarded(target, rule, context, record, op.operation)
                if isinstance(values, Refusal):
                    refusal = (target.name, rule.name, values.reason)
                    if refusal not in record.refused and self.takers.get(id(record)) is not rule:
                        record.refused.append(refusal)
                        self.refusers[id(record), refusal] = rule
                    return True  # no match: the conversion tries the next rule
                record.target, record.rule, record.source = target.name, rule.name, rule.source
                self.takers[id(record)] = rule  # it may have refused before, in another form of the op
                record.refused[:] = [one for one in record.refused if self.refusers[id(record), one] is not rule]
                if not record.count:
                    self.report.append(record)
                record.count += 1
                rewriter.replace_op(op, list(values))
            self.fired[f"{rule.name} ({rule.source})"] += 1
            return None

        return legalize

    def _guarded(self, target: TargetLike, rule: RuleLike, context: Any, record: RuleRecord,
                 op: ir.Operation) -> "Sequence[ir.Value] | Refusal":
        try:
            reason = rule.refusal(context)
            if reason is not None:
                return Refusal(reason)
            with BuiltOps(op) as built:
                values = self.apply(target, rule, context)
                if isinstance(values, Refusal):
                    built.remove()
            return values
        except RuleFailed:
            raise
        except LegatoError as error:
            raise prefixed(error, f"{self.who(target, rule)} on {record.op}{named(record.name)}") from error
        except Exception as error:
            place = raised_in(error, rule.function)
            raise LegatoError(f"{self.who(target, rule)} raised {type(error).__name__} on {record.op}{named(record.name)}: {error}"
                              f"{f' (at {place})' if place else ''}") from error

    def who(self, target: TargetLike, rule: RuleLike) -> str:
        """A rule, for a message."""
        return f"{self.title}: the rule {rule.name} ({rule.source}) of target '{target.name}'"

    def record(self, op: Any) -> RuleRecord:
        """The op's record."""
        key = self.key(op)
        if key not in self.records:
            operands, results = (tuple(self.type_text(v.type) for v in values) for values in (op.operation.operands, op.operation.results))
            self.records[key] = RuleRecord(op.operation.name, model_name(op), moment=self.moment, operands=operands, results=results)
        return self.records[key]

    def type_text(self, type_: ir.Type) -> str:
        """The type of an operand or a result, as ``explain`` shows it."""
        return str(type_)

    def complaint(self, left: Sequence[Any], advice: str) -> RuleError:
        """One error for all ops without a rule."""
        tried = " -> ".join(t.name for t in self.target.chain())
        lines, records = {}, {}
        for op in left:
            record = self.record(op)
            records[id(record)] = record
            reasons = "; ".join(f"{t}/{r} refused: {why}" for t, r, why in record.refused) or f"no rule on {tried}"
            lines[f"  {record.op}{named(record.name)}: {reasons}"] = None
        self.report += records.values()
        what = "legalization" if self.moment == "legalize" else "lowering"
        return RuleError(f"{self.title}: {len(left)} op(s) have no {what} for target '{self.target.name}' ({tried}):\n"
                         + "\n".join(lines) + f"\n{advice}")


def values_of(returned: Any) -> list[ir.Value]:
    """What a rule returned, as values. LegatoError for anything else, such as the None of a function without ``return``."""
    if returned is None:
        raise LegatoError("it returns None: a return statement is missing")
    values = [returned] if isinstance(returned, ir.Value) else list(returned) if isinstance(returned, Iterable) else [returned]
    if not all(isinstance(value, ir.Value) for value in values):
        raise LegatoError(f"it returns {returned!r}: a rule returns values, one for each result of the op, or a legato.Refusal; its "
                          "schedule is given beside it, by schedule=")
    return values


def listed(types: Sequence[ir.Type]) -> str:
    """Types, for a message."""
    return ", ".join(map(str, types)) or "nothing"


def named(name: str | None) -> str:
    """The model's name of an op, for a message."""
    return f" '{name}'" if name else ""
