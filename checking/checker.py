"""Checks each pass of a pipeline: runs the module before and after it, and compares what it computes."""
from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from legato.checking.comparison import ValueDifference, alike, difference, mover
from legato.checking.culprit import Culprit, find_culprit, producer
from legato.checking.errors import CheckFailed, NotEvaluated
from legato.checking.inputs import KINDS, InputSample, given_sample, meets, samples, size_choices
from legato.checking.report import failure, write_reproducer
from legato.checking.states import CheckedState, KeptResults, MainRun
from legato.core.errors import LegatoError, UnsupportedError
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.memory.signature import Boundary
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.rounding import Rounding

MOVES = 3            # runs with moved values, from which the allowed difference of a result is known
MOST_SAMPLES = 6
SLOW = 1.5           # seconds: a model whose first run takes longer is checked on fewer samples


@dataclass
class CheckReport:
    """What was checked. ``passes``: how many ran; ``changed``: how many of them changed the module; ``samples``: what it was run on, as
    text; ``unchecked``: (pass, why its result could not be run), such a pass is checked together with the next that could; ``notes``: what
    else was left out, and why."""

    passes: int = 0
    changed: int = 0
    samples: list[str] = field(default_factory=list)
    unchecked: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        lines = [f"checked {passes}, of which {self.changed} changed the module, in {self.seconds:.1f} s, on "
                 f"{'; '.join(self.samples) or 'nothing'}"]
        lines += [f"not checked alone: {name}: {why}" for name, why in self.unchecked]
        return "\n".join(lines + self.notes)


@dataclass(frozen=True)
class CheckedStep:
    """A pass that ran. ``text``: with its options; ``position``: in its pipeline, from 1, of ``count``."""

    name: str
    text: str
    position: int
    count: int
    rounding: Rounding


class PassChecker:
    """Follows pipelines, pass by pass. It may follow several, one after the other, that work on the same module.

    `inputs`: arrays for main, in order; None: some are made; `samples`: how many are made, at most; `reproducer`: where
    the IR before a pass that fails the check is written, with the inputs beside it; `progress`: called with (number
    of the pass, of how many, its name). CheckFailed is raised by the pipeline's run, after the pass.
    """

    def __init__(self, inputs: Sequence[np.ndarray] | None = None, *, target: str = "llvm", reproducer: str | Path | None = None,
                 command: str | None = None, loaded: Sequence[str] = (), seed: int = 0,
                 samples: int = MOST_SAMPLES, progress: Callable[[int, int, str], None] | None = None):
        self.inputs, self.target, self.seed, self.samples, self.progress = inputs, target, seed, samples, progress
        self.reproducer = Path(reproducer) if reproducer is not None else None
        self.command, self.loaded = command, tuple(loaded)
        self.report = CheckReport()
        self._kept = KeptResults()
        self._state: CheckedState | None = None
        self._runs: list[tuple[InputSample, MainRun]] = []
        self._pending: list[CheckedStep] = []
        self._names: list[str] = []
        self._last_digest = b""

    def begins(self, module: Module, context: PassContext) -> None:
        """Called before a pipeline runs: its module is what the first pass is compared with."""
        started = time.perf_counter()
        if self._state is None or self._state.module.context is not module.context or not self._is_known(module, context):
            self._start(module, context)
        self.report.seconds += time.perf_counter() - started

    def after(self, name: str, text: str, position: int, count: int, rounding: Rounding, module: Module, context: PassContext) -> None:
        """Called after each pass. Raises CheckFailed."""
        started = time.perf_counter()
        self.report.passes += 1
        if self.progress is not None:
            self.progress(position, count, name)
        step = CheckedStep(name, text, position, count, rounding)
        if self._state is not None:
            state = CheckedState(module, self._kept, context, self.target, self._state.entry)
            if state.digest != self._last_digest:
                self._last_digest = state.digest
                self.report.changed += 1
                self._pending.append(step)
                self._check(state)
        self.report.seconds += time.perf_counter() - started

    def _is_known(self, module: Module, context: PassContext) -> bool:
        return CheckedState(module, self._kept, context, self.target).digest == self._last_digest

    def _start(self, module: Module, context: PassContext) -> None:
        self._state, self._runs, self._pending = None, [], []
        entry = entry_of(module)
        if entry is None:
            self._note("nothing was checked: the module has no function of graph ops that can be run")
            return
        state = CheckedState(module, self._kept, context, self.target, entry)
        self._last_digest = state.digest
        try:
            self._runs = self._sampled(state)
        except (NotEvaluated, UnsupportedError) as why:
            self._note(f"nothing was checked: {why}")
            return
        if not self._runs:
            self._note("nothing was checked: no inputs were found that the model takes; give some (inputs=, --check-inputs FILE.npz)")
            return
        self._state = state
        self._names = [value.name for value in Boundary.of(state.main).outputs] if state.main is not None else []

    def _note(self, text: str) -> None:
        if text not in self.report.notes:
            self.report.notes.append(text)

    def _sampled(self, state: CheckedState) -> list[tuple[InputSample, MainRun]]:
        """The samples that the module takes, with what it computes for them."""
        main = state.main
        if main is None:
            raise NotEvaluated("the module is lowered to LLVM already, and says nothing of the graph: begin at an earlier stage")
        if self.inputs is not None:
            sample = given_sample(main, self.inputs)
            self.report.samples = [str(sample)]
            return [(sample, state.run(sample))]
        found: list[tuple[InputSample, MainRun]] = []
        started, enough = time.perf_counter(), 0
        for sizes in size_choices(main):
            if len(found) >= self.samples or enough >= 4:
                break
            if not meets(main, sizes):
                continue
            slow = time.perf_counter() - started > SLOW and found
            kinds = () if slow else KINDS[:1] if found else KINDS[:self.samples]
            of_sizes = [run for kind in samples(main, sizes, kinds, self.seed) if (run := self._first(state, kind)) is not None]
            enough += bool(of_sizes)
            found += of_sizes
        self.report.samples = [str(sample) for sample, _ in found[:self.samples]]
        return found[:self.samples]

    def _first(self, state: CheckedState, tried: Sequence[InputSample]) -> tuple[InputSample, MainRun] | None:
        """The first of some samples that the model takes."""
        for sample in tried:
            try:
                return sample, state.run(sample)
            except (NotEvaluated, MemoryError):
                raise
            except LegatoError:
                continue
        return None

    def _check(self, state: CheckedState) -> None:
        before, runs = self._state, []
        assert before is not None
        for sample, old in self._runs:
            try:
                new = state.run(sample)
            except NotEvaluated as why:
                self.report.unchecked.append((self._pending[-1].name, str(why)))
                return
            except (LegatoError, MemoryError) as problem:
                self._fail(before, sample, None, None, str(problem))
            else:
                self._compare(before, sample, old, new)
                runs.append((sample, new))
        self._state, self._pending = state, []
        self._runs = [(sample, keep_dtypes(old, new)) for (sample, new), (_, old) in zip(runs, self._runs)]

    def _compare(self, before: CheckedState, sample: InputSample, old: MainRun, new: MainRun) -> None:
        if len(old.results) != len(new.results):
            self._fail(before, sample, None, None, f"main had {len(old.results)} results, and has {len(new.results)}")
        rounding = combined([step.rounding for step in self._pending])
        worst: tuple[int, ValueDifference] | None = None
        moved: list[MainRun] | None = None
        for number, (x, y) in enumerate(zip(old.results, new.results)):
            found = difference(x, y, [], Rounding())
            if found is not None and not rounding.is_exact and found.shapes is None:
                if moved is None:
                    moved = self._moved(before, sample, rounding)
                found = difference(x, y, [run.results[number] for run in moved], rounding)
            if found is not None and worst is None:
                worst = number, found
        if worst is not None:
            culprit = find_culprit(old, new, moved or [], rounding) or producer(new, new.results[worst[0]], worst[1])
            self._fail(before, sample, worst, culprit)

    def _moved(self, before: CheckedState, sample: InputSample, rounding: Rounding) -> list[MainRun]:
        """Runs of the module before the pass whose values are moved by what the pass is entitled to."""
        number = hash(rounding) & 0xFFFF
        return [before.run(sample, mover(rounding, self.seed + n), (number << 4) + n + 1) for n in range(MOVES)]

    def _fail(self, before: CheckedState, sample: InputSample, worst: tuple[int, ValueDifference] | None, culprit: Culprit | None,
              problem: str | None = None) -> None:
        steps = self._pending
        result = (self._names[worst[0]] if worst[0] < len(self._names) else f"result {worst[0]}") if worst is not None else ""
        written = None
        if self.reproducer is not None:
            written = write_reproducer(self.reproducer, before.module, steps, sample, self.command, self.loaded)
        text = failure(steps, sample, result, worst[1] if worst is not None else None, culprit, problem, written)
        raise CheckFailed(text, pass_name=steps[-1].name if len(steps) == 1 else ",".join(step.name for step in steps),
                          position=steps[0].position, op=culprit.op if culprit is not None else None,
                          kernel=culprit.kernel if culprit is not None else None, result=result,
                          difference=culprit.difference if culprit is not None else worst[1] if worst is not None else None,
                          sizes=sample.sizes, reproducer=written)


def keep_dtypes(old: MainRun, new: MainRun) -> MainRun:
    """The newer run, its results with the dtypes that they had in the graph."""
    return MainRun([alike(y, x.dtype) for x, y in zip(old.results, new.results)], new.seen)


def combined(roundings: Sequence[Rounding]) -> Rounding:
    """What several passes together are entitled to."""
    return Rounding(max(one.ulps for one in roundings), max(one.relative for one in roundings), all(one.specials for one in roundings))


def entry_of(module: Module) -> str | None:
    """The function that is run: main, else the only function of graph ops that no other calls."""
    graph = [f.name.value for f in module.functions() if not f.is_external and not tir.is_prim_func(f)]
    return "main" if "main" in graph else graph[0] if graph else None


def show_progress(number: int, count: int, name: str) -> None:
    """A progress line on standard error, overwritten by the next; nothing where that is no terminal."""
    if sys.stderr.isatty():
        end = "\n" if number == count else ""
        print(f"\r\033[Kchecking pass {number} of {count}: {name}", end=end, file=sys.stderr, flush=True)
