"""Mutated inputs in child processes: ``python test/fuzz/mutated_inputs.py --count 20000 --seed 1 --minutes 60``, and what was found.

ONNX bytes, IR text, texts of pipelines and targets, saved files and command lines are damaged at random, and handed to Legato: it refuses
them by an error of its own, or computes what the input says. A finding is a signal, a hang, an exception of another kind, an error that
calls itself a bug, and a wrong result. Each case is made of its seed alone: ``--kinds onnx --case SEED`` runs one, and writes what it reads
to ``--keep``.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATHS = [str(HERE), str(HERE.parent), str(HERE.parents[1])]
sys.path[:0] = PATHS

from mutation.case import FOLDER, Finding  # noqa: E402
from mutation.worker import SUBJECTS, subject  # noqa: E402

BATCH = 400
SHARES = {"onnx": 8, "text": 5, "valid": 3, "pipeline": 2, "saved": 2, "options": 2}


@dataclass
class Results:
    """``cases``: how many ran, by kind; ``findings``: (kind, seed, finding)."""

    cases: dict[str, int] = field(default_factory=dict)
    findings: list[tuple[str, int, Finding]] = field(default_factory=list)


def run_batch(kind: str, seeds: list[int], results: Results) -> None:
    """Runs cases in a child process; a new one takes over behind a case that ends it."""
    seeds = list(seeds)
    while seeds:
        done = subprocess.run([sys.executable, "-m", "mutation.worker", kind, *map(str, seeds)], capture_output=True, text=True,
                              errors="replace", env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "LEGATO_CACHE": "off"})
        lines = [line.split(" ", 2) for line in done.stdout.splitlines() if line.count(" ") >= 2]
        results.findings += [(kind, int(seed), Finding(**json.loads(text))) for word, seed, text in lines if word == "FINDING"]
        started = [int(seed) for word, seed, _ in lines if word == "CASE"]
        results.cases[kind] = results.cases.get(kind, 0) + len(started)
        if lines and lines[-1][0] == "END":
            return
        if not started:
            raise RuntimeError(f"the worker of {kind} did not start: {done.stderr[-2000:]}")
        if lines[-1][0] != "OTHER":
            results.findings.append((kind, started[-1], _ended(done.returncode, done.stderr)))
        seeds = seeds[seeds.index(started[-1]) + 1:]


def _ended(code: int, said: str) -> Finding:
    if code in (-signal.SIGALRM, -signal.SIGPROF):
        return Finding("hang", said[-1500:])
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return Finding("signal", f"{name}: {said[-1500:]}")


def run(count: int, seed: int, minutes: float | None, kinds: list[str], keep: Path | None = None, quiet: bool = False) -> Results:
    """Runs ``count`` cases, or as many as the time allows, in turns over the kinds."""
    with tempfile.TemporaryDirectory(prefix="legato-mutants-") as folder:
        os.environ[FOLDER] = folder
        try:
            return _run(count, seed, minutes, kinds, keep, quiet)
        finally:
            del os.environ[FOLDER]


def _run(count: int, seed: int, minutes: float | None, kinds: list[str], keep: Path | None, quiet: bool) -> Results:
    results, begun, batch = Results(), time.monotonic(), 0
    whole = sum(SHARES[kind] for kind in kinds)
    left = {kind: count * SHARES[kind] // whole for kind in kinds}
    while any(left.values()) and (minutes is None or time.monotonic() - begun < minutes * 60):
        for kind in kinds:
            size = min(left[kind], max(1, BATCH * SHARES[kind] // 8))
            if not size:
                continue
            left[kind] -= size
            before = len(results.findings)
            run_batch(kind, [(seed << 32) + (batch << 12) + number for number in range(size)], results)
            batch += 1
            for found in results.findings[before:]:
                report(found, keep)
        if not quiet:
            print(f"{time.monotonic() - begun:.0f} s: {results.cases}, {len(results.findings)} findings", flush=True)
    return results


def report(found: tuple[str, int, Finding], keep: Path | None) -> None:
    """Prints a finding, and keeps what its case reads."""
    kind, seed, finding = found
    print(f"FINDING {kind} {seed}: {finding.kind} {finding.place}: {finding.text}", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        name, data = subject(kind).content(seed)
        (keep / f"{kind}-{seed}-{name}").write_bytes(data)


def main() -> int:
    """The command. Returns the exit code: 1 if something was found."""
    p = argparse.ArgumentParser(prog="mutated_inputs.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=20000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--minutes", type=float)
    p.add_argument("--kinds", default=",".join(SUBJECTS), help="which: " + ", ".join(SUBJECTS))
    p.add_argument("--case", type=int, help="the seed of one case to run, of one kind")
    p.add_argument("--keep", type=Path, help="a folder for the inputs of findings")
    options = p.parse_args()
    kinds = options.kinds.split(",")
    if options.case is not None:
        results = Results()
        run_batch(kinds[0], [options.case], results)
        for found in results.findings:
            report(found, options.keep)
        return 1 if results.findings else 0
    results = run(options.count, options.seed, options.minutes, kinds, options.keep)
    return 1 if results.findings else 0


if __name__ == "__main__":
    sys.exit(main())
