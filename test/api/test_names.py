"""The names of ``import legato``: what TAB shows, what is loaded when, and old names."""
import subprocess
import sys

import numpy as np
import pytest

import legato
from legato import __main__ as tools

GRAPH = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def test_dir_shows_the_public_names_and_nothing_else():
    shown = dir(legato)
    assert shown == sorted([*legato.__all__, "__version__"]) and not any(name.startswith("_") for name in legato.__all__)
    assert all(getattr(legato, name) is not None for name in shown)


@pytest.mark.parametrize("name", legato._SUBMODULES)
def test_submodules_show_their_names_and_nothing_else(name):
    module = getattr(legato, name)
    assert dir(module) == sorted(module.__all__) and all(getattr(module, one) is not None for one in module.__all__)


def test_the_script_language_completes():
    kernels, graphs = dir(legato.tir), dir(legato.relax)
    assert {"prim_func", "Buffer", "grid", "block", "axis", "float32", "exp", "parallel", "alloc_buffer", "init", "reads"} <= {*kernels}
    assert {"function", "Tensor", "call_tir", "dataflow", "nn", "matmul", "output"} <= {*graphs} and "constant" not in graphs
    assert dir(legato.script.I)[0] == "dummy_global_info"
    assert dir(legato.tir.axis) == ["O", "R", "S", "opaque", "reduce", "remap", "spatial"] and "conv2d" in dir(legato.relax.nn)
    assert not any(name.startswith("_") for name in [*kernels, *graphs])


def test_type_checkers_see_the_same_names():
    with open(legato.__file__) as file:
        text = file.read()
    checked = text[text.index("if _TYPE_CHECKING:"):text.index("__version__")]
    assert all(name in checked.replace(",", " ").split() for name in legato.__all__)
    assert {*legato._WHERE, *legato._SUBMODULES} == {*legato.__all__}


def test_a_name_is_loaded_at_its_first_use():
    code = ("import sys, legato; before = set(sys.modules); legato.load; assert not any('mlir' in m for m in sys.modules); "
            "legato.patterns.is_op; legato.kernels.pointwise; legato.PassFailed; print(len(set(sys.modules) - before) > 10)")
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "True\n"


def test_errors_are_reachable():
    module = legato.Module.parse(GRAPH)
    with pytest.raises(legato.PipelineError, match="no pass \"relax-canonicalise\""):
        legato.Pipeline("relax-canonicalise").run(module)
    with pytest.raises(legato.PassFailed, match="one-shot-bufferize failed"):
        legato.Pipeline("one-shot-bufferize").run(module)


def test_old_names_work_and_warn():
    with pytest.warns(DeprecationWarning, match=r"legato\.module is called legato\.ir_module now"):
        assert legato.module is legato.ir_module
    with pytest.warns(DeprecationWarning, match=r"legato\.script\.module is called legato\.script\.ir_module"):
        assert legato.script.module is legato.ir_module
    with pytest.raises(AttributeError, match="no attribute 'modul'"):
        _ = legato.modul
    module = legato.lower(legato.Module.parse(GRAPH), last="fused")
    schedule = legato.Schedule(module)
    with pytest.warns(DeprecationWarning, match=r"sch\.mod is called sch\.module now"):
        assert schedule.mod is schedule.module
    with pytest.warns(DeprecationWarning, match="first= is called from_stage= now") as warned:
        exe = legato.compile(module, first="fused")
    assert warned[0].filename == __file__
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(exe(x), np.tanh(x), rtol=1e-6)
    with pytest.raises(TypeError, match="give from_stage= only"):
        legato.lower(module, first="fused", from_stage="fused")


def test_python_m_legato(capsys):
    assert tools.main(["opt", "--version"]) == 0 and "legato-opt" in capsys.readouterr().out
    assert tools.main(["legato-opt", "--version"]) == 0
    assert tools.main(["--help"]) == 0 and "legato-compile" in capsys.readouterr().out
    assert tools.main([]) == 2
    assert tools.main(["optimise"]) == 2 and "there is no tool 'optimise'; there are opt, compile, run" in capsys.readouterr().err
