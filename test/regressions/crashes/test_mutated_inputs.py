"""Inputs that mutations found: each ended in an error that was none of ours. They were made small by legato-reduce where that applies."""
import onnx
import pytest
from onnx import TensorProto, helper

import legato
from legato.core.errors import LegatoError
from legato.dialects import Module
from legato.frontends.onnx.node import OnnxNode
from legato.tools import legato_opt


def test_a_location_of_external_data_with_a_zero_byte(tmp_path):
    """It was a ValueError of os.path."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy"]
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[8], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="weights\0.bin")
    model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(LegatoError, match=r"its external data lies in 'weights\\x00.bin', which no file can be called"):
        legato.from_onnx(tmp_path / "m.onnx")
    assert onnx.load(tmp_path / "m.onnx", load_external_data=False).graph.initializer[0].name == "w"


def test_a_location_of_external_data_that_is_not_utf8(tmp_path):
    """protobuf returns it as bytes: a TypeError of the reader."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy"]
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[8], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="weights.bin")
    model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString().replace(b"weights.bin", b"weights.\x80in"))
    with pytest.raises(LegatoError, match=r"is damaged: the text b'weights.\\x80in' is not UTF-8"):
        legato.from_onnx(tmp_path / "m.onnx")


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_path_without_a_name(path, capsys):
    """It was an internal error of legato-opt, about pathlib."""
    assert legato_opt.main(["--cse", path]) == 1
    assert f"legato-opt: error: '{path}' is no file" in capsys.readouterr().err


def test_a_kernel_without_a_body():
    """tir-init-outputs asked for its entry block: an IndexError of the bindings."""
    module = Module.parse("""func.func private @f(tensor<8xf32>, tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func}
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
    legato.Pipeline("tir-init-outputs").run(module)
    assert "call @f(%arg0, %arg1)" in str(module)


@pytest.mark.parametrize("is_constant", [False, True])
def test_a_condition_that_is_no_vector(is_constant):
    """It was a ValueError about unpacking, and of numpy."""
    info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2]), helper.make_tensor_value_info("c", TensorProto.BOOL, [1, 2]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])]
    stored = [helper.make_tensor("c", TensorProto.BOOL, [1, 2], [True, False])] if is_constant else []
    nodes = [helper.make_node("Compress", ["x", "c"], ["y"])]
    graph = helper.make_graph(nodes, "g", info[:1] if is_constant else info[:2], info[2:], stored)
    with pytest.raises(LegatoError, match=r"its condition is .*; it is a vector"):
        legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def test_bounds_of_a_function_that_returns_tensors():
    """cpu-check-bounds made an integer constant of main's type, which the bindings do not survive."""
    module = Module.parse("""func.func private @f(%x: memref<8xf32>, %i: index) attributes {tir.prim_func} {
  %0 = memref.load %x[%i] : memref<8xf32>
  memref.store %0, %x[%i] : memref<8xf32>
  return
}
func.func @main(%x: memref<8xf32>, %i: index) -> f32 {
  call @f(%x, %i) : (memref<8xf32>, index) -> ()
  %0 = arith.constant 1.0 : f32
  return %0 : f32
}""")
    with pytest.raises(LegatoError, match="a fault cannot be reported by @main, which returns f32"):
        legato.Pipeline("tir-check-bounds").run(module)


def test_a_range_of_vectors():
    """It was a ValueError of numpy."""
    stored = [helper.make_tensor(name, TensorProto.INT64, [2], [1, 4]) for name in ("start", "limit", "delta")]
    graph = helper.make_graph([helper.make_node("Range", ["start", "limit", "delta"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", TensorProto.INT64, ["n"])], stored)
    with pytest.raises(LegatoError, match="its start, limit and delta are scalars, and have the shapes"):
        legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


@pytest.mark.parametrize(("op", "words"), [
    ("transpose ins(%x : tensor<2x2xf32>) outs(%y : tensor<2x2xf32>) permutation = ", "expected a list of integers after 'permutation ='"),
    ("broadcast ins(%x : tensor<2x2xf32>) outs(%y : tensor<2x2xf32>) dimensions = 1", "expected a list of integers after 'dimensions ='"),
    ("reduce { arith.addf } ins(%x : tensor<2x2xf32>) outs(%y : tensor<2x2xf32>) dimensions = x", "line 2: linalg.reduce: expected a list"),
    ("transpose ins(%x : tensor<2x2xf32>) outs(%y : tensor<2x2xf32>) permutation = [1.5, 0]", "expected a list of integers"),
    ("transpose ins(%x : tensor<2x2xf32>) outs(%y : tensor<2x2xf32>) permutation = [1, 0", "expected a list of integers"),
    ("reduce { arith.addf } ins(%x : tensor<2x2xf32>) outs(%y : tensor<2xf32>) dimensions = [99999999999999999999]", "list of integers"),
    ("transpose ins(%x : tensor<2x2xf32>) outs(%y : tensor<2x2xf32>) permutation = [ ]", "linalg.transpose of no axes")])
def test_lists_that_are_left_out(op, words):
    """Upstream's parser ended by a signal."""
    text = f"func.func @f(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) {{\n  %0 = linalg.{op}\n  return\n}}"
    for given in (text, text.encode()):
        with pytest.raises(LegatoError, match=words):
            Module.parse(given)


@pytest.mark.parametrize("results, is_refused", [("(d0)[s] -> (d0, s)", True), ("(d0, d1) -> (d0 + d1, d1)", True),
                                                 ("(d0, d1) -> (d1, d0)", False), ("(d0, d1) -> (0, d1)", False)])
@pytest.mark.parametrize("alias", [True, False])
def test_masked_transfers_whose_map_is_no_projection(results, is_refused, alias):
    """Upstream's verifier ended by a signal."""
    text = f"""#m = affine_map<{results}>
func.func @f(%m: memref<8x8xf32>, %i: index, %k: vector<8x8xi1>, %p: f32) -> vector<8x8xf32> {{
  %r = vector.transfer_read %m[%i, %i], %p, %k {{permutation_map = {"#m" if alias else f"affine_map<{results}>"}}} :
    memref<8x8xf32>, vector<8x8xf32>
  return %r : vector<8x8xf32>
}}"""
    if is_refused:
        with pytest.raises(LegatoError, match=r"line 3: permutation_map = .*: its results must be dimensions or constants"):
            Module.parse(text)
    elif results.endswith("(d1, d0)"):
        Module.parse(text)


@pytest.mark.parametrize("inputs, body, message", [
    ("float[0, 3, 4, 4] x, int64[4294967296] shape", "y = Reshape<allowzero = 1>(x, shape)", "there are 4294967296 sizes, more than 4096"),
    ("float[2, 3] x, float[2] shape", "y = Reshape(x, shape)", "the sizes must be integers, not float32"),
    ("float[2, 3, 4, 5, 6] x", "y = Attention(x, x, x)", "its input 0 must have 4 dimensions"),
    ("float[2, 3] x", "y = Attention<q_num_heads = 1, kv_num_heads = 1>(x, x, x)", "its input 0 must have 4 dimensions"),
    ("float[2, 3, 4, 8] x, float[2, 0, 6, 8] k", "y = Attention(x, k, k)", "3 heads of queries must be a multiple of 0 heads of keys"),
    ("float[2, 3, 4, 8] x, float[2, 2, 6, 8] k", "y = Attention(x, k, k)", "3 heads of queries must be a multiple of 2 heads of keys"),
    ("float[2, 3] x, float[4294967296, 4294967296, 4294967296] z", "y = Reshape(z, flat)", "does not fit in 64 bits"),
    ("float[2, 3] x", "y = Resize(x, x, scales)", "the scales must be a vector of numbers"),
    ("float[2, 3] x", 'y = Max(x, x, "")', r"its input 'data_0' \(2\) is left out"),
    ("float[2, 3] x", "y = Resize(x, x, scalar)", "the scales must be a vector of numbers"),
    ("float[1, 4, 1] x", "y = STFT(x, step, scales)", "a window of the shape .1, 2. do not fit"),
], ids=["a hang", "floats", "five dimensions", "two dimensions", "no heads", "odd heads", "beyond 64 bits", "a table of scales",
        "no maximum", "one scale", "a table as window"])
def test_shapes_that_no_node_has(inputs, body, message):
    proto = onnx.parser.parse_model(f'''<ir_version: 12, opset_import: ["": 24]>
        g ({inputs}) => (float[a, b] y) <float[1, 2] scales = {{1, 2}}, float scalar = {{1}}, int64 step = {{1}}, int64[1] flat = {{-1}}>
        {{ {body} }}''')
    with pytest.raises(LegatoError, match=message):
        legato.from_onnx(proto)


@pytest.mark.parametrize("domain, version, named", [("", 2**32, "ONNX's operator set"), ("acme", 2**40, "the operator set 'acme'"),
                                                    ("acme", -1, "the operator set 'acme'")])
def test_a_version_that_no_operator_set_has(domain, version, named):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)], ir_version=10)
    with pytest.raises(LegatoError, match=f"imports version {version} of {named}"):
        legato.from_onnx(proto)


def test_a_transposed_convolution_of_many_taps():
    """Its taps were listed, until memory ended."""
    proto = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 22]>
        g (float[1, 1, 3] x, float[1, 2, 4294967296] w) => (float[a, b, c] y) { y = ConvTranspose(x, w) }''')
    module = legato.from_onnx(proto)
    legato.Pipeline("relax-transposed-convolutions").run(module)
    assert "relax.conv1d_transpose" in str(module)


@pytest.mark.parametrize("pads", [[0, 0], [1, 1]])
def test_a_pool_of_many_windows(pads):
    """The elements of each were counted, one by one."""
    proto = onnx.parser.parse_model(f'''<ir_version: 10, opset_import: ["": 22]>
        g (float[1, 1, 4294967296] x) => (float[a, b, c] y) {{ y = AveragePool<kernel_shape = [5], pads = {pads}>(x) }}''')
    lowered = legato.lower(legato.from_onnx(proto), last="legalized")
    assert (f"tensor<{2**32 - 4 + sum(pads)}xf32>" in str(lowered)) == any(pads)    # of the counts, which the kernel computes


def test_an_error_in_text_that_is_not_utf8():
    """The bindings' own RuntimeError: they fail to make the message."""
    with pytest.raises(LegatoError, match="no UTF-8"):
        Module.parse(b'func.func @main() { "relax.\xff\xfe"() : () -> () }')


@pytest.mark.parametrize("body, message", [
    ("y = Relu(x)", r"y \(Relu, opset 21\): internal error: its import raised TypeError: 'NoneType' .*\. Please report it"),
    ("y = Transpose<perm = [0, 0]>(x)", r"not a valid ONNX model:\s+y \(Transpose, opset 21\): ONNX does not allow it: .*perm"),
], ids=["valid", "invalid"])
def test_an_unforeseen_exception_names_the_node(body, message, monkeypatch):
    """Where ONNX's own inference objects to the node, the model is to blame."""
    monkeypatch.setattr(OnnxNode, "x", None)
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> g (float[2, 3] x) => (float[a, b] y) {{ {body} }}')
    with pytest.raises(LegatoError, match=message):
        legato.from_onnx(proto)


@pytest.mark.parametrize("attributes", ["linalg.memoized_indexing_maps = []", "a = 1, linalg.memoized_indexing_maps = [], b",
                                        "linalg.memoized_indexing_maps = [affine_map<(d0)[s0] -> (d0, s0)>], b",
                                        "a = 1, linalg.memoized_indexing_maps = 1"])
@pytest.mark.parametrize("encode", [str, str.encode], ids=["text", "bytes"])
def test_maps_that_linalg_keeps(attributes, encode):
    """Upstream's verifier took them for as many as the operands."""
    text = f"""func.func @f(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %z: tensor<2x4xf32>) -> tensor<2x4xf32> {{
  %0 = linalg.matmul {{{attributes}}} ins(%x, %y : tensor<2x3xf32>, tensor<3x4xf32>) outs(%z : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}}"""
    kept = str(Module.parse(encode(text)))
    assert "memoized" not in kept and ("a = 1" in kept) == ("a = 1" in attributes) and ("b" in attributes[-1:]) == ("b}" in kept)
