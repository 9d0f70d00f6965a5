"""Comparable timings: medians of alternating calls."""
import statistics
import time
from collections.abc import Callable, Sequence


def in_turns(calls: Sequence[Callable[[], object]], seconds: float = 2.0, rounds: int = 15) -> list[float]:
    """The median seconds of each call. Calls alternate, so that other load on the machine affects all of them.

    There are as many rounds as fit in `seconds`, at least `rounds`, after two warm-up rounds.
    """
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(2):
        for call in calls:
            call()
    end = time.perf_counter() + seconds
    while len(times[0]) < rounds or time.perf_counter() < end:
        for call, taken in zip(calls, times):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]
