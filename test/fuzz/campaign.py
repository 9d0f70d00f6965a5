"""Runs many cases in worker processes, so that a crash or a hang is a finding; keeps findings and counts what was covered."""
import multiprocessing
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from fuzzing import Case, Outcome, attempt, subject

CASES_OF_A_WORKER = 400   # then a fresh one: compiled code and contexts are not given back


@dataclass
class Tally:
    """The cases of one subject so far."""

    kinds: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    findings: dict[int, Outcome] = field(default_factory=dict)

    def add(self, seed: int, outcome: Outcome, features: Mapping[str, int]) -> None:
        self.kinds[outcome.kind] += 1
        self.features.update(features)
        if outcome.kind in ("refused", "invalid"):
            self.refusals[f"{outcome.kind}: {without_numbers(outcome.text)}"] += 1
        if outcome.finding:
            self.findings[seed] = outcome

    @property
    def count(self) -> int:
        return self.kinds.total()


def without_numbers(text: str) -> str:
    """The last line of a message, without what differs from case to case."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"|\[[^]]*\]", "_", lines[-1]))[:160]


def _work(name: str, seeds: Connection, results: Connection, log: str) -> None:
    """A worker: a seed in, an outcome out."""
    import faulthandler
    import os

    os.environ["LEGATO_CACHE"] = "off"
    sys.stdout = sys.stderr = file = open(log, "w")
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
    faulthandler.enable(file)
    make = subject(name)
    while (seed := seeds.recv()) is not None:
        try:
            case = make(seed)
        except Exception as error:
            raise SystemExit(f"the generator of {name} fails on seed {seed}: {error!r}") from error
        outcome = attempt(case)
        files = dict(case.files()) if outcome.finding else {}
        results.send((outcome, dict(Counter(case.features)), files))


class _Worker:
    """A process and the seed that it is at."""

    def __init__(self, name: str, log: Path):
        context = multiprocessing.get_context("spawn")
        self.log, self.done, self.seed, self.since = log, 0, -1, 0.0
        theirs, self.seeds = context.Pipe(duplex=False)
        self.results, ours = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(name, theirs, ours, str(log)), daemon=True)
        self.process.start()
        theirs.close()
        ours.close()

    def give(self, seed: int) -> None:
        self.seed, self.since = seed, time.monotonic()
        self.seeds.send(seed)

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def keep(folder: Path, name: str, seed: int, outcome: Outcome, files: Mapping[str, str | bytes]) -> Path:
    """Writes a finding: its files, what was found, and the command that runs it again."""
    place = folder / f"{name}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for file, content in files.items():
        (place / file).write_bytes(content.encode() if isinstance(content, str) else content)
    command = f"python test/fuzz/fuzz.py {name} --seed {seed} --count 1"
    (place / "finding.txt").write_text(f"{outcome.kind}\n{command}\n\n{outcome.text}\n")
    return place


def files_of(name: str, seed: int) -> Mapping[str, str | bytes]:
    """The files of a case that killed its worker, made without running it."""
    case: Case = subject(name)(seed)
    return case.files()


def campaign(name: str, seeds: Iterator[int], folder: Path, seconds: float, limit: float = 120, jobs: int = 1) -> Iterator[Tally]:
    """Runs the cases of a subject until seeds or time are at an end; yields the tally after each. ``limit``: seconds for one case."""
    tally, folder = Tally(), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ends, started = time.monotonic() + seconds, 0
    workers: list[_Worker] = []

    def fill() -> None:
        nonlocal started
        while len(workers) < jobs and time.monotonic() < ends:
            seed = next(seeds, None)
            if seed is None:
                return
            started += 1
            workers.append(_Worker(name, folder / f"{name}-worker-{started}.log"))
            workers[-1].give(seed)

    def record(worker: _Worker, outcome: Outcome, features: Mapping[str, int], files: Mapping[str, str | bytes]) -> None:
        tally.add(worker.seed, outcome, features)
        if outcome.finding:
            keep(folder, name, worker.seed, outcome, files)

    fill()
    while workers:
        ready = wait([w.results for w in workers], timeout=1)
        for worker in [*workers]:
            late = time.monotonic() - worker.since > limit
            if worker.results not in ready and not late:
                continue
            try:
                if worker.results not in ready:
                    raise TimeoutError(f"no end after {limit:.0f} seconds")
                record(worker, *worker.results.recv())
                worker.done += 1
                seed = next(seeds, None) if time.monotonic() < ends and worker.done < CASES_OF_A_WORKER else None
                if seed is not None:
                    worker.give(seed)
                else:
                    workers.remove(worker)
                    worker.end()
                    worker.log.unlink(missing_ok=True)
            except (EOFError, OSError) as error:   # TimeoutError is an OSError
                workers.remove(worker)
                worker.end()
                text = worker.log.read_text(errors="replace")
                if text.startswith("the generator") or "\nthe generator" in text:
                    raise RuntimeError(text) from error
                kind = "hang" if isinstance(error, TimeoutError) else "crash"
                outcome = Outcome(kind, f"{text[-6000:]}\nexit code {worker.process.exitcode} {error}")
                record(worker, outcome, {}, files_of(name, worker.seed))
            fill()
            yield tally
