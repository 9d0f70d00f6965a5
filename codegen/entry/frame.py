"""The frame of a call with data-dependent sizes. It owns results of packed functions, and memory that main requested late, until main
has ended. It is on the stack of @legato.main."""
from legato.codegen.entry.abi import Object, free
from legato.codegen.entry.arenas import give_arena, room_of, take_arena
from legato.codegen.entry.kept_results import result_tensor
from legato.codegen.entry.layouts import FRAME_COUNTS, Frame, Held, Instance
from legato.codegen.entry.messages import refuse_late, require
from legato.codegen.entry.values import drop_object
from legato.codegen.native.language import Int32, Pointer, Words, stack


def open_frame(frame: Frame, instance: Instance, results: Words, symbols: Words) -> None:
    """Initializes an empty frame."""
    frame.instance = instance
    frame.results = results
    frame.symbols = symbols
    for slot in range(FRAME_COUNTS.held):
        frame.held[slot].object = Object(0)
        frame.held[slot].copy = Words(0)
    arenas = late_arenas(frame)
    for number in range(FRAME_COUNTS.arenas):
        arenas[number] = 0


def close_frame(frame: Frame) -> None:
    """Releases everything that a frame owns."""
    for slot in range(FRAME_COUNTS.held):
        release(frame.held[slot])
    arenas = late_arenas(frame)
    for number in range(FRAME_COUNTS.arenas):
        give_arena(frame.instance, Words(arenas[number]))


def late_arenas(frame: Frame) -> Words:
    """The address of a frame's arenas, after the results that it owns."""
    return Words(frame.held[FRAME_COUNTS.held])


def release(held: Held) -> None:
    """Releases a result of a packed function."""
    free(held.copy)
    drop_object(held.object)
    held.object = Object(0)
    held.copy = Words(0)


def set_size(frame: Frame, number: int, value: int) -> None:
    """Gives a symbol its value."""
    frame.symbols[number] = value


def memory_at(address: int) -> Pointer:
    """An address as memory: main has results' addresses as numbers."""
    return Pointer(address)


def frame_check(number: int, value: int, other: int) -> Int32:
    """Checks a requirement in the middle of a call. 0, or nonzero with the error raised."""
    return require(number, value, other)


def frame_arena(frame: Frame, number: int, size: int) -> Pointer:
    """Memory for buffers, as one of the frame's arenas: in a loop that of the step before, if it suffices. Null, with the error raised, if
    out of memory."""
    if size <= 0:
        return frame    # an address that is not used
    arenas = late_arenas(frame)
    arena = Words(arenas[number])
    if arena:
        if room_of(arena) >= size:
            return arena
        arenas[number] = 0
        give_arena(frame.instance, arena)
        size += size >> 1       # sizes that grow from step to step would take another arena in each
    arena = take_arena(frame.instance, size)
    arenas[number] = int(arena)
    if not arena:
        refuse_late()
    return arena


def frame_turn(frame: Frame, number: int, size: int) -> Pointer:
    """Memory for what a loop carries to its next step: of two arenas the one that was not given at the call before, which still has what
    this step was given. Null, with the error raised, if out of memory."""
    arenas = late_arenas(frame)
    other = arenas[number]
    arenas[number] = arenas[number + 1]
    arenas[number + 1] = other
    return frame_arena(frame, number, size)


def frame_result(frame: Frame, number: int, shape: Words) -> Pointer:
    """Memory for a result of main. Null, with the error raised, if out of memory."""
    data = stack(Words)
    result = result_tensor(frame.instance, number, shape, data)
    frame.results[number] = int(result)
    if result:
        return Pointer(data[0])
    refuse_late()
    return Pointer(0)
