"""Sequences whose lengths are known only at run time: compiled, saved, and by our numpy semantics, beside onnxruntime."""
import numpy as np
import onnx.parser
import onnxruntime
import pytest
from interpret import interpret
from onnx_check import assert_same, reference
from onnx_refusals import refuses
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
from packed_sequence_models import APPENDED, CALLS, HEAD, INTERPRETED, floats
from thoroughly import sampled

import legato
from legato import UnsupportedError, from_onnx
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.tools import legato_run

DYNAMIC = ir.ShapedType.get_dynamic_size()


@pytest.mark.parametrize("name", sampled(CALLS, 4))
def test_run_time(name, tmp_path):
    text, calls, wrong = CALLS[name]
    proto = onnx.parser.parse_model(HEAD + text)
    module = from_onnx(proto)
    exe = legato.compile(module)
    exe.save(tmp_path / "m.legato")
    loaded = legato.load(tmp_path / "m.legato")
    for arrays in (*calls, *reversed(calls)):
        expected = reference(proto, arrays)
        if name in INTERPRETED:
            assert_same(interpret(module, list(arrays.values())), expected)
        for one in (exe, loaded):
            found = one(*arrays.values())
            assert_same(list(found) if isinstance(found, tuple) else [found], expected)
    for arrays in wrong:
        with pytest.raises((Fail, InvalidArgument, RuntimeException)):
            reference(proto, arrays)
        with pytest.raises(ValueError, match=r"main cannot run on (inputs of )?these sizes: .* needs "):
            exe(*arrays.values())


# what a model returns in each layout: stacked, joined along axis 1, flat, an optional list, an optional tensor
RETURNED = """g (int64 steps, bool c, float[2, n] x) => (seq(float[]) same, seq(float[]) wider, seq(float[]) squares,
      optional(seq(float[2, n])) some, optional(float[2, n]) one, int64 count) <int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  empty = SequenceEmpty<dtype = 1>()
  axis = Constant<value = int64[1] {1}>()
  h, same, wider, squares = Loop(steps, yes, x, empty, empty, empty)
      <body = step (int64 i, bool c1, float[2, n] s, seq(float[]) l0, seq(float[]) l1, seq(float[]) l2)
           => (bool d, float[2, n] t, seq(float[]) m0, seq(float[]) m1, seq(float[]) m2) {
    d = Identity(c1)
    t = Cos(s)
    m0 = SequenceInsert(l0, t)
    end = Unsqueeze(i, zero)
    part = Slice(x, zero, end, axis)
    m1 = SequenceInsert(l1, part)
    square = Slice(part, zero, end, zero)
    m2 = SequenceInsert(l2, square)
  }>
  some, one = If(c) <then_branch = full () => (optional(seq(float[2, n])) a, optional(float[2, n]) a1) {
    list = SequenceConstruct(x, h)
    a = Optional(list)
    a1 = Optional(h)
  }, else_branch = none () => (optional(seq(float[2, n])) b, optional(float[2, n]) b1) {
    b = Optional<type = seq(float[2, n])>()
    b1 = Optional<type = float[2, n]>()
  }>
  count = SequenceLength(wider)
}"""


def same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    elif ours is not None:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_results(tmp_path, monkeypatch, capsys):
    proto = onnx.parser.parse_model(HEAD + RETURNED)
    exe = legato.compile(from_onnx(proto))
    assert str(exe.signature).endswith(
        " -> (same: [float32[2, n], ...], wider: [float32[2, ?], ...], squares: [float32[?, ?], ...], "
        "some: [float32[2, n], float32[2, n]] or None, one: float32[2, n] or None, count: int64[])")
    exe.save(tmp_path / "m.legato")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for steps, c, n in ((3, True, 4), (1, False, 2), (0, True, 3), (12, False, 5)):
        given = {"steps": np.array(steps), "c": np.array(c), "x": floats(2, n)}
        for one in (exe, legato.load(tmp_path / "m.legato")):
            for a, b in zip(one(**given), session.run(None, given), strict=True):
                same(a, np.asarray(b) if isinstance(b, np.generic) else b)
    a, b = exe(np.array(2), np.array(False), floats(2, 3))[0]
    a[:] = 1
    assert not (b == 1).any()       # arrays of a list are the caller's, each
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    for name, array in (("steps", np.array(3)), ("c", np.array(True)), ("x", floats(2, 4))):
        np.save(f"{name}.npy", array)
    words = ["m.onnx", *(word for name in ("steps", "c", "x") for word in ("--input", f"{name}={name}.npy"))]
    assert legato_run.main([*words, "--check", "onnxruntime", "--save", "wider[2]=w.npy", "-q"]) == 0
    assert "squares[2]: float32[2, 2]" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load("w.npy"), np.load("x.npy")[:, :2])
    assert legato_run.main([*words, "--save", "wider[3]=w.npy", "-q"]) == 2
    assert "the model has no output 'wider[3]'; it has same[0], same[1], same[2], wider[0]" in capsys.readouterr().err


def test_an_optional_without_a_value_is_an_error_of_the_call():
    text = """g (bool c, float[n] x) => (float[m] y) {
  o = If(c) <then_branch = some () => (optional(float[n]) a) { a = Optional(x) },
             else_branch = none () => (optional(float[n]) b) { b = Optional<type = float[n]>() }>
  u = OptionalGetElement(o)
  y = Neg(u)
}"""
    proto = onnx.parser.parse_model(HEAD + text)
    exe = legato.compile(from_onnx(proto))
    x = floats(3)
    np.testing.assert_array_equal(exe(np.array(True), x), -x)
    with pytest.raises(ValueError, match="\"u\" needs valid operands: the size u_value"):
        exe(np.array(False), x)


REFUSED = {
    "tensors of 1 and of 2 dimensions are in one sequence whose length is known only at run time": """
    g (int64 place, float[n] x, float[n, 2] w) => (float[k] y) {
      list = SequenceConstruct(x, w)
      y = SequenceAt(list, place)
    }""",
    "carries a sequence, state 0, that is empty before it, and its body reads a tensor of it before it appends one: declare the shape": """
    g (int64 steps, float[n] x) => (float[k] y) <int64 none = {0}> {
      yes = Constant<value = bool {1}>()
      empty = SequenceEmpty<dtype = 1>()
      all = Loop(steps, yes, empty) <body = step (int64 i, bool c, seq(float[]) l) => (bool d, seq(float[]) m) {
        d = Identity(c)
        t = SequenceAt(l, none)
        m = SequenceInsert(l, t)
      }>
      y = ConcatFromSequence<axis = 0>(all)
    }""",
    "differ along the axes [0, 1], and are joined along axis 1: only axis 0": """
    g (int64 place, float[n, 2] x, float[2, n] w) => (float[k, m] y) {
      list = SequenceConstruct(x, w)
      more = SequenceInsert(list, x, place)
      y = ConcatFromSequence<axis = 1>(more)
    }""",
    "a sequence of tensors that differ along axis 1 gets one that differs along [0]": """
    g (int64[k] sizes, float[2, n] x, float[3, n] w) => (float[k, m] y) {
      parts = SplitToSequence<axis = 1>(x, sizes)
      more = SequenceInsert(parts, w)
      y = ConcatFromSequence<axis = 1>(more)
    }""",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason):
    refuses(onnx.parser.parse_model(HEAD + REFUSED[reason].strip()), reason, kind=UnsupportedError)


def test_what_is_only_appended_is_not_carried():
    """The loop carries no sequence: each step would copy it."""
    module = from_onnx(onnx.parser.parse_model(HEAD + APPENDED))
    (loop,) = find(module.module.operation, "scf.while")
    assert [list(one.type.shape)[1:] for one in loop.results if isinstance(one.type, ir.RankedTensorType)] == [[3], [1, DYNAMIC, 3]]
