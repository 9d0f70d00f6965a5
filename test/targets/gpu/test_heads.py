"""Heads of attentions on GPUs: queries, keys and values of one product, cut from it where the attention reads them, and rotated."""
import numpy as np
import onnx
import onnxruntime
import pytest
import standin
from lowering import Lowering
from onnx import helper
from thoroughly import sampled

import legato
from legato.core.ir_helpers import find

TARGET, WIDTH, HEAD = "nvvm{approx=true chip=sm_80}", 48, 16


def layer(rows: int | str, queries: int, keys: int, parts: str, rotated: bool, dtype: type) -> onnx.ModelProto:
    """An attention of ``WIDTH`` features and heads of ``HEAD``. ``parts``: "three" products, with biases but for the keys, or one whose
    result is "split", or "taken" apart by indices."""
    r, names, nodes, weights = np.random.default_rng(0), iter(f"t{n}" for n in range(999)), [], []

    def weight(array: np.ndarray) -> str:
        weights.append(onnx.numpy_helper.from_array(array, next(names)))
        return weights[-1].name

    def op(kind: str, *inputs: str, **attributes: object) -> str:
        nodes.append(helper.make_node(kind, inputs, [next(names)], **attributes))
        return nodes[-1].output[0]

    def product(x: str, columns: int, bias: bool = True) -> str:
        made = op("MatMul", x, weight((r.standard_normal((WIDTH, columns)) / 7).astype(dtype)))
        return op("Add", made, weight(r.standard_normal(columns).astype(dtype))) if bias else made

    def ints(*values: int) -> str:
        return weight(np.array(values))

    counts = [queries, keys, keys]
    if parts == "three":
        made = [product("x", count * HEAD, bias=n != 1) for n, count in enumerate(counts)]
    elif parts == "split":
        made, sizes = [next(names) for _ in counts], ints(*(count * HEAD for count in counts))
        nodes.append(helper.make_node("Split", [product("x", sum(counts) * HEAD), sizes], made, axis=2))
    else:
        five = op("Reshape", product("x", 3 * queries * HEAD), ints(0, 0, 3, queries * HEAD))
        turned = op("Transpose", five, perm=[2, 0, 1, 3])
        made = [op("Gather", turned, weight(np.array(n)), axis=0) for n in range(3)]
    heads = [op("Transpose", op("Reshape", one, ints(0, 0, count, HEAD)), perm=[0, 2, 1, 3]) for one, count in zip(made, counts)]
    if rotated:
        for n in range(2):
            first, second = (op("Slice", heads[n], ints(a), ints(b), ints(3)) for a, b in ((0, HEAD // 2), (HEAD // 2, 2**63 - 1)))
            half = op("Concat", op("Neg", second), first, axis=-1)
            waves = [weight(wave(np.arange(HEAD) % (HEAD // 2) / 3).astype(dtype)) for wave in (np.cos, np.sin)]
            heads[n] = op("Add", op("Mul", heads[n], waves[0]), op("Mul", half, waves[1]))
    q, k, v = heads
    scores = op("Softmax", op("MatMul", q, op("Transpose", k, perm=[0, 1, 3, 2])))
    back = op("Transpose", op("MatMul", scores, v), perm=[0, 2, 1, 3])
    nodes.append(helper.make_node("Reshape", [back, ints(0, 0, queries * HEAD)], ["y"]))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(nodes, "heads", [helper.make_tensor_value_info("x", kind, [1, rows, WIDTH])],
                              [helper.make_tensor_value_info("y", kind, None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


CASES = [(29, 3, 3, "three", False, np.float16, 2), (29, 3, 3, "split", False, np.float32, 2), ("n", 3, 3, "taken", False, np.float32, 2),
         ("n", 2, 1, "three", True, np.float32, 7), (29, 3, 3, "three", True, np.float16, 8)]


@pytest.mark.parametrize("rows, queries, keys, parts, rotated, dtype, kernels", sampled(CASES, 4, 7))
def test_heads_are_cut_where_they_are_read(rows, queries, keys, parts, rotated, dtype, kernels):
    """Results as onnxruntime's. ``kernels``: without rotation, the product and the attention; nothing is copied in between. With it, heads
    are cut, transposed, and rotated by a kernel each."""
    made = layer(rows, queries, keys, parts, rotated, dtype)
    lowering = Lowering(legato.from_onnx(made), TARGET)
    assert len(find(lowering.at("fused").operation, "func.call")) == kernels
    x = np.random.default_rng(1).standard_normal((1, 29, WIDTH)).astype(dtype)
    (expected,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    found = np.asarray(standin.compiled(lowering.at("outlined"), TARGET)(x))
    np.testing.assert_allclose(found.astype(np.float32), expected.astype(np.float32), rtol=0, atol=1e-5 if dtype is np.float32 else 1e-2)
