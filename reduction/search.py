"""The search of a reduction: delta debugging (ddmin) over parts of a program, with candidates in an order that does not depend on time."""
from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, Protocol, TypeVar


class Candidate(Protocol):
    """A program that may be smaller and still fail."""

    def content(self) -> bytes:
        """What tells it from others: the bytes of its file, or the like."""
        ...

    def size(self) -> str:
        """How large it is, for the line of progress: ``12 nodes, 3.4 kB``."""
        ...


C = TypeVar("C", bound=Candidate)
U = TypeVar("U")
T = TypeVar("T")


class OutOfTime(Exception):
    """The time for the reduction has run out."""


@dataclass
class Search(Generic[C]):
    """The smallest program so far, which fails, and the test that each candidate takes.

    ``fails(candidate)``: whether it fails as the original does; it is called for valid candidates, once for each. ``problem(candidate)``:
    why it is invalid, or None. ``kept(search)``: called with each new ``best``. ``jobs``: how many tests run at once; the first one in
    order that fails is taken, so the result is the same. ``ends``: when to stop (``time.monotonic``).
    """

    best: C
    fails: Callable[[C], bool]
    problem: Callable[[C], str | None] = lambda candidate: None
    kept: Callable[[Search[C]], None] = lambda search: None
    jobs: int = 1
    ends: float = float("inf")
    step: str = ""
    tests: int = 0
    invalid: int = 0
    seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.seen.add(_digest(self.best))

    def accepts(self, candidate: C | None) -> bool:
        """Tests a candidate (None: it could not be made), and makes it the best if it fails."""
        return self.first([(True, candidate)]) is True

    def first(self, candidates: Iterable[tuple[T, C | None]]) -> T | None:
        """The tag of the first candidate that fails, which becomes the best; None if all pass. Later candidates may not be made."""
        stream = ((tag, one) for tag, one in candidates if one is not None and self._is_new(one))
        if self.jobs == 1:
            return next((tag for tag, one in stream if self._take(one, self._tested(one))), None)
        with ThreadPoolExecutor(self.jobs) as pool:
            while batch := list(islice(stream, self.jobs)):
                for (tag, one), failed in zip(batch, list(pool.map(self._tested, [one for _, one in batch]))):
                    if self._take(one, failed):
                        return tag
        return None

    def _tested(self, candidate: C) -> bool:
        if time.monotonic() > self.ends:
            raise OutOfTime
        self.tests += 1
        return self.fails(candidate)

    def _take(self, candidate: C, failed: bool) -> bool:
        if failed:
            self.best = candidate
            self.kept(self)
        return failed

    def _is_new(self, candidate: C) -> bool:
        digest = _digest(candidate)
        if digest in self.seen:
            return False
        self.seen.add(digest)
        if self.problem(candidate) is not None:
            self.invalid += 1
            return False
        return True

    def minimize(self, units: Sequence[U], build: Callable[[list[U]], C | None], least: int = 0) -> list[U]:
        """Drops units, in chunks of half of them down to single ones, while what ``build`` makes of the others fails (ddmin, whose
        complements come first). At least ``least`` units stay. Returns those that are left."""
        units = list(units)
        chunk = len(units)
        while chunk and len(units) > least:
            begin = 0
            while begin < len(units):
                places = range(begin, len(units), chunk)
                hit = self.first((at, build(units[:at] + units[at + chunk:])) for at in places
                                 if len(units) - len(units[at:at + chunk]) >= least)
                if hit is None:
                    break
                units = units[:hit] + units[hit + chunk:]
                begin = hit
            chunk = chunk // 2 if chunk < len(units) * 2 else len(units) // 2
        return units

    def greedy(self, places: Iterable[U], variants: Callable[[C, U], Iterable[C | None]]) -> bool:
        """Tries, at each place, the variants of the best so far, and keeps the first that fails. Whether there was one."""
        changed = False
        for place in places:
            changed |= self.first((True, one) for one in variants(self.best, place)) is True
        return changed


def _digest(candidate: Candidate) -> bytes:
    return hashlib.sha256(candidate.content()).digest()


def to_fixed_point(search: Search[C], steps: Sequence[tuple[str, Callable[[Search[C]], None]]]) -> None:
    """Runs the steps, by name, until none of them makes the best smaller."""
    while True:
        before = search.best
        for name, step in steps:
            search.step = name
            step(search)
        if search.best is before:
            return
