"""Absolute values of integers in kernels."""
import numpy as np
import pytest
import standin

import legato
from legato.script import T


def kernel(dtype):
    @T.prim_func
    def magnitudes(X: T.Buffer((70,), dtype), Y: T.Buffer((70,), dtype)):
        for i in range(70):
            Y[i] = T.abs(X[i])

    return magnitudes


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_absolute_values_of_integers(dtype):
    """The least integer, which has no positive one, is unchanged."""
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max, 70, dtype=dtype, endpoint=True)
    x[:3] = limits.min, limits.max, -1
    np.testing.assert_array_equal(standin.compiled(legato.lower(kernel(dtype), "nvvm", last="outlined"))(x), np.abs(x))
