"""Progress while a model compiles, and the table of times afterwards."""
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class Progress:
    """Shows stages with their times on standard error, in one growing line; nothing if quiet."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.begun = time.perf_counter()
        self.stages: list[tuple[str, float]] = []

    def __call__(self, stage: str, seconds: float) -> None:
        self.stages.append((stage, seconds))
        if not self.quiet:
            self.stream.write(f"{', ' if len(self.stages) > 1 else ''}{stage} {seconds:.2f} s")
            self.stream.flush()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times the ``with`` block as a stage."""
        begin = time.perf_counter()
        yield
        self(name, time.perf_counter() - begin)

    def finish(self) -> None:
        """Ends the line with the total time."""
        if not self.quiet and self.stages:
            self.stream.write(f"; in all {time.perf_counter() - self.begun:.2f} s\n")


def print_times(report: Any, stream: TextIO) -> None:
    """Prints a table of the passes of a compile, with their times and shares."""
    total = sum(seconds for _, seconds in report.passes) or 1.0
    width = max([len(name) for name, _ in report.passes] + [4])
    print(f"{'pass':{width}}  {'ms':>9}  {'share':>6}", file=stream)
    for name, seconds in report.passes:
        print(f"{name:{width}}  {seconds * 1e3:9.1f}  {seconds / total:6.1%}", file=stream)
    print(f"{'all':{width}}  {total * 1e3:9.1f}", file=stream)
