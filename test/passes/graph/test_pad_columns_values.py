"""Products of bytes whose columns are padded, against numpy, compiled as users do; rows that only the call knows."""
import numpy as np
import pytest
from lowering import Lowering
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

LEVELS_HERE = [f"llvm{{cpu={level}}}" for level in LEVELS if not cpu.missing_features(level, "")]
COLUMNS = (7, 13, 15, 31, 47, 63)


@pytest.mark.parametrize("target", first_of(LEVELS_HERE[::-1]))
def test_products(target):
    rng, depth = np.random.default_rng(3), 1200
    weights = [rng.integers(-128, 128, (depth, columns), np.int8) for columns in COLUMNS]
    nodes, constants, outputs = [], [], []
    for number, w in enumerate(weights):
        constants.append(numpy_helper.from_array(w, f"w{number}"))
        nodes.append(helper.make_node("MatMulInteger", ["x", f"w{number}"], [f"y{number}"]))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.INT32, None))
    image = helper.make_tensor_value_info("x", TensorProto.UINT8, ["n", 24, depth])
    graph = helper.make_graph(nodes, "products", [image], outputs, constants)
    lowering = Lowering(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)), target)
    padded = str(lowering.at("relax")).count("relax.strided_slice")
    assert padded == {"v2": 0, "v3": len(COLUMNS) - 1, "v4": len(COLUMNS)}[target[-3:-1]]
    for batch in (0, 1, 3):
        x = rng.integers(0, 256, (batch, 24, depth), np.uint8)
        for found, w in zip(lowering.executable(x), weights, strict=True):
            np.testing.assert_array_equal(np.from_dlpack(found), x.astype(np.int32) @ w.astype(np.int32))
