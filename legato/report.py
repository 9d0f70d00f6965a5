"""What a compile took: its stages and passes with their times, and who is told of them."""
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from legato.core.collector import importing
from legato.core.notebook import counted, html_table
from legato.targets.target import Target

LOGGER = logging.getLogger("legato.driver")    # what a compile does, by one name
Progress = Callable[[str, float], None]


class StageListener:
    """A ``progress`` that is told when a stage begins, too."""

    def begins(self, stage: str) -> None:
        """Called before the stage runs."""

    def prepared(self, seconds: float) -> None:
        """Called when the time before the first stage has passed, in parts: passes and code generators are imported, the module is copied,
        the cache is asked."""

    def __call__(self, stage: str, seconds: float) -> None:
        """Called after the stage has run."""


@dataclass(repr=False)
class Report:
    """A record of a compile. ``stages``, ``passes``: (name, seconds); ``stage_passes``: the passes by stage; ``kernels``: names;
    ``details``: by pass. ``str()`` is a table."""

    stages: list[tuple[str, float]] = field(default_factory=list)
    passes: list[tuple[str, float]] = field(default_factory=list)
    stage_passes: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    kernels: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    target: Target | None = None

    @property
    def seconds(self) -> float:
        """The total time of all stages."""
        return sum(s for _, s in self.stages)

    def run(self, stage: str, work: Callable[[], Any], progress: Progress | None) -> Any:
        """Runs a stage, and records, logs and reports its time. Returns what ``work`` returns."""
        if isinstance(progress, StageListener):
            progress.begins(stage)
        begin = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - begin
        self.stages.append((stage, seconds))
        LOGGER.info("%s: %.3f s", stage, seconds)
        if progress:
            progress(stage, seconds)
        return result

    def __repr__(self) -> str:
        return f"<legato.Report: {counted(len(self.kernels), 'kernel')} for {self.target or 'no target'} in {self.seconds:.2f} s>"

    def __str__(self) -> str:
        width = max(len(name) for name, _ in [*self.stages, ("all", 0.0)])
        return "\n".join(f"{name:{width}}  {seconds * 1e3:9.1f} ms" for name, seconds in [*self.stages, ("all", self.seconds)])

    def _repr_html_(self) -> str:
        return html_table(("stage", "ms"), [(name, seconds * 1e3) for name, seconds in self.stages], repr(self))


@contextlib.contextmanager
def preparing(progress: Progress | None) -> Iterator[None]:
    """Context of what a compile does before its first stage: a StageListener is told how long that takes."""
    begin = time.perf_counter()
    with importing():
        yield
    if isinstance(progress, StageListener):
        progress.prepared(time.perf_counter() - begin)
