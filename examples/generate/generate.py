"""Greedy decoding: the prompt in one call, then a call for each token."""
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from legato.examples.generate.model import DecoderConfig

Step = Callable[..., Sequence[np.ndarray]]   # from ids and caches to logits and caches
ROOM = 64   # tokens for which there is room at first


class Generated(NamedTuple):
    """The tokens after the prompt, the seconds until the first, and those of each other."""

    tokens: list[int]
    first: float
    others: list[float]


def generate(step: Step, config: DecoderConfig, prompt: Sequence[int], count: int, in_place: bool = False) -> Generated:
    """``count`` tokens after the prompt, each the most likely one. ``step`` runs the model; ``in_place``: it writes to rooms for keys and
    values, which are made twice as large when they are full. ValueError if the tokens are too many for the model."""
    if len(prompt) + count > config.length:
        raise ValueError(f"{len(prompt)} tokens of the prompt and {count} more are too many for a model of {config.length}")
    ids, tokens, times, taken = np.array([prompt], np.int64), [], [], 0
    caches = [np.zeros((1, config.heads, ROOM if in_place else 0, config.width), np.float32) for _ in range(2 * config.layers)]
    for _ in range(count):
        started = time.perf_counter()
        if in_place:
            caches = [with_room(cache, taken + ids.shape[1]) for cache in caches]
            logits, *caches = step(ids, np.array([taken]), *caches)
        else:
            logits, *caches = step(ids, *caches)
        taken += ids.shape[1]
        tokens.append(int(np.argmax(logits[0])))
        ids = np.array([tokens[-1:]], np.int64)
        times.append(time.perf_counter() - started)
    return Generated(tokens, times[0], times[1:])


def with_room(cache: np.ndarray, tokens: int) -> np.ndarray:
    """A cache [1, heads, room, width] with room for so many tokens: the same one, or a copy."""
    room = cache.shape[2]
    if tokens <= room:
        return cache
    while room < tokens:
        room *= 2
    larger = np.zeros((*cache.shape[:2], room, cache.shape[3]), cache.dtype)
    larger[:, :, :cache.shape[2]] = cache
    return larger
