"""Inference of anything: it answers or raises InferenceError, and what it accepts is computed, in the shape that it says."""

import random

import ml_dtypes
import numpy as np
import pytest
from cases import counted

from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects import make_context, relax
from legato.dialects.relax import TensorType, attributes, dims

CONTEXT = make_context()


def random_attribute(rng, attribute, rank, defaults):
    if attribute.default is not attributes.REQUIRED and rng.random() < defaults:
        return attribute.default
    if isinstance(attribute, (attributes.Int, attributes.OneSize)):
        return rng.choice([-3, -2, -1, 0, 1, 2, 3])
    if isinstance(attribute, (attributes.Ints, attributes.Shape)):
        return [
            rng.choice([-2, -1, 0, 1, 1, 1, 1, 2, 2, 3])
            for _ in range(rng.choice([0, 1, 2, rank, rank, max(rank - 2, 0), max(rank - 2, 0), 2 * rank]))
        ]
    if isinstance(attribute, attributes.Str):
        return rng.choice(attribute.choices or ["m", "2 m"])
    return {
        attributes.Bool: rng.random() < 0.5,
        attributes.Float: rng.choice([0.0, 0.5, -1.0]),
        attributes.DType: rng.choice(["f32", "i32"]),
    }[type(attribute)]


def random_operands(rng, cls, sizes):
    rank = rng.randint(0, 5)
    base = [rng.choice(sizes) for _ in range(rank)]
    types = []
    for operand in cls.OPERANDS if cls is not relax.OPS["concat"] else [None] * rng.randint(0, 3):
        shapes = [base, base[1:2], rng.sample(base, rng.randint(0, rank)), [rng.choice(sizes) for _ in range(rng.randint(0, 5))]]
        shape = base if not types else rng.choices(shapes, [5, 4, 1, 1])[0]
        kinds = operand.kinds if operand is not None else {"float"}
        integer = np.int8 if cls.OPERATION_NAME.endswith("_integer") else np.int64
        dtypes = {"float": np.float32, "int": integer, "uint": np.uint64, "bool": np.bool_, "narrow": ml_dtypes.float8_e4m3fn}
        dtype = next(d for k, d in dtypes.items() if k in kinds)
        types.append(TensorType(tuple(shape), np.dtype(dtype)))
    return types


@pytest.mark.parametrize("name", [n for n in relax.OPS if n != "constant"])
def test_random_types_and_attributes(name):
    cls, rng = relax.OPS[name], random.Random(name)
    accepted = 0
    with CONTEXT, ir.Location.unknown():
        for attempt in range(400):
            sizes = [1, 2, 3, 4] if attempt % 2 else [0, 1, 2, 3, dims.UNKNOWN, dims.symbol("n"), dims.parse("n * 2 - 1")]
            types = random_operands(rng, cls, sizes)
            attrs = {
                n: random_attribute(rng, a, types[0].rank if types else 0, 0.9 if attempt % 3 else 0.4) for n, a in cls.ATTRIBUTES.items()
            }
            try:
                inferred = TensorType.of(cls.infer([t.ir() for t in types], attrs)[0])
            except InferenceError as error:
                assert str(error)
                continue
            if any(not isinstance(s, int) for t in types for s in t.dims):
                continue
            accepted += 1
            arrays = [np.zeros(t.dims, t.dtype) if t.dtype.kind != "f" else np.ones(t.dims, t.dtype) for t in types]
            try:
                result = cls.semantics(*arrays, **attrs)
            except LegatoError as error:
                assert "lies outside axis" in str(error)
                continue
            assert counted(name, inferred, result.shape) == TensorType(result.shape, result.dtype), (types, attrs)
    rare = name.endswith(("2d", "3d", "2d_integer", "_norm", "_quantized", "_suppression", "roi_align", "roi_pool", "col2im"))
    assert accepted or rare, "no random case was accepted: this test proves nothing for the op"
