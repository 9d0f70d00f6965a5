"""legato-compile and legato-run as commands: what they write, and what they say of what is wrong."""
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from legato import comparison
from legato.tools import legato_compile, legato_opt, legato_run

WEIGHT = np.arange(1600, dtype=np.float32).reshape(4, 400) / 1000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder whose path has a space, with model.onnx: y = x @ w, z = x + v, where x is [n, 4] and v is [n, 1]."""
    here = tmp_path / "a folder"
    here.mkdir()
    monkeypatch.chdir(here)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Add", ["x", "v"], ["z"])]
    shapes = {"x": ["n", 4], "v": ["n", 1], "y": ["n", 400], "z": ["n", 4]}
    info = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = helper.make_graph(nodes, "g", [info["x"], info["v"]], [info["y"], info["z"]], [numpy_helper.from_array(WEIGHT, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
    for rows in (3, 4):
        np.save(f"x{rows}.npy", np.ones((rows, 4), np.float32))
        np.save(f"v{rows}.npy", np.ones((rows, 1), np.float32))
    return here


def refused(tool, capsys, *arguments):
    """The message of a tool that fails, on one line; its exit code is 1 or, where argparse refuses, 2."""
    try:
        code = tool.main([*arguments])
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err
    assert code in (1, 2) and "internal error" not in said and "Traceback" not in said
    return " ".join(said.split())


def test_saved_model_runs(folder, capsys):
    assert legato_compile.main(["model.onnx", "-o", "m m.legato", "-q"]) == 0
    assert legato_run.main(["m m.legato", "--input", "x=x3.npy", "--input", "v=v3.npy", "--save", "y=y.npy", "--bench", "2"]) == 0
    assert "y: float32[3, 400]" in capsys.readouterr().out
    np.testing.assert_allclose(np.load("y.npy"), np.ones((3, 4), np.float32) @ WEIGHT, rtol=1e-6)
    for option in (["--shape", "x=3,4"], ["--backend", "onnxruntime"]):
        assert "a saved model has them in it" in refused(legato_run, capsys, "m m.legato", "--random", *option)
    for option in (["--timing"], ["--verify-each"], ["--print-ir-after=cse"]):
        assert "is about a compile, and a saved model has been compiled" in refused(legato_run, capsys, "m m.legato", "--random", *option)


CALLS = """
func.func private @twice(tensor<3xf32>) -> tensor<3xf32> attributes {relax.packed = "acme.twice", relax.returns}
func.func @main(%x: tensor<3xf32> {relax.name = "x"}) -> (tensor<3xf32> {relax.name = "y"}) {
  %0 = func.call @twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
TWICE = """
import numpy as np
import tvm_ffi

tvm_ffi.register_global_func("acme.twice", lambda x: np.from_dlpack(x) * np.float32(2), override=True)
"""


def test_a_file_with_functions_that_a_saved_model_calls(folder):
    """In processes of their own, which know no such function before."""
    (folder / "calls.mlir").write_text(CALLS)
    (folder / "twice.py").write_text(TWICE)
    assert legato_compile.main(["calls.mlir", "--load", "twice.py", "-o", "calls.legato", "-q"]) == 0
    np.save("three.npy", np.arange(3, dtype=np.float32))
    command = [sys.executable, "-m", "legato.tools.legato_run", "calls.legato", "--input", "x=three.npy", "--save", "y=y.npy"]
    alone = subprocess.run(command, capture_output=True, text=True)
    assert alone.returncode == 1 and "acme.twice" in alone.stderr
    subprocess.run([*command, "--load", "twice.py"], check=True, capture_output=True)
    np.testing.assert_array_equal(np.load("y.npy"), [0, 2, 4])
    missing = subprocess.run([*command, "--load", "nothere.py"], capture_output=True, text=True)
    assert missing.returncode == 1 and "--load nothere.py: there is no such file" in missing.stderr


def test_run_with_a_backend(folder, capsys):
    assert legato_run.main(["model.onnx", "-q", "--random", "--backend", "onnxruntime", "--check", "onnxruntime"]) == 0
    assert "within 0.0001" in capsys.readouterr().out
    assert "unknown backend 'onnxrt'; did you mean 'onnxruntime'" in refused(legato_run, capsys, "model.onnx", "--backend", "onnxrt")


def test_a_backend_that_a_file_defines(folder, capsys):
    (folder / "npus.py").write_text("import legato\nclass Npu(legato.Backend):\n    name = 'npu'\n")
    (folder / "others.py").write_text("import legato\nclass Other(legato.Backend):\n    name = 'npu'\n")
    for tool in (legato_compile, legato_run):
        assert "unknown backend 'npus'; did you mean 'npu'? (known: npu, onednn" in refused(
            tool, capsys, "model.onnx", "--load", "npus.py", "--backend", "npus", *(["-o", "m.legato"] if tool is legato_compile else []))
    assert "two backends are named 'npu'" in refused(
        legato_compile, capsys, "--load", "npus.py", "--load", "others.py", "--backend", "npu", "--print-pipeline")


def test_a_missing_linker_is_told_before_the_compile(folder, capsys, monkeypatch):
    monkeypatch.setenv("LEGATO_LINKER", "nold")
    monkeypatch.setattr("legato.driver.compile", lambda *_, **__: pytest.fail("compiled first"))
    assert "there is no program 'nold'" in refused(legato_compile, capsys, "model.onnx", "-o", "m.legato")


def test_run_checks_and_times(folder, capsys):
    assert legato_run.main(["model.onnx", "-q", "--random", "--dim", "n=5", "--check", "onnxruntime", "--bench", "2"]) == 0
    told = capsys.readouterr().out
    assert "z: float32[5, 4]" in told and "within 0.0001" in told and "onnxruntime" in told.splitlines()[-1]


@pytest.mark.parametrize("stage", ["imported", "relax", "legalized", "fused", "scheduled", "bufferized", "llvm"])
@pytest.mark.parametrize("name", ["stage.mlir", "stage.txt"])
def test_a_stage_has_its_weights_beside_it(folder, capsys, stage, name):
    assert legato_compile.main(["model.onnx", "-q", "--emit", stage, "-o", name]) == 0
    assert (folder / f"{name}.safetensors").exists()
    assert legato_opt.main([name]) == 0
    assert "@main" in capsys.readouterr().out


def test_llvm_ir_is_text_whatever_the_file_is_called(folder):
    assert legato_compile.main(["model.onnx", "-q", "--emit", "ll", "-o", "stage.mlir"]) == 0
    assert (folder / "stage.mlir").read_text().startswith("; ModuleID")
    assert not list(folder.glob("*.safetensors"))


@pytest.mark.parametrize(("arguments", "message"), [
    ((), "nothing to do"),
    (("-o", "model.exe"), "native code, and nothing else, goes into a file that ends in .legato (or .so)"),
    (("-o", "model.legato", "--emit", "relax"), "--emit STAGE is text"),
    (("-o", "folder.legato"), "-o folder.legato: that is a folder"),
    (("-o", "x3.npy/model.legato"), "-o x3.npy/model.legato: there is no folder 'x3.npy'"),
    (("--target", "llvm{threads=0}", "-o", "model.legato"), "threads=0"),
    (("--target", "lvm", "-o", "model.legato"), "did you mean 'llvm'"),
    (("--shape", "x=3,-4", "--emit", "relax"), "'-4' is no size: write a number of 0 or more, or a name"),
    (("--shape", "x=3,,", "--emit", "relax"), "'' is no size"),
    (("--shape", "q=3,4", "--emit", "relax"), "shapes: there is no input 'q'; the inputs are: x, v"),
])
def test_compile_refuses(folder, capsys, arguments, message):
    (folder / "folder.legato").mkdir()
    assert message in refused(legato_compile, capsys, "model.onnx", "-q", *arguments)


@pytest.mark.parametrize(("arguments", "message"), [
    ((), "no value for x, v: give --input NAME=FILE.npy or FILE.npz, or --random"),
    (("--random", "--dim", "q=3"), "the model has no symbol 'q'; it has n"),
    (("--random", "--dim", "n=-1"), "write n=7"),
    (("--random", "--bench", "0"), "'0' is no number of calls"),
    (("--random", "--seed", "-1"), "'-1' is no seed"),
    (("--random", "--tolerance", "-1"), "'-1' is no tolerance"),
    (("--random", "--input", "q=x3.npy"), "the model has no input 'q'; it has x, v"),
    (("--random", "--input", "x3.npy"), "write --input NAME=FILE.npy"),
    (("--random", "--input", "x=nowhere.npy"), "there is no file 'nowhere.npy'"),
    (("--random", "--input", "nowhere.npz"), "there is no file 'nowhere.npz'"),
    (("--random", "--input", "x=both.npz"), "'both.npz' holds several arrays, which have names; write --input both.npz"),
    (("--random", "--input", "single.npz"), "'single.npz' holds one array, and no name; write --input NAME=single.npz"),
    (("--random", "--input", "objects.npz"), "'objects.npz' holds no array of numbers"),
    (("--random", "--input", "text.npz"), "'text.npz' holds no array of numbers"),
    (("--random", "--input", "other.npz"), "the model has no input 'w'; it has x, v"),
    (("--random", "--save", "no/where.npz"), "there is no folder 'no'"),
    (("--random", "--input", "x=model.onnx"), "'model.onnx' holds no array"),
    (("--random", "--save", "q=q.npy"), "the model has no output 'q'; it has y, z"),
    (("--random", "--save", "y"), "write --save NAME=FILE.npy"),
    (("--random", "--input", "x=v3.npy"), "argument 0 'x' must be float32[n, 4], but float32[3, 1] was given"),
    (("--input", "x=x3.npy", "--input", "v=v4.npy"), "dimension 0 is 4, but 'n' is 3 in 'x'"),
])
def test_run_refuses(folder, capsys, arguments, message):
    np.savez("both.npz", x=np.load("x3.npy"), v=np.load("v3.npy"))
    np.savez("other.npz", w=np.load("x3.npy"))
    np.savez("objects.npz", x=np.array([None, "x"]))
    (folder / "single.npz").write_bytes((folder / "x3.npy").read_bytes())
    (folder / "text.npz").write_text("x")
    assert message in refused(legato_run, capsys, "model.onnx", "-q", *arguments)


def test_arrays_of_one_file(folder, capsys):
    np.savez("both.npz", x=np.load("x3.npy"), v=np.load("v3.npy"))
    one_by_one = ["--input", "x=x3.npy", "--input", "v=v3.npy", "--save", "y=y.npy", "--save", "z=z.npy"]
    assert legato_run.main(["model.onnx", "-q", *one_by_one]) == 0
    apart = capsys.readouterr().out
    assert legato_run.main(["model.onnx", "-q", "--input", "both.npz", "--save", "outputs.npz"]) == 0
    assert capsys.readouterr().out == apart
    with np.load("outputs.npz") as outputs:
        assert sorted(outputs) == ["y", "z"]
        for name, value in outputs.items():
            np.testing.assert_array_equal(value, np.load(f"{name}.npy"))


@pytest.mark.parametrize("arguments", [(), ("--random", "--input", "q=x3.npy")])
def test_inputs_are_checked_before_the_compile(folder, capsys, monkeypatch, arguments):
    monkeypatch.setattr("legato.driver.compile", lambda *_, **__: pytest.fail("it compiles"))
    refused(legato_run, capsys, "model.onnx", "-q", *arguments)


def test_an_option_of_the_other_tool(folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        legato_run.main(["model.onnx", "--random", "--emit=relax"])
    assert "--emit is an option of legato-compile" in capsys.readouterr().err


def test_sizes_of_random_inputs():
    sizes = {"n": 5}
    assert [comparison.size_of(s, sizes) for s in (3, "n", "m", "n * 2", "n * 2 + 1", "n - 1", "?")] == [3, 5, 8, 10, 11, 4, 8]
    assert [comparison.symbol_in(s) for s in (3, "n", "n * 2 + 1", "?")] == [None, "n", "n", None]


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_arrays_of_types_that_numpy_does_not_have(folder, dtype):
    """numpy's files keep their bytes, as V2 or V1."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x, y = (helper.make_tensor_value_info(name, kind, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["t"]), helper.make_node("Transpose", ["t"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), "narrow.onnx")
    given = np.arange(6).reshape(2, 3).astype(dtype)
    np.save("x.npy", given.view(f"V{given.itemsize}"))
    for saved in ("y=y.npy", "y.npz"):
        assert legato_run.main(["narrow.onnx", "--input", "x=x.npy", "--save", saved]) == 0
    for found in (np.load("y.npy"), np.load("y.npz")["y"]):
        assert np.array_equal(found.view(dtype), given)
