"""The run time of a backend that looks rows up: one session, on weights that the host has, too."""
from collections.abc import Callable, Mapping

import numpy as np


def open_session(data: memoryview, weights: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Called once for a model; an engine would be started here."""
    return weights


def rows(session: Mapping[str, np.ndarray], name: str) -> Callable[..., None]:
    """The code of one function: the rows of its table at the indices it is given."""
    table = session[name]

    def run(indices: np.ndarray, out: np.ndarray) -> None:
        np.take(table, indices, axis=0, out=out)

    return run
