"""Packed functions that the tests of ``R.call_packed`` call, a graph that calls them, and inputs."""
import numpy as np
import tvm_ffi

from legato.script import R, T

F = "float32"


def packed(name):
    return lambda function: tvm_ffi.register_global_func(f"legato.test.{name}", function, override=True)


@packed("positive_rows")
def positive_rows(x):
    x = np.from_dlpack(x)
    return x[x[:, 0] > 0]


def rows(n=7):
    return np.random.default_rng(n).standard_normal((n, 4)).astype(F)


@packed("arguments")
def arguments(x, *others):
    arguments.given = others
    return x


@R.function
def rank_first(x: R.Tensor(("n", 4), F)):
    m = T.int64()
    y = R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor(dtype=F, ndim=2))
    z = R.match_cast(y, R.Tensor((m, 4), F))
    return R.call_packed("legato.test.arguments", R.exp(z), R.shape([m]), sinfo_args=(R.Tensor((m, 4), F),))
