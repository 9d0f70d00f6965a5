"""Products whose columns are padded, against numpy, compiled as users do; rows that only the call knows, infinities and NaN."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS if not cpu.missing_features(level, "")]
COLUMNS = (7, 13, 15, 31, 47, 63)


@pytest.mark.parametrize("target", LEVELS_HERE)
def test_products(target):
    rng, depth = np.random.default_rng(3), 1200
    weights = [rng.standard_normal((depth, columns)).astype(np.float32) for columns in COLUMNS]
    bias = [rng.standard_normal(columns).astype(np.float32) for columns in COLUMNS]
    nodes, constants, outputs = [], [], []
    for number, (w, b) in enumerate(zip(weights, bias, strict=True)):
        constants += [numpy_helper.from_array(w, f"w{number}"), numpy_helper.from_array(b, f"b{number}")]
        nodes += [helper.make_node("MatMul", ["x", f"w{number}"], [f"m{number}"]),
                  helper.make_node("Add", [f"m{number}", f"b{number}"], [f"y{number}"])]
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None))
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 24, depth])
    graph = helper.make_graph(nodes, "products", [image], outputs, constants)
    module = legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10))
    padded = str(legato.lower(module, target, last="relax")).count("relax.strided_slice")
    assert padded == {"v2": 0, "v3": len(COLUMNS) - 1, "v4": len(COLUMNS)}[target[-3:-1]]
    executable = legato.compile(module, target)
    for batch in (0, 1, 3):
        x = rng.standard_normal((batch, 24, depth)).astype(np.float32)
        if batch == 3:
            x[0, 0, 0], x[1, 2, 3], x[2, 20, 5] = np.inf, np.nan, -0.0
        for found, w, b in zip(executable(x), weights, bias, strict=True):
            with np.errstate(invalid="ignore"):
                expected = x.astype(np.float64) @ w + b
            np.testing.assert_allclose(np.from_dlpack(found), expected, rtol=1e-4, atol=1e-3)
