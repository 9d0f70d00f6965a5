"""The recurrent layer of com.microsoft with quantized weights, compiled, against onnxruntime."""
from itertools import product

import numpy as np
import pytest
from contrib import check
from test_onnx_microsoft_quantized import data
from thoroughly import first_of, sampled

RNG = np.random.default_rng(3)
WIDTH, HIDDEN = 12, 8


def layer(dtype, steps: int, batch: int, directions: int = 1, columns: bool = False, states: bool = True) -> list[np.ndarray | None]:
    """The inputs of a layer: X, W, R, B, no lengths, the states, no peepholes, and the scales and zero points of W and R."""
    def scale() -> np.ndarray:
        return (RNG.random((directions, 4 * HIDDEN) if columns else directions) * 0.002 + 0.001).astype(np.float32)

    def zero() -> np.ndarray:
        if columns:     # onnxruntime refuses others
            return np.zeros((directions, 4 * HIDDEN), dtype)
        return RNG.integers(0, 5, directions).astype(dtype)

    start = [RNG.standard_normal((directions, batch, HIDDEN)).astype(np.float32) if states else None for _ in range(2)]
    return [RNG.standard_normal((steps, batch, WIDTH)).astype(np.float32), data(dtype, directions, WIDTH, 4 * HIDDEN),
            data(dtype, directions, HIDDEN, 4 * HIDDEN), RNG.standard_normal((directions, 8 * HIDDEN)).astype(np.float32), None,
            *start, None, scale(), zero(), scale(), zero()]


OUTPUTS, WEIGHTS = ("y", "h", "c"), [1, 2, 3, 8, 9, 10, 11]


@pytest.mark.parametrize("dtype, direction", sampled(product([np.int8, np.uint8], ["forward", "reverse", "bidirectional"]), 5, 2))
def test_layers(dtype, direction):
    inputs = layer(dtype, 7, 1, 1 + (direction == "bidirectional"))
    check("DynamicQuantizeLSTM", inputs, WEIGHTS, OUTPUTS, 1e-4, hidden_size=HIDDEN, direction=direction)


@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_lengths_and_scales(symbolic):
    """Unrolled, in a loop, of any length; a scale and zero point for each column; without states; with what LSTM has."""
    for steps in (2, 9):
        check("DynamicQuantizeLSTM", layer(np.int8, steps, 1, columns=True), WEIGHTS, OUTPUTS, 1e-4, symbolic, hidden_size=HIDDEN,
              features=[WIDTH])
    inputs = layer(np.uint8, 5, 1, states=False)
    inputs[7] = RNG.standard_normal((1, 3 * HIDDEN)).astype(np.float32)
    check("DynamicQuantizeLSTM", inputs, [*WEIGHTS, 7], OUTPUTS, 1e-4, symbolic, hidden_size=HIDDEN, features=[WIDTH], clip=2.0)


def test_a_batch_has_one_range():
    """onnxruntime may quantize parts of a batch by themselves, which its threads decide; the states' range is at most 2 here."""
    check("DynamicQuantizeLSTM", layer(np.int8, 6, 3), WEIGHTS, OUTPUTS, 2e-2, hidden_size=HIDDEN)
