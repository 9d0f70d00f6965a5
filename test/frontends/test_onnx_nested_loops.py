"""Loops whose states inner loops begin with, or which a step exchanges by ops that simplification removes, as onnxruntime computes them."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_check import assert_same

import legato

OUTER = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N] b, float[N] e, float[C] c, int64 n, bool t) => (float[N] x, float[N] y) {{
   x, y = Loop (n, t, b, e) <body: graph = body (int64 i, bool g0, float[N] p, float[N] r) => (bool g1, float[N] p1, float[N] r1) {{
      g1 = Identity (g0)
      {}
   }}>
}}"""
SCAN = """{0}, {0}_all = Scan ({1}, c) <num_scan_inputs = 1,
                              body = scan_{0} (float[N] {0}_a, float {0}_d) => (float[N] {0}_b, float {0}_e) {{
   {0}_b = Sub ({0}_a, {0}_d)
   {0}_e = Identity ({0}_d)
}}>
"""
WHILE = """{0} = Loop ("", t, {1}) <body = while_{0} (int64 {0}_i, bool {0}_g, float[N] {0}_a) => (bool {0}_h, float[N] {0}_b) {{
   {0}_h = Less ({0}_i, n)
   {0}_b = Add ({0}_a, {0}_a)
}}>
"""
BODIES = {
    "a loop inside begins with the state": SCAN.format("p1", "p") + "r1 = Neg (r)",
    "and what it began with is read behind it": SCAN.format("q", "p") + "p1 = Add (q, p) \n r1 = Neg (r)",
    "a loop inside ends by a condition": WHILE.format("p1", "p") + "r1 = Sub (r, p)",
    "loops inside begin with the other state": SCAN.format("p1", "r") + WHILE.format("r1", "p"),
    "two states go on in loops inside": WHILE.format("p1", "p") + WHILE.format("r1", "r"),
    "two states stay, through what is no op in the end": "p1 = Where (g0, p, p) \n r1 = Where (g0, r, r)",
    "states exchanged by what is no op in the end": "p1 = Identity (r) \n r1 = Where (g0, p, p)",
}


@pytest.mark.parametrize("name", BODIES)
def test_states(name: str):
    model = onnx.parser.parse_model(OUTER.format(BODIES[name]))
    compiled, oracle = legato.compile(legato.from_onnx(model)), onnxruntime.InferenceSession(model.SerializeToString())
    for steps, size, count in ((0, 3, 2), (1, 2, 1), (3, 3, 4)):
        b, c = np.arange(1, size + 1, dtype=np.float32), np.arange(count, dtype=np.float32) - 5
        arrays = {"b": b, "e": b * 10, "c": c, "n": np.array(steps), "t": np.array(True)}
        assert_same(compiled(**arrays), oracle.run(None, {one.name: arrays[one.name] for one in oracle.get_inputs()}))
