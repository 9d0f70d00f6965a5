"""Mistakes of the first hour: the message says what to write instead."""
import pytest

import legato
from legato import tir
from legato.tools import legato_compile

GRAPH = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"


@tir.prim_func
def without_blocks(A: tir.Buffer((4,), "float32"), B: tir.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] + tir.float32(1)


@pytest.mark.parametrize(("word", "stage"), [("fused", "fused"), ("fuzed", "fused"), ("legalised", "legalized")])
def test_a_stage_in_the_place_of_a_target(word, stage):
    message = rf"unknown target '{word}'; '{stage}' is a stage .*legato\.lower\(module, last='{stage}'\)"
    with pytest.raises(legato.LegatoError, match=message):
        legato.lower(legato.Module.parse(GRAPH), word)


@pytest.mark.parametrize("word", ["lvm", "nvm", "abacus"])
def test_other_words_are_no_stages(word):
    with pytest.raises(legato.LegatoError, match=f"unknown target '{word}'") as error:
        legato.lower(legato.Module.parse(GRAPH), word)
    assert "is a stage" not in str(error.value)


def test_the_tool_says_it_too(tmp_path, capsys):
    assert legato_compile.main([str(tmp_path / "x.mlir"), "--target", "scheduled", "--emit", "ll"]) == 2
    assert "legato-compile --emit scheduled" in capsys.readouterr().err


def test_a_schedule_of_a_kernel_without_blocks():
    with pytest.raises(legato.ScheduleError, match=r"@without_blocks has nothing to schedule: it is loops without a block.*tir\.block"):
        legato.Schedule(without_blocks)


@pytest.mark.parametrize("function", [lambda: None, lambda node, x: x, lambda *, node: node])
def test_an_onnx_op_takes_the_node_alone(function):
    with pytest.raises(legato.LegatoError, match=r"a function that is called with the node alone; <lambda> takes \(.*node\.x\(0\)"):
        legato.onnx_op("acme.mistakes", "Twice")(function)


def test_explain_says_what_a_kernel_written_by_hand_got():
    told = str(legato.explain(without_blocks))
    assert "@without_blocks" in told and "a kernel written by hand" in told


@pytest.mark.parametrize(("mistake", "message"), [
    (lambda: legato.Pipeline("cse").run(without_blocks), "a pipeline runs on a legato.Module, in place, not on PrimFunc"),
    (lambda: legato.Schedule("kernel"), "what is scheduled is a kernel .* or a legato.Module, not str"),
    (lambda: legato.bisect("nowhere.onnx"), "cannot read nowhere.onnx: No such file or directory"),
], ids=["pipeline", "schedule", "bisect"])
def test_values_of_another_kind(mistake, message):
    with pytest.raises(legato.LegatoError, match=message):
        mistake()
