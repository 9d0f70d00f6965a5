"""What the three tools have in common: standard input, exit codes, versions, progress, logging, times, colour."""
import importlib.util
import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from legato import driver
from legato.core.mlir import ir
from legato.tools import legato_compile, legato_opt, legato_reduce, legato_run

RELU = """
func.func @main(%x: tensor<4x4xf32> {relax.name = "x"}) -> tensor<4x4xf32> {
  %0 = "relax.relu"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
"""
TOOLS = {"legato-opt": legato_opt.main, "legato-compile": legato_compile.main, "legato-run": legato_run.main,
         "legato-reduce": legato_reduce.main}


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


class Bytes:
    """Standard input with these bytes."""

    def __init__(self, data):
        self.buffer = io.BytesIO(data)
        self.read = lambda: data.decode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with graph.mlir."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "graph.mlir").write_text(RELU)
    return tmp_path


def product():
    """y = x @ w as an ONNX model, with w inside."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xy"]
    weight = numpy_helper.from_array(np.arange(16, dtype=np.float32).reshape(4, 4), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def code(tool, *words):
    """The exit code of a tool, which argparse gives by SystemExit."""
    try:
        return TOOLS[tool]([*words])
    except SystemExit as stop:
        return stop.code


@pytest.mark.parametrize("tool", TOOLS)
def test_versions(tool, capsys):
    assert code(tool, "--version") == 0
    assert re.fullmatch(rf"{tool} \(legato [\d.]+\w*\), LLVM \d+\.\d+\.\d+\S* \(torch-mlir \d+\)\n", capsys.readouterr().out)


@pytest.mark.parametrize("words", [
    ("legato-opt", "--nosuch"), ("legato-opt", "x.mlir", "--relax-legalize=target=abacus"), ("legato-opt", "--pass-pipeline=cse,,cse"),
    ("legato-opt", "--list-rules", "--target=abacus"), ("legato-opt", "x.mlir", "-o", "no/where.mlir"),
    ("legato-compile",), ("legato-compile", "x.mlir"), ("legato-compile", "x.mlir", "--emt", "relax"),
    ("legato-compile", "x.mlir", "--emit", "fuzed"), ("legato-compile", "x.mlir", "--emit", "relax", "--from", "fuzed"),
    ("legato-compile", "x.mlir", "--emit", "relax", "--target", "abacus"), ("legato-compile", "x.mlir", "--emit", "onnx"),
    ("legato-compile", "x.mlir", "--emit", "relax", "--backend", "abacus"), ("legato-compile", "--print-pipeline=fuzed"),
    ("legato-run",), ("legato-run", "x.mlir", "--check", "onnxruntime"), ("legato-run", "graph.mlir", "--target", "abacus"),
    ("legato-run", "x.mlir", "--input", "x"), ("legato-run", "graph.mlir", "--input", "q=graph.mlir", "--trace", "t"),
])
def test_a_wrong_command_line_is_2(words, folder, capsys):
    """Before the input is read: x.mlir does not exist."""
    assert code(*words) == 2
    said = capsys.readouterr().err
    assert f"{words[0]}: error: " in said and f"{words[0]} --help shows" in said and "Traceback" not in said


@pytest.mark.parametrize("words", [
    ("legato-opt", "x.mlir", "-o"), ("legato-compile", "x.onnx", "-o"), ("legato-compile", "x.onnx", "-o", "there.legato", "--report-html"),
    ("legato-run", "x.onnx", "--random", "--profile", "--trace"),
])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_may_not_be_written_is_2(words, there, folder, capsys, monkeypatch):
    """Before the input is read, too. ``there``: the file, or only its folder."""
    path = folder / "kept" / "file.legato"
    path.parent.mkdir()
    if there:
        path.touch()
    writable = os.access     # root may write to whatever lies on a disk
    kept = path if there else path.parent
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != kept and writable(place, mode))
    assert code(*words, str(path)) == 2
    assert "cannot be written to" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("words", [
    ("legato-opt", "x.mlir"), ("legato-opt", "bad.mlir"), ("legato-opt", "--load", "x.py"), ("legato-compile", "x.mlir", "--emit", "relax"),
    ("legato-compile", "bad.mlir", "--emit", "relax"), ("legato-run", "x.onnx", "--random"), ("legato-run", "bad.legato", "--random"),
])
def test_a_failure_is_1(words, folder, capsys):
    (folder / "bad.mlir").write_text("nonsense")
    (folder / "bad.legato").write_text("nonsense")
    assert code(*words) == 1
    assert "--help" not in capsys.readouterr().err


def test_opt_loads_no_driver(folder):
    """It starts faster without what only a whole compile and pictures need."""
    program = ("import sys; from legato.tools.legato_opt import main; main(['graph.mlir', '--cse']); "
               "print({'legato.driver', 'legato.viewing', 'tvm_ffi', 'onnx'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.endswith("set()\n"), done.stderr


def test_the_nearest_option_is_named(folder, capsys):
    assert code("legato-run", "graph.mlir", "--radnom") == 2
    assert "unrecognized arguments: --radnom; did you mean --random?" in capsys.readouterr().err


def bytecode():
    file = io.BytesIO()
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        ir.Module.parse(RELU).operation.write_bytecode(file)
    return file.getvalue()


@pytest.mark.parametrize("data", [RELU.encode(), bytecode(), product().SerializeToString()], ids=["text", "bytecode", "onnx"])
def test_standard_input(data, folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Bytes(data))
    assert code("legato-compile", "-", "--emit", "imported", "-q") == 0
    assert "func.func @main" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", Bytes(data))
    assert code("legato-run", "-", "--random", "-q") == 0
    assert "float32[4, 4]" in capsys.readouterr().out


def test_standard_input_is_compared(folder, capsys, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(sys, "stdin", Bytes(product().SerializeToString()))
    assert code("legato-run", "-", "--random", "-q", "--check", "onnxruntime") == 0
    assert "within 0.0001" in capsys.readouterr().out


@pytest.mark.parametrize(("data", "message"), [
    (b"", "standard input is empty"), (b"\x08\x07nonsense", "is not an ONNX model"),
    (b'func.func @main() -> tensor<2xf32> { %0 = "relax.constant"() {weight = "w"} : () -> tensor<2xf32> return %0 : tensor<2xf32> }',
     "the weight 'w' is missing because standard input has no weights beside it: give a file, or"),
])
def test_standard_input_that_is_no_model(data, message, folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Bytes(data))
    assert code("legato-compile", "-", "--emit", "relax", "-q") == 1
    assert message in capsys.readouterr().err


def test_packages_are_checked_before_the_work(folder, capsys, monkeypatch):
    """The model does not exist, so that whatever is said comes first."""
    there, missing = importlib.util.find_spec, ("onnxruntime", "openvino")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in missing else there(name, *rest))
    monkeypatch.setattr("legato.codegen.ptx.find_spec", lambda name: None)
    assert code("legato-run", "x.onnx", "--random", "--check", "onnxruntime") == 1
    assert "onnxruntime, which is not installed" in capsys.readouterr().err
    assert code("legato-compile", "x.onnx", "--emit", "relax", "--backend", "openvino") == 1
    assert "needs openvino, which is not installed" in capsys.readouterr().err
    assert code("legato-compile", "x.onnx", "--emit", "ptx", "--target", "nvvm") == 1
    assert "llvmlite, which is not installed" in capsys.readouterr().err
    assert code("legato-compile", "x.onnx", "--emit", "ptx") == 1
    assert "not for the target 'llvm'" in capsys.readouterr().err


def test_progress_elsewhere_is_lines(folder, capsys):
    assert code("legato-compile", "graph.mlir", "-o", "m.legato") == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines[:-1]] == ["import", "relax", "legalized", "fused", "scheduled", "bufferized", "llvm",
                                                        "native", "save"]
    assert re.fullmatch(r"legato-compile: wrote m\.legato \([\d.]+ kB\) in \d+\.\d\d s", lines[-1])


def screen(text):
    """The lines that a terminal shows at the end, and all the states of the last one."""
    lines = [line.split("\r\x1b[K")[-1] for line in text.split("\n")]
    return lines, re.split(r"\r\x1b\[K|\n", text)


def test_progress_on_a_terminal_is_a_line_of_its_own(folder, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(driver, "check_start", lambda *_: warnings.warn("mind the gap", stacklevel=2))  # between import and relax
    assert code("legato-run", "graph.mlir", "--random", "--target", "llvm{threads=2}") == 0
    shown, states = screen(terminal.getvalue())
    assert any(state.startswith("legato-run: fused ...") for state in states)
    assert re.sub(r"\x1b\[[\d;]*m", "", shown[0]).startswith("legato-run: warning: mind the gap")
    assert re.fullmatch(r"legato-run: took \d+\.\d\d s", shown[1]) and shown[2:] == [""]


@pytest.mark.parametrize(("variables", "colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_on_terminals(variables, colour, folder, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert code("legato-opt", "nowhere.mlir") == 1
    assert ("\x1b[1;31merror:\x1b[0m" in terminal.getvalue()) == colour
    assert ("legato-opt: error: nowhere.mlir" in terminal.getvalue()) == (not colour)


def test_no_colour_elsewhere(folder, capsys):
    assert code("legato-opt", "nowhere.mlir") == 1
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["-v", "-vv"])
def test_logging(flag, folder, capsys):
    assert code("legato-compile", "graph.mlir", "--emit", "fused", flag) == 0
    said = capsys.readouterr().err
    assert "legato.driver: fused: 0." in said and "legato.driver: target llvm{" in said
    assert ("legato.passes.pipeline.pipeline: tir-fuse: " in said) == (flag == "-vv")
    assert code("legato-compile", "graph.mlir", "--emit", "fused", "-q") == 0
    assert capsys.readouterr().err == ""
    assert code("legato-opt", "graph.mlir", "--relax-legalize", flag) == 0
    assert ("relax-legalize: " in capsys.readouterr().err) == (flag == "-vv")


@pytest.mark.parametrize(("words", "last"), [(("legato-compile", "-o", "m.legato"), {"save"}), (("legato-run", "--random"), set())])
def test_times_add_up(words, last, folder, capsys):
    rest = []
    for _ in range(3):      # in one of them, other processes may take time from in between stages
        assert code(*words, "graph.mlir", "-q", "--timing", "--no-cache") == 0
        said = capsys.readouterr().err
        rows = [(m[3], float(m[1])) for m in re.finditer(r"^ +([\d.]+) ms +([\d.]+)%   [█ ]{12}(.*)$", said, re.MULTILINE)]
        stages = {name.strip(): ms for name, ms in rows if not name.startswith("      ")}
        total = stages.pop("total")
        assert {"start", "import", "setup", "relax", "llvm", "native", *last} <= stages.keys()
        assert sum(stages.values()) == pytest.approx(total, abs=1)
        assert sum(ms for name, ms in rows if name.startswith("      ")) <= total
        assert any(name.strip() == "tir-fuse" for name, _ in rows)
        rest.append(stages.get("(the rest)", 0) / total)
    assert min(rest) < 0.1


def test_onnx_says_what_it_read(folder, capsys):
    onnx.save(product(), "p.onnx")
    assert code("legato-compile", "p.onnx", "--emit", "imported", "-v") == 0
    assert "legato.frontends.onnx: p.onnx: 1 nodes, opset 17, 1 weights of 0.0 MB" in capsys.readouterr().err
