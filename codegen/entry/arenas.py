"""Arenas, the memory for what main computes on the way. An instance keeps those that no call uses in slots, which threads exchange
atomically."""
from legato.codegen.entry.abi import aligned_alloc, free
from legato.codegen.entry.layouts import ARENAS, Instance
from legato.codegen.native.language import Words, address, exchange, store_if_null

HEAD = 64       # bytes in front of an arena, which stays aligned; the first eight say how large it is


def take_arena(instance: Instance, size: int) -> Words:
    """So many bytes at least, at a multiple of 64: an arena that the instance has, or a new one. Null for 0 bytes, or without memory."""
    if size <= 0:
        return Words(0)
    arena = any_arena(instance)
    if arena:
        head = Words(arena - HEAD)
        if head[0] >= size:
            return arena
        free(head)
    whole = (size + HEAD + 63) & -64
    block = Words(aligned_alloc(64, whole))
    if not block:
        return block
    block[0] = whole - HEAD
    return block + HEAD


def any_arena(instance: Instance) -> Words:
    """The first arena that the instance has, which it has no longer then; null where there is none."""
    for slot in range(ARENAS):
        arena = exchange(address(instance.arenas[slot]), Words(0))
        if arena:
            return arena
    return Words(0)


def give_arena(instance: Instance, arena: Words) -> None:
    """Gives an arena back to the instance, or frees it where the instance has enough."""
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
