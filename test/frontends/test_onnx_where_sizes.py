"""Where by a constant condition, beside onnxruntime: the branch that it never takes still has to broadcast with the other one."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_check import model, value

import legato

WHERE = helper.make_node("Where", ["c", "x", "y"], ["z"])
BEHIND_A_SUM = [helper.make_node("Add", ["x", "y"], ["sum"]), helper.make_node("Where", ["c", "x", "sum"], ["z"])]


@pytest.mark.parametrize("nodes, condition", [([WHERE], True), ([WHERE], False), ([WHERE], [[True], [True]]), (BEHIND_A_SUM, True)])
def test_a_constant_condition_drops_no_check(nodes, condition):
    inputs = [value(name, np.zeros(1, np.float32), [size]) for name, size in (("x", "n"), ("y", "m"))]
    proto = model(nodes, inputs, ["z"], constants={"c": np.array(condition)})
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for n, m in ((3, 3), (1, 4), (4, 1), (1, 0), (1, 1)):
        x, y = np.arange(n, dtype=np.float32), -np.arange(m, dtype=np.float32)
        found, expected = exe(x, y), np.asarray(session.run(None, {"x": x, "y": y})[0])
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
    for n, m in ((2, 3), (3, 0)):
        with pytest.raises(ValueError, match=r"needs .*, its size at axis 0, to be 1 or"):
            exe(np.zeros(n, np.float32), np.zeros(m, np.float32))
