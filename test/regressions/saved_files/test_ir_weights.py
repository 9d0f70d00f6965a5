"""Writing IR: its weights go to a file of its whole name, replace no file that Legato did not write, and are named on standard error."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from legato.core.errors import LegatoError
from legato.core.weights import WeightStore
from legato.dialects.module import Module
from legato.tools import legato_compile, legato_opt

W = np.random.default_rng(0).standard_normal((8, 400)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The layout of a download: model.onnx with its weights as external data in model.safetensors."""
    monkeypatch.chdir(tmp_path)
    store = WeightStore()
    store.add("w", W)
    store.save("model.safetensors")
    data = (tmp_path / "model.safetensors").read_bytes()
    tensor = numpy_helper.from_array(W, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "model.safetensors"), ("offset", len(data) - W.nbytes), ("length", W.nbytes)):
        tensor.external_data.add(key=key, value=str(value))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 400])], [tensor])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
    return tmp_path


def emit(stage, name):
    return legato_compile.main(["model.onnx", "-q", "--emit", stage, "-o", name])


def test_the_weights_of_a_download_stay(folder):
    before = (folder / "model.safetensors").read_bytes()
    for stage in ("fused", "relax"):
        assert emit(stage, "model.mlir") == 0
    assert legato_opt.main(["model.mlir", "--canonicalize", "-o", "model.txt"]) == 0
    assert (folder / "model.safetensors").read_bytes() == before
    np.testing.assert_array_equal(Module.load("model.mlir").weights["w"], W)


@pytest.mark.parametrize(("first", "second"), [("model.relax", "model.fused"), ("m", "m.mlir"), ("m.txt", "m.mlir")])
def test_files_of_one_stem_keep_their_own_weights(folder, first, second):
    assert emit("relax", first) == 0 and emit("scheduled", second) == 0
    text = (folder / first).read_text()
    assert Module.load(first).weights.keys() == {"w"} and str(Module.load(first)) and (folder / first).read_text() == text
    Module.load(second)
    assert {f"{first}.safetensors", f"{second}.safetensors"} <= {path.name for path in folder.iterdir()}


def test_a_file_of_another_writer_is_not_replaced(folder, capsys):
    foreign = folder / "stage.mlir.safetensors"
    for content in ((folder / "model.safetensors").read_bytes(), b"", b"not safetensors at all", b"\x02" + bytes(7) + b"[]"):
        foreign.write_bytes(content)
        assert emit("relax", "stage.mlir") == 1
        assert "which Legato did not write" in capsys.readouterr().err
        assert foreign.read_bytes() == content and not (folder / "stage.mlir").exists()
    foreign.unlink()
    assert emit("relax", "stage.mlir") == 0 and emit("fused", "stage.mlir") == 0      # one that it wrote itself


def test_a_text_is_never_beside_the_weights_of_another(folder, monkeypatch):
    """The names and shapes of the weights would fit."""
    assert emit("relax", "stage.mlir") == 0
    module = Module.load("stage.mlir")

    def dies(*_, **__):
        raise KeyboardInterrupt

    for place in ("legato.core.weights_beside.safetensors_file.write", "legato.core.safetensors_file.os.replace"):
        with monkeypatch.context() as patched:
            patched.setattr(place, dies)
            with pytest.raises(KeyboardInterrupt):
                module.save("stage.mlir")
        assert (folder / "stage.mlir").read_text() == ""
        module.save("stage.mlir")
        np.testing.assert_array_equal(Module.load("stage.mlir").weights["w"], W)


def test_weights_that_are_no_longer_needed_are_removed(folder):
    assert emit("relax", "stage.mlir") == 0
    Module.parse("func.func @f() { return }").save("stage.mlir")
    assert not (folder / "stage.mlir.safetensors").exists()
    (folder / "other.mlir.safetensors").write_bytes(b"of another program")
    Module.parse("func.func @f() { return }").save("other.mlir")
    assert (folder / "other.mlir.safetensors").read_bytes() == b"of another program"


def test_the_former_name_is_not_read_but_named(folder):
    """Weights of another stage would be found there, of the same names and shapes."""
    assert emit("relax", "model.mlir") == 0
    (folder / "model.mlir.safetensors").unlink()
    with pytest.raises(LegatoError, match=r"there is no model.mlir.safetensors \(model.safetensors is the name that older versions gave"):
        Module.load("model.mlir")


def test_what_was_written_is_said(folder, capsys):
    assert legato_compile.main(["model.onnx", "--emit", "relax", "-o", "stage.mlir"]) == 0
    assert "legato-compile: wrote stage.mlir (" in (said := capsys.readouterr().err) and ", stage.mlir.safetensors (13.0 kB)" in said
    assert legato_compile.main(["model.onnx", "--emit", "ll", "-o", "stage.ll"]) == 0
    assert "legato-compile: wrote stage.ll (" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("--emit", "relax", "-o", "no/where.mlir"), ("--emit", "onnx", "-o", "no/where.onnx"),
                                       ("-o", "no/where.legato"), ("-o", "deep/er/where.legato")])
def test_a_folder_that_is_not_there(folder, capsys, monkeypatch, arguments):
    """It is refused before the model is read."""
    monkeypatch.setattr("legato.tools.model_input.open_model", lambda *_: pytest.fail("read first"))
    assert legato_compile.main(["model.onnx", "-q", *arguments]) == 2
    assert "there is no folder '" in capsys.readouterr().err
    assert not (folder / "no").exists() and not (folder / "deep").exists()
