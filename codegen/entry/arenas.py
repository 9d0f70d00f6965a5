"""Arenas: memory for main's intermediate buffers. An instance keeps unused ones in slots, which threads access atomically."""
from legato.codegen.entry.abi import free
from legato.codegen.entry.layouts import ARENAS, Instance
from legato.codegen.entry.memory import allocate
from legato.codegen.native.language import Words, address, exchange, store_if_null

HEAD = 64       # bytes before an arena, which stays aligned; the first eight are its size


def take_arena(instance: Instance, size: int) -> Words:
    """An arena of at least ``size`` bytes, aligned to 64: one that the instance keeps, or a new one. Null for 0 bytes, or if out of
    memory."""
    if size <= 0:
        return Words(0)
    arena = any_arena(instance)
    if arena:
        if room_of(arena) >= size:
            return arena
        free(arena - HEAD)
    whole = (size + HEAD + 63) & -64
    block = Words(allocate(whole))
    if not block:
        return block
    block[0] = whole - HEAD
    return block + HEAD


def room_of(arena: Words) -> int:
    """The bytes of an arena."""
    head = Words(arena - HEAD)
    return head[0]


def any_arena(instance: Instance) -> Words:
    """Removes the first arena that the instance keeps; null if there is none."""
    for slot in range(ARENAS):
        arena = exchange(address(instance.arenas[slot]), Words(0))
        if arena:
            return arena
    return Words(0)


def give_arena(instance: Instance, arena: Words) -> None:
    """Returns an arena to the instance, or frees it if all slots are full."""
    if not arena:
        return
    for slot in range(ARENAS):
        if store_if_null(address(instance.arenas[slot]), arena):
            return
    free(arena - HEAD)


def free_arenas(instance: Instance) -> None:
    """Frees all arenas of an instance."""
    for slot in range(ARENAS):
        arena = Words(instance.arenas[slot])
        if arena:
            free(arena - HEAD)
