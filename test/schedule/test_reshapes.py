"""Schedules of a model's own kernels: what pads, reshapes, slices and joins tensors has loops, too."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import sampled

import legato
from legato.dialects import tir
from legato.schedule.schedule import ModuleSchedule

X, N = "x", TensorProto.FLOAT
SLICE = [np.int64([1, 1]), np.int64([4, 9]), np.int64([1, 3]), np.int64([1, 2])]
MODELS = {  # op, attributes, further operands (constants, or the shape of an input), shapes of x, blocks of its loops
    "softmax": ("Softmax", {}, [], [(2, 3, 5, 7), ("n", 3, 5, 7)], ["reduce", "map", "reduce_1", "map_1"]),
    "relu": ("Relu", {}, [], [(1, 3, 5, 7), ("n", 3, 5, 7)], ["map"]),
    "transpose": ("Transpose", {"perm": [0, 2, 1, 3]}, [], [(2, 3, 5, 7), ("n", 3, 5, 7)], ["map"]),
    "mean": ("ReduceMean", {"keepdims": 1}, [np.int64([2, 3])], [(2, 3, 5, 7), ("n", 3, 5, 7)], ["reduce", "map"]),
    "all": ("ReduceSum", {"keepdims": 0}, [], [(3, 4)], ["reduce"]),
    "one": ("ReduceSum", {"keepdims": 0}, [], [(1, 1)], ["map"]),
    "slice": ("Slice", {}, SLICE, [(2, 5, 3, 9), ("n", 5, 3, 9)], ["copy"]),
    "pool": ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 0, 1]}, [], [(2, 3, 9, 8), ("n", 3, 9, 8)],
             ["pad", "reduce"]),
    "grouped": ("Conv", {"group": 2, "pads": [1, 1, 1, 1]}, [(6, 2, 3, 3)], [(2, 4, 7, 5), ("n", 4, 7, 5), (2, 4, "h", 5)],
                ["pad", "window"]),
    "depthwise": ("Conv", {"group": 4, "pads": [1, 0, 1, 0], "strides": [2, 1]}, [(4, 1, 3, 2)], [(1, 4, 7, 5), ("n", 4, 7, 5)],
                  ["window"]),
    "pad": ("Pad", {}, [np.int64([1, 0, 2, 1, 1, 0, 0, 3])], [(2, 3, 5, 7), ("n", 3, 5, 7)], ["fill", "copy"]),
    "concat": ("Concat", {"axis": 1}, [], [(2, 3, 5, 7), ("n", 3, 5, 7)], ["copy", "copy_1"]),
    "space": ("SpaceToDepth", {"blocksize": 2}, [], [(2, 3, 4, 6), ("n", 3, 4, 6)], ["map"]),
    "squeeze": ("Squeeze", {}, [np.int64([1])], [(2, 1, 5, 7)], ["map"]),
}


def model(name, shape):
    """A model of one op and a function of its result, and the arguments after x."""
    op, attributes, operands, *_ = MODELS[name]
    given = {f"c{n}": np.random.default_rng(n).standard_normal(c, np.float32) for n, c in enumerate(operands) if isinstance(c, tuple)}
    constants = [numpy_helper.from_array(c, f"c{n}") for n, c in enumerate(operands) if not isinstance(c, tuple)]
    names = [X, X] if op == "Concat" else [X, *(f"c{n}" for n in range(len(operands)))]
    nodes = [helper.make_node(op, names, ["t"], **attributes), helper.make_node("Neg", ["t"], ["y"])]
    inputs = [helper.make_tensor_value_info(key, N, size) for key, size in ((X, shape), *((k, a.shape) for k, a in given.items()))]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", N, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), given


def in_loops(module):
    """The module with every kernel in loops, and the names of the blocks."""
    sch = ModuleSchedule(module)
    names = []
    for kernel in tir.prim_funcs(module.module):
        sch.work_on(kernel.name.value)
        names += [block.name for block in tir.walk.blocks(sch.module.function(kernel.name.value).operation)]
    return sch.module, names


@pytest.mark.parametrize(("name", "shape"), sampled(((name, shape) for name, case in MODELS.items() for shape in case[3]), 2, 2), ids=str)
def test_loops_compute_what_the_kernel_does(name, shape):
    proto, given = model(name, shape)
    scheduled, names = in_loops(legato.lower(legato.from_onnx(proto), "llvm", last="fused"))
    assert set(MODELS[name][4]) <= set(names)
    run = legato.compile(scheduled, "llvm", from_stage="fused")
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    for n in (1, 3) if any(isinstance(size, str) for size in shape) else (0,):
        x = np.random.default_rng(n).standard_normal([n if isinstance(size, str) else size for size in shape], np.float32)
        np.testing.assert_allclose(run(x, *given.values()), np.asarray(session.run(None, {X: x, **given})[0]), rtol=1e-5, atol=1e-6)
