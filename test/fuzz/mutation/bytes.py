"""Damage to bytes: flips, cuts, copies and splices."""
import random

EDGES = (0x00, 0xFF, 0x7F, 0x80, 0x01, 0x0A, 0x22)


def mutated_bytes(data: bytes, chance: random.Random, other: bytes = b"") -> bytes:
    """The bytes with one to three random changes. ``other``: what is spliced in, if there is some."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        chance.choice((_flip, _flip, _edge, _cut, _drop, _repeat, _insert, _splice))(changed, chance, other)
    return bytes(changed)


def _place(data: bytearray, chance: random.Random) -> int:
    return chance.randrange(len(data)) if data else 0


def _flip(data: bytearray, chance: random.Random, other: bytes) -> None:
    if data:
        data[_place(data, chance)] ^= 1 << chance.randrange(8)


def _edge(data: bytearray, chance: random.Random, other: bytes) -> None:
    if data:
        data[_place(data, chance)] = chance.choice(EDGES)


def _cut(data: bytearray, chance: random.Random, other: bytes) -> None:
    del data[_place(data, chance):]


def _drop(data: bytearray, chance: random.Random, other: bytes) -> None:
    begin = _place(data, chance)
    del data[begin:begin + chance.choice((1, 2, 8, 64))]


def _repeat(data: bytearray, chance: random.Random, other: bytes) -> None:
    begin = _place(data, chance)
    data[begin:begin] = data[begin:begin + chance.choice((1, 4, 32, 200))]


def _insert(data: bytearray, chance: random.Random, other: bytes) -> None:
    begin = _place(data, chance)
    data[begin:begin] = chance.randbytes(chance.choice((1, 2, 8)))


def _splice(data: bytearray, chance: random.Random, other: bytes) -> None:
    if other:
        begin, source = _place(data, chance), chance.randrange(len(other))
        data[begin:begin + chance.choice((0, 16))] = other[source:source + chance.choice((4, 32, 256))]
