"""Which parameters of a test are for thorough runs only (`make test-thorough`): those that cost much and say little more than others."""
from collections.abc import Iterable

import pytest


def thorough(values: Iterable, names: int = 1) -> list:
    """The parameters, for thorough runs only. ``names``: how many a parameter gives values to, as a tuple of so many."""
    return [pytest.param(*(value if names > 1 else [value]), marks=pytest.mark.thorough) for value in values]


def sampled(values: Iterable, every: int, names: int = 1) -> list:
    """The parameters, of which quick runs take the first of each ``every``."""
    listed = list(values)
    return [value if number % every == 0 else left for number, (value, left) in enumerate(zip(listed, thorough(listed, names)))]


def first_of(values: Iterable, names: int = 1) -> list:
    """The parameters, of which quick runs take the first."""
    listed = list(values)
    return sampled(listed, max(len(listed), 1), names)
