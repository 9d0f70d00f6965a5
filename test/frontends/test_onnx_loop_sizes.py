"""Loops whose states change their sizes from step to step, and sizes that data defines in branches and loops: as onnxruntime has them."""
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx_check import assert_same, reference
from onnx_refusals import refuses
from thoroughly import sampled

import legato
from legato import UnsupportedError, from_onnx

RNG = np.random.default_rng(0)
HEAD = '<ir_version: 10, opset_import: ["": 18]>\n'


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def given(**arrays):
    return {name: np.asarray(array) for name, array in arrays.items()}


# a cache of keys and values that grows by one in each step, attended to, and the outputs of all steps
DECODER = """g (int64 steps, float[b, 1, 8] x, float[8, 8] wk, float[8, 8] wv)
      => (float[b, 1, 8] y, float[b, n, 8] ks, float[s, b, 1, 8] outs) {
  yes = Constant<value = bool {1}>()
  k0 = MatMul(x, wk)
  v0 = MatMul(x, wv)
  y, ks, vs, outs = Loop(steps, yes, x, k0, v0)
      <body = step (int64 i, bool c, float[b, 1, 8] h, float[b, n1, 8] k, float[b, n1, 8] v)
              => (bool d, float[b, 1, 8] o, float[b, n2, 8] k2, float[b, n2, 8] v2, float[b, 1, 8] same) {
    d = Identity(c)
    kn = MatMul(h, wk)
    vn = MatMul(h, wv)
    k2 = Concat<axis = 1>(k, kn)
    v2 = Concat<axis = 1>(v, vn)
    kt = Transpose<perm = [0, 2, 1]>(k2)
    s = MatMul(h, kt)
    p = Softmax<axis = -1>(s)
    a = MatMul(p, v2)
    o = Tanh(a)
    same = Identity(o)
  }>
}"""
# halves a tensor until its sum is small, which data says
HALVES = """g (float[n] x) => (float[m] y, int64[1] k) <float much = {2.0}, int64[1] zero = {0}, int64[1] two = {2}, int64[1] one = {1}> {
  yes = Constant<value = bool {1}>()
  y, k = Loop(, yes, x, zero) <body = step (int64 i, bool c, float[a] s, int64[1] count) => (bool d, float[b] u, int64[1] more) {
    size = Shape(s)
    half = Div(size, two)
    u = Slice(s, zero, half)
    positive = Abs(u)
    total = ReduceSum<keepdims = 0>(positive)
    d = Greater(total, much)
    more = Add(count, one)
  }>
}"""
# the end of the slice is data
SLICES = """g (int64 steps, float[n, 3] x, int64[k] ends) => (float[m, 3] y, float z) <int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  y = Loop(steps, yes, x) <body = step (int64 i, bool c, float[a, 3] s) => (bool d, float[b, 3] u) {
    end = Gather(ends, i)
    end1 = Unsqueeze(end, zero)
    v = Slice(s, zero, end1, zero)
    u = Concat<axis = 0>(v, v)
    d = Identity(c)
  }>
  z = ReduceSum<keepdims = 0>(y)
}"""
# two states change places and grow, a third takes the second's
SWAPS = """g (int64 steps, float[n] x, float[m] w) => (float[p] y, float[q] z, float[r] o) {
  yes = Constant<value = bool {1}>()
  y, z, o = Loop(steps, yes, x, w, x)
      <body = step (int64 i, bool c, float[a] s, float[b] t, float[e] v) => (bool d, float[b2] u, float[a2] r, float[v2] last) {
    u = Concat<axis = 0>(t, s)
    r = Identity(s)
    last = Identity(t)
    d = Identity(c)
  }>
}"""
# loops in a loop, which grow what it carries
NESTED = """g (int64 steps, float[n, 2] x, float[2, 2] w) => (float[p, 2] y) <int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  y = Loop(steps, yes, x) <body = outer (int64 i, bool c, float[a, 2] s) => (bool d, float[b, 2] u) {
    d = Identity(c)
    many = Add(i, steps)
    r = Loop(many, yes, s) <body = inner (int64 k, bool e, float[a3, 2] s3) => (bool g3, float[b3, 2] u3) {
      g3 = Identity(e)
      mean = ReduceMean<keepdims = 1>(s3, zero)
      m = MatMul(mean, w)
      u3 = Concat<axis = 0>(s3, m)
    }>
    t = Tanh(r)
    u = Concat<axis = 0>(t, s)
  }>
}"""
# branches in a loop, one with a size of its own
BRANCHES = """g (int64 steps, float[n] x) => (float[p] y) <int64 two = {2}, int64 none = {0}, float zero = {0.0}, float[1] more = {1.5}> {
  yes = Constant<value = bool {1}>()
  y = Loop(steps, yes, x) <body = step (int64 i, bool c, float[a] s) => (bool d, float[b] u) {
    d = Identity(c)
    rest = Mod(i, two)
    even = Equal(rest, none)
    u = If(even) <then_branch = both () => (float[b1] u1) { u1 = Concat<axis = 0>(s, s) }, else_branch = some () => (float[b2] u2) {
      positive = Greater(s, zero)
      found = Compress(s, positive)
      u2 = Concat<axis = 0>(found, more)
    }>
  }>
}"""
# branches with a size of their own, a loop in one
CHOICE = """g (bool c, int64 steps, float[n, 2] x, float[m] w) => (int64[2, k] y, float[q] z) <int64[1] flat = {-1}> {
  yes = Constant<value = bool {1}>()
  y, v = If(c) <then_branch = first () => (int64[2, b1] u1, float[q1] v1) {
    u1 = NonZero(x)
    v1 = Reshape(x, flat)
  }, else_branch = other () => (int64[2, b2] u2, float[q2] v2) {
    u2 = Constant<value = int64[2, 3] {1, 2, 3, 4, 5, 6}>()
    v2 = Loop(steps, yes, w) <body = step (int64 i, bool e, float[a] s) => (bool d, float[b] u) {
      d = Identity(e)
      r = ReduceSum<keepdims = 1>(s)
      u = Concat<axis = 0>(r, s)
    }>
  }>
  z = Exp(v)
}"""
# as many steps as another input has elements: a loop over numbers
COUNTED = """g (float[k] t, float[n] x) => (float[p] y) <int64 first = {0}> {
  yes = Constant<value = bool {1}>()
  size = Shape(t)
  steps = Gather(size, first)
  y = Loop(steps, yes, x) <body = step (int64 i, bool c, float[a] s) => (bool d, float[b] u) {
    d = Identity(c)
    r = ReduceMax<keepdims = 1>(s)
    v = Concat<axis = 0>(r, s)
    u = Sin(v)
  }>
}"""
# a branch that gives a state as it is, or a value from outside
PASSED = """g (int64 steps, float[n] x, float[n] w, bool b) => (float[n] y, bool z) <int64 two = {2}> {
  yes = Constant<value = bool {1}>()
  no = Constant<value = bool {0}>()
  y, z = Loop(steps, yes, x, no) <body = step (int64 i, bool c, float[n] s, bool t) => (bool d, float[n] u, bool v) {
    d = Identity(c)
    odd = Mod(i, two)
    is_odd = Cast<to = 9>(odd)
    u, v = If(is_odd) <then_branch = other () => (float[n] u1, bool v1) { u1 = Identity(w) v1 = Identity(b) },
                       else_branch = same () => (float[n] u2, bool v2) { u2 = Identity(s) v2 = Identity(t) }>
  }>
}"""
CALLS = {
    "decoder": (DECODER, [given(steps=n, x=floats(b, 1, 8), wk=floats(8, 8) / 4, wv=floats(8, 8) / 4) for n, b in ((1, 2), (20, 3))]),
    "halves": (HALVES, [given(x=floats(n)) for n in (1, 2, 7, 64, 100)]),
    "slices": (SLICES, [given(steps=len(ends), x=floats(4, 3), ends=ends) for ends in ([3, 4, 5], [-1, 2], [100, -100], [7])]),
    "swaps": (SWAPS, [given(steps=n, x=floats(a), w=floats(b)) for n, a, b in ((1, 2, 3), (5, 2, 3), (0, 2, 3), (8, 0, 1))]),
    "nested": (NESTED, [given(steps=n, x=floats(a, 2), w=floats(2, 2)) for n, a in ((1, 2), (3, 2), (0, 3), (4, 1))]),
    "branches": (BRANCHES, [given(steps=n, x=floats(a)) for n, a in ((1, 2), (2, 3), (6, 5), (0, 4))]),
    "choice": (CHOICE, [given(c=c, steps=n, x=floats(a, 2), w=floats(n + 1)) for c in (True, False) for n, a in ((2, 3), (0, 0), (30, 4))]),
    "passed": (PASSED, [given(steps=n, x=floats(3), w=floats(3), b=True) for n in (0, 1, 2, 12)]),
    "counted": (COUNTED, [given(t=floats(n), x=floats(a)) for n, a in ((1, 2), (5, 3), (0, 3), (30, 1))]),
}


@pytest.mark.parametrize("name", sampled(CALLS, 2))
def test_sizes_of_steps(name, tmp_path):
    text, calls = CALLS[name]
    proto = onnx.parser.parse_model(HEAD + text)
    exe = legato.compile(from_onnx(proto))
    exe.save(tmp_path / "m.legato")
    loaded = legato.load(tmp_path / "m.legato")
    for arrays in (*calls, *reversed(calls)):       # memory of greater and of smaller calls is used again
        expected = reference(proto, arrays)
        for one in (exe, loaded):
            found = one(*arrays.values())
            assert_same(list(found) if isinstance(found, tuple) else [found], expected)


def test_memory_of_steps_is_used_again():
    """What is carried has 0 to 999 elements, again and again: a hundred thousand steps take what a thousand take."""
    text = """g (int64 steps, float[n] x) => (float[p] y, int64 k) <int64 most = {1000}, int64 zero = {0}, int64 one = {1}> {
  yes = Constant<value = bool {1}>()
  y, k = Loop(steps, yes, x, zero) <body = step (int64 i, bool c, float[a] s, int64 q) => (bool d, float[b] u, int64 r) {
    d = Identity(c)
    next = Add(q, one)
    r = Mod(next, most)
    numbers = Range(zero, r, one)
    v = Cast<to = 1>(numbers)
    u = Neg(v)
  }>
}"""
    exe = legato.compile(from_onnx(onnx.parser.parse_model(HEAD + text)))
    x = floats(4)

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    exe(np.array(2000), x)
    before = resident()
    y, k = exe(np.array(100_999), x)
    assert int(k) == 999
    np.testing.assert_array_equal(y, -np.arange(999, dtype=np.float32))
    for _ in range(300):
        exe(np.array(100), x)
    assert resident() - before < 1 << 20       # 4000 bytes a step would be 400 MB


def test_what_a_loop_stacks_has_one_size():
    text = """g (int64 steps, float[n] x) => (float[m] y, float[s, m2] all) {
  yes = Constant<value = bool {1}>()
  y, all = Loop(steps, yes, x) <body = step (int64 i, bool c, float[a] s) => (bool d, float[b] u, float[b] same) {
    d = Identity(c)
    u = Concat<axis = 0>(s, s)
    same = Identity(u)
  }>
}"""
    refuses(onnx.parser.parse_model(HEAD + text), "its scanned output 0 is a tensor of [y * 2] f32, whose sizes are known only in a step",
            kind=UnsupportedError)


def test_states_keep_their_ranks():
    text = """g (int64 steps, float[n] x) => (float[m] y) <int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  y = Loop(steps, yes, x) <body = step (int64 i, bool c, float[a] s) => (bool d, float[1, b] u) {
    d = Identity(c)
    u = Unsqueeze(s, zero)
  }>
}"""
    refuses(onnx.parser.parse_model(HEAD + text), "its state 0 is a tensor of [n] f32 before a step and of [1, n] f32 after it: in a loop "
            "whose number of steps is known only at run time, element types and ranks stay the same", kind=UnsupportedError)


def test_what_a_loop_stacks_has_the_size_that_its_body_declares():
    """A call checks it in each step."""
    text = """g (int64 steps, float[n] x, int64[k] ends) => (float[m] y, float[s, 2] all) <int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  y, all = Loop(steps, yes, x) <body = step (int64 i, bool c, float[a] s) => (bool d, float[b] u, float[2] part) {
    d = Identity(c)
    end = Gather(ends, i)
    end1 = Unsqueeze(end, zero)
    part = Slice(s, zero, end1)
    u = Concat<axis = 0>(part, s)
  }>
}"""
    proto = onnx.parser.parse_model(HEAD + text)
    exe = legato.compile(from_onnx(proto))
    arrays = given(steps=3, x=floats(4), ends=[2, 2, 2])
    assert_same(list(exe(*arrays.values())), reference(proto, arrays))
    with pytest.raises(ValueError, match="the size at axis 0 of what it stacks as 'part', to be 2 in each step, as its body says"):
        exe(np.array(3), floats(4), np.array([2, 1, 2]))


def test_sizes_of_known_steps_are_known():
    """A loop of twelve steps is unrolled where its state grows: what follows knows the size."""
    text = """g (float[2] x) => (float[m] y) <int64 steps = {12}> {
  yes = Constant<value = bool {1}>()
  y = Loop(steps, yes, x) <body = step (int64 i, bool c, float[a] s) => (bool d, float[b] u) {
    d = Identity(c)
    r = ReduceMax<keepdims = 1>(s)
    u = Concat<axis = 0>(r, s)
  }>
}"""
    module = from_onnx(onnx.parser.parse_model(HEAD + text))
    assert list(module.functions()[0].type.results[0].shape) == [14]
