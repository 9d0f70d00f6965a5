"""N-grams, distinct parts, spectra, grids and steps of optimizers: compiled, beside onnxruntime or ONNX's reference."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_check import value
from thoroughly import first_of

import legato

RNG = np.random.default_rng(3)
TRAINING, ML = "ai.onnx.preview.training", "ai.onnx.ml"


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def check(node, *calls, outputs=1, symbolic=True, reference=False, tolerance=1e-5, opset=20):
    """Compiles the node once, with a symbol for every size of its first input, and compares each call."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(calls[0])]
    node.input[:], node.output[:], node.name = names, [f"y{i}" for i in range(outputs)], "the_node"
    arrays = [array for array in calls[0] if array is not None]
    shapes = [[f"s{a}" for a in range(arrays[0].ndim)] if symbolic else None, *[None] * (len(arrays) - 1)]
    inputs = [value(name, np.asarray(array), shape) for name, array, shape in zip(filter(None, names), arrays, shapes)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(name) for name in node.output])
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(node.domain, 1)] if node.domain else [])]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    exe = legato.compile(legato.from_onnx(proto))
    for call in calls:
        given = {name: np.asarray(array) for name, array in zip(names, call) if array is not None}
        if reference:
            wanted = [np.asarray(one, np.float32) for one in ReferenceEvaluator(proto).run(None, given)]    # it computes in f64
        else:
            session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            wanted = session.run(None, given)
        found = exe(*given.values())
        for a, b in zip(found if isinstance(found, tuple) else (found,), map(np.asarray, wanted), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    return exe


@pytest.mark.parametrize("is_sorted", [0, 1])
def test_distinct_parts(is_sorted):
    floats = RNG.integers(0, 2, (2, 1, 5)).astype(np.float32)
    for axis, x in ((0, RNG.integers(0, 2, (7, 2))), (-1, floats), (None, RNG.integers(0, 3, (3, 3))), (0, RNG.integers(0, 2, (1, 3)))):
        node = helper.make_node("Unique", [], [], sorted=is_sorted, **({} if axis is None else {"axis": axis}))
        check(node, (x,), (np.flip(x, 0).copy(),), outputs=4, symbolic=False)


@pytest.mark.parametrize("mode", first_of(["TFIDF", "TF", "IDF"]))
def test_n_grams(mode):
    node = helper.make_node("TfIdfVectorizer", [], [], mode=mode, min_gram_length=1, max_gram_length=3, max_skip_count=2,
                            ngram_counts=[0, 2, 6], ngram_indexes=[1, 0, 3, 2, 4], pool_int64s=[1, 2, 1, 2, 2, 0, 0, 1, 2],
                            weights=[0.5, 2, 3, 0.25, 7])
    for shape in ((2, 9), (5,)):
        check(node, (RNG.integers(0, 3, shape),), (RNG.integers(0, 3, shape),), symbolic=False)
    check(node, *[(RNG.integers(0, 3, shape),) for shape in ((2, 9), (1, 1), (3, 2), (2, 5), (2, 6))])
    check(node, *[(RNG.integers(0, 3, size),) for size in (5, 1, 40)])


def test_mel_filters():
    node = helper.make_node("MelWeightMatrix", [], [])
    check(node, *[tuple(map(np.asarray, (np.int32(m), np.int32(n), np.int32(r), np.float32(a), np.float32(b)))) for m, n, r, a, b in (
        (8, 16, 8192, 0, 8192 / 2), (4, 64, 16000, 100, 7000), (1, 8, 100, 0, 50))])


def test_thresholds_and_columns():
    at_threshold = np.array([[0.25, 0.26]], np.float32)
    check(helper.make_node("Binarizer", [], [], domain=ML, threshold=0.25), (f32(3, 4),), (f32(0, 2),), (at_threshold,))
    check(helper.make_node("ArrayFeatureExtractor", [], [], domain=ML), (f32(3, 4), ints(0, 3)), (f32(1, 5), ints(4, 4)))


@pytest.mark.parametrize("align", [0, 1])
def test_affine_grids(align):
    node = helper.make_node("AffineGrid", [], [], align_corners=align)
    exe = check(node, (f32(2, 2, 3), ints(2, 1, 5, 6)), (f32(2, 2, 3), ints(2, 3, 2, 7)), symbolic=False)
    check(node, (f32(1, 3, 4), ints(1, 1, 2, 3, 4)), symbolic=False)
    with pytest.raises(ValueError, match="the_node"):
        exe(f32(2, 2, 3), ints(3, 1, 5, 6))


@pytest.mark.parametrize(("attributes", "parts"), [({}, 1), ({"inverse": 1}, 2), ({"onesided": 1}, 1)])
def test_fourier_along_any_axis(attributes, parts):
    node = helper.make_node("DFT", [], [], **attributes)
    x = f32(2, 6, 5, parts)
    calls = [(x, np.array(length), np.array(axis)) for length, axis in ((6, 1), (4, -2), (7, 0))]
    exe = check(node, *calls, symbolic=False, tolerance=2e-5)
    for length, axis in ((6, 3), (0, 1), (6, -5)):
        with pytest.raises(ValueError, match="the_node"):
            exe(x, np.array(length), np.array(axis))


def test_fourier_of_any_size():
    """By factors, and of a length with a large prime by a chirp, without the memory for its matrix: of real numbers to one side, and
    back."""
    x, z = f32(3, 540, 1), f32(3, 540, 2)
    nodes = [helper.make_node("DFT", ["x"], ["half"], axis=1, onesided=1),
             helper.make_node("DFT", ["z"], ["back"], axis=1, onesided=1, inverse=1)]
    graph = helper.make_graph(nodes, "g", [value("x", x, ["n", "t", 1]), value("z", z, ["n", "t", 2])],
                              [helper.make_empty_tensor_value_info(name) for name in ("half", "back")])
    exe = legato.compile(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)))
    for rows, length in ((3, 540), (2, 521), (1, 30_011), (1, 2), (0, 9)):
        real, bins = f32(rows, length, 1), f32(rows, length, 2)
        if rows:
            half = np.fft.rfft(real[..., 0].astype(np.float64))
            back = np.fft.irfft(bins[..., 0] + 1j * bins[..., 1].astype(np.float64), 2 * (length - 1))
        else:
            half, back = np.zeros((0, length // 2 + 1)), np.zeros((0, 2 * (length - 1)))
        for found, expected in zip(exe(real, bins), (np.stack([half.real, half.imag], -1), back[..., None]), strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-7, atol=2e-7 * np.abs(expected).max(initial=0))


def test_frames():
    node = helper.make_node("STFT", [], [], onesided=1)
    calls = [(f32(2, 40, 1), np.array(step), None, np.array(length)) for step, length in ((8, 16), (3, 7), (40, 40))]
    exe = check(node, *calls, symbolic=False, opset=17, tolerance=1e-4)     # onnxruntime computes in f32
    calls = [(f32(1, 40, 1), np.array(step), f32(11), None) for step in (5, 30)]
    check(node, *calls, symbolic=False, opset=17, tolerance=1e-4)
    for step, length in ((0, 4), (3, 41), (3, 0)):
        with pytest.raises(ValueError, match="the_node"):
            exe(f32(2, 40, 1), np.array(step), np.array(length))


def test_images_of_blocks():
    node = helper.make_node("Col2Im", [], [], strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 1])
    image = ints(5, 6)
    counts = ((5 + 1 - 2) // 2 + 1) * (6 + 1 - (2 * 2 + 1) + 1)
    exe = check(node, (f32(2, 12, counts), image, ints(2, 3)), symbolic=False)
    with pytest.raises(ValueError, match="the_node"):
        exe(f32(2, 12, counts), ints(5, 7), ints(2, 3))


@pytest.mark.parametrize(("op", "states", "attributes"), [
    ("Adagrad", 1, {"decay_factor": 0.1, "epsilon": 1e-5, "norm_coefficient": 0.01}), ("Adam", 2, {"norm_coefficient_post": 0.1}),
    ("Momentum", 1, {"alpha": 0.9, "beta": 0.7, "norm_coefficient": 0.01, "mode": "nesterov"}),
    ("Momentum", 1, {"alpha": 0.9, "beta": 0.7, "norm_coefficient": 0.0, "mode": "standard"})])
def test_steps_of_optimizers(op, states, attributes):
    node = helper.make_node(op, [], [], domain=TRAINING, **attributes)

    def call(count):
        tensors = [f32(3), f32(3), *(np.abs(f32(3)) for _ in range(states))]
        return (np.float32(0.1), np.array(count), *tensors)

    check(node, call(0), call(3), outputs=1 + states, reference=True)
