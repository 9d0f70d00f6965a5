"""Damage to the fields of a protobuf message: elements dropped, doubled and swapped, scalars replaced, messages cleared."""
import random
from collections.abc import Iterator
from typing import Any

INTEGERS = (0, 1, -1, 2, 3, 7, 16, 127, 255, 1 << 20, (1 << 31) - 1, -(1 << 31), 1 << 32, (1 << 63) - 1, -(1 << 63))
FLOATS = (0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e38, -1e-30)
BOUNDS = {"int32": (-(1 << 31), (1 << 31) - 1), "uint32": (0, (1 << 32) - 1), "uint64": (0, (1 << 64) - 1)}


def mutated_message(message: Any, chance: random.Random) -> Any:
    """A copy with one to three random changes of its fields, at any depth."""
    result = type(message)()
    result.CopyFrom(message)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        nodes = list(messages(result))
        words = sorted({text for one in nodes for text in strings(one)} | {""})
        for _ in range(10):
            if _change(chance.choice(nodes), chance, words):
                break
    return result


def messages(message: Any) -> Iterator[Any]:
    """The message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else (value,):
                yield from messages(inner)


def strings(message: Any) -> Iterator[str]:
    """The texts that stand in a message itself."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            yield from value if field.is_repeated else (value,)


def _change(message: Any, chance: random.Random, words: list[str]) -> bool:
    present = [field for field, _ in message.ListFields()]
    fields = present if present and chance.random() < 0.8 else list(message.DESCRIPTOR.fields)
    if not fields:
        return False
    field = chance.choice(fields)
    if field.is_repeated:
        return _change_repeated(getattr(message, field.name), field, chance, words)
    if field.type == field.TYPE_MESSAGE:
        if chance.random() < 0.5:
            message.ClearField(field.name)
        else:
            getattr(message, field.name).SetInParent()
        return True
    if chance.random() < 0.2:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _scalar(field, chance, words, getattr(message, field.name)))
    return True


def _change_repeated(values: Any, field: Any, chance: random.Random, words: list[str]) -> bool:
    is_message = field.type == field.TYPE_MESSAGE
    kind = chance.choice(("drop", "double", "swap", "set", "add"))
    if kind == "add" or not len(values):
        if is_message:
            values.add()
        else:
            values.append(_scalar(field, chance, words, 0))
        return True
    place, other = chance.randrange(len(values)), chance.randrange(len(values))
    if kind == "drop":
        del values[place]
    elif kind == "double":
        values.append(values[place])
    elif kind == "swap" and place != other:
        copied = list(values)
        if is_message:
            copied = [type(one).FromString(one.SerializeToString()) for one in copied]
        copied[place], copied[other] = copied[other], copied[place]
        del values[:]
        values.extend(copied)
    elif kind == "set" and not is_message:
        values[place] = _scalar(field, chance, words, values[place])
    else:
        return False
    return True


def _scalar(field: Any, chance: random.Random, words: list[str], old: Any) -> Any:
    if field.type == field.TYPE_ENUM:
        return chance.choice(field.enum_type.values).number
    if field.type == field.TYPE_STRING:
        return chance.choice((*words, "other", "x" * 300, "a/b c\"\n%d{}", "../x"))
    if field.type == field.TYPE_BYTES:
        data = bytes(old) if isinstance(old, bytes) else b""
        return chance.choice((b"", data[:-1], data + b"\0", data[1:], b"\xff" * len(data), b"nearest", b"\xff\xfe"))
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return chance.choice(FLOATS)
    if field.cpp_type == field.CPPTYPE_BOOL:
        return not old
    name = {field.CPPTYPE_INT32: "int32", field.CPPTYPE_UINT32: "uint32", field.CPPTYPE_UINT64: "uint64"}.get(field.cpp_type, "int64")
    low, high = BOUNDS.get(name, (-(1 << 63), (1 << 63) - 1))
    value = chance.choice((*INTEGERS, *range(26), int(old) + 1, int(old) - 1, int(old) * 2, -int(old)))
    return max(low, min(high, value))
