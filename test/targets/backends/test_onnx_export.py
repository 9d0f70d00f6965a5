"""Every relax op through ONNX, in both engines, against its numpy semantics; and what the exporter refuses."""
import sys
from collections import Counter
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from interpret import relative_error
from thoroughly import thorough

import legato
from legato.core.mlir import func, ir
from legato.dialects import make_context, relax
from legato.runtime.engines import onnxruntime, openvino
from legato.targets.backends.onnx import export, exportable
from legato.targets.backends.openvino import OpenVino

sys.path.append(str(Path(__file__).resolve().parents[2] / "dialects"))
from cases import CASES

CONTEXT = make_context()


def module_of(case, dynamic=False):
    """A main that is the one op of a case; with `dynamic`, the sizes that may be symbols are."""
    with CONTEXT, ir.Location.name(case.op):
        module = legato.Module(ir.Module.create())
        types = [relax.dims.tensor_type([f"s{n}" if dynamic and n in case.dynamic else n for n in shape], relax_type(case, i))
                 for i, shape in enumerate(case.shapes)]
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", (types, []))
        with ir.InsertionPoint(main.add_entry_block()):
            arguments = list(main.arguments)
            result = relax.concat(arguments, **case.attrs) if case.op == "concat" else getattr(relax, case.op)(*arguments, **case.attrs)
            func.ReturnOp([result])
        main.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [result.type]))
    return module, result.owner


def relax_type(case, number):
    from legato.core.dtypes import mlir_type

    return mlir_type(case.dtype(number))


def wrong(load, data, arrays, expected):
    """What is wrong with an engine's answer; None if nothing is."""
    found = np.empty(expected.shape, expected.dtype)
    load(memoryview(data), "main")(*arrays, found)
    good = relative_error(found, expected) < 1e-4 if found.dtype.kind == "f" and np.isfinite(expected).all() else np.allclose(
        found, expected, rtol=1e-4, atol=1e-4, equal_nan=True)
    return None if good else f"{found} instead of {expected}"


def check(case, dynamic, problems):
    try:
        module, op = module_of(case, dynamic)
    except legato.LegatoError:
        assert dynamic  # an attribute of the case is one of the sizes
        return False
    if exportable(op) is not True or any(0 in shape for shape in case.shapes):
        return False
    data = export(module).SerializeToString()
    arrays = list(map(np.asarray, case.arrays()))
    expected = np.asarray(relax.OPS[case.op].semantics(*arrays, **case.attrs))
    if not expected.size:   # nor a result without elements is for engines
        return False
    for name, load in (("onnxruntime", onnxruntime.load), ("openvino", openvino.load)):
        if name == "openvino" and not any(one.name == case.op for one in OpenVino.patterns):
            continue
        try:
            problem = wrong(load, data, arrays, expected)
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error)[:300]}"
        if problem:
            problems.append(f"{name}: {case}{' dynamic' if dynamic else ''}: {problem}")
    return True


@pytest.mark.parametrize("each", [1, *thorough([1000])], ids=["first", "all"])
def test_every_op_in_both_engines(each):
    """``each``: how many cases of an op."""
    problems, exported, tried = [], set(), Counter()
    for case in CASES:
        tried[case.op] += 1
        if tried[case.op] <= each and check(case, False, problems):
            exported.add(case.op)
    assert not problems, "\n".join(problems)
    assert len(exported) >= 90
    missing = {case.op for case in CASES} - exported
    print("not exported:", sorted(missing))


def test_symbolic_sizes():
    problems = []
    done = [check(case, True, problems) for case in CASES if case.dynamic and case.op in
            ("add", "softmax", "matmul", "reshape", "broadcast_to", "layer_norm", "permute_dims", "concat", "take")]
    assert not problems, "\n".join(problems)
    assert sum(done) >= 10


def test_a_whole_model_by_name(tmp_path):
    """Names of inputs, outputs and layers, and weights, come through."""
    module = legato.Module.parse("""
    func.func @main(%x: tensor<?x2xf32, #relax.dims<["n", 2]>> {relax.name = "image"}) -> (tensor<?x3xf32, #relax.dims<["n", 3]>> {relax.name = "logits"}) {
      %w = "relax.constant"() {weight = "fc"} : () -> tensor<2x3xf32>
      %0 = "relax.matmul"(%x, %w) : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<2x3xf32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> loc("layer1")
      return %0 : tensor<?x3xf32, #relax.dims<["n", 3]>>
    }""")  # noqa: E501
    module.weights.add("fc", np.ones((2, 3), np.float32))
    model = export(module)
    assert [i.name for i in model.graph.input] == ["image"] and [o.name for o in model.graph.output] == ["logits"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    assert [t.name for t in model.graph.initializer] == ["fc"] and model.graph.node[0].name == "layer1"
    onnx.save(model, tmp_path / "m.onnx")
    again = legato.compile(legato.from_onnx(tmp_path / "m.onnx"))
    assert (again(np.ones((4, 2), np.float32)) == 2).all()


@pytest.mark.parametrize("text, message", [
    ('%0 = "relax.trunc"(%x) : (tensor<4xf32>) -> tensor<4xf32>', "relax.trunc.*no translation of relax.trunc to ONNX"),
    ('%0 = "math.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>', "math.exp is no graph op"),
])
def test_refused(text, message):
    module = legato.Module.parse(f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{ {text} return %0 : tensor<4xf32> }}")
    with pytest.raises(legato.UnsupportedError, match=message):
        export(module)


@pytest.mark.parametrize("load", [onnxruntime.load, openvino.load])
def test_scalars_stay_scalars(load):
    """A constant of rank 0 is exported as one: as a vector of one element it would add an axis to what Gather gives."""
    with CONTEXT, ir.Location.unknown():
        module = legato.Module(ir.Module.create())
        type_ = relax.dims.tensor_type([3, 4], ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ([type_], []))
        with ir.InsertionPoint(main.add_entry_block()):
            result = relax.take(main.arguments[0], relax.constant(np.array(1, np.int64)), axis=0)
            func.ReturnOp([result])
        main.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([type_], [result.type]))
    model = export(module)
    assert [list(one.dims) for one in model.graph.initializer] == [[]]
    x, found = np.arange(12, dtype=np.float32).reshape(3, 4), np.empty(4, np.float32)
    load(memoryview(model.SerializeToString()), "main")(x, found)
    assert (found == x[1]).all()


def test_bf16_in_onnxruntime():
    """Its arrays were bound by numpy's type, of which onnxruntime has none for bf16."""
    module = legato.Module.parse("""
    func.func @main(%x: tensor<3x4xbf16>) -> tensor<3x4xbf16> {
      %0 = "relax.astype"(%x) {dtype = f32} : (tensor<3x4xbf16>) -> tensor<3x4xf32>
      %1 = "relax.tanh"(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %2 = "relax.astype"(%1) {dtype = bf16} : (tensor<3x4xf32>) -> tensor<3x4xbf16>
      return %2 : tensor<3x4xbf16>
    }""")
    executable = legato.compile(module, backends=["onnxruntime"])
    assert not executable.report.kernels
    x = np.linspace(-2, 2, 12).reshape(3, 4).astype(ml_dtypes.bfloat16)
    found = executable(x)
    found = found if isinstance(found, np.ndarray) else np.from_dlpack(found)
    np.testing.assert_array_equal(found.astype(np.float32), np.tanh(x.astype(np.float32)).astype(ml_dtypes.bfloat16).astype(np.float32))


@pytest.mark.parametrize(("element", "taken"), [("f32", 1), ("bf16", 0)])
def test_an_op_that_the_engine_lacks_stays_with_the_host(element, taken):
    """onnxruntime has no tanh of bf16: it was found out when the model was loaded, by an error of onnxruntime's."""
    type_ = f"tensor<3x4x{element}>"
    module = legato.Module.parse(f"""
    func.func @main(%x: {type_}) -> {type_} {{
      %0 = "relax.tanh"(%x) : ({type_}) -> {type_} loc("squashed")
      return %0 : {type_}
    }}""")
    executable = legato.compile(module, backends=["onnxruntime"])
    records = executable.report.details["partition"]
    assert sum(bool(record.function) for record in records) == taken
    assert taken or ("onnxruntime does not take it" in records[0].reason and "Tanh" in records[0].reason)
    dtype = ml_dtypes.bfloat16 if element == "bf16" else np.float32
    x = np.linspace(-2, 2, 12).reshape(3, 4).astype(dtype)
    found = executable(x)
    found = found if isinstance(found, np.ndarray) else np.from_dlpack(found)
    np.testing.assert_allclose(found.astype(np.float32), np.tanh(x.astype(np.float32)), rtol=2e-2 if element == "bf16" else 1e-6)


@pytest.mark.parametrize("dtype, taken", [("f32", True), ("f16", False), ("bf16", False)])
@pytest.mark.parametrize("op", ["scatter_nd", "scatter_elements"])
def test_scatters_that_onnxruntime_would_refuse_at_a_run(op, dtype, taken):
    axis, shape = ("", "2x1") if op == "scatter_nd" else (", axis = 0 : i64", "2")
    module = legato.Module.parse(f"""
func.func @main(%x: tensor<4x{dtype}>, %u: tensor<2x{dtype}>) -> tensor<4x{dtype}> {{
  %i = "relax.constant"() {{value = dense<1> : tensor<{shape}xi64>}} : () -> tensor<{shape}xi64>
  %0 = "relax.{op}"(%x, %i, %u) {{reduction = "add"{axis}}}
      : (tensor<4x{dtype}>, tensor<{shape}xi64>, tensor<2x{dtype}>) -> tensor<4x{dtype}>
  return %0 : tensor<4x{dtype}>
}}""")
    exe = legato.compile(module, backends=["onnxruntime"])
    records = exe.explain().partition
    assert any(record.function is not None for record in records) == taken
    assert taken or any("without a reduction only" in (record.reason or "") for record in records)
