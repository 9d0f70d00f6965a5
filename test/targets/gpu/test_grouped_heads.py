"""Attentions whose heads share keys and values, as PyTorch exports them: results on the stand-in, and no copies of keys or values."""
import numpy as np
import onnx
import onnxruntime
import pytest
import standin
from onnx import helper
from thoroughly import first_of, sampled, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.core.ir_helpers import find

SIZES = {"h": 6, "g": 2, "m": 20, "n": 33, "d": 16}      # heads, groups of them that share, rows, keys, elements of a head


def grouped(mask: tuple[int | str, ...] | None, constant: bool, dtype: type, groups: int = SIZES["g"],
            free: dict[str, str] | None = None) -> onnx.ModelProto:
    """``softmax(q k / 4 + mask) v`` of keys and values that are expanded to all heads, or of one group, which the products broadcast.
    ``constant``: whether the mask is a constant; ``free``: symbols for some of the sizes, and for the batch, "b"."""
    b, h, g, m, n, d = ({"b": 2} | SIZES | {"g": groups} | (free or {})).values()
    kind, weights, nodes = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [], []
    given = {"q": (b, h, m, d), "k": (b, g, n, d), "v": (b, n, g, d)}

    def op(kind: str, *inputs: str | list[int] | np.ndarray, **attributes: object) -> str:
        names = [one if isinstance(one, str) else weight(np.array(one)) for one in inputs]
        nodes.append(helper.make_node(kind, names, [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def weight(array: np.ndarray) -> str:
        weights.append(onnx.numpy_helper.from_array(array, f"w{len(weights)}"))
        return weights[-1].name

    def all_heads(x: str) -> str:
        if g == 1:
            return x
        wide = op("Expand", op("Unsqueeze", x, [2]), [2, g, int(h) // int(g), n, d])
        return op("Reshape", wide, [2, h, n, d])

    keys = op("Transpose", all_heads("k"), perm=[0, 1, 3, 2])
    scores = op("MatMul", "q", op("Mul", keys, np.array(0.25, dtype)))
    if mask is not None:
        given |= {} if constant else {"mask": mask}
        hidden = np.where(np.random.default_rng(1).random([int(size) for size in mask]) < 0.2, -1e4, 0) if constant else None
        scores = op("Add", scores, "mask" if hidden is None else hidden.astype(dtype))
    values = all_heads(op("Transpose", "v", perm=[0, 2, 1, 3]))
    nodes.append(helper.make_node("MatMul", [op("Softmax", scores), values], ["y"]))
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, shape in given.items()]
    graph = helper.make_graph(nodes, "grouped", inputs, [helper.make_tensor_value_info("y", kind, None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


CASES = {"no mask": (None, False, np.float16, 1), "constant": ((1, 1, 20, 33), True, np.float16, 1),
         "of keys": ((2, 1, 1, 33), False, np.float32, 1), "of rows": ((20, 33), False, np.float32, 2),
         "of heads": ((2, 6, 20, 33), False, np.float16, 1), "one group": (None, False, np.float32, 1, 1),
         "one group, of heads": ((2, 6, 20, 33), False, np.float16, 1, 1)}


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_heads_share_keys_in_place(name):
    """Results as onnxruntime's; one launch, and one more that repeats a mask of rows which is an input."""
    mask, constant, dtype, launches, *groups = CASES[name]
    made, random = grouped(mask, constant, dtype, *groups), np.random.default_rng(0)
    module = legato.from_onnx(made)
    lowered = legato.lower(module, "nvvm", last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == launches
    given = [random.standard_normal([one.dim_value for one in i.type.tensor_type.shape.dim]).astype(dtype) for i in made.graph.input]
    names = [one.name for one in made.graph.input]
    want = np.asarray(onnxruntime.InferenceSession(made.SerializeToString()).run(None, dict(zip(names, given)))[0])
    found = standin.compiled(lowered, "nvvm")(*given)
    assert np.abs(np.asarray(found, np.float64) - want).max() < (5e-3 if dtype == np.float16 else 1e-5) * np.abs(want).max()


FREE = {"of rows": ("b", 1, "m", "n"), "of heads": ("b", 6, "m", "n"), "no mask": None, "of keys": ("b", 1, 1, "n")}


@pytest.mark.parametrize("target", ["nvvm", *thorough(["nvvm{chip=sm_90a}"]), pytest.param("vulkan", marks=needs_vulkan)])
@pytest.mark.parametrize("name", first_of(FREE))
@pytest.mark.parametrize("dtype", first_of([np.float16, np.float32]))
def test_one_group_of_unknown_sizes(name, target, dtype, monkeypatch):
    """Of a batch, rows and keys that the call gives the attention is one launch, too, which reads a mask of rows in place."""
    monkeypatch.setenv("STANDIN_CHIP", "90" if "90" in target else "80")
    made = grouped(FREE[name], False, dtype, 1, {"b": "b", "m": "m", "n": "n"})
    module, session = legato.from_onnx(made), onnxruntime.InferenceSession(made.SerializeToString())
    lowered = legato.lower(module, target, last="outlined")
    called = [call.attributes["callee"].value for call in find(legato.lower(module, target, last="fused").operation, "func.call")]
    launches = [str(op.attributes["kernel"]) for op in find(lowered.operation, "gpu.launch_func")]
    assert called == ["fused_attention"] and len(launches) == (2 if dtype == np.float32 or target == "vulkan" else 1), launches
    run = legato.compile(module, target) if target == "vulkan" else standin.compiled(lowered, target)
    for sizes in ({"b": 2, "m": 20, "n": 33}, {"b": 1, "m": 1, "n": 7}, {"b": 1, "m": 67, "n": 40}):
        random = np.random.default_rng(0)
        shapes = {one.name: [sizes.get(d.dim_param, d.dim_value) for d in one.type.tensor_type.shape.dim] for one in made.graph.input}
        given = {name: random.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
        want = np.asarray(session.run(None, given)[0], np.float64)
        found = np.asarray(run(*given.values()), np.float64)
        assert np.abs(found - want).max() < (5e-3 if dtype == np.float16 else 1e-5) * np.abs(want).max()
