"""Whole models, and what modules carry of them: names, locations, weights, functions, subgraphs."""
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from interpret import interpret, relative_error
from onnx import TensorProto, helper, numpy_helper
from onnx_check import CONTEXT, assert_same, imported, model, reference, value

from legato import LegatoError, UnsupportedError, from_onnx
from legato.core.locations import model_name
from legato.dialects import relax
from legato.frontends.onnx import op

ROOT = Path(__file__).parents[2]
LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def node(op_type, inputs, outputs, name="", **attributes):
    return helper.make_node(op_type, inputs.split(), outputs.split(), name=name, **attributes)


def operations(module):
    return list(module.function().entry_block.operations)


# models


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models(path):
    started = time.process_time()
    module = from_onnx(path, context=CONTEXT)
    assert time.process_time() - started < 2
    module.module.operation.verify()
    module.check_weights()
    assert str(module.function().type.results[0]).startswith("tensor<1x1000")
    assert all(relax.op_class(o) for o in operations(module)[:-1])


def test_a_light_model_computes_what_onnxruntime_does():
    """shufflenet, with weights that differ: grouped and depthwise convolutions, batch norms, transposes, a Gemm."""
    proto = onnx.load(next(path for path in LIGHT if "shufflenet" in path.stem))
    generator = np.random.default_rng(0)
    shapes = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    kept = [n for n in proto.graph.node if n.op_type != "ConstantOfShape"]
    for made in proto.graph.node:
        if made.op_type == "ConstantOfShape":
            shape = shapes[made.input[0]]
            he = generator.standard_normal(shape) * np.sqrt(2 / max(np.prod(shape[1:]), 1))
            array = he if shape.size > 1 else generator.uniform(0.5, 1.5, shape)
            proto.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), made.output[0]))
    del proto.graph.node[:]
    proto.graph.node.extend(kept)
    image = generator.standard_normal((1, 3, 224, 224)).astype(np.float32)
    expected = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"gpu_0/data_0": image})[0]
    assert expected.std() > 1e-4
    assert relative_error(interpret(imported(proto), [image])[0], expected) < 1e-4


def test_minilm(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    minilm = pytest.importorskip("legato.examples.minilm.model")
    path = minilm.save(tmp_path / "model.onnx", minilm.build())
    module = from_onnx(path, context=CONTEXT)
    module.module.operation.verify()
    assert all(relax.op_class(o) for o in operations(module)[:-1])
    generator = np.random.default_rng(0)
    ids, mask = generator.integers(0, 30000, (2, 7)), np.ones((2, 7), np.int64)
    mask[1, 4:] = 0
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros((2, 7), np.int64)}
    expected = onnxruntime.InferenceSession(str(path)).run(None, inputs)[0]
    assert relative_error(interpret(module, list(inputs.values()))[0], expected) < 1e-5


# what a module carries


def test_names_and_locations():
    nodes = [node("Relu", "x", "a", "/relu"), node("Add", "a w", "b"), node("Neg", "b", "y", "/neg")]
    module = imported(model(nodes, [value("x", X)], ["y", "a"], constants={"w": np.ones((2, 3), np.float32)}))
    assert [model_name(o) for o in operations(module)[:-1]] == ["/relu", "w", "b", "/neg"]
    function = module.function()
    assert [a["relax.name"].value for a in function.attributes["arg_attrs"]] == ["x"]
    assert [a["relax.name"].value for a in function.attributes["res_attrs"]] == ["y", "a"]


def test_inputs_and_constants_as_outputs():
    proto = model([node("Identity", "x", "y")], [value("x", X)], ["y", "x", "c"], constants={"c": X})
    assert_same(interpret(imported(proto), [X]), [X, X, X])


def test_inputs_with_initializers_are_constants():
    proto = model([node("Add", "x w", "y")], [value("x", X), value("w", X)], ["y"], constants={"w": X})
    module = imported(proto)
    assert len(module.function().arguments) == 1 and list(module.weights) == ["w"]


def test_small_constants_stand_in_the_ir_and_big_ones_in_the_store():
    constants = {"s": np.float32(2), "v": np.ones(3, np.float32), "m": X, "one": np.ones((1, 1, 1), np.float32)}
    nodes = [node("Sum", "x s v m one", "y")]
    module = imported(model(nodes, [value("x", X)], ["y"], constants=constants))
    assert list(module.weights) == ["m"]
    kept = [node("Constant", "", "k", value=numpy_helper.from_array(X, "other")), node("Add", "x k", "y")]
    assert list(imported(model(kept, [value("x", X)], ["y"])).weights) == ["k"]


def test_constant_of_shape_takes_no_memory():
    nodes = [node("ConstantOfShape", "s", "w", value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5])), node("Mul", "x w", "y")]
    array = np.ones((1, 1), np.float32)
    module = imported(model(nodes, [value("x", array)], ["y"], constants={"s": np.array([1000, 1000])}))
    assert module.weights["w"].strides == (0, 0) and module.weights["w"].shape == (1000, 1000)


def test_external_data_is_mapped(tmp_path):
    big = np.arange(20000, dtype=np.float32).reshape(200, 100)
    (tmp_path / "w.bin").write_bytes(b"\0" * 64 + big.tobytes())
    proto = model([node("MatMul", "x w", "y")], [value("x", big[:2, :].repeat(2, 1))], ["y"])
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=big.shape, data_location=TensorProto.EXTERNAL)
    for key, entry in (("location", "w.bin"), ("offset", "64"), ("length", str(big.nbytes))):
        tensor.external_data.add(key=key, value=entry)
    proto.graph.initializer.append(tensor)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    weight = from_onnx(tmp_path / "model.onnx", context=CONTEXT).weights["w"]
    np.testing.assert_array_equal(weight, big)
    base = weight
    while not isinstance(base, np.memmap):
        assert base is not None
        base = base.base
    assert Path(base.filename) == tmp_path / "w.bin"


@pytest.mark.parametrize("external", [False, True])
def test_weights_of_four_bits(tmp_path, external):
    """Two in a byte, of an odd number; in the model, or in a file beside it."""
    numbers = np.array([[-8, 7, -1], [0, 3, -5], [1, 2, -2]], np.int8)
    constants = {"w": numbers.astype(ml_dtypes.int4), "s": np.float32([0.5, 1, 2])}
    proto = model([node("DequantizeLinear", "w s", "d", axis=0), node("MatMul", "x d", "y")], [value("x", X)], ["y"], 21, constants)
    if external:
        stored = proto.graph.initializer[0]
        (tmp_path / "w.bin").write_bytes(b"..." + stored.raw_data)
        stored.ClearField("raw_data")
        stored.data_location = TensorProto.EXTERNAL
        for key, entry in (("location", "w.bin"), ("offset", "3"), ("length", "5")):
            stored.external_data.add(key=key, value=entry)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    module = from_onnx(tmp_path / "m.onnx", context=CONTEXT)
    assert_same(interpret(module, [X]), [X @ (numbers * np.float32([[0.5], [1], [2]]))])


@pytest.mark.parametrize("attributes, expected", [
    ({"value_float": 2.5}, np.float32(2.5)),
    ({"value_floats": [1.0, 2.0]}, np.array([1, 2], np.float32)),
    ({"value_int": 3}, np.int64(3)),
    ({"value_ints": [3, 4]}, np.array([3, 4])),
])  # fmt: skip
def test_constant_attributes(attributes, expected):
    proto = model([node("Constant", "", "y", **attributes)], [value("x", X)], ["y"])
    (found,) = interpret(imported(proto), [X])
    assert found.dtype == expected.dtype and (found == expected).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int32", "uint64", "bool"])
def test_element_types(dtype):
    dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, {"float64": "DOUBLE"}.get(dtype, dtype.upper())))
    array = np.array([[0, 1, 2]]).astype(dtype)
    typed = helper.make_tensor("typed", helper.np_dtype_to_tensor_dtype(dtype), [1, 3], [0, 1, 2])
    proto = model([node("Concat", "x raw typed", "y", axis=0)], [value("x", array)], ["y"])
    proto.graph.initializer.extend([numpy_helper.from_array(array, "raw"), typed])
    assert_same(interpret(imported(proto), [array]), [np.concatenate([array] * 3)])


# functions and subgraphs


def with_functions(nodes, functions, outputs=("y",)):
    proto = model(nodes, [value("x", X)], outputs)
    proto.opset_import.append(helper.make_opsetid("local", 1))
    proto.functions.extend(functions)
    return proto


def function(name, nodes, inputs=("a",), outputs=("b",), attributes=(), **options):
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, list(inputs), list(outputs), nodes, opsets, list(attributes), **options)


def test_functions_of_the_model():
    """Nested, with an attribute handed down, one with a default, and an optional input left out."""
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"], name="leaky")
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    inner = function("Inner", [leaky], attributes=["slope"])
    call = helper.make_node("Inner", ["t"], ["b"], domain="local", name="call")
    call.attribute.append(onnx.AttributeProto(name="slope", ref_attr_name="steep", type=onnx.AttributeProto.FLOAT))
    negated = [node("Neg", "a", "t", "neg"), call, node("Clip", "t low", "unused")]
    outer = function("Outer", negated, inputs=["a", "low"], attribute_protos=[helper.make_attribute("steep", 0.5)])
    nodes = [node("Outer", "x", "u", "first", domain="local"), node("Outer", "u", "y", "second", domain="local", steep=0.25)]
    proto = with_functions(nodes, [inner, outer])
    module = imported(proto)
    assert_same(interpret(module, [X]), reference(proto, {"x": X}))
    assert [model_name(o) for o in operations(module)[:2]] == ["first/neg", "first/call/leaky"]


def test_malformed_functions():
    twice = function("F", [node("Relu", "a", "b")])
    with pytest.raises(LegatoError, match=r"two functions are called local\.F"):
        imported(with_functions([node("F", "x", "y", domain="local")], [twice, twice]))
    endless = function("F", [node("F", "a", "b", domain="local")])
    with pytest.raises(LegatoError, match="the function F calls itself"):
        imported(with_functions([node("F", "x", "y", domain="local")], [endless]))
    with pytest.raises(LegatoError, match="the function F has no attribute 'beta'"):
        imported(with_functions([node("F", "x", "y", domain="local", beta=1)], [twice]))
    for nodes, text in (([node("Relu", "z", "b")], "the function F: node b reads 'z', which nothing defines"),
                        ([node("Relu", "a", "c")], "the function F: nothing defines the output 'b'"),
                        ([node("Add", "a b", "b")], "the function F: the graph has a cycle: b <- b"),
                        ([node("Relu", "a", "a"), node("Relu", "a", "b")], "in the function F a node defines 'a', which is an input")):
        with pytest.raises(LegatoError, match=f"is not a valid ONNX model.*\n.*F, opset 1\\): {text}"):
            imported(with_functions([node("F", "x", "y", domain="local")], [function("F", nodes)]))
    call = node("F", "x", "y", domain="local")
    call.overload = "fast"
    with pytest.raises(LegatoError, match="the model's function of this name has no overload 'fast', it has ''"):
        imported(with_functions([call], [twice]))


def test_functions_of_the_schema_answer_for_their_insides():
    proto = model([node("MeanVarianceNormalization", "x", "y", "mvn", axes=[0])], [value("x", X)], ["y"])
    assert {model_name(o) for o in operations(imported(proto)) if o.operation.name not in ("relax.constant", "func.return")} == {"mvn"}


def branches():
    then = helper.make_graph([node("Relu", "x", "t")], "then", [], [value("t", X)])
    other = helper.make_graph([node("Add", "x c", "e")], "else", [], [value("e", X)], [numpy_helper.from_array(X, "c")])
    return {"then_branch": then, "else_branch": other}


@pytest.mark.parametrize("condition, taken", [(True, "relax.relu"), (False, "relax.add")])
def test_if_with_a_known_condition(condition, taken):
    proto = model([node("If", "k", "y", **branches())], [value("x", X)], ["y"], constants={"k": np.array(condition)})
    module = imported(proto)
    assert taken in [o.operation.name for o in operations(module)]
    assert_same(interpret(module, [X]), reference(proto, {"x": X}))


def test_if_with_a_condition_of_run_time():
    proto = model([node("If", "k", "y", "/if", **branches())], [value("x", X), value("k", np.array(True))], ["y"])
    assert "scf.if" in str(imported(proto))     # and how it runs: test_onnx_run_time_control.py


# the table


@pytest.mark.parametrize("op_type, shapes, outputs, attributes", [
    ("Gelu", [(2, 3)], 1, {}),
    ("BiasGelu", [(2, 3), (3,)], 1, {}),
    ("FastGelu", [(2, 3)], 1, {}),
    ("FastGelu", [(2, 3), (3,)], 1, {}),
    ("QuickGelu", [(2, 3)], 1, {"alpha": 1.5}),
    ("FusedMatMul", [(2, 4, 3), (2, 5, 4)], 1, {"transA": 1, "transB": 1, "alpha": 0.5}),
    ("SkipLayerNormalization", [(1, 2, 4), (1, 2, 4), (4,), (4,), (4,)], 4, {"epsilon": 1e-3}),
    ("SkipLayerNormalization", [(1, 2, 4), (1, 2, 4), (4,)], 1, {}),
])  # fmt: skip
def test_microsoft(op_type, shapes, outputs, attributes):
    generator = np.random.default_rng(0)
    inputs = {f"x{i}": generator.standard_normal(shape).astype(np.float32) for i, shape in enumerate(shapes)}
    made = ["y", "", "", "total"][:outputs]
    nodes = [helper.make_node(op_type, list(inputs), made, domain="com.microsoft", **attributes)]
    proto = model(nodes, [value(name, array) for name, array in inputs.items()], [name for name in made if name])
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert_same(interpret(imported(proto), list(inputs.values())), reference(proto, inputs), 1e-4)


def test_own_entries():
    @op("Scale", 1, domain="com.acme")
    def scale(node):
        return relax.multiply(node.x(), node.literal(node.number("by"), node.dtype()))

    proto = model([node("Scale", "x", "y", domain="com.acme", by=3.0)], [value("x", X)], ["y"])
    proto.opset_import.append(helper.make_opsetid("com.acme", 1))
    assert_same(interpret(imported(proto, entries=[scale]), [X]), [X * 3])
    proto.graph.node[0].attribute.append(helper.make_attribute("offset", 1.0))
    with pytest.raises(UnsupportedError, match="attribute 'offset' of Scale is not supported"):
        imported(proto, entries=[scale])
    proto.opset_import[-1].version = 2
    with pytest.raises(UnsupportedError, match="version 2 of this op is not supported, only 1"):
        imported(proto, entries=[scale])


EXPERIMENTS = {"ThresholdedRelu", "MeanVarianceNormalization"}     # which were such in opset 1
NO_SCHEMAS = {"SimplifiedLayerNormalization", "Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"}


def test_the_table_knows_all_versions_of_its_ops():
    from legato.frontends.onnx.ops import ENTRIES

    history: dict[tuple[str, str], set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        history.setdefault((schema.domain, schema.name), set()).add(schema.since_version)
    for key, entry in ENTRIES.items():
        if key[0] in ("com.microsoft", "legato") or key not in history:  # onnx has no schemas for these, nor for its old experiments
            assert key[0] or key[1] in NO_SCHEMAS
            continue
        known = history[key] | ({1} if entry.op_type in EXPERIMENTS else set())
        assert set(entry.versions) == known, f"{entry.op_type}: versions {sorted(known)}, the entry has {entry.versions}"
