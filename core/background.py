"""Work beside the thread that asks for it, on all processors: for LLVM and numpy, which hold no lock of Python's while they work."""
import concurrent.futures
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
MOST_THREADS = 8
LINGER = 0.02       # seconds that a thread waits for more to do: passes begin work every few milliseconds, and a start takes one


class Background:
    """Threads that work through a queue, and end when it stays empty: a process that is idle has none of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._threads = 0
        self._idle = 0          # of these, how many wait for work
        self._waiting = 0       # for the end of all threads

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Begins ``work`` as soon as a processor is free for it. It must not wait for other such work."""
        made: Future[T] = Future()
        with self._changed:
            self._tasks.append((made, work))
            if self._idle >= len(self._tasks):
                self._changed.notify_all()
                return made
            if self._threads == min(MOST_THREADS, len(os.sched_getaffinity(0))):
                return made
            self._threads += 1
        try:
            threading.Thread(target=self._run, name="legato background").start()
        except RuntimeError:   # the system has no more threads, or the interpreter ends
            self._run(0)
        return made

    def wait(self) -> None:
        """Returns when nothing is under way."""
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._threads == 0)
            self._waiting -= 1

    def _run(self, linger: float = LINGER) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._tasks or self._waiting, linger)
                self._idle -= 1
                if not self._tasks:
                    self._threads -= 1
                    self._changed.notify_all()
                    return
                made, work = self._tasks.popleft()
            try:
                made.set_result(work())
            except BaseException as error:   # goes to whoever asks for the result
                made.set_exception(error)
            del made, work   # what they hold may be large


_background = Background()
begin = _background.begin
_meanwhile: ContextVar[Iterator[Callable[[], object]] | None] = ContextVar("_meanwhile", default=None)


@contextmanager
def meanwhile(steps: Iterator[Callable[[], object]]) -> Iterator[None]:
    """Context in which ``wait`` takes these steps, one by one, until it need not wait longer."""
    token = _meanwhile.set(steps)
    try:
        yield
    finally:
        _meanwhile.reset(token)


def wait(futures: Iterable[Future[Any]]) -> None:
    """Returns when all are done. Takes steps of ``meanwhile`` as long as they are not."""
    pending, steps = list(futures), _meanwhile.get() or iter(())
    while pending := [one for one in pending if not one.done()]:
        if (step := next(steps, None)) is None:
            break
        step()
    concurrent.futures.wait(pending)


os.register_at_fork(before=_background.wait)   # a child has none of these threads, and would wait for them for ever
