"""Explanations of a compile, op by op, and lists of a target's rules: as tables and as JSON."""
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from legato.core.errors import LegatoError
from legato.core.notebook import counted, html_folded, html_table
from legato.core.records import KernelRecord, OutputRecord, PatternRecord, RuleRecord
from legato.targets.known_ops import check_op
from legato.targets.target import Target

NO_RULE = "no rule"
MANY = 6     # patterns of a backend without an op that share a line


@dataclass(frozen=True, repr=False)
class Explanation:
    """What the rules of a target did. ``records``: graph ops, then intrinsics, in order; ``partition``: likewise for the patterns of
    backends; ``outputs``: those that are filled before their kernel runs; ``kernels``: what runs after fusion, where the pipeline got
    that far. ``str()`` is a table."""

    target: str | None
    chain: tuple[str, ...]
    records: tuple[RuleRecord, ...]
    partition: tuple[PatternRecord, ...] = ()
    outputs: tuple[OutputRecord, ...] = ()
    kernels: tuple[KernelRecord, ...] = ()

    @property
    def missing(self) -> list[RuleRecord]:
        """The records of ops without a rule."""
        return [r for r in self.records if r.rule is None]

    def json(self) -> str:
        """The explanation as JSON: ``{"target", "chain", "ops": [{"op", "name", "target", "rule", "source", "operands", "results",
        "layers", "refused": [{"target", "rule", "reason"}], ...}],
        "partition": [{"backend", "pattern", "ops", "function", "reason"}], "outputs": [{"kernel", "output", "reason", "size"}],
        "kernels": [{"kernel", "ops", "form", "vectorized", "reasons", "part_of", "schedule"}]}``."""
        return json.dumps(self.data(), indent=2)

    def data(self) -> dict[str, Any]:
        """What ``json`` writes, as a value for ``json.dumps``."""
        ops = [{**vars(record), "refused": [{"target": t, "rule": r, "reason": why} for t, r, why in record.refused]}
               for record in self.records]
        return {"target": self.target, "chain": list(self.chain), "ops": ops, "partition": [vars(one) for one in self.partition],
                "outputs": [vars(one) for one in self.outputs], "kernels": [vars(one) for one in self.kernels]}

    def __repr__(self) -> str:
        graph = sum(r.type is None for r in self.records)
        parts = [f"{counted(graph, 'graph op')}, {counted(len(self.records) - graph, 'intrinsic')}", counted(len(self.kernels), "kernel"),
                 f"{len(self.missing)} without a rule", f"target {self.target}"]
        return f"<legato.Explanation: {', '.join(parts)}; print it for the table>"

    def _repr_html_(self) -> str:
        rows = [(r.op, r.name or "", r.target or "-", r.rule or NO_RULE, r.source or "", f"@{r.kernel}" if r.kernel else "",
                 "; ".join(f"{t}/{rule} refused: {why}" for t, rule, why in r.refused)) for r in self.records if r.type is None]
        heads = ("graph op", "in the model", "target", "rule", "defined at", "made", "refused")
        return html_table(heads, rows, repr(self)) + html_folded("as text, with intrinsics and kernels", str(self))

    @staticmethod
    def of(data: Mapping[str, Any]) -> "Explanation":
        """The explanation of a value that ``json`` wrote."""
        refused = [[(one["target"], one["rule"], one["reason"]) for one in record["refused"]] for record in data["ops"]]
        rules = [RuleRecord(**_tuples(one) | {"refused": given}) for one, given in zip(data["ops"], refused)]
        patterns, outputs, kernels = (
            tuple(record(**_tuples(one)) for one in data[name])
            for name, record in (("partition", PatternRecord), ("outputs", OutputRecord), ("kernels", KernelRecord)))
        return Explanation(data["target"], tuple(data["chain"]), tuple(rules), patterns, outputs, kernels)

    def __str__(self) -> str:
        head = f"target {self.target}: {' -> '.join(self.chain)}" if self.target else "patterns of backends"
        graph = [r for r in self.records if r.type is None]
        intrinsics = _merged(r for r in self.records if r.type is not None)
        parts = [head, *_table(graph, ("graph op", "in the model", "result", "made"), _graph_cells),
                 *_table(intrinsics, ("intrinsic", "in the model", "on", "in the kernel"), _intrinsic_cells),
                 *_partition(self.partition), *_outputs(self.outputs), *_kernels(self.kernels)]
        return "\n".join(parts)


def explanation(target: Target | None, report: dict[str, Any]) -> Explanation:
    """The explanation from a pipeline's report. ``target``: None if no rules were used."""
    kernels = {kernel.kernel: kernel.ops for kernel in report.get("kernels", ())}
    records = [replace(r, layers=_layers(r, kernels.get(r.kernel or "", ())))
               for r in (*report.get("legalize", ()), *report.get("intrinsics", ()))]
    chain = tuple(t.name for t in target.chain()) if target is not None else ()
    return Explanation(str(target) if target is not None else None, chain, tuple(records), tuple(report.get("partition", ())),
                       tuple(report.get("outputs", ())), tuple(report.get("kernels", ())))


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record from JSON, which has lists where the records have tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _layers(record: RuleRecord, ops: Sequence[str]) -> tuple[str, ...]:
    """The graph ops that an intrinsic is part of. ``ops``: those of its kernel, which calls for several layers may share.

    The op's own name is that of the first of these calls; the others have graph ops of the same kind.
    """
    if record.type is None:
        return ()
    kinds = {op.split(" ")[0] for op in ops if op.partition(" ")[2] == record.name}
    return tuple(op for op in ops if op.split(" ")[0] in kinds) or tuple(ops) or ((record.name,) if record.name else ())


def _graph_cells(record: RuleRecord) -> tuple[str, str, str]:
    """What the table of graph ops shows of a record: its name, its result, what was made of it."""
    made = (f"@{record.kernel}" if record.kernel else "") + (f", scheduled by {record.schedule}" if record.schedule else "")
    return record.name or "", ", ".join(record.results), made


def _intrinsic_cells(record: RuleRecord) -> tuple[str, str, str]:
    """What the table of intrinsics shows of a record, which stands for those of several kernels: layers, type and kernels."""
    names = list(dict.fromkeys(layer.partition(" ")[2] or layer for layer in record.layers))
    kernels = (record.kernel or "").split()
    return _first(names), f"{record.count} x {record.type}" if record.count > 1 else str(record.type), _first([f"@{k}" for k in kernels])


def _partition(records: Sequence[PatternRecord]) -> list[str]:
    """Lines about the ops that each pattern matched, then about those it refused, grouped by reason."""
    taken = [r for r in records if r.function]
    lines = ["", f"  patterns of backends took {sum(len(r.ops) for r in taken)} ops in {len(taken)} groups"] if records else []
    rows = [(f"@{r.function}", f"{r.backend}.{r.pattern}", ", ".join(r.ops)) for r in taken]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    lines += [f"    {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}" for row in rows]
    refused: dict[tuple[str, str], list[str]] = {}
    for r in records:
        if r.reason:
            refused.setdefault((f"{r.backend}.{r.pattern}", r.reason), []).extend(r.ops)
    if refused:
        lines += ["", "  not taken"]
    idle: dict[str, list[str]] = {}     # the patterns of each backend that no op of the graph begins
    for (pattern, _), ops in refused.items():
        if not ops:
            idle.setdefault(pattern.partition(".")[0], []).append(pattern.partition(".")[2])
    for (pattern, reason), ops in refused.items():
        backend = pattern.partition(".")[0]
        if ops or len(idle[backend]) < MANY:
            lines.append(f"    {pattern}: {f'{_first(ops)}: ' if ops else ''}{reason}")
    lines += [f"    {backend}: the graph has nothing for the patterns {_first(patterns)}" for backend, patterns in idle.items()
              if len(patterns) >= MANY]
    return lines


def _outputs(records: Sequence[OutputRecord]) -> list[str]:
    """Lines about the outputs that are filled before their kernel runs, with what that costs."""
    lines = ["", "  outputs that start from zeros: their kernels may not write all of them"] if records else []
    for r in records:
        cost = "a symbolic number of" if r.size is None else r.size
        lines.append(f"    @{r.kernel}, {r.output}: {r.reason}; {cost} bytes are written first")
    return lines


def _first(ops: Sequence[str]) -> str:
    """The first ops of a list, and how many more there are."""
    return f"{', '.join(ops[:3])}{f' and {len(ops) - 3} more' if len(ops) > 3 else ''}"


def _kernels(records: Sequence[KernelRecord]) -> list[str]:
    """A table of the kernels that run, with the graph ops in each, and the reasons for those that stay scalar or refused schedules."""
    if not records:
        return []
    rows = [("kernel", "vectors" if all(r.schedule is None for r in records) else "schedule", "computes")]
    notes: list[list[str]] = [[]]
    for r in records:
        made = {"loops": "as written", "scheduled": "own schedule"}.get(r.form) or (
            ("yes" if r.vectorized else "no") if r.schedule is None else r.schedule or "a thread a point")
        rows.append((f"@{r.kernel}", made, _first(r.ops) or (f"part of @{r.part_of}" if r.part_of else "a kernel written by hand")))
        scalar = "scalar in part" if r.vectorized else "scalar"
        said = "not raised" if r.form == "loops" else scalar if r.schedule is None else "refused"
        notes.append([f"      {said}: {reason}" for reason in r.reasons])
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    lines = [""]
    for row, note in zip(rows, notes):
        lines += [f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}", *note]
    return lines


def _merged(records: Iterable[RuleRecord]) -> list[RuleRecord]:
    """Records of intrinsics, with those of all kernels merged and counted; ``kernel`` lists the kernels' names."""
    found: dict[Any, list[RuleRecord]] = {}
    for record in records:
        found.setdefault((record.op, record.type, record.target, record.rule, tuple(record.refused)), []).append(record)
    return [replace(same[0], count=sum(r.count for r in same), kernel=" ".join(dict.fromkeys(r.kernel for r in same if r.kernel)),
                    layers=tuple(dict.fromkeys(layer for r in same for layer in r.layers))) for same in found.values()]


def _table(records: Sequence[RuleRecord], titles: tuple[str, str, str, str],
           cells: Callable[[RuleRecord], tuple[str, str, str]]) -> list[str]:
    """A table of ops and their rules. ``titles``: of the op, of the two columns after it, and of the last one; ``cells``: those three."""
    if not records:
        return []
    rows = [(*titles[:3], "target", "rule", "defined at", titles[3])]
    notes: list[list[str]] = [[]]
    for r in records:
        name, type_, made = cells(r)
        rows.append((r.op, name, type_, r.target or "-", r.rule or NO_RULE, r.source or "", made))
        notes.append([f"      {t}/{rule} refused: {why}" for t, rule, why in r.refused])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [""]
    for row, note in zip(rows, notes):
        lines.append("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        lines += note
    return lines


def list_rules(target: Target, op: str | None = None) -> str:
    """A table of a target's rules, for one op or all, in the order in which they are tried. LegatoError for an op that does not exist."""
    if op is not None:
        op = check_op(op, "--op")
    found = [(t, r) for moment in ("legalize", "lower") for t, r in target.ranked(moment, op)]
    chain = " -> ".join(t.name for t in target.chain())
    if not found:
        raise LegatoError(f"target '{target}' ({chain}) has no rule{f' for {op}' if op else ''}")
    order = {name: i for i, name in enumerate(dict.fromkeys(r.op for _, r in found))}
    found.sort(key=lambda pair: (order[pair[1].op], pair[1].moment))
    rows = [("op", "moment", "target", "rule", "priority", "when", "dtypes", "defined at")]
    for t, r in found:
        when = ", ".join(getattr(p, "__qualname__", str(p)).replace(".<locals>.check", "(...)") for p in r.when)
        rows.append((r.op, r.moment, t.name, r.name, str(r.priority), when, " ".join(r.dtypes), r.source))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    table = "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
    return f"rules of {target}: {chain}\n{table}"
