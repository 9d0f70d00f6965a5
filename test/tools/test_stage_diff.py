"""legato-compile --diff: what a stage changed, as a unified diff of each function."""
import io
import re
import sys

import pytest

import legato
from legato.tools import legato_compile
from legato.tools.stage_diff import stage_diff

GRAPH = """
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = "relax.add"(%0, %b) : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
"""


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.mlir").write_text(GRAPH)
    return tmp_path


def test_functions_that_come_go_and_stay(graph, capsys):
    assert legato_compile.main(["graph.mlir", "--diff", "fused", "-q"]) == 0
    text = capsys.readouterr().out
    assert re.findall(r"^(?:---|\+\+\+) (.*)$", text, re.MULTILINE) == [
        "legalized @main", "fused @main", "/dev/null", "fused @fused_matmul_add", "legalized @kernel_matmul", "/dev/null",
        "legalized @kernel_add", "/dev/null"]
    assert "\n-  %1 = call @kernel_matmul(" in text and "\n+  %1 = call @fused_matmul_add(" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(("stage", "previous"), [("legalized", "relax"), ("llvm", "bufferized")])
def test_the_stage_before(stage, previous, graph, capsys):
    assert legato_compile.main(["graph.mlir", "--diff", stage, "-q", "-o", "d.diff"]) == 0
    assert (graph / "d.diff").read_text().startswith(f"--- {previous} @main\n+++ {stage} @main\n@@ -1,")


def test_a_stage_that_changes_nothing(graph, capsys):
    assert legato_compile.main(["graph.mlir", "--diff", "relax", "-q"]) == 0
    assert capsys.readouterr().out == "unchanged: @main\n"


def test_from_a_stage(graph, capsys):
    assert legato_compile.main(["graph.mlir", "--emit", "legalized", "-q", "-o", "l.mlir"]) == 0
    assert legato_compile.main(["graph.mlir", "--diff", "fused", "-q"]) == 0
    whole = capsys.readouterr().out
    assert legato_compile.main(["l.mlir", "--from-stage", "legalized", "--diff", "fused", "-q"]) == 0
    assert capsys.readouterr().out == whole
    assert legato_compile.main(["l.mlir", "--from-stage", "legalized", "--diff", "relax", "-q"]) == 2
    assert "past that stage, at legalized" in capsys.readouterr().err
    assert legato_compile.main(["graph.mlir", "--diff", "fuzed", "-q"]) == 2
    assert "did you mean 'fused'" in capsys.readouterr().err
    assert legato_compile.main(["graph.mlir", "--diff", "fused", "--emit", "fused", "-q"]) == 2


def test_colour_on_terminals(graph, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", terminal)
    assert legato_compile.main(["graph.mlir", "--diff", "fused", "-q"]) == 0
    assert "\x1b[32m+  %1 = call @fused_matmul_add(" in terminal.getvalue()


def test_renumbered_values_are_no_change():
    one = legato.Module.parse("func.func @f(%x: i32) -> i32 { %0 = arith.addi %x, %x : i32 %1 = arith.muli %0, %0 : i32 return %1 : i32 }")
    other = legato.Module.parse("func.func @f(%x: i32) -> i32 { %9 = arith.subi %x, %x : i32 %0 = arith.addi %x, %x : i32 "
                                "%1 = arith.muli %0, %0 : i32 return %1 : i32 }")
    assert stage_diff(one, one, ("a", "b")) == "unchanged: @f"
    changed = [line for line in stage_diff(one, other, ("a", "b")).splitlines()[3:] if line[0] in "+-"]
    assert changed == ["+  %0 = arith.subi %arg0, %arg0 : i32"]
