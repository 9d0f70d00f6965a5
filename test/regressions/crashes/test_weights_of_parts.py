"""Weights that several parts of a model have: IR of backends with keys of the host's, kernels that loops call too."""
import numpy as np
import onnx
import pytest
from onnx_check import reference
from thoroughly import first_of

import legato
from legato.artifacts import Lowered
from legato.core.weights import WeightStore
from legato.dialects import Module
from legato.patterns import is_op, wildcard

RANDOM = np.random.default_rng(0)
HOST, ONE, OTHER = (RANDOM.standard_normal((300, 4)).astype(np.float32) for _ in range(3))
X = RANDOM.standard_normal((2, 300)).astype(np.float32)


def host() -> Module:
    weights = WeightStore()
    weights.add("w", HOST)
    return Module.parse("""func.func @main(%x: tensor<2x300xf32>) -> tensor<2x4xf32> {
  %w = "relax.constant"() {weight = "w"} : () -> tensor<300x4xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<2x300xf32>, tensor<300x4xf32>) -> tensor<2x4xf32>
  %1 = "relax.tanh"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "relax.exp"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = "relax.add"(%1, %2) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}""", weights)


def adding(op: str, array: np.ndarray, keys: tuple[str, str]) -> type[legato.Backend]:
    """A backend that computes ``x`` plus the columns' sums of two weights in the place of an op."""
    class Adding(legato.Backend):
        name = f"for_{op}"
        patterns = [(op, is_op(f"relax.{op}")(wildcard()))]

        def codegen(self, module, options):
            function = next(f.name.value for f in module.functions() if "sym_visibility" not in f.operation.attributes)
            weights = WeightStore()
            for number, key in enumerate(keys):
                weights.add(key, array * (1 + 2 * number))
            return Lowered(Module.parse(f"""func.func @{function}(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {{
  %a = "relax.constant"() {{weight = "{keys[0]}"}} : () -> tensor<300x4xf32>
  %b = "relax.constant"() {{weight = "{keys[1]}"}} : () -> tensor<300x4xf32>
  %s = "relax.sum"(%a) {{axis = array<i64: 0>}} : (tensor<300x4xf32>) -> tensor<4xf32>
  %t = "relax.sum"(%b) {{axis = array<i64: 0>}} : (tensor<300x4xf32>) -> tensor<4xf32>
  %0 = "relax.add"(%x, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = "relax.add"(%0, %t) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}}""", weights, module.context))

    return Adding


@pytest.mark.parametrize("turned", first_of([True, False]))
@pytest.mark.parametrize("second", [OTHER, ONE, HOST], ids=["other", "shared by the parts", "the host's"])
@pytest.mark.parametrize("keys", [("w", "v"), ("w", "w_1"), ("v", "w")], ids=str)
def test_each_part_has_its_own_weights(tmp_path, keys, second, turned):
    backends = [adding("tanh", ONE, keys), adding("exp", second, keys)]
    backends = backends[::-1] if turned else backends
    expected = 2 * (X @ HOST) + 4 * ONE.sum(0) + 4 * second.sum(0)
    module = host()
    executable = legato.compile(module, backends=backends)
    executable.save(tmp_path / "model.legato")
    legato.partition(host(), backends).save(tmp_path / "parted.mlir")
    parted = Module.load(tmp_path / "parted.mlir")
    for one in (executable, legato.load(tmp_path / "model.legato"), legato.compile(parted)):
        np.testing.assert_allclose(one(X), expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(module.weights["w"], HOST)


RECURRENT = """<ir_version: 10, opset_import: ["": 18]>
g (float[5, 2, 4] x, float[1, 3, 4] w, float[1, 3, 3] r) => (float[1, 2, 3] last, float[1, 2, 3] product)
<float[3, 3] m = {1, 2, 3, 4, 5, 6, 7, 8, 10}> {
  seen, last = RNN<hidden_size = 3>(x, w, r)
  product = MatMul(last, m)
}"""


def test_a_kernel_that_a_loop_calls_with_another_weight():
    """The product by the constant packed the weight of the kernel, whose call in the loop of the RNN was overlooked."""
    proto = onnx.parser.parse_model(RECURRENT)
    random = np.random.default_rng(0)
    given = {name: random.standard_normal(shape, np.float32) for name, shape in (("x", (5, 2, 4)), ("w", (1, 3, 4)), ("r", (1, 3, 3)))}
    for ours, wanted in zip(legato.compile(legato.from_onnx(proto))(*given.values()), reference(proto, given), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)
