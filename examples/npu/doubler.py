"""The code of the smallest backend: see docs/byoc.md."""
import numpy as np


def load(data, name):
    """A function that fills its output with a multiple of its input."""
    factor = int(bytes(data))
    return lambda x, out: np.multiply(x, factor, out=out)
