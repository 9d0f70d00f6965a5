"""Loops without a number of steps, as exporters write ``while i < n``: their scanned outputs have as much room as the condition allows."""
import numpy as np
import onnx.parser
import pytest
from onnx_check import assert_same, reference
from onnx_refusals import refuses
from thoroughly import sampled

import legato

PASSED = "p = Identity(n)"


def recurrent(condition: str, count: str = "j = Add(i, one)", passed: str = PASSED, type_: str = "int32", start: int = 0):
    """A layer over the first axis of ``x``, as tf2onnx writes it: a counter, the state, the limit, which steps only hand on, and one
    scanned output. ``condition`` computes ``e`` of the new counter ``j``, the old one ``i`` and the limit ``n``."""
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[n, b, 4] x, float[b, 4] h0, bool more) => (float[b, 4] hn, float[steps, b, 4] y, {type_} k)
      <int64 first = {{0}}, {type_} zero = {{{start}}}, {type_} one = {{1}}, {type_} two = {{2}}> {{
      shape = Shape(x)
      size = Gather(shape, first)
      limit = Cast<to = {6 if type_ == "int32" else 7}>(size)
      begins = Less(zero, limit)
      going = And(begins, more)
      k, hn, l, y = Loop("", going, zero, h0, limit) <body = step (int64 t, bool c, {type_} i, float[b, 4] h, {type_} n)
          => (bool e, {type_} j, float[b, 4] g, {type_} p, float[b, 4] s) {{
        {count}
        {passed}
        part = Gather(x, i)
        sum = Add(part, h)
        g = Tanh(sum)
        s = Identity(g)
        {condition}
      }}>
    }}""")


FLOATS = "fj = Cast<to = 1>(j) fn = Cast<to = 1>(n)"
CONDITIONS = {
    "less": "e = Less(j, n)", "greater": "e = Greater(n, j)", "outer": "e = Less(j, limit)", "floats": f"{FLOATS} e = Less(fj, fn)",
    "both": "a = Less(j, n) b = ReduceMax<keepdims = 0>(g) o = CastLike(one, b) d = LessOrEqual(b, o) e = And(d, a)",
    "before": "q = Sub(n, one) e = Less(i, q)", "or equal": "q = Sub(n, one) e = LessOrEqual(j, q)",
}


def check(proto, sizes=((5, 2), (1, 1), (0, 3), (9, 1))):
    rng = np.random.default_rng(0)
    exe = legato.compile(legato.from_onnx(proto))
    for steps, batch in sizes:
        for more in (True, False):
            given = {"x": rng.standard_normal((steps, batch, 4), np.float32), "h0": rng.standard_normal((batch, 4), np.float32),
                     "more": np.array(more)}
            last, rows, k = reference(proto, given)      # onnxruntime gives no rows of no batch
            assert_same(exe(*given.values()), [last, rows if len(rows) else rows.reshape(0, batch, 4), k])


@pytest.mark.parametrize("name", sampled(CONDITIONS, 2))
def test_conditions(name):
    check(recurrent(CONDITIONS[name]))


@pytest.mark.parametrize("start", [0, 2])
def test_counters(start):
    """Steps of two, and from another number."""
    count = "j = Add(i, two)" if not start else "d = Identity(i) j = Add(one, d)"
    check(recurrent("e = Less(j, n)", count, type_="int64", start=start), ((5, 2), (6, 2), (3, 1)))


@pytest.mark.parametrize(("condition", "count", "passed"), [
    ("e = Less(j, n)", "j = Sub(i, one)", PASSED), ("e = Less(n, j)", "j = Add(i, one)", PASSED),
    ("e = Less(j, n)", "j = Add(i, one)", "p = Add(n, one)"), ("e = Less(j, n)", "j = Mul(i, two)", PASSED),
    ("o = Cast<to = 1>(j) m = ReduceSum<keepdims = 0>(g) e = Less(o, m)", "j = Add(i, one)", PASSED),
], ids=["down", "up", "moves", "times", "data"])
def test_what_says_no_number_of_steps(condition, count, passed):
    refuses(recurrent(condition, count, passed), "no number of steps that says how much room they take", kind=legato.UnsupportedError)


def test_a_limit_that_is_data():
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (int64 n, int64[1] m) => (int64[k] y) <bool yes = {1}, int64 zero = {0}, int64 one = {1}> {
      last, y = Loop("", yes, m) <body = step (int64 t, bool c, int64[1] i) => (bool e, int64[1] j, int64 s) {
        j = Add(i, one)  s = ReduceSum<keepdims = 0>(j)  q = Less(j, n)  e = Squeeze(q)
      }>
    }""")
    exe = legato.compile(legato.from_onnx(proto))
    for n, m in ((5, 0), (0, 3), (7, -2)):      # a loop makes its first step whatever it compares later
        given = {"n": np.array(n), "m": np.array([m])}
        assert_same([exe(*given.values())], reference(proto, given))
