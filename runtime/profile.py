"""Profiles of a compiled model: the time of each kernel call, beside its work and the machine's peaks."""
from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.core.given import check_whole
from legato.core.notebook import counted, html_table
from legato.runtime import device_records
from legato.runtime.cuda_device import cuda_figures
from legato.runtime.executable import Executable
from legato.runtime.profile_text import milliseconds, table, trace
from legato.runtime.recorder import RecordedCall
from legato.runtime.sizes import evaluate, symbol_values


@dataclass(frozen=True)
class Peaks:
    """What the machine can do with the threads that the model uses. ``gflops``: f32 fused multiply-adds, in GFLOP/s. ``bandwidth``: of
    memory, in GB/s."""

    gflops: float
    bandwidth: float


@dataclass(frozen=True)
class CallProfile:
    """One call of a kernel or packed function, over all runs.

    ``kernel``: its function; ``ops``: the graph ops that it computes, with the model's own names; ``seconds``: the median of a run's time
    in it; ``share``: of the time of a run that nothing interrupts; those of calls that run side by side add up to more than it;
    ``flops``: arithmetic operations of a run in it; ``bytes``: read and written; both None where they depend on data or are not known.
    ``count``: how often a run made the call (0 in a branch that was not taken).
    """

    kernel: str
    ops: tuple[str, ...]
    seconds: float
    share: float
    flops: int | None
    bytes: int | None
    count: int

    @property
    def gflops(self) -> float | None:
        """Arithmetic operations in GFLOP/s; None if not known, or if there are none."""
        return self.flops / self.seconds / 1e9 if self.flops and self.seconds else None

    @property
    def bandwidth(self) -> float | None:
        """Bytes read and written in GB/s; None if not known. Above the memory's where data are in a cache."""
        return self.bytes / self.seconds / 1e9 if self.bytes and self.seconds else None


@dataclass(frozen=True, repr=False)
class Profile:
    """Where a model's time goes.

    ``calls``: in the order in which they run; ``seconds``: the median time of a run; ``other``: the median of a run's seconds outside of
    all calls: checks of arguments, memory, copies; ``overlap``: what the calls' seconds add up to beyond the time in which one or more of
    them ran, since threads run parts of main side by side, the median of runs; ``runs``: how many; ``symbols``: values of the symbolic
    sizes; ``threads``; ``peaks``: None if they were not measured; ``events``: of the last run, as (number of the call, begin, end) in
    nanoseconds; ``device``: the name of the GPU that runs the kernels, by whose clock they are timed, empty for a CPU.

    Medians are taken of each call by itself. On a machine with other work their sum may be far less than ``seconds``: each run is
    interrupted somewhere, but each call in few runs only.
    """

    calls: tuple[CallProfile, ...]
    seconds: float
    other: float
    runs: int
    symbols: Mapping[str, int]
    threads: int
    peaks: Peaks | None
    events: tuple[tuple[int, int, int], ...]
    device: str = ""
    overlap: float = 0.0

    @property
    def undisturbed(self) -> float:
        """The sum of the medians, of the calls and of what is outside of them, less their overlap, in seconds: a run that nothing
        interrupts."""
        return sum(call.seconds for call in self.calls) + self.other - self.overlap

    def table(self, limit: int | None = 40) -> str:
        """A table of the calls, the longest first; ``limit``: rows, None for all."""
        return table(self, limit)

    def __repr__(self) -> str:
        return f"<legato.Profile: {milliseconds(self.seconds)} a run, {counted(len(self.calls), 'call')}; print it for the table>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = [(call.seconds * 1e3, call.share * 100, "" if call.gflops is None else call.gflops,
                 "" if call.bandwidth is None else call.bandwidth, f"@{call.kernel}", ", ".join(call.ops))
                for call in sorted(self.calls, key=lambda call: -call.seconds) if call.count]
        return html_table(("ms", "%", "GFLOP/s", "GB/s", "kernel", "computes"), rows, repr(self))

    def json(self) -> dict[str, Any]:
        """The profile as a value for ``json.dumps``; times in seconds."""
        rows = [{**asdict(call), "gflops": call.gflops, "bandwidth": call.bandwidth} for call in self.calls]
        return {"seconds": self.seconds, "other": self.other, "overlap": self.overlap, "runs": self.runs,
                "symbols": dict(self.symbols), "threads": self.threads, "device": self.device,
                "peaks": asdict(self.peaks) if self.peaks else None, "calls": rows}

    def chrome_trace(self) -> dict[str, Any]:
        """The last run in the Trace Event Format, for chrome://tracing and ui.perfetto.dev."""
        return trace(self)


def profile(executable: Executable, *args: Any, runs: int = 20, warmup: int = 3, peaks: Peaks | None = None, **named: Any) -> Profile:
    """Runs a model ``warmup + runs`` times (``warmup``: once at least) on the arguments, given as in a call, and measures each kernel call.

    Kernels of a GPU are timed by its own clock; such a call waits for the device, also if its arguments are there. The executable itself is
    not touched: a second instance of it runs, with weights and code shared. Raises what a call raises, and
    LegatoError for a model that was compiled without records.
    """
    recorder = executable.recorder
    if recorder is None:
        raise LegatoError("this executable cannot be profiled: its code does not run here")
    check_whole(runs, "runs=")
    check_whole(warmup, "warmup=")
    if runs < 1:
        raise LegatoError(f"a profile needs at least one run, not {runs}")
    described = recorder.calls()
    records, function = recorder.instance(len(described))
    recording = executable.with_function(function)
    times, whole, busy = [], [], []
    events: list[tuple[int, int, int]] = []
    with device_records.recording() as noted:
        recording(*args, **named)
        if (made := records.counted) > len(described):      # loops of main make some calls more than once
            records, function = recorder.instance(made)
            recording = executable.with_function(function)
        for _ in range(warmup - 1):
            recording(*args, **named)
        records.take()
        noted.take()
        for _ in range(runs):
            begin = time.perf_counter_ns()
            recording(*args, **named)
            whole.append(time.perf_counter_ns() - begin)
            events, on_device = records.take(), noted.take()
            if noted.device:    # main makes one call, of the engine that runs the whole graph
                described, events = tuple(noted.calls), on_device
            times.append(_by_call(events, len(described)))
            busy.append(covered(events))
    device = cuda_figures().name if executable.signature.device == "cuda" else noted.device
    symbols = symbol_values(_shapes(executable, args, named))
    other = max(0.0, median(all_ - some for all_, some in zip(whole, busy)) / 1e9)
    overlap = median(sum(spent for _, spent in run) - some for run, some in zip(times, busy)) / 1e9
    medians = [median(run[number][1] for run in times) / 1e9 for number in range(len(described))]
    total = sum(medians) + other - overlap
    calls = tuple(_call(one, spent, spent / total, times[-1][number][0], symbols)
                  for number, (one, spent) in enumerate(zip(described, medians)))
    return Profile(calls, median(whole) / 1e9, other, runs, symbols, executable.signature.threads, peaks, tuple(events),
                   device, overlap)


def measure_bandwidth(threads: int = 1, megabytes: int = 128, repeats: int = 5) -> float:
    """GB/s that a copy of memory far larger than the caches reads and writes, the best of several; by so many threads at once."""
    from concurrent.futures import ThreadPoolExecutor

    arrays = [(np.ones(megabytes << 17), np.ones(megabytes << 17)) for _ in range(threads)]
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats):
            begin = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(*pair), arrays))
            best = min(best, time.perf_counter() - begin)
    return 2 * threads * (megabytes << 20) / best / 1e9


def covered(events: Sequence[tuple[int, int, int]]) -> int:
    """The nanoseconds in which one or more calls ran."""
    found = last = 0
    for _, begin, end in sorted(events, key=lambda event: event[1]):
        found += max(end - max(begin, last), 0)
        last = max(end, last)
    return found


def _by_call(events: Sequence[tuple[int, int, int]], count: int) -> list[tuple[int, int]]:
    """For each call how often it ran, and its nanoseconds in all."""
    found = [(0, 0)] * count
    for number, begin, end in events:
        times, total = found[number]
        found[number] = times + 1, total + end - begin
    return found


def _shapes(executable: Executable, args: Sequence[Any], named: Mapping[str, Any]) -> list[tuple[Sequence[int | str], Sequence[int]]]:
    inputs = executable.inputs
    given = [*zip(inputs, args), *((p, named[p.name]) for p in inputs if p.name in named)]
    return [(parameter.shape, tuple(value.shape)) for parameter, value in given]


def _call(described: RecordedCall, seconds: float, share: float, count: int, symbols: Mapping[str, int]) -> CallProfile:
    flops, bytes_ = (None if text is None else evaluate(text, symbols) for text in (described.flops, described.bytes))
    return CallProfile(described.function, described.ops, seconds, share, None if flops is None else flops * count,
                       None if bytes_ is None else bytes_ * count, count)
