"""The commands that lit tests run end as the tools do, with their output, in the folder and the environment of the caller."""
import os
import subprocess
import sys
from pathlib import Path

import pytest
from warm_tools import start

COLD = Path(sys.executable).parent
MODULE = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.tanh"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server passes open files through a socket of Linux's")


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    return start(tmp_path_factory.mktemp("tools"))


def run(tool, words, given, folder, **environment):
    done = subprocess.run([tool, *words], input=given, capture_output=True, text=True, cwd=folder, env={**os.environ, **environment},
                          check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("tool, words, given, status", [
    ("legato-opt", ["--canonicalize"], MODULE, 0), ("legato-opt", ["--no-such-pass"], MODULE, 2), ("legato-opt", [], "func.func @main(", 1),
    ("legato-opt", ["here.mlir"], "", 0), ("filecheck", ["checks.txt"], "one\ntwo\n", 0), ("filecheck", ["checks.txt"], "one\n", 1),
    ("legato-compile", ["here.mlir", "--emit=none"], "", 2)])
def test_as_the_tool_itself(warm, tmp_path, tool, words, given, status):
    (tmp_path / "here.mlir").write_text(MODULE)
    (tmp_path / "checks.txt").write_text("CHECK: one\nCHECK: two\n")
    found = run(warm / tool, words, given, tmp_path)
    assert found == run(COLD / tool, words, given, tmp_path) and found[0] == status


def test_the_environment_is_the_callers(warm, tmp_path):
    """--debug by the variable: a traceback, which other errors do not show."""
    said = [run(warm / "legato-opt", ["none.mlir"], "", tmp_path, LEGATO_DEBUG=value)[2] for value in "10"]
    assert ["Traceback" in text for text in said] == [True, False], said
