"""A device in an installed package: the tools know its target, backend, ops, importers and passes by names, without a file's path."""
import os
import re
import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

ENTRIES = "[legato.targets]\nledger = ledger:TARGET\n[legato.backends]\nledger = ledger.backend:Ledger\n"
PACKAGE = """
from dataclasses import dataclass
import legato
from legato import kernels
from legato.dialects import relax
from legato.dialects.relax.op import FLOAT, Operand
from legato.mlir import ext

TARGET = legato.Target("ledger", parents=("llvm",))


class LedgerDialect(ext.Dialect, name="ledger"):
    pass


class Entry(relax.graph_op(LedgerDialect), name="entry"):
    x = Operand(FLOAT)

    @staticmethod
    def result_type(x):
        return x


@legato.legalize("ledger.entry", target=TARGET)
def entry(k, x, out):
    return kernels.pointwise(k, out, [x], lambda e, x: e.add(x, x))


@legato.onnx_op("ledger", "Entry")
def import_entry(node):
    if node.integer("fails", 0):
        raise ValueError("the ledger is closed")
    return Entry.build(node.x(0))


@legato.register_pass
@dataclass(frozen=True)
class CountEntries(legato.ModulePass):
    '''Counts entries.'''

    name = "ledger-count"
    fails: bool = legato.option(False, "whether it raises")

    def run(self, module, context):
        if self.fails:
            raise ValueError("it cannot count")
"""
BACKEND = """
import legato
from legato.patterns import is_op, wildcard


class Ledger(legato.Backend):
    name = "ledger"
    patterns = [("entry", is_op("ledger.entry")(wildcard()))]
"""
GRAPH = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "ledger.entry"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the package as pip installs it, in one that is Python's for such (``site-packages``), and two models beside it."""
    root = tmp_path_factory.mktemp("packages")
    site = root / "venv" / "site-packages"
    for path, text in {"ledger-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: ledger\nVersion: 1.0\n",
                       "ledger-1.0.dist-info/entry_points.txt": ENTRIES, "ledger/__init__.py": PACKAGE,
                       "ledger/backend.py": BACKEND}.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (root / "graph.mlir").write_text(GRAPH)
    for name, attributes in (("model", {}), ("failing", {"fails": 1})):
        node = helper.make_node("Entry", ["x"], ["y"], name="/book", domain="ledger", **attributes)
        infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy"]
        graph, opsets = helper.make_graph([node], "g", infos[:1], infos[1:]), [helper.make_opsetid(name, 1) for name in ("ledger",)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), root / f"{name}.onnx")
    return root


def run(folder, tool, *arguments):
    """What a tool prints in a process that finds the package where Python's own packages are."""
    site = str(folder / "venv" / "site-packages")
    code = ("import sys, sysconfig; paths = sysconfig.get_path; "
            f"sysconfig.get_path = lambda name: {site!r} if name == 'platlib' else paths(name); "
            f"from legato.tools.{tool} import main; sys.exit(main())")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path[:1], site, *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [
    ("graph.mlir", "--relax-legalize=target=ledger"), ("graph.mlir", "--relax-legalize=target=ledger", "--allow-unregistered-dialect")])
def test_opt_parses_ops_of_a_target_that_a_pass_names(folder, arguments):
    code, out, err = run(folder, "legato_opt", *arguments)
    assert (code, err) == (0, "") and "call @kernel_entry" in out


def test_opt_parses_ops_of_a_backend_that_a_pass_names(folder):
    code, out, err = run(folder, "legato_opt", "graph.mlir", "--relax-fuse-by-pattern=backend=ledger")
    assert (code, err) == (0, "") and 'relax.codegen = "ledger"' in out
    code, out, err = run(folder, "legato_opt", "graph.mlir", "--relax-run-codegen=backend=ledgers")
    assert code == 2 and "unknown backend 'ledgers'; did you mean 'ledger'?" in err


@pytest.mark.parametrize("model", ["graph.mlir", "model.onnx"])
def test_run_finds_the_ops_and_their_importers_by_the_target(folder, model):
    code, out, err = run(folder, "legato_run", model, "--target", "ledger", "--random", "-q")
    assert (code, err) == (0, "") and "float32[4]" in out


def test_a_module_is_loaded_by_its_name(folder):
    code, out, err = run(folder, "legato_opt", "graph.mlir", "--load", "ledger", "--ledger-count")
    assert (code, err) == (0, "") and '"ledger.entry"' in out
    code, out, err = run(folder, "legato_opt", "graph.mlir", "--load", "ledgers")
    assert code == 1 and "--load ledgers: there is no such file, and no module of that name is installed" in err


def test_a_reproducer_names_the_module(folder):
    assert run(folder, "legato_opt", "graph.mlir", "--load", "ledger", "--ledger-count=fails=true")[0] == 1
    assert "// load: ledger\n" in (folder / "graph.reproducer.mlir").read_text()
    again = run(folder, "legato_opt", "graph.reproducer.mlir", "--run-reproducer")
    assert again[0] == 1 and "it cannot count" in again[2]


def test_what_installed_code_raises_is_no_internal_error(folder):
    _, _, err = run(folder, "legato_opt", "graph.mlir", "--load", "ledger", "--ledger-count=fails=true", "--reproducer=none")
    assert re.search(r"the pass ledger-count \(ledger/.* raised ValueError: it cannot count \(at ledger/__init__\.py:\d+ in run\)", err)
    _, _, err = run(folder, "legato_run", "failing.onnx", "--load", "ledger", "--random", "-q")
    assert re.search(r"/book \(ledger\.Entry, opset 1\): its import raised ValueError: the .* closed \(at ledger/__init__\.py:\d+ in", err)
