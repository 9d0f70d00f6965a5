"""Structs in memory that the entry's functions read: the tables of a model (written by model.py), the instance, the frame of a call."""
from typing import Annotated

from legato.codegen.entry.abi import Object
from legato.codegen.native.language import Inline, Int32, ModelList, Pointer, Struct, Text, Words

ARENAS = 16     # arenas that an instance keeps
KEPT = 4        # references that it keeps to results of an output
MOST_THREADS = 255     # of a pool
LINE = 8               # words of a cache line


class Counts(Struct):
    """Numbers of inputs, outputs etc. ``sizes``: computed by @main_sizes. ``packed``: functions that main calls. ``threads``: of a parallel
    loop. ``checked``: 1 if kernels check their indices. ``flushes``: 1 if denormal numbers are zeros."""

    inputs: int
    outputs: int
    symbols: int
    sizes: int
    weights: int
    packed: int
    requirements: int
    threads: int
    checked: int
    flushes: int


class InputRow(Struct):
    """An input, or, after the inputs, a result of a packed function, by the function's name. ``name`` and ``expected``, the type as
    shown to people: offsets into the strings. ``first_axis``: its first row in the axes. ``width``: bytes of an element."""

    name: int
    expected: int
    dtype: int
    rank: int
    first_axis: int
    width: int


class AxisRow(Struct):
    """An axis of an input: its size must be ``symbol * scale + offset``. ``symbol``: its number; -1 if the size is ``offset``."""

    symbol: int
    scale: int
    offset: int


class OutputRow(Struct):
    """An output. ``first_size``: the index of its shape in the sizes; -1 if main requests its memory itself, once it knows the shape.
    ``donor``: the number of the input whose memory it takes; -1 for memory of its own."""

    dtype: int
    rank: int
    first_size: int
    width: int
    donor: int


class SymbolRow(Struct):
    """A symbol. ``name``: an offset into the strings. After the inputs' symbols come those defined by results of packed functions."""

    name: int


class RequirementRow(Struct):
    """A condition on sizes. ``text``: an offset into the strings. ``size``: its index in the sizes; -1 if main checks it. ``equal``:
    1 if it must equal the size after it, 0 if it must not be negative."""

    text: int
    size: int
    equal: int


class Packed(Struct):
    """The name of a packed function: an offset into the strings, and its length in bytes."""

    name: int
    length: int


class FrameCounts(Struct):
    """The numbers of results of packed functions and of late arenas that a call's frame owns."""

    held: int
    arenas: int


OF_MODEL = ModelList()
COUNTS = OF_MODEL.table(Counts, "legato.counts")
INPUTS = OF_MODEL.table(InputRow, "legato.inputs")
AXES = OF_MODEL.table(AxisRow, "legato.axes")
OUTPUTS = OF_MODEL.table(OutputRow, "legato.outputs")
SYMBOLS = OF_MODEL.table(SymbolRow, "legato.symbols")
REQUIREMENTS = OF_MODEL.table(RequirementRow, "legato.requirements")
PACKED = OF_MODEL.table(Packed, "legato.packed")
FRAME_COUNTS = OF_MODEL.table(FrameCounts, "legato.frame_counts")
STRINGS = OF_MODEL.table(Text, "legato.strings")     # zero-terminated texts; the first is the signature of main


class Pool(Struct):
    """The threads of a model's code, and the loop that they compute: see pool.py. ``users``: callers that want it, of which the first has
    it. ``float_mode``: of that caller. ``team``: threads with the caller. ``tickets``: of each thread the end of the parts that it begins
    with, above the next of them. ``loops``: how many have begun. ``done``: parts that are computed.
    ``waiting``: whether the caller sleeps until then. ``sleeping``: threads that sleep until ``wakeups`` changes. What is written often
    has a cache line of its own."""

    users: int
    instances: int
    process: int
    threads: int
    code: Pointer
    context: Words
    steps: int
    grain: int
    parts: int
    float_mode: int
    team: int
    numbers: int
    handles: Annotated[Words, Inline(MOST_THREADS)]
    before_tickets: Annotated[Words, Inline(2 * LINE)]
    tickets: Annotated[Words, Inline((MOST_THREADS + 1) * LINE)]
    loops: int
    before_done: Annotated[Words, Inline(2 * LINE - 1)]
    done: int
    waiting: int
    before_wakeups: Annotated[Words, Inline(14)]
    wakeups: int
    sleeping: int
    stopping: int


POOL = OF_MODEL.table(Pool, "legato.pool")


class Event(Struct):
    """A call that main made: its number, and when it began and ended, in nanoseconds."""

    call: int
    begin: int
    end: int


class Events(Struct):
    """The records of a profile. ``room``: for how many calls there is memory; ``count``: of the calls so far."""

    room: int
    count: int
    rows: Annotated[Event, Inline(0)]


class Instance(Struct):
    """An instance of the model. ``model``: the list of what the model has of its own. ``owner``: the object that owns its code and weights.
    ``array``: the function ffi.Array. ``events``: where
    calls are recorded, or null. ``device``: what it has on a GPU (cuda/layouts.py), or null. ``arenas``: on a GPU its lanes. ``handles``:
    the address of each weight, then each packed function; on a CPU then the references of kept_results.py. Instances share nothing."""

    model: Words
    owner: Object
    array: Object
    events: Events
    device: Pointer
    arenas: Annotated[Words, Inline(ARENAS)]
    handles: Annotated[Words, Inline(0)]


class Held(Struct):
    """A result of a packed function: the returned object, and its copy if one was necessary."""

    object: Object
    copy: Words


class Frame(Struct):
    """The memory that a call with data-dependent sizes owns until its end: see frame.py. ``results``: main's tensors. After
    ``held`` come the late arenas."""

    instance: Instance
    results: Words
    symbols: Words
    held: Annotated[Held, Inline(0)]


class Fault(Struct):
    """A bad access, of code that checks them: see faults.py. ``lock``: 1 while it is written. ``count``: of bad accesses in the life of the
    code; ``shown``: of those, which some call has made an error of. The first one behind these: ``site``, a text; the axis; the first and
    the last index; the extent. Instances share it."""

    lock: int
    count: int
    shown: int
    site: Text
    axis: int
    first: int
    last: int
    extent: int


FAULT = OF_MODEL.table(Fault, "legato.fault")


@OF_MODEL.function("legato.retain_pool")
def retain() -> None: ...
@OF_MODEL.function("legato.release_pool")
def release() -> None: ...
@OF_MODEL.function("main_sizes")
def main_sizes(symbols: Words, sizes: Words) -> None: ...
@OF_MODEL.function("legato.request_tiles")
def request_tiles() -> int: ...
@OF_MODEL.function("legato.main")
def run_main(instance: Instance, data: Words, arena: Words, symbols: Words, results: Words) -> Int32: ...
