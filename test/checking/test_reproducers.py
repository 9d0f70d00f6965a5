"""Reproducers that a failed check writes: legato-opt runs them again, and finds the same."""
import pytest

import legato
from legato.tools.legato_opt import main

SWAP = '''
from dataclasses import dataclass
import legato
from legato.core.ir_helpers import find

@dataclass(frozen=True)
class Swap(legato.ModulePass):
    """Swaps the operands of subtractions: a bug."""

    name = "test-swap"

    def run(self, module, context):
        for op in find(module.operation, "relax.subtract", "arith.subf"):
            op.operands[0], op.operands[1] = op.operands[1], op.operands[0]
'''
ROWS = 'tensor<?x3xf32, #relax.dims<["n", 3]>>'
MODEL = f"""
func.func @main(%a: {ROWS} {{relax.name = "a"}}, %b: tensor<3xbf16> {{relax.name = "b"}}) -> {ROWS} {{
  %w = "relax.constant"() {{value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}} : () -> tensor<3xf32>
  %0 = "relax.exp"(%a) : ({ROWS}) -> {ROWS} loc("first")
  %1 = "relax.astype"(%b) {{dtype = f32}} : (tensor<3xbf16>) -> tensor<3xf32> loc("wide")
  %2 = "relax.subtract"(%0, %1) : ({ROWS}, tensor<3xf32>) -> {ROWS} loc("diff")
  %3 = "relax.multiply"(%2, %w) : ({ROWS}, tensor<3xf32>) -> {ROWS} loc("scaled")
  return %3 : {ROWS}
}}"""


def said(capsys, *words):
    """The lines about the op and its value that a failed run of legato-opt prints."""
    assert main([*words, "-o", "out.mlir"]) == 1
    error = capsys.readouterr().err
    return [line for line in error.splitlines() if "first op that differs" in line or "its value" in line or "sizes: n =" in line], error


@pytest.mark.parametrize(("stage", "op"), [("relax", 'relax.subtract "diff"'), ("bufferized", 'relax.multiply "scaled", in the kernel')])
def test_a_reproducer_finds_the_same(stage, op, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swap.py").write_text(SWAP)
    legato.lower(legato.Module.parse(MODEL), last=stage).save("model.mlir")
    lines, error = said(capsys, "model.mlir", "--load", "swap.py", "--canonicalize", "--test-swap", "--check-each-pass")
    assert len(lines) == 3 and op in lines[0] and "reproduce: legato-opt model.reproducer.mlir --run-reproducer" in error
    again, error = said(capsys, "model.reproducer.mlir", "--run-reproducer")
    assert again[:2] == lines[:2] and "test-swap (pass 1 of 1) changes what the module computes" in error
    assert again[2].partition("values, ")[2] == lines[2].partition("values, ")[2]
