"""Rules applied by upstream's dialect conversion: what graph ops and intrinsics share.

Every rule is one pattern, with a benefit that falls with its place in the fallback chain: the conversion tries the nearest first, and the
next where a rule refuses. Dialect conversion neither sees nor legalizes what Python builds, so it is repeated until nothing changes.
"""
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from legato.core.errors import LegatoError, Refusal
from legato.core.interfaces import RuleLike, TargetLike
from legato.core.locations import model_name
from legato.core.mlir import ir, rewrite
from legato.core.records import RuleRecord

MAX_ROUNDS = 16


class RuleError(LegatoError):
    """No rule took some ops; the report has them, as records without a rule."""


class Conversion:
    """The rules of a target's chain for one moment, applied to one module. Subclasses say what an op looks like to its rules."""

    title = "legalize"  # of the pass, for errors
    moment = "legalize"

    def __init__(self, module: ir.Module, target: TargetLike, report: list[RuleRecord]):
        self.module, self.target, self.report = module, target, report
        self.records: dict[Any, RuleRecord] = {}
        self.fired: Counter[str] = Counter()

    def context(self, op: Any, operands: Sequence[ir.Value]) -> Any:
        """The op as its rules see it."""
        raise NotImplementedError

    def apply(self, target: TargetLike, rule: RuleLike, context: Any) -> "Sequence[ir.Value] | Refusal":
        """The values a rule gives for an op (checked), or its Refusal. Called at the op's place."""
        raise NotImplementedError

    def key(self, op: Any) -> Any:
        """Ops of one key share a record."""
        raise NotImplementedError

    def takes(self, rule: RuleLike) -> bool:
        """Whether the rule is one of those to apply."""
        return True

    def convert(self, names: Iterable[str] | None = None) -> bool:
        """One run of the conversion, by the rules for these ops (None: for all). Whether anything changed."""
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
            if not self.module.context.is_registered_operation(op):
                continue  # of a dialect that this module does not know
            for place, (target, rule) in enumerate(rules):
                keep.append(self._pattern(target, rule))
                patterns.add_conversion(op, keep[-1], converter, benefit=len(rules) - place)
        self.fired.clear()
        if not keep:
            return False
        # nothing is marked: what no rule takes stays where it is, so that all of it can be reported at once
        config = rewrite.ConversionConfig()
        config.folding_mode = rewrite.DialectConversionFoldingMode.NEVER
        rewrite.apply_partial_conversion(self.module.operation, rewrite.ConversionTarget(), patterns.freeze(), config)
        return bool(self.fired)

    def endless(self) -> LegatoError:
        """What to raise when the rules do not come to rest."""
        return LegatoError(f"{self.title}: after {MAX_ROUNDS} rounds the rules still find something to do for target '{self.target.name}'; "
                           f"those that fired last undo each other: {', '.join(self.fired)}")

    def _pattern(self, target: TargetLike, rule: RuleLike):
        def legalize(op: Any, adaptor: Any, _converter: Any, rewriter: Any) -> bool | None:
            record = self.record(op)
            context = self.context(op, list(adaptor.operands))
            with rewriter.ip, op.operation.location:
                values = self._guarded(target, rule, context, record)
                if isinstance(values, Refusal):
                    refusal = (target.name, rule.name, values.reason)
                    if refusal not in record.refused:
                        record.refused.append(refusal)
                    return True  # did not match: the conversion tries the next nearest rule
                record.target, record.rule, record.source = target.name, rule.name, rule.source
                if not record.count:
                    self.report.append(record)
                record.count += 1
                rewriter.replace_op(op, list(values))
            self.fired[f"{rule.name} ({rule.source})"] += 1
            return None

        return legalize

    def _guarded(self, target: TargetLike, rule: RuleLike, context: Any, record: RuleRecord) -> "Sequence[ir.Value] | Refusal":
        try:
            reason = rule.refusal(context)
            return self.apply(target, rule, context) if reason is None else Refusal(reason)
        except LegatoError:
            raise
        except Exception as error:
            raise LegatoError(f"{self.title}: the rule {rule.name} ({rule.source}) of target '{target.name}' raised "
                              f"{type(error).__name__} on {record.op}{named(record.name)}: {error}\n{traceback.format_exc()}") from error

    def record(self, op: Any) -> RuleRecord:
        """The op's record."""
        key = self.key(op)
        if key not in self.records:
            self.records[key] = RuleRecord(op.operation.name, model_name(op), moment=self.moment)
        return self.records[key]

    def complaint(self, left: Sequence[Any], advice: str) -> RuleError:
        """One error for every op that no rule took."""
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


def listed(types: Sequence[ir.Type]) -> str:
    """Types for a message."""
    return ", ".join(map(str, types)) or "nothing"


def named(name: str | None) -> str:
    """The model's name of an op, for a message."""
    return f" '{name}'" if name else ""
