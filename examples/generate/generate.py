"""Greedy decoding: the prompt in one call, then a call for each token."""
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from legato.examples.generate.model import DecoderConfig

Step = Callable[..., Sequence[np.ndarray]]   # from ids and caches to logits and caches


class Generated(NamedTuple):
    """The tokens after the prompt, the seconds until the first, and those of each other."""

    tokens: list[int]
    first: float
    others: list[float]


def generate(step: Step, config: DecoderConfig, prompt: Sequence[int], count: int) -> Generated:
    """``count`` tokens after the prompt, each the most likely one. ``step`` runs the model; ValueError if they are too many for it."""
    if len(prompt) + count > config.length:
        raise ValueError(f"{len(prompt)} tokens of the prompt and {count} more are too many for a model of {config.length}")
    ids, tokens, times = np.array([prompt], np.int64), [], []
    caches = [np.empty((1, config.heads, 0, config.width), np.float32)] * (2 * config.layers)
    for _ in range(count):
        started = time.perf_counter()
        logits, *caches = step(ids, *caches)
        tokens.append(int(np.argmax(logits[0])))
        ids = np.array([tokens[-1:]], np.int64)
        times.append(time.perf_counter() - started)
    return Generated(tokens, times[0], times[1:])
