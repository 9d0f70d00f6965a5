"""Inputs of ONNX models that have initializers: constants, or inputs with a default, as the user says."""
import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_check import assert_same, model, reference, value

import legato
from legato.tools import legato_compile, legato_run

RNG = np.random.default_rng(0)
X, W, B = (RNG.standard_normal(shape).astype(np.float32) for shape in ((5, 3), (3, 4), (4,)))
DEFAULTS = {"w": W, "b": B, "byte": np.array([3, 200, 255, 0], np.uint8), "flag": np.array(True)}


def overridable() -> onnx.ModelProto:
    """y = where(flag, x @ w + b, byte); all but x have initializers, and w is listed before x."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"]),
             helper.make_node("Cast", ["byte"], ["f"], to=onnx.TensorProto.FLOAT), helper.make_node("Where", ["flag", "s", "f"], ["y"])]
    inputs = [value("w", W), value("x", X, ["n", 3]), *(value(name, DEFAULTS[name]) for name in ("b", "byte", "flag"))]
    return model(nodes, inputs, ["y"], constants=DEFAULTS)


@pytest.mark.parametrize("names", [["w"], ["byte", "flag"], True])
def test_calls_override_initializers_as_in_onnxruntime(names, tmp_path):
    proto = overridable()
    exe = legato.compile(legato.from_onnx(proto, overridable=names))
    chosen = list(DEFAULTS) if names is True else names
    assert [one.name for one in exe.inputs] == ["x", *(name for name in DEFAULTS if name in chosen)] and set(exe.defaults) == set(chosen)
    given = {name: array for name, array in {"w": W * 2, "byte": DEFAULTS["byte"] // 2, "flag": np.array(False)}.items() if name in chosen}
    loaded = legato.runtime.load(exe.save(tmp_path / "model.legato"))
    for one in (exe, loaded):
        assert_same([one(X)], reference(proto, {"x": X}))
        assert_same([one(x=X, **given)], reference(proto, {"x": X, **given}))
        if names == ["w"]:
            assert_same([one(X, given["w"])], reference(proto, {"x": X, **given}))
        for name in chosen:
            np.testing.assert_array_equal(one.defaults[name], DEFAULTS[name], strict=True)
            assert not one.defaults[name].flags.writeable
        with pytest.raises(TypeError, match="no value for the input x of main"):
            one(**given)


def test_constant_inputs_are_named_when_they_are_given():
    exe = legato.compile(legato.from_onnx(overridable()))
    with pytest.raises(TypeError, match=r"the input 'w' is a constant of this model.*from_onnx\(\.\.\., overridable=\['w'\]\)"):
        exe(X, w=W)
    with pytest.raises(legato.LegatoError, match=r"'w' has an initializer, so it is a constant.*overridable=\['w'\]"):
        legato.from_onnx(overridable(), shapes={"w": [3, "m"]})


def test_defaults_need_not_be_among_the_inputs_and_may_have_free_sizes():
    proto = overridable()
    del proto.graph.input[2:]
    exe = legato.compile(legato.from_onnx(proto, overridable=["b", "w"], shapes={"w": [3, "m"], "b": ["m"]}))
    assert_same([exe(X), exe(X, b=B * 2)], [*reference(overridable(), {"x": X}), *reference(overridable(), {"x": X, "b": B * 2})])
    with pytest.raises(ValueError, match="'b' must be"):
        exe(X, b=B[:2])


@pytest.mark.parametrize(("names", "shapes", "message"), [
    ("w", None, r"a list of names of initializers, or True: write \['w'\]"),
    (["x"], None, "there is no initializer 'x'; among the inputs the model has: w, b, byte, flag"),
    (["w"], {"w": [3, 5]}, r"w \(initializer\): it is the default of the input of that name, which is f32\[3, 5\], and has f32\[3, 4\]"),
])
def test_what_cannot_be_overridden(names, shapes, message):
    with pytest.raises(legato.LegatoError, match=message):
        legato.from_onnx(overridable(), overridable=names, shapes=shapes)


def test_a_default_is_not_donated():
    proto = model([helper.make_node("Add", ["x", "b"], ["y"])], [value("x", B), value("b", B)], ["y"], constants={"b": B})
    with pytest.raises(legato.LegatoError, match="cannot donate the input 'b', which has a default"):
        legato.donate(legato.from_onnx(proto, overridable=["b"]), ["b"])


def test_the_default_outlives_text(tmp_path):
    legato.from_onnx(overridable(), overridable=["w"]).save(tmp_path / "m.mlir")
    module = legato.Module.load(tmp_path / "m.mlir")
    assert_same([legato.compile(module)(X)], reference(overridable(), {"x": X}))
    (tmp_path / "m.mlir.safetensors").unlink()
    with pytest.raises(legato.LegatoError, match=r"weight 'w'.*missing"):
        legato.Module.load(tmp_path / "m.mlir")


def test_tools(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(overridable(), "m.onnx")
    np.save("x.npy", X)
    np.save("w.npy", W * 3)
    command = ["m.onnx", "--input", "x=x.npy", "--overridable", "w", "--check", "onnxruntime", "--save", "y=y.npy", "-q"]
    assert legato_run.main(command) == 0
    np.testing.assert_allclose(np.load("y.npy"), X @ W + B, rtol=1e-5, atol=1e-5)
    assert legato_run.main([*command, "--input", "w=w.npy"]) == 0
    np.testing.assert_allclose(np.load("y.npy"), X @ (W * 3) + B, rtol=1e-5, atol=1e-5)
    assert legato_compile.main(["m.onnx", "-o", "m.legato", "--overridable", "w", "-q"]) == 0
    assert legato_run.main(["m.legato", "--random", "--input", "x=x.npy", "--save", "y=y.npy"]) == 0     # the default is not random
    np.testing.assert_allclose(np.load("y.npy"), X @ W + B, rtol=1e-5, atol=1e-5)
    old = overridable()
    old.ir_version = 3
    onnx.save(old, "m.onnx")
    assert legato_run.main([*command, "--input", "w=w.npy"]) == 1
    assert "onnxruntime takes 'w' for a constant" in capsys.readouterr().err
    assert legato_run.main(["m.onnx", "--input", "x=x.npy", "--input", "w=w.npy"]) == 2
    assert "--overridable w" in capsys.readouterr().err
