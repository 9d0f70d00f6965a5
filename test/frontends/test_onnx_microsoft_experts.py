"""Mixtures of experts of com.microsoft, compiled, against onnxruntime, and numpy for what it has no kernel of CPUs for."""
from typing import Any

import numpy as np
import pytest
from contrib import DOMAIN, check, model_of, oracle
from thoroughly import first_of, sampled

import legato

RNG = np.random.default_rng(3)
ROWS, EXPERTS, WIDTH, INNER = 5, 4, 16, 32
SWIGLU: dict[str, Any] = {"activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0,
                          "swiglu_limit": 0.7}
BOTH = first_of([True, False])


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def inputs(fused: int = 1, shape: tuple[int, ...] = (ROWS, WIDTH), bias: bool = True) -> list[Any]:
    rows, columns = int(np.prod(shape[:-1])), fused * INNER
    return [normal(*shape), normal(rows, EXPERTS), normal(EXPERTS, columns, WIDTH) / 3, normal(EXPERTS, columns) if bias else None,
            normal(EXPERTS, WIDTH, INNER) / 3, normal(EXPERTS, WIDTH) if bias else None]


@pytest.mark.parametrize("name", first_of(["gelu", "relu", "silu", "identity"]))
@pytest.mark.parametrize("symbolic", BOTH)
def test_functions_of_experts(symbolic, name):
    check("MoE", inputs(), [2, 3, 4, 5], activation_type=name, k=2, symbolic=symbolic, features=[WIDTH, EXPERTS], tolerance=1e-4)


@pytest.mark.parametrize("symbolic", BOTH)
def test_experts(symbolic):
    how = {"symbolic": symbolic, "features": [WIDTH, EXPERTS], "tolerance": 1e-4}
    check("MoE", inputs(bias=False), [2, 4], activation_type="silu", k=1, normalize_routing_weights=1, **how)
    check("MoE", inputs(2), [2, 3, 4, 5], k=2, **SWIGLU, **how)
    check("MoE", inputs(2, (2, 3, WIDTH)), [2, 3, 4, 5], k=EXPERTS, normalize_routing_weights=1, **SWIGLU, **how)
    check("MoE", inputs(2), k=3, normalize_routing_weights=1, **SWIGLU, **how | {"symbolic": False})


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("fusion", [0, 2])
def test_gates_in_other_places(fusion):
    """In weights of their own, or in the first half of the columns."""
    x, scores, first, bias, second, _ = inputs(2)
    halves = np.split(first, 2, axis=1), np.split(bias, 2, axis=1)
    weights = [halves[0][0], halves[1][0], second, None, halves[0][1], halves[1][1]] if fusion == 0 else [first, bias, second]
    wanted = np.zeros_like(x)
    for row, expert in enumerate(scores.argmax(1)):
        gate, linear = (x[row] @ half[0][expert].T + half[1][expert] for half in zip(*halves))
        wanted[row] = softmax(scores)[row, expert] * (gate / (1 + np.exp(-gate)) * linear) @ second[expert].T
    check("MoE", [x, scores, *weights], [2], activation_type="swiglu", swiglu_fusion=fusion, expected=[wanted], tolerance=1e-4)


def quantized(bits: int, block: int = 0, zeros: bool = False, shape: tuple[int, ...] = (ROWS, WIDTH)) -> list[Any]:
    per, rows = 8 // bits, int(np.prod(shape[:-1]))

    def some(*sizes: int) -> np.ndarray:
        return RNG.integers(0, 256, sizes).astype(np.uint8)

    def layer(columns: int, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scales = np.abs(normal(EXPERTS, columns, *([depth // block] if block else []))) / 50
        points = some(EXPERTS, columns, -(-(depth // block) // per)) if block else some(EXPERTS, -(-columns // per))
        return some(EXPERTS, columns, depth // per), scales, points

    first, second = layer(2 * INNER, WIDTH), layer(WIDTH, INNER)
    made = [normal(*shape), normal(rows, EXPERTS), *first[:2], normal(EXPERTS, 2 * INNER), *second[:2], normal(EXPERTS, WIDTH)]
    return [*made, None, None, None, first[2], second[2]] if zeros else made


@pytest.mark.parametrize("bits, block, zeros", sampled([(4, 16, True), (4, 0, False), (8, 0, True), (2, 16, False)], 2, 3))
@pytest.mark.parametrize("symbolic", BOTH)
def test_experts_of_few_bits(symbolic, bits, block, zeros):
    given = quantized(bits, block, zeros)
    kept = [index for index, array in enumerate(given) if index > 1 and array is not None]
    more = {"block_size": block} if block else {}
    check("QMoE", given, kept, symbolic=symbolic, features=[WIDTH, EXPERTS], tolerance=2e-3, expert_weight_bits=bits, k=2,
          normalize_routing_weights=1, **SWIGLU, **more)


def test_blocks_of_bytes():
    """Beside floats: onnxruntime rounds rows to bytes for these."""
    given = quantized(8, 16)
    floats = [given[0], given[1]]
    for weight in (2, 5):
        q, scales, bias = given[weight:weight + 3]
        floats += [(q.astype(np.float32) - 128) * scales.repeat(16, axis=2), bias]
    how = {"k": 2, "normalize_routing_weights": 1, **SWIGLU}
    expected = oracle(model_of("MoE", floats, range(2, 6), ["y"], False, DOMAIN, **how), {"i0": floats[0], "i1": floats[1]})
    check("QMoE", given, range(2, 8), expected=expected, tolerance=1e-4, expert_weight_bits=8, block_size=16, **how)


def test_shares_that_are_not_the_scores():
    given = [*quantized(4), *[None] * 6, np.abs(normal(ROWS, EXPERTS))]
    for normalized in (0, 1):
        check("QMoE", given, range(2, 8), k=2, normalize_routing_weights=normalized, tolerance=2e-3, **SWIGLU)


def test_what_is_not_supported():
    for attributes, text in (({"k": 9}, "k = 9 of 4 experts"), ({"use_sparse_mixer": 1}, "use_sparse_mixer = 1 is not supported"),
                             ({"activation_type": "swiglu"}, "swiglu_fusion = 0 without weights of a third layer")):
        with pytest.raises(legato.LegatoError, match=text):
            legato.from_onnx(model_of("MoE", inputs(), range(2, 6), ["y"], False, DOMAIN, **attributes))


@pytest.mark.parametrize("op, domain, text", [
    ("BeamSearch", DOMAIN, "it is a loop around a model"), ("Tokenizer", DOMAIN, "strings are not supported"),
    ("Conv", "com.microsoft.nchwc", "onnxruntime's optimizer wrote it, in a layout for the machine it ran on"),
    ("Other", DOMAIN, "no op of the domain 'com.microsoft' with this name is known"),
])
def test_ops_that_are_not_supported_say_why(op, domain, text):
    model = model_of(op, [normal(2)], (), ["y"], False, domain)
    model.opset_import[1].domain = domain
    with pytest.raises(legato.UnsupportedError, match=text):
        legato.from_onnx(model)
