"""legato-opt --emit=irdl: MLIR knows the dialects by this text alone, in a context into which no Python dialect was loaded."""
import subprocess
import sys

import pytest

from legato.core.mlir import PROVIDER
from legato.tools import legato_opt

CHECK = f"""
import sys
from {PROVIDER} import ir
from {PROVIDER}.dialects import irdl
with ir.Context():
    irdl.load_dialects(ir.Module.parse(open(sys.argv[1]).read()))
    print(ir.Module.parse(open(sys.argv[2]).read()))
"""
GRAPH = """
func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>> {
  %0 = "relax.relu"(%x) : (tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  %1 = "toy.twice"(%0) {{times = 2 : i64}} : (tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  return %1 : tensor<?x8xf32, #relax.dims<["n", 8]>>
}
"""
TOY = """
from typing import Any
from legato.mlir import ext

class Toy(ext.Dialect, name="toy"):
    pass

class Twice(Toy.Operation, name="twice"):
    x: ext.Operand[Any]
    times: Any
    y: ext.Result[Any]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the dialects, those of a user's file among them, and a graph of their ops."""
    folder = tmp_path_factory.mktemp("irdl")
    (folder / "toy.py").write_text(TOY)
    (folder / "graph.mlir").write_text(GRAPH.replace("{{", "{").replace("}}", "}"))
    assert legato_opt.main(["--emit=irdl", "--load", str(folder / "toy.py"), "-o", str(folder / "dialects.mlir")]) == 0
    return folder


def parsed(folder, graph):
    (folder / "other.mlir").write_text(graph)
    return subprocess.run([sys.executable, "-c", CHECK, "dialects.mlir", "other.mlir"], cwd=folder, capture_output=True, text=True)


def test_the_text_is_enough(folder):
    graph = (folder / "graph.mlir").read_text()
    done = parsed(folder, graph)
    assert done.returncode == 0 and '"relax.relu"' in done.stdout and '"toy.twice"' in done.stdout, done.stderr


def test_what_it_says_is_checked(folder):
    graph = (folder / "graph.mlir").read_text()
    assert "relax.nosuch" in parsed(folder, graph.replace("relax.relu", "relax.nosuch")).stderr
    assert "relax.relu" in parsed(folder, graph.replace('"relax.relu"(%x) : (', '"relax.relu"(%x, %x) : (tensor<?x8xf32, '
                                                                '#relax.dims<["n", 8]>>, ')).stderr
    assert "times" in parsed(folder, graph.replace("{times = 2 : i64}", "")).stderr


def test_to_standard_output(capsys):
    assert legato_opt.main(["--emit=irdl"]) == 0
    assert "irdl.dialect @relax" in capsys.readouterr().out
