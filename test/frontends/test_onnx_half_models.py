"""Models whose weights and activations are bf16 or f16, as exporters write them: compiled, against onnxruntime on the same numbers in f32,
which has no bf16 for most ops."""
import math

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from thoroughly import first_of

import legato

TRANSFORMER = """<ir_version: 10, opset_import: ["": 20]> g ({t}[batch, length, 32] x, bool[batch, 1, 1, length] kept) =>
  ({t}[batch, length, 32] y) {{
    n1 = LayerNormalization<axis = -1, epsilon = 0.00001>(x, s1, b1) qkv0 = MatMul(n1, w1) qkv = Add(qkv0, b2)
    heads = Reshape(qkv, split) q, k, v = Split<axis = 2, num_outputs = 3>(heads)
    q1 = Squeeze(q, two) k1 = Squeeze(k, two) v1 = Squeeze(v, two)
    qt = Transpose<perm = [0, 2, 1, 3]>(q1) kt = Transpose<perm = [0, 2, 3, 1]>(k1) vt = Transpose<perm = [0, 2, 1, 3]>(v1)
    scores = MatMul(qt, kt) scaled = Mul(scores, factor) masked = Where(kept, scaled, least) p = Softmax<axis = -1>(masked)
    o = MatMul(p, vt) ot = Transpose<perm = [0, 2, 1, 3]>(o) flat = Reshape(ot, merge) a = MatMul(flat, w2) r = Add(x, a)
    n2 = LayerNormalization<axis = -1, epsilon = 0.00001>(r, s1, b1) h = MatMul(n2, w3) g1 = Gelu(h) m = MatMul(g1, w4) y = Add(r, m) }}"""
VISION = """<ir_version: 10, opset_import: ["": 20]> g ({t}[batch, 3, height, width] x) => ({t}[batch, 10] y) {{
    c1 = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w1, b1) r1 = Relu(c1) c2 = Conv<group = 16, pads = [1, 1, 1, 1]>(r1, w2)
    n = BatchNormalization(c2, s, b1, b1, s) z = HardSwish(n) c3 = Conv(z, w3) a = Add(c3, r1)
    small = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a) big = Resize<mode = "linear">(small, , scales)
    i = Sigmoid(big) j = Mul(big, i) mean = GlobalAveragePool(j) f = Flatten(mean) y = Gemm<transB = 1>(f, w4, b4) }}"""


def model(text: str, dtype: type, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The model of an element type; weights of floats, all numbers of bf16 and f16, are converted to it."""
    name = {np.float32: "float", np.float16: "float16", ml_dtypes.bfloat16: "bfloat16"}[dtype]
    proto = onnx.parser.parse_model(text.format(t=name))
    for key, array in weights.items():
        narrow = array.astype(dtype) if array.dtype == np.float32 and key != "scales" else array
        proto.graph.initializer.append(numpy_helper.from_array(narrow, key))
    return proto


def rounded(array: np.ndarray) -> np.ndarray:
    """Numbers that bf16 and f16 have, both."""
    return array.astype(ml_dtypes.bfloat16).astype(np.float16).astype(np.float32)


def transformer(rng: np.random.Generator) -> dict[str, np.ndarray]:
    def normal(*shape: int) -> np.ndarray:
        return rounded(rng.standard_normal(shape).astype(np.float32) * np.float32(shape[0] ** -0.5))

    return {"s1": rounded(1 + normal(32)), "b1": normal(32), "w1": normal(32, 96), "b2": normal(96), "w2": normal(32, 32),
            "w3": normal(32, 64), "w4": normal(64, 32), "factor": np.array(8 ** -0.5, np.float32), "least": np.array(-30000, np.float32),
            "split": np.array([0, 0, 3, 4, 8]),
            "two": np.array([2]), "merge": np.array([0, 0, 32])}


def vision(rng: np.random.Generator) -> dict[str, np.ndarray]:
    def normal(*shape: int) -> np.ndarray:
        return rounded(rng.standard_normal(shape).astype(np.float32) * np.float32(math.prod(shape[1:]) ** -0.5))

    return {"w1": normal(16, 3, 3, 3), "b1": rounded(rng.random(16).astype(np.float32)), "w2": normal(16, 1, 3, 3),
            "s": rounded(1 + rng.random(16).astype(np.float32)), "w3": normal(16, 16, 1, 1), "w4": normal(10, 16), "b4": normal(10),
            "scales": np.array([1, 1, 2, 2], np.float32)}


CASES = {"transformer": (TRANSFORMER, transformer, [(2, 7), (3, 19)]), "vision": (VISION, vision, [(2, 16, 24), (1, 32, 32)])}


@pytest.mark.parametrize("dtype, tolerance", first_of([(np.float16, 3e-3), (ml_dtypes.bfloat16, 2e-2)], 2))
@pytest.mark.parametrize("name", CASES)
def test_whole_models(name, dtype, tolerance):
    """As far from f32 as a few roundings; sizes that calls choose."""
    text, made, sizes = CASES[name]
    rng = np.random.default_rng(0)
    weights = made(rng)
    wide = onnxruntime.InferenceSession(model(text, np.float32, weights).SerializeToString(), providers=["CPUExecutionProvider"])
    exe = legato.compile(legato.from_onnx(model(text, dtype, weights)))
    assert {str(p.dtype) for p in exe.outputs} == {np.dtype(dtype).name}
    for batch, *rest in sizes:
        given = {"x": rounded(rng.standard_normal((batch, *rest, 32) if name == "transformer" else (batch, 3, *rest)).astype(np.float32))}
        if name == "transformer":
            given["kept"] = np.arange(rest[0]) < np.arange(1, batch + 1).reshape(batch, 1, 1, 1) * 5
        expected = np.asarray(wide.run(None, given)[0])
        found = np.asarray(exe(**(given | {"x": given["x"].astype(dtype)}))).astype(np.float32)
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.parametrize("node", ["ReduceL2(x, axes)", "ReduceLogSum(x, axes)", "ReduceLogSumExp(x, axes)", "LpNormalization<p = 2>(x)",
                                  "LpPool<kernel_shape = [6, 6]>(x)", "LpPool<kernel_shape = [2, 2], p = 3>(x)", "GlobalLpPool<p = 3>(x)"])
def test_sums_beyond_f16(node):
    """Numbers whose squares, cubes or sums f16 does not hold, and whose result it does."""
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> g (float16[2, 3, 40, 60] x) => (float16[a, b, c, d] y) '
                                    f'<int64[2] axes = {{2, 3}}> {{ y = {node} }}')
    x = (np.random.default_rng(0).random((2, 3, 40, 60)) * 500 + 200).astype(np.float16)
    wide = onnx.ModelProto.FromString(proto.SerializeToString())
    for info in (*wide.graph.input, *wide.graph.output):
        info.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    session = onnxruntime.InferenceSession(wide.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x": x.astype(np.float32)})[0]
    assert np.isfinite(wanted.astype(np.float16)).all()
    np.testing.assert_allclose(legato.compile(legato.from_onnx(proto))(x), wanted.astype(np.float16), rtol=2e-3)


BIASED = {"gemm": ("Gemm(x, w, b)", (50, 96), (96, 80), 80), "one row": ("Gemm<transB = 1>(x, w, b)", (1, 96), (80, 96), 80),
          "image": ("Conv<pads = [1, 1, 1, 1]>(x, w, b)", (1, 32, 12, 12), (48, 32, 3, 3), 48),
          "points": ("Conv(x, w, b)", (2, 32, 10, 10), (64, 32, 1, 1), 64),
          "depthwise": ("Conv<group = 32>(x, w, b)", (1, 32, 14, 14), (32, 1, 3, 3), 32)}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_products_with_biases_round_once(dtype):
    """Less than 2 % are a step off, sums of other orders beside a tie; of two roundings it would be a quarter."""
    rng = np.random.default_rng(0)
    for name, (node, *shapes, count) in BIASED.items():
        x, w, b = (rounded(rng.standard_normal(shape).astype(np.float32)) for shape in (*shapes, (count,)))
        sizes, free = ", ".join(map(str, x.shape)), ", ".join("abcd"[: x.ndim])
        text = f'<ir_version: 10, opset_import: ["": 20]> g ({{t}}[{sizes}] x) => ({{t}}[{free}] y) {{{{ y = {node} }}}}'
        weights = {"w": w, "b": b}
        wide = onnxruntime.InferenceSession(model(text, np.float32, weights).SerializeToString(), providers=["CPUExecutionProvider"])
        expected = np.asarray(wide.run(None, {"x": x})[0]).astype(dtype)
        found = np.asarray(legato.compile(legato.from_onnx(model(text, dtype, weights)))(x.astype(dtype)))
        assert (found != expected).mean() < 0.02, name
