"""Patterns of quantized models, the matches that codegen asks for, and the passes that a backend wants before its patterns."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.artifacts import Closure
from legato.patterns import dequantize, is_const, is_op, quantize, wildcard

X, W = dequantize(wildcard().has_dtype("i8", "ui8").named("x"), "x"), dequantize(is_const().named("w"), "w")
DENSE = quantize(is_op("relax.matmul")(X, W), "y")


class Dense(legato.Backend):
    """Products of bytes."""

    name = "dense"
    patterns = [("dense", DENSE), ("transpose", is_op("relax.permute_dims")(wildcard().named("x")))]
    before = "relax-infer-shapes"
    pipeline = "relax-inline"

    def codegen(self, module, options):
        return [Closure(program(self, module, function), (function.name.value,)) for function in module.functions()]


def program(backend, module, function):
    """A function of arrays that computes each match in numpy."""
    numbers = {argument: number for number, argument in enumerate(function.arguments)}
    steps = []
    for match in backend.matches(function):
        labels = [label for label in ("x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero") if label in match]
        given = {label: module.array(match[label].value) for label in labels}
        steps.append((match.name, numbers[match["x"].value], given, match.root.type.dtype))
        numbers[match.root.value] = len(numbers)
    inputs, results = len(function.arguments), [numbers[value] for value in function.entry_block.operations[-1].operands]

    def run(*arrays):
        values = list(arrays[:inputs])
        for name, x, given, dtype in steps:
            values.append(values[x].T if name == "transpose" else multiplied(values[x], dtype, **given))
        for out, number in zip(arrays[inputs:], results):
            out[...] = values[number]

    return run


def multiplied(x, dtype, x_scale, w, w_scale, y_scale, x_zero=0, w_zero=0, y_zero=0):
    total = (x.astype(np.int32) - np.int32(x_zero)) @ (w.astype(np.int32) - np.int32(w_zero))
    limits = np.iinfo(dtype)
    return np.clip(np.rint(total * (x_scale * w_scale) / y_scale) + y_zero, limits.min, limits.max).astype(dtype)


def model(zeros=True, scale_of_w=(4,), dtype=np.int8, transposed=False):
    """A quantized product; its zero points, where it has some, are not 0."""
    rng = np.random.default_rng(0)
    constants = {"xs": np.float32(0.03), "w": rng.integers(-99, 99, (16, 4), np.int8), "ys": np.float32(0.5),
                 "ws": rng.uniform(0.01, 0.02, scale_of_w).astype(np.float32)}
    constants |= {"xz": dtype(7), "wz": np.full(scale_of_w, 0, np.int8), "yz": dtype(9)} if zeros else {}

    def node(op, x, name, out, **attributes):
        return helper.make_node(op, [x, f"{name}s", *([f"{name}z"] if zeros else [])], [out], name=f"/{out}", **attributes)

    ints = {"output_dtype": helper.np_dtype_to_tensor_dtype(np.dtype(dtype))} if not zeros else {}
    nodes = [node("QuantizeLinear", "x", "x", "xq", **ints), node("DequantizeLinear", "xq", "x", "xd"),
             node("DequantizeLinear", "w", "w", "wd", axis=1), helper.make_node("MatMul", ["xd", "wd"], ["m"], name="/m"),
             node("QuantizeLinear", "m", "y", "yq", **ints)]
    nodes += [helper.make_node("Transpose", ["yq"], ["yt"], name="/yt")] if transposed else []
    nodes += [node("DequantizeLinear", "yt" if transposed else "yq", "y", "y")]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", ["n", 16]), ("y", None))]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_a_dequantized_value_that_others_read_is_computed_by_each():
    """As in residual networks: one node dequantizes what two products, and a sum on the host, read."""
    given = model()
    nodes = given.graph.node
    second = [helper.make_node("MatMul", ["xd", "wd"], ["m2"], name="/m2"), helper.make_node("QuantizeLinear", ["m2", "ys", "yz"], ["yq2"]),
              helper.make_node("DequantizeLinear", ["yq2", "ys", "yz"], ["y2"]),
              helper.make_node("ReduceMean", ["xd"], ["mean"], name="/mean"),
              helper.make_node("Add", ["y2", "mean"], ["sum"])]
    nodes[-1].output[0] = "y1"
    nodes.extend([*second, helper.make_node("Add", ["y1", "sum"], ["y"])])
    module = legato.from_onnx(given)
    legato.partition(module, [Dense], codegen=False)
    host = str(module).split("module @dense")[0]
    assert host.count("call @dense") == 2 and host.count("relax.matmul") == 0
    assert host.count("relax.subtract") == 3      # of what the host reads: xd, once, and the two results
    exe = legato.compile(legato.from_onnx(given), backends=[Dense])
    x = np.random.default_rng(1).standard_normal((3, 16), np.float32)
    expected = np.asarray(onnxruntime.InferenceSession(given.SerializeToString()).run(None, {"x": x})[0])
    np.testing.assert_allclose(np.asarray(exe(x)), expected, atol=1.0002)


def test_a_value_that_is_read_outside_is_named_though_another_choice_got_as_far():
    given = model()
    given.graph.output.append(helper.make_tensor_value_info("m", TensorProto.FLOAT, None))
    context = legato.PassContext()
    legato.partition(legato.from_onnx(given), [Dense], codegen=False, context=context)
    reasons = [record.reason for record in context.report["partition"] if "/yq" in str(record.ops)]
    assert 'the result of relax.matmul "/m" is also read outside, by func.return' in reasons


@pytest.mark.parametrize("form", [
    {}, {"zeros": False}, {"scale_of_w": ()}, {"scale_of_w": (1,)}, {"dtype": np.uint8}, {"transposed": True}], ids=str)
def test_a_product_of_bytes_is_matched_with_its_constants(form):
    given = model(**form)
    exe = legato.compile(legato.from_onnx(given), backends=[Dense])
    taken = [record.pattern for record in exe.report.details["partition"] if record.function]
    assert taken == ["dense", *(["transpose"] if form.get("transposed") else [])]
    x = np.random.default_rng(1).standard_normal((3, 16), np.float32)
    expected = np.asarray(onnxruntime.InferenceSession(given.SerializeToString()).run(None, {"x": x})[0])
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(np.asarray(exe(x)), expected, atol=0.5001)     # a rounding apart at most: y's scale
    assert np.mean(np.asarray(exe(x)) != expected) < 0.1


def test_the_passes_before_are_the_backends_own():
    class Late(Dense):
        name = "late"
        before = legato.Backend.before

    for backends, taken in (([Dense], 1), ([Late], 0), ([Late, Dense], 0), ([Dense, Late], 1)):
        compiled = legato.compile(legato.from_onnx(model()), backends=backends).report.details["partition"]
        context = legato.PassContext()
        legato.partition(legato.from_onnx(model()), backends, context=context)
        for records in (compiled, context.report["partition"]):
            assert [record.backend for record in records if record.function] == ["dense"] * taken


def test_passes_before_may_be_the_backends_classes():
    class Mark(legato.ModulePass):
        """Marks main."""

        name = "mark-main"

        def run(self, module, context):
            context.report["marked"] = True

    class Marking(Dense):
        passes = (Mark,)
        before = [Mark()]

    context = legato.PassContext()
    legato.partition(legato.from_onnx(model()), [Marking], context=context)
    assert context.report["marked"]
    with pytest.raises(legato.LegatoError, match=r"the backend 'dense': there is no pass \"mark-mane\""):
        legato.compile(legato.from_onnx(model()), backends=[type("Wrong", (Dense,), {"before": "mark-mane"})])


def test_an_op_that_no_pattern_matches_is_named():
    class Doubling(Dense):
        patterns = [("relu", is_op("relax.relu")(wildcard()))]
        pipeline = "relax-inline,double"
        before = legato.Backend.before

        def codegen(self, module, options):
            for function in module.functions():
                self.matches(function)
            return []

    class Double(legato.ModulePass):
        """Makes two of each relu."""

        name = "double"

        def run(self, module, context):
            from legato.core.mlir import ir
            from legato.dialects import relax

            for function in module.functions():
                last = function.entry_block.operations[-1]
                with ir.InsertionPoint(last), last.operation.location:
                    last.operation.operands[0] = relax.negative(last.operation.operands[0])

    Doubling.passes = (Double,)
    module = legato.Module.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> }""")
    with pytest.raises(legato.LegatoError, match=r"the backend 'dense'.*@relu_0 has relax\.negative.*, which no pattern of the backend"):
        legato.compile(module, backends=[Doubling])


def test_the_array_of_a_constant():
    module = legato.Module.parse("""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c = "relax.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
      %0 = "relax.add"(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("sum")
      return %0 : tensor<2xf32> }""")
    constant, add, _ = module.function("main").entry_block.operations
    for given in (constant, constant.operation, constant.operation.results[0], add.operation.operands[1]):
        assert module.array(given).tolist() == [1, 2]
    argument = add.operation.operands[0]
    for given, what in ((add, 'relax.add "sum"'), (add.operation.results[0], 'the result of relax.add "sum"'), (argument, "argument 0 of")):
        with pytest.raises(legato.LegatoError, match=rf"{what}.* is no relax\.constant"):
            module.array(given)
    large = legato.Module.parse("""func.func @main() -> tensor<3xf32> {
      %c = "relax.constant"() {weight = "stored"} : () -> tensor<3xf32>
      return %c : tensor<3xf32> }""")
    assert large.weights.add("stored", np.arange(3, dtype=np.float32)) == "stored"
    assert large.array(large.constants()[0]).tolist() == [0, 1, 2]
