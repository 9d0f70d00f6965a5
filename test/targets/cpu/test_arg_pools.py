"""arg_max_pool in vectors of windows: strides, padding, dilations, types, special values and threads, against the semantics."""
import numpy as np
import pytest
from harness import DTYPES, TARGETS, Net
from thoroughly import first_of

import legato
from legato.core.cpu import missing_features
from legato.dialects import relax

CPUS = [cpu for cpu in ("x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]
CASES = [   # the shape, and the attributes
    ((2, 3, 28, 28), {"kernel": [2, 2], "strides": [2, 2]}),
    ((1, 5, 33, 35), {"kernel": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1]}),
    ((2, 2, 9, 40), {"kernel": [3, 2], "strides": [1, 1], "padding": [2, 0, 0, 1]}),
    ((1, 2, 20, 50), {"kernel": [5, 5], "strides": [3, 3]}),
    ((3, 1, 12, 64), {"kernel": [2, 3], "strides": [2, 4], "dilations": [2, 3]}),
    ((1, 1, 6, 5), {"kernel": [6, 5]}),
    ((1, 2, 11, 23), {"kernel": [3, 3], "strides": [2, 2], "ceil_mode": True}),
    ((2, 3, 70), {"kernel": [4], "strides": [2], "padding": [1, 2]}),
    ((1, 2, 5, 6, 19), {"kernel": [2, 2, 2], "strides": [1, 2, 2], "padding": [1, 0, 0, 0, 1, 1]}),
    ((1, 3, 4, 60), {"kernel": [2, 9], "strides": [2, 9]}),
    ((0, 3, 4, 6), {"kernel": [2, 2]}),
]


def values(shape, dtype, seed=3):
    """Few different numbers, so that the first of equal ones counts; several NaN in a window; and a channel of nothing but the lowest."""
    x = np.random.default_rng(seed).integers(-6, 7, shape).astype(np.float32)
    if np.issubdtype(DTYPES[dtype], np.integer):
        low = np.iinfo(DTYPES[dtype]).min
        x = x + 6 * (low == 0)
        x[:, -1:] = low
    else:
        x.reshape(-1)[::11] = np.nan
        x[:, -1:] = -np.inf
    return x.astype(DTYPES[dtype])


def check(target, dtype, name=None):
    net, arrays, expected = Net(target, first=None), [], []
    for shape, attributes in CASES:
        shape_ = shape if name is None else (name, *shape[1:])
        op, x = f"arg_max_pool{len(shape) - 2}d", values(shape, dtype)
        net.output(net.op(f"relax.{op}", [net.input(shape_, dtype)], **attributes))
        rank = len(shape) - 2
        full = {"strides": [1] * rank, "padding": [0] * 2 * rank, "dilations": [1] * rank, "ceil_mode": False} | attributes
        arrays.append(x)
        expected.append(relax.OPS[op].semantics(x, **full))
        if name is not None:
            break    # sizes with the same name are equal
    for case, found, wanted in zip(CASES, net.run(*arrays), expected):
        np.testing.assert_array_equal(found, wanted, err_msg=str(case))


@pytest.mark.parametrize("target", first_of(TARGETS.values()), ids=TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i8", "ui8", "i32"])
def test_types(dtype, target):
    check(target, dtype)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", [None, "n"])
def test_threads(cpu, name):
    check(f"llvm{{cpu={cpu} threads=2}}", "f32", name)


@pytest.mark.parametrize(("shape", "stride", "reason"), [
    ((1, 4, 20, 20), 2, ""), (("n", 4, 20, 20), 8, ""), ((1, 4, 20, "w"), 2, "not known"), ((1, 4, 20, 20), 9, "a stride of 9")])
def test_which_rule(shape, stride, reason):
    net = Net(first=None)
    net.output(net.op("relax.arg_max_pool2d", [net.input(shape)], kernel=[2, 2], strides=[2, stride]))
    record, = [r for r in legato.explain(net.graph, last="legalized").records if r.op == "relax.arg_max_pool2d"]
    assert ("arg_pools" in str(record)) == (not reason), record
