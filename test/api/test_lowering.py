"""The tests' way through a pipeline by stages gives what one lowering from the graph does, and tells the same of it."""
import numpy as np
import pytest
from lowering import Lowering

import legato
from legato.targets.catalog import Catalog

GRAPH = """func.func @main(%x: tensor<?x40xf32> {relax.dims = ["n", 40], relax.name = "x"}, %w: tensor<40x24xf32> {relax.name = "w"})
    -> tensor<?x24xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<?x40xf32>, tensor<40x24xf32>) -> tensor<?x24xf32>
  %1 = "relax.softmax"(%0) {axis = 1} : (tensor<?x24xf32>) -> tensor<?x24xf32>
  return %1 : tensor<?x24xf32> }"""


@pytest.mark.parametrize("target", ["llvm{threads=2}", "nvvm{cubin=false}"])
def test_stages_are_those_of_a_lowering_from_the_graph(target):
    pytest.importorskip("llvmlite")
    module = legato.Module.parse(GRAPH)
    lowering = Lowering(module, target)
    stages = [stage for stage, _ in Catalog().resolve(target).templates()]
    for stage in stages:
        assert str(lowering.at(stage)) == str(legato.lower(module, target, last=stage)), stage
    assert lowering.at() is lowering.at(stages[-1])
    assert lowering.explained.kernels == legato.explain(module, target).kernels


@pytest.mark.parametrize("looked_at", [[], ["relax"], ["scheduled", "fused"], ["llvm"]], ids=str)
def test_what_is_compiled_goes_on_from_the_last_stage(looked_at):
    lowering = Lowering(legato.Module.parse(GRAPH))
    for stage in looked_at:
        lowering.at(stage)
    x, w = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((3, 40), (40, 24)))
    e = np.exp(x.astype(np.float64) @ w)
    np.testing.assert_allclose(np.asarray(lowering.executable(x, w)), e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)
    done = {name for name, _ in lowering.executable.report.stages}
    assert done.isdisjoint(looked_at) and "native" in done
