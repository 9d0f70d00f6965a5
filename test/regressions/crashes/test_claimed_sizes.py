"""A slice of a symbolic axis with a size that the script claims: ``min(n, 3)`` is 3 for more than one n, so a call checks it."""
import numpy as np
import pytest

import legato
from legato.script import relax as R


@R.function
def annotated(x: R.Tensor(("n", 8), "float32")):
    with R.dataflow():
        y: R.Tensor((3, 8), "float32") = R.strided_slice(x, axes=[0], begin=[0], end=[3])
        R.output(y)
    return y


@R.function
def matched(x: R.Tensor(("n", 8), "float32")):
    with R.dataflow():
        z = R.strided_slice(x, axes=[0], begin=[0], end=[3])
        y = R.match_cast(z, R.Tensor((3, 8), "float32"))
        w = R.nn.relu(R.add(y, y))
        R.output(w)
    return w


@pytest.mark.parametrize("function, expected", [(annotated, lambda x: x[:3]), (matched, lambda x: np.maximum(2 * x[:3], 0))])
def test_claimed_sizes(function, expected):
    executable = legato.compile(function)
    for n in (3, 4, 9):
        x = np.random.default_rng(n).standard_normal((n, 8), np.float32)
        np.testing.assert_allclose(executable(x), expected(x))
    with pytest.raises(ValueError, match=r"dimension 0, min\(3, n\), to be 3 \(expected 3, found 2\)"):
        executable(np.zeros((2, 8), np.float32))


@R.function
def solved(x: R.Tensor(("n", 8), "float32")):
    with R.dataflow():
        y = R.match_cast(R.concat([x, x], axis=0), R.Tensor((6, 8), "float32"))
        R.output(y)
    return y


def test_linear_sizes_are_solved():
    executable = legato.compile(solved)
    assert str(executable.inputs[0]) == "float32[3, 8]"
    assert executable(np.zeros((3, 8), np.float32)).shape == (6, 8)
