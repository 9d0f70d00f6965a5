"""Runs many cases in worker processes, so that a crash or a hang is a finding; keeps findings and counts what was covered."""
import itertools
import multiprocessing
import os
import re
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from fuzzing import Kind, Outcome, Program, attempt, subject

PATIENCE = 10   # times the limit, where others use the processors
PROGRAMS_OF_A_WORKER = 1000   # then a fresh one: compiled code and contexts are not given back


@dataclass
class Tally:
    """The programs of one subject so far."""

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


def _work(name: str, target: str, chunks: Connection, results: Connection, log: str) -> None:
    """A worker: seeds in, outcomes out."""
    import faulthandler

    os.environ["LEGATO_CACHE"] = "off"
    sys.stdout = sys.stderr = file = open(log, "w")
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
    faulthandler.enable(file)
    make = subject(name)
    while seeds := chunks.recv():
        answers: dict[int, tuple[Outcome, Mapping[str, int], Mapping[str, str | bytes]]] = {}
        programs: dict[int, Program] = {}
        for seed in seeds:
            try:
                programs[seed] = make(seed)
            except Exception:
                answers[seed] = Outcome("error", f"the generator fails\n{traceback.format_exc()}"), {}, {}
        for (seed, program), outcome in zip(programs.items(), attempt([*programs.values()], seeds[0], target), strict=True):
            answers[seed] = outcome, program.features, dict(program.files()) if outcome.finding else {}
        results.send([answers[seed] for seed in seeds])


def processor_seconds(pid: int) -> float | None:
    """The processor's time that a process has used; None where the system does not tell it in /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Worker:
    """A process and the seeds that it is at."""

    def __init__(self, name: str, target: str, log: Path):
        context = multiprocessing.get_context("spawn")
        self.log, self.done, self.since, self.used = log, 0, 0.0, 0.0
        self.seeds: list[int] = []
        theirs, self.chunks = context.Pipe(duplex=False)
        self.results, ours = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(name, target, theirs, ours, str(log)), daemon=True)
        self.process.start()
        theirs.close()
        ours.close()

    def give(self, seeds: list[int]) -> None:
        self.seeds, self.since, self.used = seeds, time.monotonic(), self.processor_seconds() or 0.0
        self.chunks.send(seeds)

    def processor_seconds(self) -> float | None:
        return processor_seconds(self.process.pid) if self.process.pid is not None else None

    def hangs(self, limit: float) -> bool:
        """Whether its seeds have taken longer than ``limit`` seconds of the processor's time; a busy machine gives it little."""
        passed, used = time.monotonic() - self.since, self.processor_seconds()
        return passed > limit and (used is None or used - self.used > limit or passed > PATIENCE * limit)

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def keep(folder: Path, name: str, target: str, seed: int, outcome: Outcome, files: Mapping[str, str | bytes]) -> Path:
    """Writes a finding: its files, what was found, and the command that runs it again."""
    place = folder / f"{name}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for file, content in files.items():
        (place / file).write_bytes(content.encode() if isinstance(content, str) else content)
    command = f"python test/fuzz/fuzz.py {name} --seed {seed} --count 1" + (f" --target '{target}'" if target else "")
    (place / "finding.txt").write_text(f"{outcome.kind}\n{command}\n\n{outcome.text}\n")
    return place


def _chunks(seeds: Iterator[int], size: int) -> Iterator[list[int]]:
    """The seeds in groups that are compiled together; every fifth stands alone."""
    for number in itertools.count():
        chunk = list(itertools.islice(seeds, 1 if number % 5 == 4 else size))
        if not chunk:
            return
        yield chunk


class Campaign:
    """The run of one subject: give its workers seeds until these, or time, are at an end. ``target``: empty for CPUs of several levels."""

    def __init__(self, name: str, folder: Path, limit: float = 120, jobs: int = 1, target: str = ""):
        self.name, self.folder, self.limit, self.jobs, self.target = name, folder, limit, jobs, target
        self.tally = Tally()
        self.workers: list[_Worker] = []
        self.retries: list[list[int]] = []   # of groups that ended a process, one by one
        self.started = 0
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, seeds: Iterator[int], seconds: float, size: int = 8) -> Iterator[Tally]:
        """Yields the tally now and then. ``size``: programs that are compiled together."""
        ends, chunks = time.monotonic() + seconds, _chunks(seeds, size)

        def following() -> list[int] | None:
            if self.retries:
                return self.retries.pop()
            return next(chunks, None) if time.monotonic() < ends else None

        while True:
            while len(self.workers) < self.jobs and (chunk := following()):
                self.started += 1
                self.workers.append(_Worker(self.name, self.target, self.folder / f"{self.name}-worker-{self.started}.log"))
                self.workers[-1].give(chunk)
            if not self.workers:
                return
            ready = wait([w.results for w in self.workers], timeout=1)
            for worker in [*self.workers]:
                if worker.results in ready:
                    self._received(worker, following)
                elif worker.hangs(self.limit):
                    self._ended(worker, "hang")
            yield self.tally

    def _received(self, worker: _Worker, following: Callable[[], list[int] | None]) -> None:
        try:
            answers = worker.results.recv()
        except (EOFError, OSError):
            worker.process.join(5)
            if worker.process.exitcode == 1:   # an exception outside of programs: the fuzzer is at fault
                raise RuntimeError(f"{self.name}, seeds {worker.seeds}:\n{worker.log.read_text()}") from None
            self._ended(worker, "crash")
            return
        for seed, (outcome, features, files) in zip(worker.seeds, answers, strict=True):
            self._add(seed, outcome, features, files)
        worker.done += len(answers)
        chunk = following() if worker.done < PROGRAMS_OF_A_WORKER else None
        if chunk:
            worker.give(chunk)
            return
        self.workers.remove(worker)
        worker.end()
        worker.log.unlink(missing_ok=True)

    def _ended(self, worker: _Worker, kind: Kind) -> None:
        """A process that ended, or does not: the seeds of its group are tried one by one."""
        self.workers.remove(worker)
        worker.end()
        if len(worker.seeds) > 1:
            self.retries += [[seed] for seed in worker.seeds]
            return
        text = worker.log.read_text(errors="replace")[-6000:] if worker.log.exists() else "it has not begun"
        files = subject(self.name)(worker.seeds[0]).files()
        self._add(worker.seeds[0], Outcome(kind, f"{text}\nexit code {worker.process.exitcode}"), {}, files)

    def _add(self, seed: int, outcome: Outcome, features: Mapping[str, int], files: Mapping[str, str | bytes]) -> None:
        self.tally.add(seed, outcome, features)
        if outcome.finding:
            keep(self.folder, self.name, self.target, seed, outcome, files)
