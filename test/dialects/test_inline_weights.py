"""Weights inside the text of a module: every bit comes back, of all element types, shapes and special values."""
import re

import ml_dtypes
import numpy as np
import pytest

import legato
from legato.core.dtypes import _BY_SPELLING as DTYPES
from legato.core.dtypes import kind
from legato.core.weights import WeightStore
from legato.dialects.inline_weights import inlined_weights

SHAPES = [(), (1,), (0,), (3, 0), (7,), (2, 3, 4), (300,), (65, 33)]


def through_text(arrays):
    """The arrays, after they were printed and parsed."""
    store = WeightStore()
    for key, array in arrays.items():
        store.add(key, array)
    module = legato.Module.parse("module {}", store)
    with inlined_weights(module):
        text = str(module)
    assert "inline_weights" not in str(module)
    return legato.Module.parse(text).weights


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.mark.parametrize("spelling", DTYPES)
def test_every_bit_comes_back(spelling):
    random, dtype = np.random.default_rng(0), DTYPES[spelling]
    arrays = {}
    for number, shape in enumerate(SHAPES):
        size = int(np.prod(shape))
        if dtype == np.bool_:
            values = random.integers(0, 2, size).astype(bool)
        elif kind(dtype) == "narrow":
            values = random.integers(0, 1 << int(re.findall(r"\d+", spelling)[0]), size).astype(np.uint8).view(dtype)
        else:
            values = np.frombuffer(random.bytes(size * dtype.itemsize), dtype)  # NaNs of all payloads among them
        arrays[f"w {number}/{spelling}"] = values.reshape(shape)
    found = through_text(arrays)
    assert sorted(found) == sorted(arrays)
    assert all(same_bits(found[key], array) for key, array in arrays.items())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-8, 0.1])
@pytest.mark.parametrize("shape", [(), (3,), (200,)])
def test_one_value_repeated(dtype, value, shape):
    array = np.full(shape, value, dtype)
    assert same_bits(through_text({"w": array})["w"], array)


def test_a_key_that_is_there_already():
    store = WeightStore()
    store.add("w", np.zeros(2, np.float32))
    text = "module attributes {relax.inline_weights = {w = dense<1.0> : tensor<2xf32>}} {}"
    with pytest.raises(legato.LegatoError, match="there is a weight 'w' already"):
        legato.Module.parse(text, store)


@pytest.mark.parametrize("attribute", ["1 : i32", '{w = "text"}', "{w = 1 : i32}", "{w = dense<1> : tensor<2xi5>}",
                                       "{w = dense_resource<__elided__> : tensor<2xf32>}"])
def test_an_attribute_that_holds_no_weights(attribute):
    with pytest.raises(legato.LegatoError, match="inline_weights"):
        legato.Module.parse(f"module attributes {{relax.inline_weights = {attribute}}} {{}}")
