"""Profiles of models that an engine runs on a device: what the device noted of the calls of the thread that measures."""
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from legato.runtime.recorder import RecordedCall

_local = threading.local()


@dataclass
class DeviceRecords:
    """``device``: its name, once something ran there. ``calls``: of kernels, of all models that ran. ``events``: number of the call, begin
    and end in nanoseconds, since the last ``take``."""

    device: str = ""
    calls: list[RecordedCall] = field(default_factory=list)
    events: list[tuple[int, int, int]] = field(default_factory=list)
    _first: dict[int, int] = field(default_factory=dict)    # of each model's calls, by its id

    def add(self, model: object, device: str, calls: Sequence[RecordedCall], events: Sequence[tuple[int, int, int]]) -> None:
        """Notes what a model ran; ``events`` have numbers of its own ``calls``."""
        self.device = device
        if id(model) not in self._first:
            self._first[id(model)] = len(self.calls)
            self.calls += calls
        first = self._first[id(model)]
        self.events += [(first + number, begin, end) for number, begin, end in events]

    def take(self) -> list[tuple[int, int, int]]:
        """The events since the last time."""
        found, self.events = self.events, []
        return found


def wanted() -> DeviceRecords | None:
    """Where an engine is to note what it runs for this thread; None where nobody asks."""
    return getattr(_local, "records", None)


@contextmanager
def recording() -> Iterator[DeviceRecords]:
    """While it is open, engines note what they run for this thread."""
    before = wanted()
    _local.records = DeviceRecords()
    try:
        yield _local.records
    finally:
        _local.records = before
