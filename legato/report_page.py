"""The report of a compile as one HTML page that needs nothing else: times, kernels, rules, backends, files, a picture of the graph."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from legato import __version__
from legato.core.mlir import versions
from legato.core.notebook import bytes_text, counted
from legato.core.records import KernelRecord, PatternRecord, RuleRecord
from legato.graph_capture import captured_module
from legato.report import Report
from legato.targets.explain import Explanation
from legato.viewing import view

SHOWN = 4    # entries of a cell; more are folded
STYLE = """
:root { color-scheme: light; }
html { scroll-padding-top: 44px; }
body { font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; color: #212529; background: #fff;
       max-width: 1280px; margin: 0 auto; padding: 24px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 32px 0 8px; }
nav { position: sticky; top: 0; background: #fff; padding: 8px 0; border-bottom: 1px solid #dee2e6; }
nav a { color: #364fc7; text-decoration: none; margin-right: 20px; } nav a:hover { text-decoration: underline; }
table { border-collapse: collapse; font-size: 13px; }
th { text-align: left; color: #495057; font-weight: 600; border-bottom: 2px solid #dee2e6; padding: 4px 24px 4px 0; }
td { border-bottom: 1px solid #f1f3f5; padding: 4px 24px 4px 0; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code, td.code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12px; }
td.code { overflow-wrap: anywhere; min-width: 110px; }
.bar { background: #4c6ef5; height: 10px; border-radius: 2px; min-width: 1px; }
.track { width: 480px; padding-top: 5px; }
.quiet { color: #868e96; } .no { color: #c92a2a; } summary { cursor: pointer; color: #364fc7; margin: 8px 0; } td summary { margin: 0; }
.picture { overflow: auto; max-height: 85vh; border: 1px solid #dee2e6; border-radius: 4px; }
"""


@dataclass(frozen=True)
class ReportSection:
    """A part of the page. ``count``: of its rows, for the line of contents; None where it says nothing."""

    title: str
    body: str
    count: int | None = None

    @property
    def anchor(self) -> str:
        """The section's id in the page."""
        return self.title.lower().replace(" ", "-")


def report_page(title: str, report: Report, explanation: Explanation, times: Sequence[tuple[str, float]] = (),
                files: Iterable[Path] = ()) -> str:
    """The page. ``times``: (name, seconds) of all that the tool did, stages among them; by default those of the stages. ``files``: what
    was written."""
    times, files = list(times) or report.stages, list(files)
    total = sum(seconds for _, seconds in times)
    target = f"<code>{escape(str(explanation.target or 'no target'))}</code>"
    about = (f"{counted(len(explanation.kernels), 'kernel')} for {target} in {total:.2f} s"
             f'<br><span class="quiet">Legato {__version__}, {escape(versions())}</span>')
    graph = [one for one in explanation.records if one.type is None]
    intrinsics = [one for one in explanation.records if one.type is not None]
    captured = captured_module(report)
    sections = [
        ReportSection("Times", _times(times, report, total)),
        ReportSection("Files", _table(("file", "size"), [(str(file), bytes_text(file.stat().st_size)) for file in files], numbers=(1,)),
                      len(files)),
        ReportSection("Kernels", _kernels(_as_called(explanation.kernels, graph)), len(explanation.kernels)),
        ReportSection("Parts of backends", _parts(explanation.partition), len(explanation.partition)),
        ReportSection("Rules for graph ops", _rules(graph), len(graph)),
        ReportSection("Rules for intrinsics", _rules(intrinsics), len(intrinsics)),
        ReportSection("Graph", f'<div class="picture">{view(captured).svg()}</div>' if captured is not None else "")]
    shown = [one for one in sections if one.body]
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style></head>\n'
            f"<body>\n<h1>{escape(title)}</h1><p>{about}</p>\n{_contents(shown)}\n{''.join(map(_section, shown))}\n</body></html>\n")


def _contents(sections: Sequence[ReportSection]) -> str:
    """The line of contents, which stays in sight."""
    links = (f'<a href="#{one.anchor}">{escape(one.title)}{"" if one.count is None else f" ({one.count})"}</a>' for one in sections)
    return f"<nav>{''.join(links)}</nav>"


def _section(section: ReportSection) -> str:
    return f'<h2 id="{section.anchor}">{escape(section.title)}</h2>\n{section.body}\n'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), codes: Sequence[int] = (),
           raw: Sequence[int] = ()) -> str:
    """A table, without empty columns; columns by number: ``numbers`` are aligned to the right, ``codes`` are in a fixed font,
    ``raw`` hold HTML."""
    if not rows:
        return ""
    kinds = {i: ' class="number"' for i in numbers} | {i: ' class="code"' for i in codes}
    used = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    head = "".join(f"<th{kinds.get(i, '') if i in numbers else ''}>{escape(heads[i])}</th>" for i in used)
    cells = ["".join(f"<td{kinds.get(i, '')}>{row[i] if i in raw else escape(row[i])}</td>" for i in used) for row in rows]
    body = "\n".join(f"<tr>{one}</tr>" for one in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _folded(entries: Sequence[str], what: str) -> str:
    """Entries of a cell, one a line; many are folded, behind the first and their number. ``what``: what one is called."""
    lines = [escape(one) for one in entries]
    if len(lines) <= SHOWN:
        return "<br>".join(lines)
    return f"<details><summary>{lines[0]}, ... ({counted(len(lines), what)})</summary>{'<br>'.join(lines)}</details>"


def _times(times: Sequence[tuple[str, float]], report: Report, total: float) -> str:
    rows = [(name, f"{seconds * 1e3:.1f}", f"{seconds / total:.1%}" if total else "", _bar(seconds, max(s for _, s in times)))
            for name, seconds in times]
    passes: dict[str, tuple[str, float, int]] = {}
    for stage, ran in report.stage_passes.items():
        for name, seconds in ran:
            _, before, count = passes.get(name, (stage, 0.0, 0))
            passes[name] = (passes.get(name, (stage,))[0], before + seconds, count + 1)
    longest = sorted(passes.items(), key=lambda one: -one[1][1])
    inner = _table(("pass", "first in stage", "runs", "ms"), [(name, stage, str(count), f"{seconds * 1e3:.1f}")
                                                               for name, (stage, seconds, count) in longest], numbers=(2, 3), codes=(0,))
    folded = f"<details><summary>{counted(len(longest), 'pass')[:-1] + 'es' if len(longest) > 1 else 'pass'}</summary>{inner}</details>"
    return _table(("step", "ms", "share", ""), rows, numbers=(1, 2), raw=(3,)) + (folded if longest else "")


def _bar(seconds: float, longest: float) -> str:
    return f'<div class="track"><div class="bar" style="width:{100 * seconds / longest if longest else 0:.1f}%"></div></div>'


def _as_called(kernels: Sequence[KernelRecord], graph: Sequence[RuleRecord]) -> list[KernelRecord]:
    """The kernels in the order of the graph ops that they compute; those of no graph op last."""
    places: dict[str, int] = {}
    for number, record in enumerate(graph):
        places.setdefault(f"{record.op} {record.name}", number)
    return sorted(kernels, key=lambda one: min((places[op] for op in one.ops if op in places), default=len(places)))


def _kernels(records: Sequence[KernelRecord]) -> str:
    rows = []
    for one in records:
        vectors = {"loops": "as written", "scheduled": "own schedule"}.get(one.form) or ("yes" if one.vectorized else "no")
        shown = f'<span class="no">{vectors}</span>' if vectors == "no" else vectors
        ops = _folded(one.ops, "op") or (f"part of @{escape(one.part_of)}" if one.part_of else "written by hand")
        rows.append((f"@{one.kernel}", shown, ops, "<br>".join(map(escape, one.reasons))))
    return _table(("kernel", "vectors", "computes", "why not"), rows, codes=(0, 2), raw=(1, 2, 3))


def _parts(records: Sequence[PatternRecord]) -> str:
    rows = [(one.backend, one.pattern, f"@{one.function}" if one.function else "", ", ".join(one.ops), one.reason or "") for one in records]
    return _table(("backend", "pattern", "function", "ops", "why not"), sorted(rows, key=lambda row: not row[2]), codes=(2, 3))


def _rules(records: Sequence[RuleRecord]) -> str:
    """A row for each rule and the reasons why nearer ones refused, with the ops that it was applied to."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in records:
        refused = "<br>".join(escape(f"{target}/{rule}: {why}") for target, rule, why in one.refused)
        name = one.name or ", ".join(one.layers[:2])
        applied = f"{name}: {one.type or ', '.join(one.results)}"
        groups.setdefault((one.op, one.target or "", one.rule or "no rule", one.source or "", refused), []).append(applied)
    rows = [(op, target, rule, source, _folded(list(dict.fromkeys(applied)), "op"), refused)
            for (op, target, rule, source, refused), applied in groups.items()]
    return _table(("op", "target", "rule", "defined at", "applied to", "refused"), rows, codes=(0, 3, 4), raw=(4, 5))
