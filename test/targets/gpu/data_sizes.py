"""Models whose sizes depend on data, for the tests of GPUs."""
import numpy as np
from onnx import helper
from onnx_check import model, value

FOUND = 'tensor<1x?xi64, #relax.dims<[1, "k"]>>'
X = 'tensor<?xf32, #relax.dims<["n"]>>'
# two results of a size that depends on data, one that does not, and a buffer of such a size between kernels
MODEL = f"""func.func @main(%x: {X} {{relax.name = "x"}}) -> ({FOUND}, {FOUND}, {X}) {{
  %0 = "relax.nonzero"(%x) {{size = "k"}} : ({X}) -> {FOUND}
  %1 = "relax.cumsum"(%0) {{axis = 1}} : ({FOUND}) -> {FOUND}
  %2 = "relax.cumsum"(%1) {{axis = 1}} : ({FOUND}) -> {FOUND}
  %3 = "relax.add"(%x, %x) : ({X}, {X}) -> {X}
  return %0, %2, %3 : {FOUND}, {FOUND}, {X}
}}"""
INPUTS = [[0, 1, 0, 2, 3, 0], [0] * 5, [1] * 700, []]


def check(results, x):
    found = np.nonzero(x)[0][None]
    for result, expected in zip(results, (found, found.cumsum(1).cumsum(1), 2 * x), strict=True):
        np.testing.assert_array_equal(result, expected)


def rows_and_places():
    """Rows that a condition takes, and the places in a product of them that are positive, with their values."""
    random = np.random.default_rng(0)
    arrays = {"x": random.standard_normal((9, 6), np.float32), "c": np.arange(9) % 2 == 0}
    nodes = [helper.make_node("Compress", ["x", "c"], ["rows"], axis=0), helper.make_node("MatMul", ["rows", "w"], ["b"]),
             helper.make_node("Greater", ["b", "zero"], ["more"]), helper.make_node("NonZero", ["more"], ["places"]),
             helper.make_node("Transpose", ["places"], ["pairs"]), helper.make_node("GatherND", ["b", "pairs"], ["taken"])]
    constants = {"zero": np.float32(0), "w": random.standard_normal((6, 3), np.float32)}
    inputs = [value("x", arrays["x"], ["n", 6]), value("c", arrays["c"], ["n"])]
    return model(nodes, inputs, ["b", "places", "taken"], 17, constants), arrays


def boxes():
    """Boxes that are not suppressed."""
    random = np.random.default_rng(0)
    corners = np.sort(random.uniform(0, 5, (1, 20, 2, 2)), 2).reshape(1, 20, 4).astype(np.float32)
    arrays = {"boxes": corners, "scores": random.uniform(0, 1, (1, 2, 20)).astype(np.float32)}
    node = helper.make_node("NonMaxSuppression", [*arrays, "most", "overlap", "least"], ["y"])
    constants = {"most": np.int64([5]), "overlap": np.float32([0.4]), "least": np.float32([0.2])}
    return model([node], [value(name, array) for name, array in arrays.items()], ["y"], 17, constants), arrays


def best_of_some():
    """The k greatest of rows, where k is an input."""
    arrays = {"x": np.random.default_rng(0).standard_normal((3, 40), np.float32), "k": np.int64([5])}
    node = helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=-1)
    return model([node], [value(name, array) for name, array in arrays.items()], ["values", "places"], 17, {}), arrays
