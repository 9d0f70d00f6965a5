"""Profiles for people: a table, and a trace that browsers draw."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from legato.runtime.profile import CallProfile, Peaks, Profile

HEADS = ("time", "share", "GFLOP/s", "of peak", "GB/s", "of memory", "kernel", "computes")
SHOWN_OPS = 4
LITTLE = 0.01       # of a run: less overlap of calls is not shown
DISTURBED = 0.8     # of the median run that medians of its parts are, below which runs count as interrupted


def table(profile: Profile, limit: int | None) -> str:
    """The calls, the longest first, then what is left; and what the whole model makes of the machine."""
    ran = sorted((call for call in profile.calls if call.count), key=lambda call: -call.seconds)
    shown = ran if limit is None else ran[:limit]
    rows = [HEADS, *(_row(call, profile.peaks) for call in shown)]
    rest = sum(call.seconds for call in ran[len(shown):])
    if rest:
        rows.append(_line(rest, profile.undisturbed, f"{len(ran) - len(shown)} more calls"))
    rows.append(_line(profile.other, profile.undisturbed, "outside of calls"))
    if profile.overlap > LITTLE * profile.undisturbed:
        rows.append(_line(-profile.overlap, profile.undisturbed, "of calls that ran beside others, on other threads"))
    if profile.peaks is None:
        rows = [(*row[:3], row[4], *row[6:]) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    numbers = len(widths) - 2
    lines = ["  ".join(cell.rjust(w) if i < numbers else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
             for row in rows]
    return "\n".join([_headline(profile), "", *("  " + line for line in lines), *_total(profile)])


def trace(profile: Profile) -> dict[str, Any]:
    """The last run in the Trace Event Format; times in microseconds."""
    start = min((begin for _, begin, _ in profile.events), default=0)
    events = []
    busy: list[int] = []    # until when each thread is, as far as calls tell
    for number, begin, end in sorted(profile.events, key=lambda event: event[1]):
        call = profile.calls[number]
        thread = next((number for number, until in enumerate(busy) if until <= begin), len(busy))
        busy[thread:thread + 1] = [end]
        events.append({"name": ", ".join(call.ops) or call.kernel, "cat": "kernel", "ph": "X", "pid": 0, "tid": thread,
                       "ts": (begin - start) / 1e3, "dur": (end - begin) / 1e3,
                       "args": {"kernel": call.kernel, "ops": list(call.ops), "flops": call.flops, "bytes": call.bytes}})
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def milliseconds(seconds: float) -> str:
    """A time for people."""
    return f"{seconds * 1e3:.3f} ms"


def _headline(profile: Profile) -> str:
    sizes = "".join(f", {name} = {value}" for name, value in profile.symbols.items())
    where = f"on {profile.device}" if profile.device else f"{profile.threads} thread{'s' if profile.threads > 1 else ''}"
    line = f"{milliseconds(profile.seconds)} a run, median of {profile.runs}; {where}{sizes}"
    if profile.undisturbed < DISTURBED * profile.seconds:
        line += (f"\nother work on this machine interrupts the runs: the medians of the parts below add up to "
                 f"{milliseconds(profile.undisturbed)}")
    if profile.peaks is None:
        return line
    of = "device" if profile.device else "machine"
    return f"{line}\nthe {of}: {profile.peaks.gflops:.0f} GFLOP/s (f32), {profile.peaks.bandwidth:.1f} GB/s of memory"


def _total(profile: Profile) -> list[str]:
    flops = sum(call.flops or 0 for call in profile.calls)
    if not flops or profile.peaks is None:
        return []
    unknown = sum(call.seconds for call in profile.calls if call.flops is None)     # calls of backends and of packed functions
    rate = flops / (profile.undisturbed - unknown) / 1e9
    line = f"  in all {flops / 1e9:.3f} GFLOP at {rate:.0f} GFLOP/s, {rate / profile.peaks.gflops:.0%} of the peak"
    return ["", f"{line}, without the {milliseconds(unknown)} in calls whose arithmetic is not known" if unknown else line]


def _row(call: CallProfile, peaks: Peaks | None) -> tuple[str, ...]:
    gflops, bandwidth = call.gflops, call.bandwidth
    return (milliseconds(call.seconds), f"{call.share:.1%}", _number(gflops), _percent(gflops, peaks.gflops if peaks else None),
            _number(bandwidth), _percent(bandwidth, peaks.bandwidth if peaks else None),
            f"@{call.kernel}{f' x{call.count}' if call.count > 1 else ''}", _first(call.ops))


def _line(seconds: float, whole: float, text: str) -> tuple[str, ...]:
    return (milliseconds(seconds), f"{seconds / whole:.1%}", "", "", "", "", text, "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _percent(value: float | None, peak: float | None) -> str:
    return "-" if value is None or peak is None else f"{value / peak:.0%}"


def _first(ops: Sequence[str]) -> str:
    """The first graph ops, by the model's names where it has some."""
    names = [text.partition(" ")[2] or text for text in ops]
    return ", ".join(names[:SHOWN_OPS]) + (f" and {len(names) - SHOWN_OPS} more" if len(names) > SHOWN_OPS else "")
