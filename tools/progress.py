"""Progress while a model compiles: a line that names the running stage on a terminal, a line a stage elsewhere."""
from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from legato.report import StageListener
from legato.tools.console import console, is_terminal
from legato.tools.output import sizes

SETUP = "setup"     # passes and code generators are imported, the module is copied


class Progress(StageListener):
    """Says on standard error which stage runs, and at the end which files were written; nothing if quiet. ``stages``: (name, seconds)
    of those that have ended. ``begun``: when the tool started (``time.perf_counter``)."""

    def __init__(self, tool: str, quiet: bool = False, begun: float | None = None) -> None:
        self.tool = tool
        self.quiet = quiet
        self.begun = time.perf_counter() if begun is None else begun
        self.stages: list[tuple[str, float]] = []

    @property
    def seconds(self) -> float:
        """The time since the tool started."""
        return time.perf_counter() - self.begun

    def begins(self, stage: str) -> None:
        """Shows the stage as the running one."""
        if not self.quiet and is_terminal(sys.stderr):
            done = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in self.stages[-3:])
            console.show(f"{self.tool}: {stage} ...{f' (before: {done})' if done else ''}")

    def __call__(self, stage: str, seconds: float) -> None:
        self.stages.append((stage, seconds))
        if not self.quiet and not is_terminal(sys.stderr):
            console.say(f"{self.tool}: {stage} {seconds:.2f} s")

    def prepared(self, seconds: float) -> None:
        """Adds to the time before the first stage."""
        before = sum(spent for name, spent in self.stages if name == SETUP)
        self.stages[:] = [*(stage for stage in self.stages if stage[0] != SETUP), (SETUP, before + seconds)]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times the ``with`` block as a stage."""
        self.begins(name)
        begin = time.perf_counter()
        yield
        self(name, time.perf_counter() - begin)

    def finish(self, files: Sequence[Path] = ()) -> None:
        """Replaces the line by the files that were written, with their sizes, and the whole time."""
        console.show("")
        if not self.quiet:
            console.say(f"{self.tool}: {f'wrote {sizes(files)} in' if files else 'took'} {self.seconds:.2f} s")
