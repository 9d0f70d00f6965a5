"""Transposed convolutions over one to three axes, static and of symbolic size, against onnxruntime."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of, sampled, thorough

import legato


def model(x, w, symbolic, **attributes):
    dims = [f"d{axis}" if symbolic and axis != 1 else size for axis, size in enumerate(x.shape)]
    bias = np.arange(w.shape[1] * attributes.get("group", 1), dtype=x.dtype)
    graph = helper.make_graph([helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def by_onnxruntime(proto, x):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": x})[0])


# kernel, stride, dilation, padding, output padding, groups: phases in one convolution, in several, without taps, with negative padding
FORMS = [(2, 2, 1, (0, 0), 0, 1), (4, 2, 1, (1, 1), 0, 1), (3, 2, 1, (1, 1), 1, 1), (5, 3, 2, (3, 1), 2, 1), (2, 3, 1, (0, 1), 1, 1),
         (3, 1, 2, (1, 0), 0, 2), (3, 2, 2, (0, 0), 1, 4), (4, 4, 1, (3, 2), 0, 2), (3, 2, 1, (4, 4), 0, 1)]
WIDE = (16, 8, 1, (9, 8), 0, 1)     # padding of more outputs than there are inputs
DEPTHWISE = [(4, 2, 1, (1, 1), 0, 4), (5, 3, 2, (3, 1), 2, 4), (3, 2, 1, (1, 2), 1, 4)]     # sums of products of vectors of channels


@pytest.mark.parametrize(("form", "rank", "symbolic"), [
    *sampled(((form, 2, True) for form in FORMS), 3, 3), *first_of(((form, 2, False) for form in FORMS[1:4:2]), 3),
    *((FORMS[0], rank, True) for rank in (1, 3)), *thorough(((FORMS[3], rank, True) for rank in (1, 3)), 3), (WIDE, 2, False),
    (DEPTHWISE[0], 2, False), (DEPTHWISE[1], 2, True), (DEPTHWISE[2], 2, False), (DEPTHWISE[0], 3, True),
], ids=str)
def test_forms(form, rank, symbolic):
    kernel, stride, dilation, (begin, end), extra, groups = form
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, *(5, 6, 7)[:rank])).astype(np.float32)
    w = rng.standard_normal((4, 1 if groups == 4 else 3, *[kernel] * rank)).astype(np.float32)
    attributes = {"strides": [stride] * rank, "dilations": [dilation] * rank, "pads": [begin] * rank + [end] * rank,
                  "output_padding": [extra] * rank, "group": groups}
    proto = model(x, w, symbolic, **attributes)
    np.testing.assert_allclose(legato.compile(legato.from_onnx(proto))(x), by_onnxruntime(proto, x), rtol=1e-4, atol=1e-4)


def test_sizes():
    """One compile for all sizes, 1 among them; none is refused."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    proto = model(np.zeros((1, 3, 1, 1), np.float32), w, True, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    exe = legato.compile(legato.from_onnx(proto))
    for shape in ((1, 3, 1, 1), (2, 3, 1, 9), (1, 3, 17, 4)):
        x = rng.standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(exe(x), by_onnxruntime(proto, x), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"ConvTranspose|conv2d_transpose|must be"):
        exe(np.zeros((1, 3, 0, 4), np.float32))


def test_infinities_reach_only_the_outputs_of_their_taps():
    x = np.zeros((1, 1, 4, 4), np.float32)
    x[0, 0, 1, 2] = np.inf
    proto = model(x, np.ones((1, 1, 3, 3), np.float32), False, strides=[2, 2])
    np.testing.assert_array_equal(legato.compile(legato.from_onnx(proto))(x), by_onnxruntime(proto, x))
