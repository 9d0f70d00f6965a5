"""ONNX ops of detection and of pools that say where their elements lie, compiled, against onnxruntime and onnx's reference."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_check import model, value
from thoroughly import sampled

import legato

LAST = {"most": np.int64, "iou": np.float32, "score": np.float32}


def suppression(given, symbolic=True, **attributes):
    """A model of NonMaxSuppression with these inputs besides boxes and scores."""
    names = ["boxes", "scores", *(name if name in given else "" for name in LAST)]
    shapes = {"boxes": ["b", "n", 4], "scores": ["b", "c", "n"]}
    inputs = [value(name, array, shapes.get(name) if symbolic else None) for name, array in given.items()]
    while not names[-1]:
        names.pop()
    return model([helper.make_node("NonMaxSuppression", names, ["y"], **attributes)], inputs, ["y"], opset=17)


def detections(rng, batches, classes, boxes):
    """Boxes and scores, half of them on a grid, so that scores tie and overlaps meet thresholds exactly."""
    on_grid = rng.random() < 0.5
    corners = rng.integers(0, 8, (batches, boxes, 4)) / 8 if on_grid else rng.random((batches, boxes, 4))
    scores = rng.integers(0, 4, (batches, classes, boxes)) / 4 if on_grid else rng.random((batches, classes, boxes))
    return corners.astype(np.float32), scores.astype(np.float32)


def results(exe, *arrays):
    found = exe(*arrays)
    return [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("names", [("most",), ("most", "score"), ("most", "iou", "score"), ()], ids="-".join)
def test_non_max_suppression(names, center):
    rng, loaded = np.random.default_rng(len(names)), None
    for batches, classes, boxes in ((1, 1, 1), (2, 3, 30), (1, 2, 100), (3, 1, 7), (2, 2, 0), (0, 1, 4), (1, 0, 4)):
        corners, scores = detections(rng, batches, classes, boxes)
        last = {"most": rng.choice([-1, 0, 2, 5, 1000]), "iou": rng.choice([0, 0.25, 0.5, 1]), "score": rng.choice([0, 0.25, 0.5])}
        given = {"boxes": corners, "scores": scores, **{name: np.array([last[name]], LAST[name]) for name in names}}
        if loaded is None:
            proto = suppression(given, center_point_box=center)
            loaded = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
        exe, session = loaded
        np.testing.assert_array_equal(results(exe, *given.values())[0], session.run(None, given)[0])


def test_non_max_suppression_of_known_sizes():
    corners, scores = detections(np.random.default_rng(0), 1, 2, 40)
    scores[0, 0, :3] = [np.inf, -np.inf, np.inf]
    for most in (3, 100):
        given = {"boxes": corners, "scores": scores}
        constants = {"most": np.array([most]), "iou": np.array([0.3], np.float32)}
        node = helper.make_node("NonMaxSuppression", [*given, *constants], ["y"])
        proto = model([node], [value(name, array) for name, array in given.items()], ["y"], opset=17, constants=constants)
        expected = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, given)[0]
        np.testing.assert_array_equal(results(legato.compile(legato.from_onnx(proto)), *given.values())[0], expected)


@pytest.mark.parametrize("most", sampled([2**63 - 1, 2**62, 2**31 - 1, 7], 3))
def test_the_most_boxes_that_detectors_write_for_all(most):
    """torchvision's detectors keep 2**63 - 1 boxes, which means all, of a number that data gives: here of those above a score."""
    nodes = [helper.make_node("Greater", ["s", "zero"], ["above"]), helper.make_node("NonZero", ["above"], ["found"]),
             helper.make_node("Transpose", ["found"], ["turned"]), helper.make_node("Squeeze", ["turned", "one"], ["rows"]),
             helper.make_node("Gather", ["b", "rows"], ["few"], axis=0), helper.make_node("Gather", ["s", "rows"], ["best"], axis=0),
             helper.make_node("Unsqueeze", ["few", "zeroth"], ["boxes"]), helper.make_node("Unsqueeze", ["best", "both"], ["scores"]),
             helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "iou"], ["kept"]),
             helper.make_node("Gather", ["kept", "last"], ["column"], axis=1),
             helper.make_node("Gather", ["best", "column"], ["y"], axis=0)]
    constants = {"zero": np.float32(0), "one": np.array([1]), "zeroth": np.array([0]), "both": np.array([0, 1]), "most": np.array([most]),
                 "iou": np.array([0.4], np.float32), "last": np.array([2])}
    rng = np.random.default_rng(1)
    arrays = {"b": rng.random((40, 4)).astype(np.float32), "s": rng.standard_normal(40).astype(np.float32)}
    inputs = [value("b", arrays["b"], ["n", 4]), value("s", arrays["s"], ["n"])]
    proto = model(nodes, inputs, ["kept", "y"], opset=17, constants=constants)
    exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
    for count in (40, 1, 17):
        given = {name: np.ascontiguousarray(array[:count]) for name, array in arrays.items()}
        for ours, theirs in zip(results(exe, *given.values()), session.run(None, given), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_boxes_and_scores_of_different_numbers():
    corners, scores = detections(np.random.default_rng(0), 1, 2, 40)
    given = {"boxes": corners, "scores": scores, "most": np.array([5])}
    proto = suppression(given)
    proto.graph.input[1].type.tensor_type.shape.dim[2].dim_param = "m"
    with pytest.raises(ValueError, match="needs m to be n, the number of boxes"):
        legato.compile(legato.from_onnx(proto))(corners, scores[..., :39], given["most"])


POOLS = [
    (2, np.float32, {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]}),
    (2, np.int8, {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1, "storage_order": 1}),
    (2, np.uint8, {"kernel_shape": [3, 2], "strides": [2, 1], "auto_pad": "SAME_LOWER"}),
    (2, np.float32, {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER", "storage_order": 1}),
    (1, np.float64, {"kernel_shape": [3], "dilations": [2], "pads": [2, 1]}),
    (3, np.float32, {"kernel_shape": [2, 3, 2], "strides": [1, 2, 2], "storage_order": 1}),
]


@pytest.mark.parametrize(("rank", "dtype", "attributes"), sampled(POOLS, 2, 3))
def test_indices_of_max_pool(rank, dtype, attributes):
    rng = np.random.default_rng(rank)
    for symbolic in (False, True):
        node = helper.make_node("MaxPool", ["x"], ["y", "places"], **attributes)
        x = rng.integers(0, 5, (2, 3, 7, 8, 9)[: 2 + rank]).astype(dtype)
        proto = model([node], [value("x", x, [f"d{axis}" for axis in range(x.ndim)] if symbolic else None)], ["y", "places"])
        kinds = (helper.np_dtype_to_tensor_dtype(x.dtype), TensorProto.INT64)
        for output, kind in zip(proto.graph.output, kinds):
            output.type.tensor_type.elem_type = kind
        exe, session = legato.compile(legato.from_onnx(proto)), onnxruntime.InferenceSession(proto.SerializeToString())
        for array in (x, x[:1, :, 1:] if symbolic else x):
            for ours, theirs in zip(results(exe, array), session.run(None, {"x": array}), strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_only_the_indices_are_used():
    node = helper.make_node("MaxPool", ["x"], ["", "places"], kernel_shape=[2])
    proto = model([node], [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 5])], ["places"])
    x = np.array([[[3, 1, 1, 2, 0], [0, 1, 2, 3, 4]]], np.float32)
    np.testing.assert_array_equal(results(legato.compile(legato.from_onnx(proto)), x)[0], [[[0, 1, 3, 3], [6, 7, 8, 9]]])


@pytest.mark.parametrize("way", ["none", "constant", "data"])
def test_max_unpool(way):
    rng, attributes = np.random.default_rng(0), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [0, 1, 1, 0]}
    for symbolic in (False, True):
        x = rng.standard_normal((2, 3, 3, 4)).astype(np.float32)
        places = rng.choice(2 * 3 * 6 * 7, x.size, replace=False).astype(np.int64).reshape(x.shape)
        size, given = np.array([2, 3, 8, 7]), {"x": x, "places": places}
        inputs = [value(name, array, ["a", "b", "c", "d"] if symbolic else None) for name, array in given.items()]
        names = list(given) if way == "none" else [*given, "size"]
        if way == "data":
            given["size"] = size
            inputs.append(value("size", size))
        proto = model([helper.make_node("MaxUnpool", names, ["y"], **attributes)], inputs, ["y"], opset=22,
                      constants={"size": size} if way == "constant" else {})
        exe = legato.compile(legato.from_onnx(proto))
        np.testing.assert_array_equal(results(exe, *given.values())[0], ReferenceEvaluator(proto).run(None, given)[0])
        if way == "data":
            with pytest.raises(ValueError, match=r"MaxUnpool 'y' needs output_shape\[2\] = \w+ to be .* or more"):
                exe(x, places, size - [0, 0, 3, 0])
