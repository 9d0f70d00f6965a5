"""What the pipeline prints at each stage parses again, with the weights beside it, and goes on to the same executable."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.codegen.jit import jit
from legato.passes.pipeline.base import PassContext
from legato.targets.catalog import Catalog

ROWS = 2000  # more than stands in the IR as text
FLAGS, BYTES = np.arange(ROWS) % 3 == 0, np.arange(ROWS).astype(np.uint8)


def model():
    """Weights of element types that lie in memory under another one: booleans as bytes, unsigned integers as signless ones."""
    nodes = [helper.make_node("Where", ["flags", "x", "z"], ["y"]), helper.make_node("Add", ["bytes", "b"], ["q"]),
             helper.make_node("Not", ["flags"], ["not_flags"])]
    given = {"x": (TensorProto.FLOAT, ["n", 1]), "z": (TensorProto.FLOAT, ["n", 1]), "b": (TensorProto.UINT8, [1])}
    made = {"y": (TensorProto.FLOAT, ["n", ROWS]), "q": (TensorProto.UINT8, [ROWS]), "not_flags": (TensorProto.BOOL, [ROWS])}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, *t) for n, t in given.items()],
        [helper.make_tensor_value_info(n, *t) for n, t in made.items()],
        [numpy_helper.from_array(FLAGS, "flags"), numpy_helper.from_array(BYTES, "bytes")])
    return legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=onnx.IR_VERSION))


def check(executable):
    x, z, b = np.float32([[1], [2]]), np.float32([[-1], [-2]]), np.uint8([200])
    y, q, not_flags = executable(x, z, b)
    np.testing.assert_array_equal(y, np.where(FLAGS, x, z))
    np.testing.assert_array_equal(q, BYTES + b)
    np.testing.assert_array_equal(not_flags, ~FLAGS)
    assert [p.dtype for p in executable.outputs] == [np.float32, np.uint8, np.bool_]


def test_each_stage_goes_on_from_its_text(tmp_path):
    catalog, path, module = Catalog(), tmp_path / "stage.mlir", model()
    for _, passes in catalog.resolve("llvm").pipeline():
        module.save(path)
        module = legato.Module.load(path)
        legato.Pipeline(passes).run(module, PassContext(resolve_target=catalog.resolve))
    module.save(path)
    module = legato.Module.load(path)
    check(jit(module.module, module.weights))


def test_one_module_many_compiles(tmp_path):
    module = model()
    check(legato.compile(module))
    executable = legato.compile(module, "llvm{cpu=x86-64-v2}")  # the first left its weights as they were
    check(executable)
    executable.save(tmp_path / "model.legato")
    check(legato.load(tmp_path / "model.legato"))


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_unsigned_table(dtype):
    table = (np.arange(ROWS * 3) * 7919).astype(dtype).reshape(ROWS, 3)
    type_ = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["rows"])], "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("rows", type_, ["n", 3])], [numpy_helper.from_array(table, "table")])
    executable = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])))
    ids = np.array([0, ROWS - 1, -2])
    np.testing.assert_array_equal(executable(ids), table[ids])
