"""Scripts of several kernels in one run: the same kernels as one by one; the script that fails is named, and the others do their work."""
import pytest

from legato.core.diagnostics import PassFailed
from legato.core.mlir import interpreter, ir
from legato.core.upstream import run_script
from legato.dialects import tir
from legato.dialects.module import Module
from legato.schedule import transform_batch

ANY = "!transform.any_op"
KERNEL = """func.func private @kernel{0}(%x: tensor<{1}xf32>, %out: tensor<{1}xf32>) -> tensor<{1}xf32> attributes {{tir.prim_func}} {{
  %0 = linalg.exp ins(%x : tensor<{1}xf32>) outs(%out : tensor<{1}xf32>) -> tensor<{1}xf32>
  %1 = linalg.abs ins(%0 : tensor<{1}xf32>) outs(%out : tensor<{1}xf32>) -> tensor<{1}xf32>
  return %1 : tensor<{1}xf32>
}}
"""
PATTERNS = f"transform.apply_patterns to %root {{ transform.apply_patterns.canonicalization }} {{apply_cse}} : {ANY}"


def tiled(op, size):
    return (f'%m_{op} = transform.structured.match ops{{["linalg.{op}"]}} in %root : ({ANY}) -> {ANY}\n'
            f"%t_{op}, %l_{op} = transform.structured.tile_using_for %m_{op} tile_sizes [{size}] : ({ANY}) -> ({ANY}, {ANY})\n")


def script(size):
    """Two tilings, with patterns after each of them."""
    return f"{tiled('exp', size)}{PATTERNS}\n{tiled('abs', 2 * size)}{PATTERNS}"


def module(count):
    return Module.parse("".join(KERNEL.format(i, 32 * (i + 1)) for i in range(count)))


def runs_of(monkeypatch):
    """The list to which each run of the interpreter adds an entry."""
    runs = []
    apply = interpreter.apply_named_sequence
    monkeypatch.setattr(interpreter, "apply_named_sequence", lambda *a: (runs.append(a), apply(*a)))
    return runs


def test_kernels_are_those_of_a_run_each(monkeypatch):
    together, alone, sizes = module(7), module(7), [4, 4, 8, 4, 8, 16, 4]
    with together.context, ir.Location.unknown():
        runs = runs_of(monkeypatch)
        transform_batch.apply_scripts(list(zip(map(script, sizes), tir.prim_funcs(together.module))))
        assert len(runs) == 1
    with alone.context, ir.Location.unknown():
        for size, kernel in zip(sizes, tir.prim_funcs(alone.module)):
            run_script(script(size), kernel.operation, "the schedule")
    assert str(together) == str(alone)
    assert str(together).count("scf.for") == 14


def test_other_pattern_sets_run_apart(monkeypatch):
    made = module(4)
    with made.context, ir.Location.unknown():
        runs = runs_of(monkeypatch)
        bodies = [script(4), tiled("exp", 8), script(8), tiled("exp", 4)]
        transform_batch.apply_scripts(list(zip(bodies, tir.prim_funcs(made.module))))
    assert len(runs) == 3
    assert [str(f).count("scf.for") for f in tir.prim_funcs(made.module)] == [2, 1, 2, 1]


def test_many_kernels_run_in_several_batches(monkeypatch):
    monkeypatch.setattr(transform_batch, "BATCH", 3)
    made = module(7)
    with made.context, ir.Location.unknown():
        runs = runs_of(monkeypatch)
        transform_batch.apply_scripts([(script(4), f) for f in tir.prim_funcs(made.module)])
    assert len(runs) == 3
    assert str(made).count("scf.for") == 14


@pytest.mark.parametrize("wrong, says", [
    (f"%a, %b = transform.split_handle %root : ({ANY}) -> ({ANY}, {ANY})\n", "payload"),
    ("transform.no_such_step %root\n", "no_such_step")])
def test_the_failing_script_is_named(wrong, says):
    made = module(3)
    with made.context, ir.Location.unknown():
        kernels = list(tir.prim_funcs(made.module))
        with pytest.raises(PassFailed, match="the schedule of @kernel1 failed") as failed:
            transform_batch.apply_scripts([(script(4), kernels[0]), (wrong + script(4), kernels[1]), (script(4), kernels[2])])
        assert says in str(failed.value)
        assert f"in: {wrong.strip()}" in str(failed.value)
    assert "scf.for" in str(next(iter(tir.prim_funcs(made.module))))
