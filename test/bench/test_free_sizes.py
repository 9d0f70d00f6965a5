"""bench.free_sizes: copies of networks whose images may have any size."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import legato
from bench.free_sizes import main


def test_copies_run_for_other_sizes(tmp_path):
    x, mask, w = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in
                  (("x", [1, 3, 9, 7]), ("m", [1, 3]), ("w", [4, 3, 3, 3])))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 7, 5])
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"]), helper.make_node("Neg", ["m"], ["z"])]
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3])
    known = helper.make_tensor_value_info("c", TensorProto.FLOAT, [1, 4, 7, 5])
    graph = helper.make_graph(nodes, "g", [x, mask, w], [y, z], [weight], value_info=[known])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    np.savez(tmp_path / "net.npz", x=np.ones((1, 3, 9, 7), np.float32))
    assert main([str(path), "-o", str(tmp_path / "free")]) == 0
    assert np.load(tmp_path / "free" / "net.npz")["x"].shape == (1, 3, 9, 7)
    executable = legato.compile(legato.from_onnx(tmp_path / "free" / "net.onnx"))
    found = executable(np.ones((2, 3, 4, 11), np.float32), np.ones((1, 3), np.float32))[0]
    np.testing.assert_array_equal(found, np.full((2, 4, 2, 9), 27, np.float32))
