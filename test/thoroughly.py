"""Which parameters of a test are for thorough runs only (`make test-thorough`): those that cost much and say little more than others."""
from collections.abc import Iterable
from itertools import combinations, product

import pytest

ParameterSet = type(pytest.param(0))


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


def pairs(*factors: Iterable) -> list:
    """All combinations of a value of each factor, of which quick runs take some: in these each two values of two factors meet. Values of
    ``thorough`` are for thorough runs in each of their combinations."""
    listed = [list(factor) for factor in factors]
    quick = [[place for place, value in enumerate(values) if not isinstance(value, ParameterSet)] for values in listed]
    among = [(places, set(combinations(enumerate(places), 2))) for places in product(*quick)]
    left, chosen = {pair for _, met in among for pair in met}, set()
    while left:
        places, met = max(among, key=lambda one: len(one[1] & left))
        chosen.add(places)
        left -= met
    found = []
    for places in product(*(range(len(values)) for values in listed)):
        given = [value.values[0] if isinstance(value, ParameterSet) else value for value in (v[p] for v, p in zip(listed, places))]
        found.append(pytest.param(*given, marks=[] if places in chosen else pytest.mark.thorough))
    return found
