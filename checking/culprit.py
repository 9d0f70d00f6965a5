"""Narrows a failed check down to an op: the first value on the way that differs."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from legato.checking.comparison import ValueDifference, alike, difference, equal
from legato.checking.interpreter import SeenValue
from legato.checking.states import MainRun
from legato.passes.pipeline.rounding import Rounding


@dataclass(frozen=True)
class Culprit:
    """The first op whose value differs: by the model's name, with all ops that its kernel computes."""

    op: str
    ops: tuple[str, ...]
    kernel: str | None
    difference: ValueDifference


def named(key: str) -> str:
    """``relax.conv2d Conv_0`` as messages print an op: ``relax.conv2d "Conv_0"``."""
    op, _, name = key.partition(" ")
    return f'{op} "{name}"' if name else op


def by_key(run: MainRun) -> dict[str, SeenValue]:
    """The values of a run by their keys, numbered where several have one key: ``relax.add y #2``."""
    counts: Counter[str] = Counter()
    found = {}
    for one in run.seen:
        counts[one.key] += 1
        found[one.key if counts[one.key] == 1 else f"{one.key} #{counts[one.key]}"] = one
    return found


def by_name(values: dict[str, SeenValue]) -> dict[str, str]:
    """For each name of the model the key of the last value that has it."""
    return {name: key for key, one in values.items() if (name := one.key.partition(" ")[2])}


def find_culprit(old: MainRun, new: MainRun, moved: Sequence[MainRun], rounding: Rounding) -> Culprit | None:
    """The first value of the newer run, in its order, that differs from the one of its name in the older. None if all of them are equal,
    or none of them can be told by its name. Values whose shape has changed (another layout) are not compared. An op of another kind that
    has the name of one before, ``relax.add y`` for ``relax.multiply y``, is compared with it where both are the last of that name."""
    before, after, moves = by_key(old), by_key(new), [by_key(run) for run in moved]
    named_before, named_after = by_name(before), by_name(after)
    for key, one in after.items():
        name = one.key.partition(" ")[2]
        if key not in before and named_after.get(name) == key:
            key = named_before.get(name, key)
        other = before.get(key)
        if other is None or other.array.shape != one.array.shape or other.array.dtype.itemsize != one.array.dtype.itemsize:
            continue
        found = difference(other.array, alike(one.array, other.array.dtype), [m[key].array for m in moves if key in m], rounding)
        if found is not None:
            return culprit(one, found)
    return None


def producer(run: MainRun, result: np.ndarray, found: ValueDifference) -> Culprit | None:
    """The op that computes a result, by its value. None for an argument, or a value that was copied to another layout."""
    same = [one for one in run.seen if equal(one.array, alike(result, one.array.dtype))]
    return culprit(same[-1], found) if same else None


def culprit(one: SeenValue, found: ValueDifference) -> Culprit:
    """What is told about a value that differs."""
    return Culprit(named(one.key), tuple(map(named, one.ops)), one.kernel, found)
