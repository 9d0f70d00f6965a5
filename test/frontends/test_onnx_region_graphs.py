"""The graphs of branches and loops are optimized like others, and compute what onnxruntime does."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import legato
from legato.core.ir_helpers import find

RNG = np.random.default_rng(0)
HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
STEPS = f"""{HEAD} g (float[4,n] x, float[n,n] w, int64 steps) => (float[4,n] y) {{
    y = Loop (steps, "", x) <body = b (int64 i, bool go, float[4,n] s) => (bool again, float[4,n] after) {{
        again = Identity (go)
        t = Transpose <perm = [1, 0]> (w)
        a = MatMul (s, t)
        r = Relu (a)
        d = Add (r, s)
        after = Tanh (d)
    }}>
}}"""
# bytes by constant bytes, in both branches
QUANTIZED = f"""{HEAD} g (float[3,8] x, bool c) => (float[3,5] y) <float scale = {{0.05}}, int8 zero = {{0}}> {{
    q = QuantizeLinear (x, scale, zero)
    y = If (c) <then_branch = t () => (float[3,5] a) {{
        xa = DequantizeLinear (q, scale, zero)
        wa = DequantizeLinear (w, scale, zero)
        a = MatMul (xa, wa)
    }}, else_branch = e () => (float[3,5] b) {{
        n = Neg (q)
        xb = DequantizeLinear (n, scale, zero)
        wb = DequantizeLinear (w, scale, zero)
        b = MatMul (xb, wb)
    }}>
}}"""
EMPTY = f"""{HEAD} g (float[n,3,0] x, float[k] z, int64 steps) => (float[a,b,c] y, float[d,e,f] u, int64 v) <int64 last = {{0}}> {{
    v, u = Loop (steps, "", last) <body = b (int64 i, bool go, int64 s) => (bool again, int64 after, float[2,0] part) {{
        again = Identity (go)
        after = Add (s, i)
        ends = Constant <value = int64[1] {{0}}> ()
        two = Constant <value = int64[2] {{2, 0}}> ()
        none = Slice (z, ends, ends)
        part = Reshape <allowzero = 1> (none, two)
    }}>
    o, y = Scan <num_scan_inputs = 1, body = c (int64 m, float[3,0] one) => (int64 mo, float[3,0] two) {{
        mo = Identity (m)
        two = Neg (one)
    }}> (last, x)
}}"""


def parsed(text: str, **weights: np.ndarray) -> onnx.ModelProto:
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    return model


def loops(module: legato.Module) -> list:
    return find(module.module.operation, "scf.for", "scf.while")


def check(model: onnx.ModelProto, arrays: dict[str, np.ndarray], target: str = "llvm"):
    """Compares with onnxruntime."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    executable = legato.compile(legato.from_onnx(model), target)
    found = executable(**arrays)
    for got, want in zip(found if isinstance(found, tuple) else (found,), session.run(None, arrays), strict=True):
        want = np.asarray(want)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["llvm", "llvm{threads=2}"])
def test_a_step_is_one_kernel(target):
    model = parsed(STEPS)
    for steps in (0, 1, 5):
        check(model, {"x": RNG.standard_normal((4, 7)).astype(np.float32), "w": RNG.standard_normal((7, 7)).astype(np.float32),
                      "steps": np.array(steps)}, target)
    lowered = legato.lower(legato.from_onnx(model), target, last="relax")
    (loop,) = loops(lowered)
    assert not find(loop, "relax.permute_dims")   # computed once, in front of the loop
    lowered = legato.lower(legato.from_onnx(model), target, last="fused")
    (loop,) = loops(lowered)
    (call,) = find(loop, "func.call")
    assert call.attributes["callee"].value == "fused_matmul_relu_add_tanh"


def test_products_of_bytes_in_branches():
    model = parsed(QUANTIZED, w=RNG.integers(-128, 128, (8, 5)).astype(np.int8))
    for taken in (True, False):
        check(model, {"x": RNG.standard_normal((3, 8)).astype(np.float32), "c": np.array(taken)})
    lowered = legato.lower(legato.from_onnx(model), "llvm", last="relax")
    (branches,) = find(lowered.module.operation, "scf.if")
    assert len(find(branches, "relax.matmul_integer")) == 2


def test_stacks_of_nothing():
    for steps in (1, 2):   # onnxruntime fails for a Scan of no steps
        check(parsed(EMPTY), {"x": np.zeros((steps, 3, 0), np.float32), "z": np.ones(4, np.float32), "steps": np.array(steps)})
