"""The domain ``ai.onnx.ml``: trees, linear models, support vectors and what prepares features, beside onnxruntime."""
from itertools import product

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from thoroughly import sampled

import legato

ML = "ai.onnx.ml"
X = np.array([[-2, 0.5, 3], [0.25, 0.5, -1], [1, -3, 0.75], [0, 0, 0], [7, 2, -6]], np.float32)
nan = float("nan")


def proto_of(op_type, x, results, version=3, **attributes):
    """A model with one node; ``results``: element types."""
    names = [f"y{i}" for i in range(len(results))]
    node = helper.make_node(op_type, ["x"], names, name="the_node", domain=ML, **attributes)
    value = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), ["n", *x.shape[1:]])
    graph = helper.make_graph([node], "g", [value], [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, results)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(ML, version)], ir_version=8)


def check(op_type, x, results=(TensorProto.FLOAT,), version=3, **attributes):
    proto = proto_of(op_type, x, results, version, **attributes)
    exe = legato.compile(legato.from_onnx(proto), "llvm{threads=1}")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for rows in (len(x), 1):
        found = exe(x[:rows])
        found = found if isinstance(found, tuple) else (found,)
        for ours, wanted in zip(found, session.run(None, {"x": x[:rows]}), strict=True):
            assert (ours.dtype, ours.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(ours, np.asarray(wanted), rtol=1e-5, atol=1e-6)


def forest(rng, trees, depth, modes=("BRANCH_LEQ",), missing=False):
    """Attributes of random full trees, with the numbers of their leaves; leaves may come earlier."""
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")}
    leaves, tracks = [], []
    for tree in range(trees):
        ends = set()
        for number in range(2 ** (depth + 1) - 1):
            is_leaf = number >= 2 ** depth - 1 or (number and rng.random() < 0.2) or (number - 1) // 2 in ends
            if is_leaf:
                ends.add(number)
            for key, value in zip(nodes, (tree, number, int(rng.integers(3)), "LEAF" if is_leaf else str(rng.choice(modes)), float(
                    rng.integers(-3, 4)) / 4, 0 if is_leaf else 2 * number + 1, 0 if is_leaf else 2 * number + 2)):
                nodes[key].append(value)
            tracks.append(int(missing and not is_leaf and rng.integers(2)))
            leaves += [(tree, number)] if is_leaf else []
    found = {f"nodes_{key}": values for key, values in nodes.items()}
    return found | ({"nodes_missing_value_tracks_true": tracks} if missing else {}), leaves


def weights(rng, leaves, kind, ids, positive=False):
    each = [(*leaf, i, float(rng.random() if positive else rng.standard_normal())) for leaf in leaves for i in ids]
    return {f"{kind}_{key}": list(values) for key, values in zip(("treeids", "nodeids", "ids", "weights"), zip(*each))}


ALL_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_trees_of_all_conditions(dtype):
    rng = np.random.default_rng(1)
    nodes, leaves = forest(rng, 4, 4, ALL_MODES, missing=True)
    if dtype == np.int64:    # onnxruntime has no regressor of integers
        check("TreeEnsembleClassifier", rng.integers(-1, 2, (40, 3)), (TensorProto.INT64, TensorProto.FLOAT), **nodes,
              **weights(rng, leaves, "class", (0, 1, 2)), base_values=[0.5, -1.0, 0.25], classlabels_int64s=[4, 5, 6])
        return
    x = (rng.integers(-3, 4, (40, 3)) / 4).astype(dtype)
    x[::4, 1], x[0, 0], x[1, 0] = nan, np.inf, -np.inf
    check("TreeEnsembleRegressor", x, n_targets=2, **nodes, **weights(rng, leaves, "target", (0, 1)), base_values=[0.5, -1.0])


@pytest.mark.parametrize("aggregate", ["AVERAGE", "MIN", "MAX"])
def test_trees_are_aggregated(aggregate):
    rng = np.random.default_rng(2)
    nodes, leaves = forest(rng, 3, 2)
    check("TreeEnsembleRegressor", X, n_targets=1, aggregate_function=aggregate, base_values=[2.0], **nodes,
          **weights(rng, leaves, "target", (0,)))


def test_trees_of_one_leaf_beside_others_and_alone():
    trees = {"nodes_treeids": [0, 1, 1, 1], "nodes_nodeids": [0, 0, 1, 2], "nodes_featureids": [0, 1, 0, 0], "nodes_values": [0, 0.4, 0, 0],
             "nodes_modes": ["LEAF", "BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [0, 1, 0, 0], "nodes_falsenodeids": [0, 2, 0, 0],
             "target_treeids": [0, 1, 1], "target_nodeids": [0, 1, 2], "target_ids": [0, 0, 0], "target_weights": [1.0, 2, 3]}
    trees["nodes_values"] = list(map(float, trees["nodes_values"]))
    check("TreeEnsembleRegressor", X, n_targets=1, **trees)
    check("TreeEnsembleRegressor", X, n_targets=1, **{key: values[:1] for key, values in trees.items()})
    exe = legato.compile(legato.from_onnx(proto_of("TreeEnsembleRegressor", X, (1,), n_targets=1, **trees)))
    assert exe(X[:0]).shape == (0, 1)


@pytest.mark.parametrize("classes, post", sampled(
    product(["one", "one, positive", "three"], ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]), 3, 2))
def test_trees_that_classify(classes, post):
    rng = np.random.default_rng(3)
    nodes, leaves = forest(rng, 3, 3)
    ids, labels = ((0, 1, 2), [4, 5, 9]) if classes == "three" else ((0,), [4, 9])
    check("TreeEnsembleClassifier", X, (TensorProto.INT64, TensorProto.FLOAT), **nodes, post_transform=post, classlabels_int64s=labels,
          **weights(rng, leaves, "class", ids, classes.endswith("positive")))


@pytest.mark.parametrize("post, positive", sampled(product(["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"], [True, False]), 3, 2))
def test_trees_of_the_second_class_alone(post, positive):
    rng = np.random.default_rng(4)
    nodes, leaves = forest(rng, 3, 3)
    check("TreeEnsembleClassifier", X, (TensorProto.INT64, TensorProto.FLOAT), **nodes, post_transform=post, classlabels_int64s=[4, 9],
          **weights(rng, leaves, "class", (1,), positive))


def test_classes_that_are_strings_have_scores_alone():
    rng = np.random.default_rng(3)
    nodes, leaves = forest(rng, 2, 2)
    proto = proto_of("TreeEnsembleClassifier", X, (TensorProto.STRING, TensorProto.FLOAT), **nodes, classlabels_strings=["a", "b", "c"],
                     **weights(rng, leaves, "class", (0, 1, 2)))
    wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y1"], {"x": X})[0]
    del proto.graph.output[0]
    np.testing.assert_allclose(legato.compile(legato.from_onnx(proto))(X), np.asarray(wanted), rtol=1e-5)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_models(post):
    both = TensorProto.INT64, TensorProto.FLOAT
    check("LinearClassifier", X, both, coefficients=[1.0, -2.0, 0.5], intercepts=[0.1], classlabels_ints=[3, 8], post_transform=post)
    check("LinearClassifier", X, both, coefficients=[1.0, -2, 0.5, 0, 1, 1, 2, -1, 0], intercepts=[0.1, 0, -1], classlabels_ints=[3, 8, 9],
          post_transform=post)
    check("LinearRegressor", X, coefficients=[1.0, -2, 0.5, 0, 1, 1], intercepts=[0.1, 2], targets=2, post_transform=post)
    with pytest.raises(legato.LegatoError, match=r"the_node .*: its input must have the shape \[.*, 3\], has \[.*, 2\]"):
        legato.from_onnx(proto_of("LinearRegressor", X[:, :2], (TensorProto.FLOAT,), coefficients=[1.0, -2, 0.5], post_transform=post))


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_regression_by_support_vectors(kernel):
    check("SVMRegressor", X, kernel_type=kernel, kernel_params=[0.3, 0.5, 2.0], n_supports=2, support_vectors=[1.0, 0, 2, -1, 3, 0.5],
          coefficients=[0.7, -1.2], rho=[0.25])
    check("SVMRegressor", X, kernel_type=kernel, kernel_params=[0.3, 0.5, 2.0], n_supports=2, support_vectors=[1.0, 0, 2, -1, 3, 0.5],
          coefficients=[0.7, -1.2], rho=[0.25], one_class=1)


def support_vectors(rng, classes, kernel):
    counts, pairs = list(range(1, classes + 1)), classes * (classes - 1) // 2
    vectors, weights = rng.standard_normal((sum(counts), 3)), rng.standard_normal((classes - 1, sum(counts)))
    return {"kernel_type": kernel, "kernel_params": [0.3, 0.5, 2.0], "vectors_per_class": counts, "support_vectors": vectors.ravel(),
            "coefficients": weights.ravel(), "rho": rng.standard_normal(pairs), "classlabels_ints": [7, 3, 5, 9][:classes]}


@pytest.mark.parametrize("kernel, classes", [("LINEAR", 2), ("POLY", 3), ("RBF", 4), ("SIGMOID", 3), ("RBF", 2)])
def test_classes_by_support_vectors(kernel, classes):
    rng = np.random.default_rng(classes)
    attributes = support_vectors(rng, classes, kernel)
    x = np.concatenate([X, rng.standard_normal((20, 3)).astype(np.float32)])
    check("SVMClassifier", x, (TensorProto.INT64, TensorProto.FLOAT), **attributes)
    with pytest.raises(legato.LegatoError, match=r"the_node .*: its input must have the shape \[n, 3\], has \[n, 2\]"):
        legato.from_onnx(proto_of("SVMClassifier", x[:5, :2], (TensorProto.INT64, TensorProto.FLOAT), **attributes))
    attributes["coefficients"] = [1.0, 2.0]
    with pytest.raises(legato.LegatoError, match=f"it has 2 coefficients, .* for {classes} classes and .* support vectors"):
        legato.from_onnx(proto_of("SVMClassifier", x, (TensorProto.INT64, TensorProto.FLOAT), **attributes))


@pytest.mark.parametrize("classes, post", [(2, "NONE"), (4, "SOFTMAX")])
def test_probabilities_by_support_vectors(classes, post):
    rng = np.random.default_rng(classes)
    attributes, pairs = support_vectors(rng, classes, "RBF"), classes * (classes - 1) // 2
    x = np.concatenate([X, rng.standard_normal((20, 3)).astype(np.float32), [[nan, 0, 0]]]).astype(np.float32)
    both = TensorProto.INT64, TensorProto.FLOAT
    check("SVMClassifier", x, both, **attributes, prob_a=rng.uniform(-3, 1, pairs), prob_b=rng.standard_normal(pairs), post_transform=post)
    with pytest.raises(legato.LegatoError, match=f"it has 9 numbers prob_a and 9 prob_b for {pairs} pairs of classes"):
        legato.from_onnx(proto_of("SVMClassifier", x, both, **attributes, prob_a=[1.0] * 9, prob_b=[1.0] * 9))


FEATURES = {    # op, input, results, attributes
    "scaler": ("Scaler", X, {"offset": [1.0, 2, 3], "scale": [0.5, 2, 1]}),
    "scaler, integers": ("Scaler", X.astype(np.int64), {"offset": [1.0], "scale": [0.5]}),
    "max": ("Normalizer", -np.abs(X), {"norm": "MAX"}), "l1": ("Normalizer", X, {"norm": "L1"}), "l2": ("Normalizer", X, {"norm": "L2"}),
    "imputer, nan": ("Imputer", np.where(X == 0.5, np.float32(nan), X), {"imputed_value_floats": [1.0, 2, 3], "replaced_value_float": nan}),
    "imputer": ("Imputer", X, {"imputed_value_floats": [9.0], "replaced_value_float": 0.5}),
    "one hot": ("OneHotEncoder", np.array([[1, 4], [7, 2]]), {"cats_int64s": [2, 4, 1]}),
    "labels to floats": ("LabelEncoder", np.array([1, 3, 2]), {"keys_int64s": [1, 2], "values_floats": [4.0, 5], "default_float": 0.5}),
}
INTEGERS = {
    "imputer": ("Imputer", np.array([[1, 3], [3, 2]]), {"imputed_value_int64s": [9, 8], "replaced_value_int64": 3}),
    "labels": ("LabelEncoder", np.array([[1, 3, 2]]), {"keys_int64s": [1, 2], "values_int64s": [40, 50]}),
}


@pytest.mark.parametrize("name", FEATURES)
def test_features(name):
    op_type, x, attributes = FEATURES[name]
    check(op_type, x, **attributes)


def test_categories_that_are_not_listed_are_an_error():
    x = np.array([[1, 4], [4, 2]])
    check("OneHotEncoder", x, cats_int64s=[2, 4, 1], zeros=0)
    exe = legato.compile(legato.from_onnx(proto_of("OneHotEncoder", x, (TensorProto.FLOAT,), cats_int64s=[2, 4, 1], zeros=0)))
    assert exe(x[:0]).shape == (0, 2, 3)
    with pytest.raises(ValueError, match=r"OneHotEncoder 'the_node' needs all elements to be listed categories .*expected 0, found 2"):
        exe(np.array([[1, 4], [7, 3]]))


@pytest.mark.parametrize("version", [2, 4])
def test_labels_of_nan(version):
    check("LabelEncoder", np.float32([1, nan, 7, 2]), version=version, keys_floats=[1.0, nan, 2, 1], values_floats=[4.0, 5, 6, 7])


@pytest.mark.parametrize("name", INTEGERS)
def test_features_of_integers(name):
    op_type, x, attributes = INTEGERS[name]
    check(op_type, x, (TensorProto.INT64,), **attributes)


def test_features_side_by_side():
    node = helper.make_node("FeatureVectorizer", ["x", "z"], ["y"], domain=ML, inputdimensions=[3, 1])
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3]),
              helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 1])]
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(ML, 1)], ir_version=8)
    wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": X, "z": X[:, 1:2]})[0]
    np.testing.assert_array_equal(legato.compile(legato.from_onnx(proto))(X, X[:, 1:2]), wanted)


def test_what_is_refused_says_why():
    node = helper.make_node("ZipMap", ["x"], ["z"], name="zip", domain=ML, classlabels_int64s=[1, 2, 3])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(1, None)))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, [2, 3])], [helper.make_value_info("z", kind)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(ML, 3)], ir_version=8)
    onnx.checker.check_model(model)
    with pytest.raises(legato.LegatoError, match=r"options=\{'zipmap': False\}"):
        legato.from_onnx(model)
    rng = np.random.default_rng(3)
    nodes, leaves = forest(rng, 1, 2)
    circle = nodes | {"nodes_truenodeids": [0 for _ in nodes["nodes_truenodeids"]]}
    strange = nodes | {"nodes_featureids": [7] * len(circle["nodes_treeids"])}
    for given, text in ((circle, "circle"), (strange, "feature 7, and there are 3")):
        with pytest.raises(legato.LegatoError, match=text):
            legato.from_onnx(proto_of("TreeEnsembleRegressor", X, (1,), n_targets=1, **given, **weights(rng, leaves, "target", (0,))))
