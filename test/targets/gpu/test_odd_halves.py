"""Products and convolutions of halves whose rows are no multiple of 16 bytes, on the stand-in: results, and that tensor cores get what
asynchronous copies move by 16 bytes."""
import re

import numpy as np
import onnx
import onnxruntime
import pytest
import standin
from onnx import helper
from thoroughly import first_of, sampled

import legato
from legato.passes.graph import pad_products
from legato.targets.gpu import elementwise

CHIPS = ["sm_80", "sm_90a"]
WIDE = "cp.async.cg.shared.global"     # of 16 bytes
STORE = "st.global.v4.b32"             # likewise


def model(op: str, shapes: list[list[int | str]], constant: bool, **attributes: object) -> onnx.ModelProto:
    """One node of f16; ``constant``: whether the second operand is a weight."""
    random = np.random.default_rng(0)
    names = ["x", "w"][: 1 if constant else 2]
    weight = random.standard_normal([int(size) for size in shapes[1]] if constant else 0) / 8
    weights = [onnx.numpy_helper.from_array(weight.astype(np.float16), "w")] if constant else []
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT16, shape) for name, shape in zip(names, shapes)]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT16, None)]
    graph = helper.make_graph([helper.make_node(op, ["x", "w"], ["y"], **attributes)], "odd", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def check(made: onnx.ModelProto, chip: str, monkeypatch: pytest.MonkeyPatch, **sizes: int) -> dict[str, str]:
    """Compares results with onnxruntime's. Returns the PTX of each kernel by its name. Copies of few elements are those of many."""
    monkeypatch.setattr(elementwise, "ENOUGH", 1)
    monkeypatch.setenv("STANDIN_CHIP", chip.strip("sm_a"))
    random = np.random.default_rng(1)
    given = {one.name: (random.standard_normal([sizes.get(d.dim_param, d.dim_value) for d in one.type.tensor_type.shape.dim]) / 8
                        ).astype(np.float16) for one in made.graph.input}
    run = standin.compiled(legato.from_onnx(made), f"nvvm{{approx=true chip={chip}}}")
    want = np.asarray(onnxruntime.InferenceSession(made.SerializeToString()).run(None, given)[0], np.float64)
    found = np.asarray(run(*given.values()), np.float64)
    assert found.shape == want.shape and np.abs(found - want).max() < 3e-3 * np.abs(want).max()
    parts = re.split(r"\.visible \.entry (\w+)", standin.PTX_OF[0])
    return dict(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize("chip", first_of(CHIPS))
@pytest.mark.parametrize("constant,shapes", [(True, [[70, 77], [77, 69]]), (False, [[70, 77], [77, 69]]),
                                             (False, [[2, 70, 77], [2, 77, 72]])])
def test_products(constant, shapes, chip, monkeypatch):
    """Of an odd depth, and of odd columns, with few rows for many."""
    monkeypatch.setattr(pad_products, "SHARED", 68)
    ptx = check(model("MatMul", shapes, constant), chip, monkeypatch)
    product = next(text for name, text in ptx.items() if "matmul" in name)
    assert "ld.global.b16" not in product and ("wgmma" in product if chip == "sm_90a" else WIDE in product and "mma.sync" in product)
    pads = [text for name, text in ptx.items() if "pad" in name]
    assert pads and all(STORE in text and "st.global.b16" not in text for text in pads)


@pytest.mark.parametrize("channels, filters, chip", sampled(
    ((*sizes, chip) for chip in CHIPS for sizes in ((21, 64), (64, 21), (35, 77))), 3, 3))
def test_convolutions(channels, filters, chip, monkeypatch):
    """With channels that are filled up, with filters that are turned, and with both."""
    made = model("Conv", [["n", channels, 9, 7], [filters, channels, 3, 3]], True, pads=[1, 1, 1, 1])
    ptx = check(made, chip, monkeypatch, n=2)
    product = next(text for name, text in ptx.items() if "conv" in name)
    assert WIDE in product and "mma.sync" in product and "ld.global.b16" not in product


@pytest.mark.parametrize("shape,starts,ends", [([9, 35], [0, 3], [9, 35]), ([4, 6, 17], [0, 0, 1], [4, 6, 17]),
                                               ([5, 1, 24], [0, 0, 7], [5, 1, 23])])
def test_parts_of_rows(shape, starts, ends, monkeypatch):
    """Slices that begin between 16 bytes are read one by one, and written by 16 bytes."""
    made = model("Slice", [shape], False)
    del made.graph.input[1:], made.graph.node[0].input[1:]
    for name, values in (("starts", starts), ("ends", ends)):
        made.graph.node[0].input.append(name)
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.array(values, np.int64), name))
    ptx = check(made, "sm_80", monkeypatch)
    assert all(STORE in text and "st.global.b16" not in text for name, text in ptx.items() if name)


@pytest.mark.parametrize("channels", [3, 21])
def test_channels_that_are_moved(channels, monkeypatch):
    """Channels are filled up in front of the transpose, which then writes 8 bytes of a place, or tiles."""
    made = model("Conv", [[1, channels, 16, 8], [64, channels, 3, 3]], True, pads=[1, 1, 1, 1])
    ptx = check(made, "sm_80", monkeypatch)
    pad = next(text for name, text in ptx.items() if "pad" in name)
    assert "ld.global.v4.b32" in pad and STORE in pad
    if channels == 3:
        assert "st.global.v4.b16" in next(text for name, text in ptx.items() if "permute" in name)
