"""What @main_profiled calls around each of its calls: a clock, and the records of a profile."""
from legato.codegen.entry.abi import clock_gettime
from legato.codegen.entry.layouts import Event, Events
from legato.codegen.native.language import Words, add_at, address, stack

MONOTONIC = 1               # CLOCK_MONOTONIC of Linux, the clock of Python's time.perf_counter_ns
SECOND = 1_000_000_000      # in nanoseconds


def clock() -> int:
    """The time in nanoseconds since some moment in the past."""
    now = stack(Words, 2)
    clock_gettime(MONOTONIC, now)
    return now[0] * SECOND + now[1]


def begin(events: Events) -> int:
    """When a call began that ``record`` notes: the time in nanoseconds."""
    return clock()


def record(events: Events, call: int, begin: int) -> None:
    """Notes that a call, by its number, began at a time and ended now. Calls beyond the room for them are only counted. Threads may note
    calls at the same time."""
    end = clock()
    place = add_at(address(events.count), 1)
    if place < events.room:
        row = Event(events.rows[place])
        row.call = call
        row.begin = begin
        row.end = end
