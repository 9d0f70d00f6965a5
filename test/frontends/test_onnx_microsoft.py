"""Ops of com.microsoft that onnxruntime's optimizer inserts, compiled, against onnxruntime."""
import numpy as np
import pytest
from contrib import check
from thoroughly import first_of

RNG = np.random.default_rng(4)


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_normalizations(symbolic):
    x, skip, gamma, beta, bias = normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)
    every = ["y", "mean", "inverse", "total"]
    for other in (skip, skip[:1], skip[0]):
        check("SkipLayerNormalization", [x, other, gamma, beta, bias], [2, 3, 4], ["y", "", "", "total"], epsilon=1e-3, symbolic=symbolic)
        check("SkipSimplifiedLayerNormalization", [x, other, gamma, bias], [2, 3], ["y", "", "", "total"], symbolic=symbolic)
    check("SkipLayerNormalization", [x[0], skip[0], gamma], [2], symbolic=symbolic)
    check("SkipSimplifiedLayerNormalization", [x[0], skip[0], gamma], [2], epsilon=1e-2, symbolic=symbolic)
    total = x + skip + bias
    mean = total.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(total.var(-1, keepdims=True) + np.float32(1e-12))  # onnxruntime's CPU kernels do not write these
    y = (total - mean) * inverse * gamma + beta
    check("SkipLayerNormalization", [x, skip, gamma, beta, bias], [2, 3, 4], every, expected=[y, mean, inverse, total], symbolic=symbolic)
    for axis, scale in ((-1, gamma), (1, normal(3, 8))):
        for names in (["y"], ["y", "inverse"]):
            check("SimplifiedLayerNormalization", [x, scale], [1], names, domain="", axis=axis, epsilon=1e-4, symbolic=symbolic)


def test_sums_of_halves_are_normalized_before_they_are_rounded():
    """Rows of two numbers that are about equal: rounded, their difference would be off by a twentieth."""
    x, skip, bias, gamma = (np.array(numbers, np.float16) for numbers in (
        [[-0.548, 0.1832], [0.4478, -0.4072]], [[0.53, 0.3208], [-2.398, -1.626]], [1.621, 1.11], [0.9194, -1.592]))
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        inputs = [x, skip, gamma, None, bias] if op == "SkipLayerNormalization" else [x, skip, gamma, bias]
        constants = [index for index in range(2, len(inputs)) if inputs[index] is not None]
        check(op, inputs, constants, ["y", "", "", "total"], tolerance=1e-3, epsilon=1e-3)


def test_embeddings():
    words, places, segments, gamma, beta = normal(20, 8), normal(6, 8), normal(2, 8), normal(8), normal(8)
    ids, which = RNG.integers(0, 20, (3, 5)).astype(np.int32), RNG.integers(0, 2, (3, 5)).astype(np.int32)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], np.int32)
    at = RNG.integers(0, 6, (3, 5)).astype(np.int32)
    for symbolic in (False, True):
        how = {"symbolic": symbolic, "constants": [2, 3, 4, 5, 6]}
        check("EmbedLayerNormalization", [ids, which, words, places, segments, gamma, beta, mask], outputs=["y", "index", "sum"], **how)
        check("EmbedLayerNormalization", [ids, which, words, places, segments, gamma, beta, None, at], outputs=["y", "index"], **how)
        check("EmbedLayerNormalization", [ids, None, words, places, None, gamma, beta], outputs=["y", "index"],
              symbolic=symbolic, constants=[2, 3, 5, 6], epsilon=1e-3)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_embeddings_of_bytes(symbolic):
    ids, which = RNG.integers(0, 20, (3, 5)).astype(np.int32), RNG.integers(0, 2, (3, 5)).astype(np.int32)
    tables: list[np.ndarray | None] = [RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((20, 8), (6, 8), (2, 8), (8,), (8,))]
    scales: list[np.float32 | None] = [np.float32(one) for one in (.02, .03, .04, .01, .02)]
    zeros: list[np.uint8 | None] = [np.uint8(one) for one in (128, 120, 125, 12, 100)]
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], np.int32)
    how = {"outputs": ["y", "index"], "symbolic": symbolic, "tolerance": 1e-4}
    every = [2, 3, 4, 5, 6, *range(8, 18)]
    check("QEmbedLayerNormalization", [ids, which, *tables, mask, *scales, *zeros], every, **how)
    tables[2] = scales[2] = zeros[2] = None
    check("QEmbedLayerNormalization", [ids, None, *tables, None, *scales, *zeros], [i for i in every if i not in (4, 10, 15)],
          epsilon=1e-3, **how)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_products(symbolic):
    for a, b, attributes in (
        ((2, 4, 3), (2, 5, 4), {"transA": 1, "transB": 1, "alpha": 0.5}), ((3, 2, 4), (2, 4, 5), {"transBatchA": 1}),
        ((3, 2, 4), (5, 2, 4), {"transBatchA": 1, "transBatchB": 1, "transB": 1}),
        ((3, 2, 6, 4), (2, 6, 4, 5), {"transBatchA": 1}), ((4, 2, 6, 3), (2, 6, 4, 5), {"transBatchA": 1, "transA": 1}),
        ((4,), (4, 3), {"transA": 1}), ((2, 3), (3, 4), {"alpha": 2.0}),
    ):
        check("FusedMatMul", [normal(*a), normal(*b)], symbolic=symbolic, **attributes)


ACTIVATIONS = ("", "Relu", "Tanh", "Sigmoid", "LeakyRelu")


def test_fused_products():
    for name in ACTIVATIONS:
        if not name:
            continue  # refused by onnxruntime
        check("FusedGemm", [normal(3, 4), normal(5, 4), normal(5)], [1, 2], transB=1, alpha=0.5, activation=name,
              **({"activation_alpha": 0.3} if name == "LeakyRelu" else {}))
    for name, parameters in {"Elu": {"alpha": 0.7}, "Selu": {"alpha": 1.5, "gamma": 1.1}, "Softplus": {}, "Softsign": {},
                             "ThresholdedRelu": {"alpha": 0.4}, "HardSigmoid": {"alpha": 0.3, "beta": 0.6}}.items():
        check("FusedGemm", [normal(3, 4), normal(4, 5)], [1], activation=name,
              **{f"activation_{word}": value for word, value in parameters.items()})
    x, w, bias, z = normal(2, 3, 6, 5), normal(4, 3, 3, 3), normal(4), normal(2, 4, 6, 5)
    with_parameters = (("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4]))
    for name, parameters in (*((name, []) for name in ACTIVATIONS[:-1]), *with_parameters):
        more = {"activation": name} if name else {}
        more |= {"activation_params": parameters} if parameters else {}
        check("FusedConv", [x, w, bias], [1, 2], pads=[1, 1, 1, 1], **more)
        check("FusedConv", [x, w, bias, z], [1, 2], pads=[1, 1, 1, 1], **more)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_activations(symbolic):
    edge = np.array([[-0.0, 0.0, 1e-30, -1e-30, 30, -30, 1e4, -1e4, np.inf, 5.5, -5.5]], np.float32)
    for x in (normal(4, 11), edge):
        check("Gelu", [x], symbolic=symbolic)
        check("BiasGelu", [x, normal(11)], [1], symbolic=symbolic)
        check("FastGelu", [x], symbolic=symbolic)
        check("FastGelu", [x, normal(11)], [1], symbolic=symbolic)
    for alpha in (1.0, 1.702, -2.0):
        check("QuickGelu", [normal(4, 11)], alpha=alpha, symbolic=symbolic)
