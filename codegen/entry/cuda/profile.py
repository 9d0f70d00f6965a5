"""What @main_profiled calls around each of its calls on a device: events in the call's stream, and their times in the records of a
profile (codegen/entry/profile.py has them for CPUs)."""
from legato.codegen.entry.cuda.driver import TIMING, cuEventCreate, cuEventDestroy, cuEventElapsedTime, cuEventRecord
from legato.codegen.entry.cuda.layouts import DRIVER, CudaRun
from legato.codegen.entry.cuda.refusals import refuse_driver
from legato.codegen.entry.layouts import Event, Instance
from legato.codegen.entry.profile import clock
from legato.codegen.native.language import Pointer, Words, stack

FRACTION = 23           # bits of a float
BIAS = 127
MILLISECOND = 1_000_000     # in nanoseconds


def begin_profile(instance: Instance, run: CudaRun) -> int:
    """Notes the beginning of a call that is recorded. 0, or nonzero with the error raised."""
    run.events = instance.events
    run.first = 0
    if not run.events:
        return 0
    run.recorded = run.events.count
    run.begun = clock()
    run.first = event_in(run)
    return 0 if run.first != 0 else -1


def cuda_begin(run: CudaRun) -> int:
    """An event before a kernel; 0 after a failure."""
    return event_in(run) if run.failed == 0 else 0


def cuda_record(run: CudaRun, call: int, before: int) -> None:
    """Notes the events before and behind a kernel. Calls beyond the room for them are only counted."""
    events = run.events
    after = 0
    if run.failed == 0 and events.count < events.room:
        after = event_in(run)
    if after != 0:
        row = Event(events.rows[events.count])
        row.call = call
        row.begin = before
        row.end = after
    else:
        drop_event(before)
    if run.failed == 0:
        events.count += 1


def event_in(run: CudaRun) -> int:
    """A new event, in the call's stream; 0 with the error raised, which is then the call's."""
    made = stack(Words)
    made[0] = 0
    code = cuEventCreate(DRIVER.cuEventCreate, made, TIMING)
    if code == 0:
        code = cuEventRecord(DRIVER.cuEventRecord, Pointer(made[0]), run.stream)
        if code != 0:
            drop_event(made[0])
    if code != 0:
        run.failed = code
        refuse_driver("recording the time on the device", code)
        return 0
    return made[0]


def drop_event(event: int) -> None:
    """Destroys an event; 0: none."""
    if event != 0:
        cuEventDestroy(DRIVER.cuEventDestroy_v2, Pointer(event))


def end_profile(run: CudaRun, done: int) -> int:
    """Puts times in the places of the events of a call that has ended, by the host's clock at its beginning. ``done``: its code, which is
    given back, or nonzero with the error raised."""
    events = run.events
    if not events:
        return done
    count = events.count if events.count < events.room else events.room
    spent = stack(Words)
    for i in range(run.recorded, count):
        row = Event(events.rows[i])
        before = row.begin
        after = row.end
        code = 0
        if done == 0:
            code = elapsed(run.first, before, spent)
            row.begin = run.begun + spent[0]
        if done == 0 and code == 0:
            code = elapsed(before, after, spent)
            row.end = row.begin + spent[0]
        if code != 0:
            done = refuse_driver("reading the times of kernels", code)
        drop_event(before)
        drop_event(after)
    drop_event(run.first)
    if done != 0:
        events.count = run.recorded
    return done


def elapsed(first: int, second: int, to: Words) -> int:
    """Stores the nanoseconds between two events. The driver's code."""
    to[0] = 0
    code = cuEventElapsedTime(DRIVER.cuEventElapsedTime, to, first, second)
    to[0] = nanoseconds(to[0])
    return code


def nanoseconds(bits: int) -> int:
    """A float of 32 bits, milliseconds of at most 2^23, as whole nanoseconds; 0 for a negative one."""
    exponent = bits >> FRACTION & 255
    if bits >> 31 & 1 != 0 or exponent <= BIAS - 40:
        return 0
    whole = (bits & (1 << FRACTION) - 1 | 1 << FRACTION) * MILLISECOND
    shift = BIAS + FRACTION - exponent
    return whole >> shift if shift >= 0 else whole << -shift
