"""Results of ``bench.peers`` for people: a table as text, and a page with bars."""
from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

from legato.core.notebook import counted

if TYPE_CHECKING:
    from .peers import Result

STYLE = """
:root { color-scheme: light dark; --line: #e3e6ea; --quiet: #6b7480; --legato: #2b6cb0; --peer: #b9c4d0; --slower: #b03030; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; background: #fff; }
h1 { margin-bottom: 0; }
.about { color: var(--quiet); margin-top: .2em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .5em .8em .5em 0; border-top: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
th { border-top: 0; }
td.again { border-top-color: transparent; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.times { width: 65%; }
.engine { display: grid; grid-template-columns: 6.5em 1fr 5em; align-items: center; column-gap: .8em; font-size: .9em; }
.bar { display: block; height: .75em; border-radius: 2px; background: var(--peer); }
.bar.legato { background: var(--legato); }
.missing { color: var(--quiet); }
td.behind { color: var(--slower); }
@media (prefers-color-scheme: dark) {
  :root { --line: #333; --quiet: #9aa3ad; --legato: #5a9de0; --peer: #4a5560; --slower: #f08080; }
  body { background: #181a1d; color: #ddd; }
}
"""


def table(results: Sequence[Result], headed: bool = True) -> str:
    """One line a result: milliseconds by engine, and Legato's time over the better peer's."""
    lines = []
    if headed:
        lines.append(f"{'':16} {'':5} {'threads':>7} " + " ".join(f"{name:>12}" for name in results[0].milliseconds) + f" {'ratio':>6}")
    for result in results:
        times = " ".join(f"{'-' if ms is None else f'{ms:.3f}':>12}" for ms in result.milliseconds.values())
        ratio = "-" if result.ratio is None else f"{result.ratio:.2f}"
        lines.append(f"{result.name:16} {result.precision:5} {result.threads:7} {times} {ratio:>6}")
    return "\n".join(lines)


def page(results: Sequence[Result], machine: Mapping[str, str]) -> str:
    """A page that needs no other file: a row for each result, with a bar for each engine."""
    about = ", ".join(f"{html.escape(name)} {html.escape(text)}" for name, text in machine.items())
    previous: Result | None = None
    rows = []
    for result in results:
        rows.append(_row(result, previous))
        previous = result
    return "\n".join([
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>Legato and its peers</title><style>{STYLE}</style></head>",
        f'<body><h1>Legato and its peers</h1><p class="about">{about}</p>',
        "<p>Median time of a call. The ratio is Legato's time over the better peer's: below 1 Legato is faster.</p>", _means(results),
        '<table><tr><th>workload<th>precision<th class="number">threads<th>milliseconds<th class="number">ratio</tr>',
        *rows, "</table></body></html>", ""])


def _means(results: Sequence[Result]) -> str:
    """The geometric mean of the ratios, of all rows and by precision and threads where those differ."""
    groups: dict[str, list[float]] = {}
    for result in results:
        if result.ratio is not None:
            groups.setdefault("", []).append(result.ratio)
            groups.setdefault(f"{result.precision}, {counted(result.threads, 'thread')}", []).append(result.ratio)
    if not groups:
        return ""
    text = f"<p>Geometric mean of the ratios: <b>{geometric_mean(groups['']):.2f}</b> over {counted(len(groups.pop('')), 'row')}"
    parts = [f"{name}: {geometric_mean(ratios):.2f}" for name, ratios in groups.items()]
    detail = f" ({'; '.join(parts)})" if len(parts) > 1 else ""
    return f"{text}{html.escape(detail)}.</p>"


def _row(result: Result, previous: Result | None) -> str:
    """A row. What repeats the row above is left out."""
    above = (previous.name, previous.precision) if previous else ("", "")
    shown = [(result.name, result.name == above[0]), (result.precision, (result.name, result.precision) == above)]
    cells = "".join('<td class="again">' if again else f"<td>{html.escape(text)}" for text, again in shown)
    longest = max((ms for ms in result.milliseconds.values() if ms is not None), default=1.0)
    bars = "".join(_engine(name, ms, longest) for name, ms in result.milliseconds.items())
    ratio = "-" if result.ratio is None else f"{result.ratio:.2f}"
    behind = " behind" if result.ratio is not None and result.ratio > 1 else ""
    return (f'<tr>{cells}<td class="number">{result.threads}<td class="times">{bars}'
            f'<td class="number{behind}">{ratio}</tr>')


def _engine(name: str, milliseconds: float | None, longest: float) -> str:
    """A line of a row: an engine, its bar against the longest of the row, and its time."""
    label = html.escape(name)
    if milliseconds is None:
        return f'<div class="engine missing"><span>{label}</span><span>does not run it</span></div>'
    bar = f'<span class="bar {label}" style="width:{100 * milliseconds / longest:.1f}%"></span>'
    return f'<div class="engine"><span>{label}</span><span>{bar}</span><span class="number">{milliseconds:.3f}</span></div>'
