"""Kernels in TVM's spelling, compiled and compared with numpy."""
import kernels
import kernels_inplace
import kernels_language
import kernels_statements
import kernels_vectors
import kernels_views
import numpy as np
import pytest

import legato

SYMBOL = 5
FILES = (kernels, kernels_inplace, kernels_language, kernels_statements, kernels_vectors, kernels_views)
REFERENCES = {k: r for m in FILES for k, r in m.REFERENCES.items()}


def arguments(exe, seed=0):
    """Random arrays for a kernel's inputs; a size that is a symbol is 5."""
    rng = np.random.default_rng(seed)
    made = []
    for parameter in exe.inputs:
        shape = [s if isinstance(s, int) else SYMBOL for s in parameter.shape]
        if parameter.dtype.kind == "f":
            made.append((rng.random(shape) - 0.3).astype(parameter.dtype))
        elif parameter.dtype.kind == "b":
            made.append(rng.random(shape) < 0.5)
        else:
            low = -50 if parameter.dtype.kind == "i" and parameter.name == "A" else 0
            made.append(rng.integers(low, 100, shape).astype(parameter.dtype))
    return made


@pytest.mark.parametrize("kernel", REFERENCES, ids=lambda k: getattr(k, "__name__", "module"))
def test_kernel(kernel):
    exe = legato.compile(kernel)
    arrays = arguments(exe)
    kept = [a.copy() for a in arrays]
    got, want = exe(*arrays), REFERENCES[kernel](*arrays)
    for g, w in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want)), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)
    for before, after in zip(kept, arrays):
        np.testing.assert_array_equal(before, after)
