"""Results of ``bench.peers`` for people: a table as text, and a page with bars."""
from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .peers import Result

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3em .6em; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: block; height: .8em; margin: .25em 0; border-radius: 2px; background: #b9c4d0; }
.bar.legato { background: #2b6cb0; }
.behind { color: #b03030; }
@media (prefers-color-scheme: dark) {
  body { background: #181a1d; color: #ddd; }
  th, td { border-color: #333; }
  .bar { background: #4a5560; }
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
    ratios = [result.ratio for result in results if result.ratio is not None]
    about = ", ".join(f"{html.escape(name)} {html.escape(text)}" for name, text in machine.items())
    parts = [
        '<!doctype html>', '<html lang="en"><meta charset="utf-8"><title>Legato and its peers</title>', f"<style>{STYLE}</style>",
        "<h1>Legato and its peers</h1>",
        f"<p>{about}. Median milliseconds of a call; the ratio is Legato's time over the better peer's.</p>",
    ]
    if ratios:
        parts.append(f"<p>Geometric mean of the ratios: <b>{geometric_mean(ratios):.2f}</b> over {len(ratios)} rows; "
                     "below 1 Legato is faster.</p>")
    parts += ["<table><tr><th>workload<th>threads<th>milliseconds<th>ratio</tr>", *map(_row, results), "</table></html>", ""]
    return "\n".join(parts)


def _row(result: Result) -> str:
    known = {name: ms for name, ms in result.milliseconds.items() if ms is not None}
    longest = max(known.values(), default=1.0)
    bars = "".join(f"{html.escape(name)} {ms:.3f}<span class=\"bar {html.escape(name)}\" style=\"width:{100 * ms / longest:.1f}%\"></span>"
                   for name, ms in known.items())
    ratio = "-" if result.ratio is None else f"{result.ratio:.2f}"
    behind = " behind" if result.ratio is not None and result.ratio > 1 else ""
    return (f"<tr><td>{html.escape(result.name)} {result.precision}<td class=\"number\">{result.threads}<td>{bars}"
            f"<td class=\"number{behind}\">{ratio}</tr>")
