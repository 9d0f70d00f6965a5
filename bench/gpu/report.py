"""Results of ``bench.gpu`` for people: a table as text, and a page."""
from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.gpu.engines import OWN
from bench.page import STYLE

COLUMNS = 13


@dataclass(frozen=True)
class GpuResult:
    """The median milliseconds of a call by engine; None for an engine that has not run the case or was wrong. ``kernels``: of Legato's
    kernels alone, by the device's clock. ``share``: the time that the device would need at least over that. ``errors``: by engine, of
    max|a-b| / max|b| against onnxruntime on the CPU."""

    name: str
    precision: str
    milliseconds: Mapping[str, float | None]
    kernels: float | None
    share: float | None
    errors: Mapping[str, float]

    @property
    def ratio(self) -> float | None:
        """Legato's best time over the best peer's; None without a peer."""
        ours = [ms for name, ms in self.milliseconds.items() if name in OWN and ms is not None]
        peers = [ms for name, ms in self.milliseconds.items() if name not in OWN and ms is not None]
        return min(ours) / min(peers) if ours and peers else None


def cells(result: GpuResult) -> list[str]:
    """The numbers of a row."""
    times = [shown(ms, ".4g") for ms in result.milliseconds.values()]
    share = None if result.share is None else 100 * result.share
    error = result.errors.get("legato")
    return [*times, shown(result.ratio, ".2f"), shown(result.kernels, ".4g"), shown(share, ".0f"), shown(error, ".0e")]


def shown(value: float | None, form: str) -> str:
    """A number, or a dash."""
    return "-" if value is None else format(value, form)


def head(result: GpuResult) -> list[str]:
    """The names of the numbers."""
    return [*result.milliseconds, "ratio", "kernels", "% of peak", "error"]


def gpu_table(results: Sequence[GpuResult], headed: bool = True) -> str:
    """One line a result."""
    lines = [f"{'':16} {'':5}" + "".join(f"{name:>{COLUMNS + 1}}" for name in head(results[0]))] if headed else []
    lines += [f"{one.name:16} {one.precision:5}" + "".join(f"{text:>{COLUMNS + 1}}" for text in cells(one)) for one in results]
    return "\n".join(lines)


def gpu_page(results: Sequence[GpuResult], machine: Mapping[str, str]) -> str:
    """A page that needs no other file."""
    about = ", ".join(f"{html.escape(name)} {html.escape(text)}" for name, text in machine.items())
    rows = "".join(f"<tr><td>{html.escape(one.name)}<td>{one.precision}"
                   + "".join(f'<td class="number">{text}' for text in cells(one)) + "</tr>\n" for one in results)
    heads = "".join(f'<th class="number">{html.escape(name)}' for name in (head(results[0]) if results else []))
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Legato on a GPU</title><style>{STYLE}</style></head>\n'
            f'<body><h1>Legato on a GPU</h1><p class="about">{about}</p>\n<p>Median milliseconds of a call. The ratio is Legato\'s time '
            "over the best peer's: below 1 Legato is faster. Kernels: of Legato's, by the device's clock; the share of the peak is of "
            "these.</p>\n"
            f"<table><tr><th>workload<th>precision{heads}</tr>\n{rows}</table></body></html>\n")
