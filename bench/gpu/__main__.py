"""Legato beside torch (cuBLAS, cuDNN) and onnxruntime on a GPU: ``python -m bench.gpu [NAME...] [--target nvvm] [--json FILE]``.

Kernels and models, each in its own precision. Every engine's result is compared with onnxruntime's on the CPU in the same run; one that is
wrong has no time, and the command ends with code 1. The engines take turns in blocks, each of which ends when the device has done its
calls; medians of the blocks' times of a call. Shares are of what Legato's own kernels reach in the same run: multiply-adds of f32,
bandwidth, and for halves and tf32 the best product of all engines so far; the first line says what these are of the device's figures. Where
torch finds no GPU, calls are with host arrays, copies included. FILE is written after each row, and keeps rows that it has of other cases,
so that a run may be made in parts.
"""
import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu import engines, model_cases
from bench.gpu.cases import LIMITS, TYPES, GpuCase
from bench.gpu.engines import GpuRun
from bench.gpu.peaks import GpuPeaks, measured
from bench.gpu.report import GpuResult, gpu_page, gpu_table
from legato.core.errors import LegatoError
from legato.host_device import settled
from legato.targets.catalog import Catalog

BLOCK = 0.05        # seconds of one engine's turn


def error_of(found: np.ndarray, expected: np.ndarray) -> float:
    """max|a-b| / max|b|; infinite for other shapes and numbers that are none."""
    if found.shape != expected.shape or not np.isfinite(found).all():
        return float("inf")
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)) if expected.size else 0.0


def measure(case: GpuCase, target: str, seconds: float, peaks: GpuPeaks, names: Sequence[str] = tuple(engines.ENGINES)) -> tuple[
        GpuResult, bool]:
    """Runs a case by each of the named engines in turns, ``seconds`` for each, and whether all were right. What an engine refuses is
    printed."""
    runs: dict[str, GpuRun] = {}
    errors: dict[str, float] = {}
    expected, right = engines.reference(case), True
    for name in names:
        try:
            run = engines.ENGINES[name](case, target)
            if run is None:
                continue
            errors[name] = error_of(run.result(run.call()), expected)
            if errors[name] <= LIMITS[case.precision]:
                block(run)      # also what fails when it is done later
                runs[name] = run
        except Exception as error:      # of any kind: the other engines and cases are measured
            print(f"{name} does not run {case.name} in {case.precision}: {said(error)}", file=sys.stderr)
            right = right and name not in engines.OWN
            continue
        if name not in runs:
            print(f"{name} is wrong for {case.name} in {case.precision}: an error of {errors[name]:.1e}", file=sys.stderr)
            right = False
    times: dict[str, list[float]] = {name: [] for name in runs}
    while runs and min(map(sum, times.values())) < seconds:
        for name, run in runs.items():
            times[name].append(block(run))
    kernels = runs["legato"].kernels if "legato" in runs else None
    spent = None if kernels is None else kernels()
    share = None if not spent else peaks.share(case.flops, case.bytes, case.precision, spent)
    return GpuResult(case.name, case.precision, {name: statistics.median(times[name]) * 1e3 if name in times else None
                                                 for name in names},
                     None if spent is None else spent * 1e3, share, errors), right


def said(error: Exception) -> str:
    """The first line of an error, with its type where that is none of Legato's."""
    text = (str(error).splitlines() or [""])[0]
    return text if isinstance(error, LegatoError) else f"{type(error).__name__}: {text}"


def block(run: GpuRun) -> float:
    """The seconds of a call in one turn: as many as last ``BLOCK`` seconds, or one."""
    run.call()      # caches hold another engine's data
    run.wait()
    started = time.perf_counter()
    run.call()
    run.wait()
    count = max(1, round(BLOCK / max(time.perf_counter() - started, 1e-7)))
    started = time.perf_counter()
    for _ in range(count):
        run.call()
    run.wait()
    return (time.perf_counter() - started) / count


def best_tensor(peaks: GpuPeaks, case: GpuCase, result: GpuResult) -> GpuPeaks:
    """The peaks with what a product of halves has shown."""
    known = [ms for ms in (*result.milliseconds.values(), result.kernels) if ms]
    if case.precision == "f32" or not case.flops or not known:
        return peaks
    return replace(peaks, tensor=max(peaks.tensor, case.flops / min(known) * 1e3))


def wanted(names: Sequence[str], precisions: Sequence[str], small: bool) -> Iterator[GpuCase]:
    """The named cases, made one by one. Models that cannot be written here are left out, which is printed."""
    for name in names:
        try:
            yield from model_cases.of_name(name, precisions, small)
        except ImportError as error:
            print(f"{name} is left out: {error} (pip install torch torchvision transformers onnxscript)", file=sys.stderr)


def written(path: Path, machine: Mapping[str, Any], peaks: GpuPeaks, results: Sequence[GpuResult], earlier: Sequence[Any]) -> None:
    """Writes results as JSON, and earlier rows of other cases; the file is whole at any time."""
    rows = [{**asdict(result), "ratio": result.ratio} for result in results]
    measured = {(row["name"], row["precision"]) for row in rows}
    kept = [row for row in earlier if (row["name"], row["precision"]) not in measured]
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps({"machine": machine, "peaks": asdict(peaks), "results": kept + rows}, indent=1) + "\n")
    part.replace(path)


def rows_of(path: Path | None, machine: Mapping[str, Any]) -> list[Any]:
    """The rows of a file that this machine has written, with the same target and versions of the engines."""
    if path is None or not path.is_file():
        return []
    found = json.loads(path.read_text())
    return found["results"] if found["machine"] == machine else []


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = model_cases.known()
    p.add_argument("names", nargs="*", metavar="NAME", choices=[*known, []], help=f"of {', '.join(known)}; all by default")
    p.add_argument("--target", default="nvvm", help="nvvm{chip=sm_90a ...} or vulkan (default: nvvm)")
    p.add_argument("--precisions", default=",".join(TYPES), help=f"of {', '.join(TYPES)}, with commas; all by default")
    p.add_argument("--engines", default=",".join(engines.ENGINES), help=f"of {', '.join(engines.ENGINES)}, with commas; all by default")
    p.add_argument("--small", action="store_true", help="sizes of kernels divided by 16, for devices that are CPUs")
    p.add_argument("--seconds", type=float, default=1.0, help="for each engine and row (default: 1.0)")
    p.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    p.add_argument("--html", type=Path, metavar="FILE", help="write a page")
    return p


def main(argv: list[str] | None = None) -> int:
    """Measures, and prints the table. Returns the exit code: 1 for a wrong result or one that Legato does not have."""
    p = parser()
    options = p.parse_args(argv)
    precisions = options.precisions.split(",")
    if unknown := sorted({*precisions} - {*TYPES}):
        p.error(f"there is no precision {', '.join(unknown)}: --precisions takes {', '.join(TYPES)}, with commas")
    names = options.engines.split(",")
    if unknown := sorted({*names} - {*engines.ENGINES}):
        p.error(f"there is no engine {', '.join(unknown)}: --engines takes {', '.join(engines.ENGINES)}, with commas")
    for line in engines.missing():
        print(line, file=sys.stderr)
    try:
        peaks = measured(options.target, options.small)
    except (LegatoError, RuntimeError) as error:
        print(f"the target '{options.target}' does not run here: {error}", file=sys.stderr)
        return 1
    print(peaks)
    machine = {"target": str(settled(Catalog().resolve(options.target))), "device": peaks.device, **engines.versions()}
    earlier = rows_of(options.json, machine)
    results: list[GpuResult] = []
    is_right = True
    for case in wanted(options.names or model_cases.known(), precisions, options.small):
        try:
            result, right = measure(case, options.target, options.seconds, peaks, names)
        except Exception as error:      # as of a device that does not answer any more
            print(f"{case.name} in {case.precision} is not measured: {said(error)}", file=sys.stderr)
            is_right = False
            continue
        is_right = is_right and right
        peaks = best_tensor(peaks, case, result)
        results.append(result)
        print(gpu_table(results[-1:], headed=len(results) == 1), flush=True)
        if options.json:
            written(options.json, machine, peaks, results, earlier)
    if options.html:
        options.html.write_text(gpu_page(results, machine))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
