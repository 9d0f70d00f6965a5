"""``if`` in graphs: on values, on sizes, on what is known when the graph is parsed."""
import numpy as np
import pytest
import tvm_ffi

import legato
from legato.script import parse, print_script
from legato.script import relax as R
from legato.script import tir as T

F = np.float32


@R.function
def both_assign(cond: R.Tensor((), "bool"), x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
    if cond:
        w = R.add(x, x)
        y = R.multiply(w, w)
    else:
        w = R.multiply(x, x)
        y = R.add(w, w)
    return y


@R.function
def several(cond: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")):
    if cond:
        a = R.matmul(x, R.permute_dims(y))
        b = (x, y)
    else:
        a = R.matmul(y, R.permute_dims(x))
        b = (y, x)
    return a, b[0], b[1] * 2.0


@R.function
def nested(p: R.Tensor((), "bool"), q: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32")):
    y = R.exp(x)
    if p:
        if q:
            y = R.negative(x)
        else:
            z = R.abs(x)
            y = z + y
        y = y * 2.0
    return y + x


@R.function
def computed_condition(x: R.Tensor((3, 4), "float32"), b: R.Tensor((3, 4), "bool")):
    total = R.sum(x)
    if total > 0.0:
        r = b
    else:
        r = R.logical_not(b)
    return r


@R.function
def on_a_size(x: R.Tensor(("N", 2), "float32")):
    N = T.int64()
    if R.prim_value(N % 4 == 0):
        y = R.reshape(x, (N * 2,))
        out = R.sum(y)
    else:
        out = R.max(x)
    if N > 5 and not N == 8:
        out = out + 100.0
    return out


TRAINING = False


@R.function
def known(x: R.Tensor((3,), "float32")):
    if TRAINING:
        y = R.nonsense(x)
    else:
        y = R.exp(x)
    if x.shape[0] == 3 and x.dtype == "float32":
        y = y + 1.0
    return y


@T.prim_func
def triple(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * 3.0


@R.function
def calls(cond: R.Tensor((), "bool"), x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    if cond:
        z = R.call_tir(triple, (x,), R.Tensor((4,), "float32"))
    else:
        z = R.call_dps_packed("legato.test.half", (x,), R.Tensor((4,), "float32"))
    return z + y


@R.function
def unchanged(cond: R.Tensor((), "bool"), x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    if cond:
        z = x
    else:
        z = y
    return z


@R.function
def unchanged_with_a_constant(cond: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    y = x
    if cond:
        y = R.const([1.0, 2.0, 3.0, 4.0])
    return y, x


def array(*shape, seed=0):
    return (np.random.default_rng(seed).random(shape) - 0.3).astype(F)


X, Y, V, W = array(3, 4), array(3, 4, seed=1), array(4), array(4, seed=1)
CASES = {
    "both_assign": (both_assign, lambda c: (np.array(c), array(1)), lambda c, x: 4 * x * x if c else 2 * x * x),
    "several": (several, lambda c: (np.array(c), X, Y), lambda c, x, y: (x @ y.T, x, y * 2) if c else (y @ x.T, y, x * 2)),
    "nested": (nested, lambda c: (np.array(c), np.array(True), X[:2, :3].copy()), lambda p, q, x: (-x * 2 if p else np.exp(x)) + x),
    "nested, else": (nested, lambda c: (np.array(c), np.array(False), X[:2, :3].copy()),
                     lambda p, q, x: ((np.abs(x) + np.exp(x)) * 2 if p else np.exp(x)) + x),
    "computed_condition": (computed_condition, lambda c: (np.abs(X) if c else -np.abs(X), X > 0.2), lambda x, b: b if x.sum() > 0 else ~b),
    "on_a_size": (on_a_size, lambda c: (array(8 if c else 7, 2),), lambda x: x.sum() if len(x) == 8 else x.max() + 100),
    "on_a_size, 4": (on_a_size, lambda c: (array(4 if c else 12, 2),), lambda x: x.sum() if len(x) == 4 else x.sum() + 100),
    "known": (known, lambda c: (array(3),), lambda x: np.exp(x) + 1),
    "calls": (calls, lambda c: (np.array(c), V, W), lambda c, x, y: (x * 3 if c else x / 2) + y),
    "unchanged": (unchanged, lambda c: (np.array(c), V, W), lambda c, x, y: x if c else y),
    "unchanged_with_a_constant": (unchanged_with_a_constant, lambda c: (np.array(c), V),
                                  lambda c, x: (np.arange(1, 5, dtype=F) if c else x, x)),
}


@pytest.mark.parametrize("name", CASES)
def test_branches(name):
    tvm_ffi.register_global_func("legato.test.half", lambda a, out: np.divide(np.from_dlpack(a), 2, out=np.from_dlpack(out)), override=True)
    graph, arguments, reference = CASES[name]
    exe = legato.compile(graph)
    for side in (True, False, True):
        arrays = arguments(side)
        kept = [a.copy() for a in arrays]
        got, want = exe(*arrays), reference(*arrays)
        for g, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want)), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)
        for before, after in zip(kept, arrays):
            np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["several", "nested", "on_a_size", "unchanged_with_a_constant"])
def test_branches_come_back(name):
    """Printed as a script and parsed again, a graph branches as before."""
    graph, arguments, _ = CASES[name]
    again = parse(print_script(graph.module()))
    assert print_script(parse(print_script(again))) == print_script(again)
    exe, other = legato.compile(graph), legato.compile(again)
    for side in (True, False):
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (exe(*arguments(side)), other(*arguments(side)))), strict=True):
            np.testing.assert_array_equal(a, b)


def test_only_one_branch_runs():
    """The packed function of the branch that is not taken is not called."""
    called = []
    for name in ("left", "right"):
        tvm_ffi.register_global_func(f"legato.test.{name}", lambda a, out, name=name: (called.append(name), np.copyto(
            np.from_dlpack(out), np.from_dlpack(a)))[0], override=True)
    exe = legato.compile(parse("""
@R.function
def f(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    if c:
        y = R.call_dps_packed("legato.test.left", (x,), R.Tensor((4,), "float32"))
    else:
        y = R.call_dps_packed("legato.test.right", (x,), R.Tensor((4,), "float32"))
    return y
"""))
    exe(np.array(True), V)
    assert called == ["left"]
    exe(np.array(False), V)
    assert called == ["left", "right"]


def graph(body):
    parameters = 'c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32"), m: R.Tensor(("n", 4), "float32")'
    return f"@R.function\ndef g({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines())


@pytest.mark.parametrize(("body", "message"), [
    ("if c:\n    w = R.exp(x)\n    y = w\nelse:\n    y = x\nreturn w", "'w' is not defined"),
    ("if c:\n    y = R.exp(x)\nelse:\n    y = R.sum(x)\nreturn y", "'y' is tensor<4xf32> where the condition holds, and tensor<f32>"),
    ("if c:\n    y = (x, x)\nelse:\n    y = x\nreturn y", "'y' is one thing where the condition holds, and another where not"),
    ("if x:\n    y = x\nelse:\n    y = x\nreturn y", "a condition is a tensor of type bool without dimensions"),
    ("if c:\n    return x\nreturn x", "a graph returns at its end"),
    ("if c:\n    y = R.match_cast(m, R.Tensor((3, 4), 'float32'))\nelse:\n    y = m\nreturn x", "matched in a branch only"),
    ("if c:\n    y = R.sum(R.call_packed('some.function', x, sinfo_args=R.Tensor(('k',), 'float32')))\nelse:\n    y = R.sum(x)\nreturn y",
     "a tensor whose size depends on data cannot be made in a branch"),
    ("if c:\n    y = R.sum(R.nonzero(x))\nelse:\n    y = R.const(3, 'int64')\nreturn y", "a tensor whose size depends on data cannot"),
    ("if c and True:\n    y = x\nelse:\n    y = x\nreturn y", "of tensors by R.logical_and"),
    ("while c:\n    x = R.exp(x)\nreturn x", "Python's While is not supported in a graph"),
])
def test_refusals(body, message):
    with pytest.raises(legato.LegatoError, match=message):
        parse(graph(body))
