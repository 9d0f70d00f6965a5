"""Upstream's passes on a module: in threads where there is enough to do, with the same result."""
import pytest

from legato.core import upstream
from legato.core.mlir import ir, passmanager
from legato.dialects import make_context

PASSES = "func.func(canonicalize,cse),convert-to-llvm,llvm.func(cse,canonicalize)"


def functions(count: int, more: str = "") -> str:
    sums = "\n".join(f"    %{n + 1} = arith.addf %{n}, %a : f32\n    %u{n} = arith.addf %{n}, %a : f32" for n in range(20))
    one = f"  func.func @f%d(%a: f32) -> f32 {{\n    %0 = arith.mulf %a, %a : f32\n{sums}\n    return %20 : f32\n  }}"
    return "module {\n" + "\n".join(one.replace("%d", str(n)) for n in range(count)) + more + "\n}"


@pytest.fixture
def switched(monkeypatch):
    """What the threads of a context were set to."""
    calls = []
    real = ir.Context.enable_multithreading
    monkeypatch.setattr(ir.Context, "enable_multithreading", lambda self, on: (calls.append(on), real(self, on)))
    monkeypatch.setattr(upstream.os, "sched_getaffinity", lambda _: {0, 1})
    return calls


def run(text: str, passes: str) -> str:
    with make_context():
        module = ir.Module.parse(text)
    upstream.run_on(module.operation, passes)
    return str(module)


def test_threads_make_the_same_module(switched):
    text = functions(100)
    with make_context():
        alone = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({PASSES})").run(alone.operation)
    switched.clear()
    assert run(text, PASSES) == str(alone)
    assert switched == [False, True, False]       # a new context, then the passes


def test_threads_are_off_again_after_an_error(switched):
    with pytest.raises(upstream.PassFailed, match="__transform_main"):
        run(functions(100), "func.func(transform-interpreter)")
    assert switched == [False, True, False]


@pytest.mark.parametrize("text, passes", [
    (functions(10), PASSES),                                                                     # too little
    (functions(100), "canonicalize"),                                                            # for the module as a whole
    (functions(100, "\n  func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
               '    %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }'), "func.func(cse)"),
], ids=["few ops", "one pass", "ops of Python"])
def test_others_run_without_threads(switched, text, passes):
    run(text, passes)
    assert switched == [False]


def test_one_processor_runs_without_threads(switched, monkeypatch):
    monkeypatch.setattr(upstream.os, "sched_getaffinity", lambda _: {0})
    run(functions(100), PASSES)
    assert switched == [False]


def test_the_verifier_works_in_threads(switched):
    """On functions of a large module; errors in several of them are one MLIRError."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(functions(upstream.WORTH_THREADS // 40))
        with upstream.threads_for(module.operation):
            assert module.operation.verify()
        assert switched == [True, False]
        for number in (1, 3):
            block = module.body.operations[number].operation.regions[0].blocks[0]
            block.operations[len(block.operations) - 1].erase()
        with pytest.raises(ir.MLIRError, match="no terminator"), upstream.threads_for(module.operation):
            module.operation.verify()
        assert switched == [True, False] * 2
