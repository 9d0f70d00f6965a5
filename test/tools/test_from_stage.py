"""legato-compile goes on from any stage that it printed, and says so where it is not told which."""
import numpy as np
import pytest

import legato
from legato.core.weights import WeightStore
from legato.tools import legato_compile

TEXT = """
func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4]>> {
  %w = "relax.constant"() {weight = "w"} : () -> tensor<8x4xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
"""
W = np.random.default_rng(0).standard_normal((8, 4), np.float32)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("stages") / "graph.mlir"
    store = WeightStore()
    store.add("w", W)
    legato.Module.parse(TEXT, weights=store).save(path)
    return path


@pytest.mark.parametrize("stage", ["relax", "legalized", "fused", "scheduled", "bufferized", "llvm"])
def test_goes_on_from(stage, graph):
    text, native = graph.with_name(f"{stage}.mlir"), graph.with_name(f"{stage}.legato")
    assert legato_compile.main([str(graph), "--emit", stage, "-q", "-o", str(text)]) == 0
    assert legato_compile.main([str(text), "--from-stage", stage, "-q", "-o", str(native)]) == 0
    x = np.random.default_rng(1).standard_normal((5, 8), np.float32)
    np.testing.assert_allclose(legato.load(native)(x), x @ W, rtol=1e-5)


def test_a_later_stage_is_not_taken_for_a_graph(graph, capsys):
    text = graph.with_name("later.mlir")
    assert legato_compile.main([str(graph), "--emit", "fused", "-q", "-o", str(text)]) == 0
    assert legato_compile.main([str(text), "-q", "-o", str(graph.with_name("no.legato"))]) == 1
    assert "past the graph already: say which stage it has reached (legato-compile --from-stage STAGE" in capsys.readouterr().err
    assert legato_compile.main([str(text), "--from-stage", "fusd", "-q", "-o", str(graph.with_name("no.legato"))]) == 2
    assert "no stage 'fusd'; did you mean 'fused'?" in capsys.readouterr().err


def test_a_module_without_main():
    module = legato.Module.parse("func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
    with pytest.raises(legato.LegatoError, match="the function @main, and the module has @other"):
        legato.compile(module)
