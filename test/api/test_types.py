"""py.typed: a program of a user's, checked strictly by pyright against the package as it is installed."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import legato

PROGRAM = '''
import numpy as np

import legato

module = legato.from_onnx("model.onnx", shapes={"x": [1, "n"]})
exe = legato.compile(module, target="llvm{threads=2}", verify_each=True)
y = exe(np.zeros((4, 4), np.float32))
path = exe.save("model.legato")
names: list[str] = [one.name for one in exe.inputs]
seconds: float = exe.report.seconds
rules: list[str | None] = [record.rule for record in exe.explain().records]
loaded: legato.Executable = legato.load(path)
profile = legato.profile(loaded, np.zeros((4, 4), np.float32), runs=3)
longest: float = max(call.seconds for call in profile.calls)
picture = legato.view(module, profile=profile).save("graph.svg")
lowered: legato.Module = legato.lower(module, last="fused")
legato.Pipeline("canonicalize,cse").run(module)


@legato.register_pass
class CountOps(legato.ModulePass):
    """Counts the functions."""

    name = "count-functions"
    most: int = legato.option(3, "at most")

    def run(self, module: legato.Module, context: legato.PassContext) -> None:
        context.report["count"] = min(self.most, len(module.functions()))


made: CountOps = CountOps()
wrong: int = legato.compile(module)
'''
SCRIPTS = '''# pyright: reportInvalidTypeForm=false
import legato
from legato import ir_module, relax, tir
from legato.script import T


@tir.macro
def put(A, i, value):
    A[i] = value


@tir.prim_func
def ones(A: tir.Buffer((128,), "float32")):
    for i in tir.serial(128):
        put(A, i, 1.0)


@relax.function(private=True)
def graph(x: relax.Tensor((16, 8), "float32")):
    return relax.exp(x)


@ir_module
class Both:
    @relax.function
    def main(x: relax.Tensor((16, 8), "float32")):
        return relax.exp(x)


@T.prim_func(private=True)
def twos(A: T.Buffer((128,), "float32")):
    for i in T.serial(128):
        A[i] = 2.0


modules: list[legato.Module] = [ones.module(), twos.module(), graph.module(), Both, legato.lower(ones, last="fused")]
exe: legato.Executable = legato.compile(twos)
legato.view(graph).svg()
wrong: int = ones
'''


@pytest.mark.skipif(shutil.which("pyright", path=str(Path(sys.executable).parent)) is None, reason="pyright is not installed")
@pytest.mark.parametrize(("program", "mode"), [(PROGRAM, "strict"), (SCRIPTS, "standard")], ids=["strict", "scripts"])
def test_a_program(program, mode, tmp_path):
    (tmp_path / "program.py").write_text(program)
    config = {"typeCheckingMode": mode, "extraPaths": [str(Path(legato.__file__).parents[1])]}   # for editable installs
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [str(Path(sys.executable).parent / "pyright"), "--outputjson", "--pythonpath", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = [(one["range"]["start"]["line"], one["rule"], one["message"]) for one in json.loads(done.stdout)["generalDiagnostics"]]
    last = len(program.splitlines()) - 1
    assert [(line, rule) for line, rule, _ in found] == [(last, "reportAssignmentType")], found
