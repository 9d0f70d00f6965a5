"""legato-reduce: the command as the test, what it refuses, and the file of the smallest one."""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from legato.tools import legato_reduce

CHECK = f"{sys.executable} check.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model of eight nodes, of which one is odd."""
    nodes, x = [], "x"
    for n in range(8):
        nodes.append(helper.make_node("Softmax" if n == 5 else "Relu", [x], [f"v{n}"], f"node{n}"))
        x = f"v{n}"
    nodes.append(helper.make_node("Add", [x, "w"], ["y"], "sum"))
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], [numpy_helper.from_array(np.ones((4, 16), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(text):
    """check.py: ``data`` are the bytes of the candidate."""
    Path("check.py").write_text(f"import os, signal, sys, time\ndata = open(sys.argv[1], 'rb').read()\n{text}\n")


def types(path="m.reduced.onnx"):
    return [node.op_type for node in onnx.load(path).graph.node]


def reduce(capfd, *words):
    code = legato_reduce.main(["m.onnx", *words])
    return code, capfd.readouterr().err


def test_by_exit_code(folder, capfd):
    check("sys.exit(3 if b'Softmax' in data else 4 if b'Add' not in data else 0)")
    code, said = reduce(capfd, "--fails", CHECK)
    assert code == 0 and types() == ["Softmax"]
    assert re.search(r"legato-reduce: 9 nodes, .* -> 1 node, .* in \d+ tests", said) and "wrote m.reduced.onnx" in said
    assert "legato-reduce: nodes: " in said
    onnx.checker.check_model("m.reduced.onnx", full_check=True)


def test_by_text(folder, capfd):
    check("print('two failures' if data.count(b'Relu') > 2 else 'one failure'); sys.exit(1)")
    code, _ = reduce(capfd, "--fails", f"{CHECK} {{}} --", "--prints", "two", "--prints", "failures", "-o", "small.onnx", "-q")
    assert code == 0 and types("small.onnx") == ["Relu"] * 3


def test_by_signal(folder, capfd):
    check("os.kill(os.getpid(), signal.SIGSEGV) if b'Softmax' in data else sys.exit(1)")
    assert reduce(capfd, "--fails", CHECK)[0] == 0 and types() == ["Softmax"]
    assert reduce(capfd, "--fails", CHECK, "--exit-code", "SIGABRT")[1].count("its end was another: ended by SIGSEGV") == 1


def test_a_hang(folder, capfd):
    check("time.sleep(30 if b'Softmax' in data else 0)")
    begun = time.monotonic()
    code, _ = reduce(capfd, "--fails", CHECK, "--timeout", "1.5", "--jobs", "2")
    assert code == 0 and types() == ["Softmax"] and time.monotonic() - begun < 120


def test_files_that_cannot_be_read(folder, capfd):
    Path("m.onnx").write_bytes(Path("m.onnx").read_bytes()[:-20] + b"\xff\xff")
    check("sys.exit(1 if b'Softm' in data else 0)")
    code, said = reduce(capfd, "--fails", CHECK)
    assert code == 0 and Path("m.reduced.onnx").read_bytes() == b"Softm"
    assert "cannot be parsed, so it is reduced as a file of lines and bytes" in said


def test_text_that_cannot_be_parsed(folder, capfd):
    Path("k.mlir").write_text("module {\n  func.func @f() {\n    return\n  }\n  func.func @g( {\n    return\n  }\n}\n")
    check("sys.exit(1 if b'@g(' in data else 0)")
    assert legato_reduce.main(["k.mlir", "--fails", CHECK, "-q"]) == 0
    assert Path("k.reduced.mlir").read_text() == "@g("


def test_ir_with_a_command(folder, capfd):
    Path("k.mlir").write_text("func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                              '  %0 = "relax.exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>\n'
                              '  %1 = "relax.relu"(%0) : (tensor<8xf32>) -> tensor<8xf32>\n  return %1 : tensor<8xf32>\n}\n')
    check("sys.exit(1 if b'relax.exp' in data else 0)")
    assert legato_reduce.main(["k.mlir", "--fails", CHECK, "-q"]) == 0
    assert "relu" not in Path("k.reduced.mlir").read_text() and "tensor<1xf32>" in Path("k.reduced.mlir").read_text()


@pytest.mark.parametrize(("words", "code", "message"), [
    ([], 2, "what fails\\? Give --fails COMMAND"),
    (["--fails", "true"], 1, r"the command does not fail on .*m.onnx, as it is, so there is nothing to reduce: it succeeded"),
    (["--fails", "echo hello; false"], 1, None),
    (["--fails", "echo one; exit 3", "--prints", "two"], 1, "it did not print 'two'. It printed: one"),
    (["--fails", "exit 3", "--exit-code", "4"], 1, "its end was another: exit code 3, not 4"),
    (["--fails", "no-such-command-here"], 1, r"the shell cannot run the command \(exit code 127\)"),
    (["--fails", "false", "-o", "m.onnx"], 2, "that is the model itself"),
    (["--fails", "false", "-o", "nowhere/m.onnx"], 2, "there is no folder 'nowhere'"),
    (["--fails", "false", "--exit-code", "SIGNOTHING"], 2, "is no exit code"),
    (["--fails", "false", "--timeout", "0"], 2, "is no time"),
])
def test_what_is_refused(folder, capfd, words, code, message):
    if message is None:   # any model fails: even one node, or none, is enough
        assert legato_reduce.main(["m.onnx", *words]) == 0 and len(types()) <= 1
        return
    try:
        assert legato_reduce.main(["m.onnx", *words]) == code
    except SystemExit as exit_:
        assert exit_.code == code
    assert re.search(message, capfd.readouterr().err)


def test_no_such_file(folder, capfd):
    assert legato_reduce.main(["other.onnx", "--fails", "false"]) == 1 and "there is no file 'other.onnx'" in capfd.readouterr().err
    Path("other.txt").write_text("x")
    assert legato_reduce.main(["other.txt", "--fails", "false"]) == 1 and "by its name" in capfd.readouterr().err


def test_the_smallest_so_far_is_on_disk_when_it_is_killed(folder):
    check("time.sleep(0.3); sys.exit(1 if b'Softmax' in data else 0)")
    tool = subprocess.Popen([sys.executable, "-m", "legato.tools.legato_reduce", "m.onnx", "--fails", CHECK], stderr=subprocess.PIPE,
                            text=True, start_new_session=True)
    assert tool.stderr is not None
    for line in tool.stderr:
        if " nodes: " in line or "outputs" in line or "weights" in line:
            break
    os.killpg(tool.pid, signal.SIGKILL)
    tool.wait()
    assert "Softmax" in types() and len(types()) < 9
    onnx.checker.check_model("m.reduced.onnx")
