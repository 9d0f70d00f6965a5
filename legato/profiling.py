"""``legato.profile``: where a compiled model's time goes, beside what the machine or the device can do."""
from dataclasses import replace
from functools import cache
from typing import Any

from legato.core.errors import LegatoError
from legato.runtime import profile as runs_of
from legato.runtime.cuda_device import cuda_figures
from legato.runtime.executable import Executable


def profile(executable: Executable, *args: Any, runs: int = 20, warmup: int = 3, peaks: "runs_of.Peaks | bool" = True,
            **named: Any) -> "runs_of.Profile":
    """Measures each kernel call of a compiled or loaded model on the given arguments, which are those of a call.

    ``runs``: how many are measured, for medians; ``warmup``: runs before them. ``peaks``: what the machine can do, which is measured
    (about 2 s, once in a process); False: no percentages. Kernels of GPUs are timed on the device, by events of CUDA or timestamps of
    Vulkan; their peaks are what CUDA says of the device (f32 without tensor cores); for Vulkan there are none. The result prints as a
    table, and has ``json()`` and ``chrome_trace()``. The executable is not touched: a second instance of it runs. Raises what a call
    raises, and LegatoError for what cannot be profiled.
    """
    if not isinstance(executable, Executable):
        raise LegatoError(f"what is profiled is a compiled model (legato.compile, legato.load), not {type(executable).__name__}")
    if not isinstance(peaks, bool | runs_of.Peaks):
        raise LegatoError(f"peaks= is True, False, or Peaks of {runs_of.__name__}, not {type(peaks).__name__}: {peaks!r}")
    found = runs_of.profile(executable, *args, runs=runs, warmup=warmup, peaks=None, **named)
    return replace(found, peaks=_peaks_for(executable, found) if peaks is True else peaks or None)


def _peaks_for(executable: Executable, found: "runs_of.Profile") -> "runs_of.Peaks | None":
    """The peaks of what ran the kernels; None if they are not known."""
    if executable.signature.device == "cuda":
        figures = cuda_figures()
        known = figures.gflops and figures.bandwidth     # drivers say 0 of clocks that they do not tell
        return runs_of.Peaks(figures.gflops, figures.bandwidth) if known else None
    return None if found.device else measured_peaks(executable.signature.threads)


@cache
def measured_peaks(threads: int) -> runs_of.Peaks:
    """The peaks of so many cores of this machine: f32 fused multiply-adds with its widest vectors, and copies of memory."""
    from legato.codegen.peak import measure_peak

    return runs_of.Peaks(threads * measure_peak(), runs_of.measure_bandwidth(threads))
