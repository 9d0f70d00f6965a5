"""docs/tools.md: the options that it names are options of a tool, and the pipe that it shows runs."""
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from legato.tools import legato_compile, legato_reduce, legato_run
from legato.tools.opt_arguments import ALIASES, SWITCHES, VALUED

PAGE = Path(__file__).parents[2] / "docs/tools.md"
OTHERS = {"--irdl-file"}  # of mlir-opt


def test_the_options_exist():
    text = PAGE.read_text()
    known = {f"--{name}" for name in (*ALIASES, *SWITCHES, *VALUED, "explain", "split-input-file", "canonicalize", "cse")} | OTHERS
    for tool in (legato_compile, legato_run, legato_reduce):
        known |= set(tool.parser()._option_string_actions)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert len(named) > 35 and named <= known


@pytest.mark.skipif(not Path(sys.executable).with_name("legato-opt").exists(), reason="the tools are not installed beside this Python")
def test_the_pipe_runs(tmp_path):
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4]) for name in "xy"]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], range(16))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    pipe = re.search(r"```sh\n(legato-compile model.onnx.*?)```", PAGE.read_text(), re.DOTALL)
    assert pipe is not None
    done = subprocess.run(["bash", "-c", f"set -o pipefail; export PATH={Path(sys.executable).parent}:$PATH; {pipe[1]}"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "define" in done.stdout and "@__tvm_ffi_create" in done.stdout, done.stderr
