"""Inputs for the sweeps of generic rules."""

import ml_dtypes
import numpy as np

from legato.dialects import relax

DTYPES = {
    "float": ["float32", "float64", "float16", ml_dtypes.bfloat16],
    "int": ["int8", "int16", "int32", "int64"],
    "uint": ["uint8", "uint16", "uint32", "uint64"],
    "bool": ["bool"],
}
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 0.5, 1.5, 2.5, -2.5, 1.0, -1.0, 88.0, -104.0, 3e4]
random = np.random.default_rng(1)


def dtypes_of(op: str, operand: int = 0) -> list[np.dtype]:
    """The element types that an operand of an op takes."""
    kinds = relax.OPS[op].OPERANDS[operand].kinds
    return [np.dtype(d) for kind, names in DTYPES.items() if kind in kinds for d in names]


def values(shape, dtype, scale=3.0):
    """Random elements; floats begin with zeros of both signs, NaN, infinities and other points of interest, integers with the extremes."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        flat = random.integers(max(limits.min, -20), 20, count).astype(dtype)
        special = np.array([limits.max, limits.min, 0, 1, 2], dtype)
    else:
        flat = (random.standard_normal(count) * scale).astype(dtype)
        with np.errstate(all="ignore"):
            special = np.array(SPECIAL).astype(dtype)
    flat[: min(count, len(special))] = special[:count]
    return flat.reshape(shape)


def normal(*shape, dtype="float32"):
    """Floats of a normal distribution."""
    return random.standard_normal(shape).astype(dtype)


def small(shape, dtype):
    """Elements whose products and sums stay small; no NaN."""
    if dtype.kind not in "iub":
        return normal(*shape, dtype=dtype)
    return random.integers(0 if dtype.kind in "ub" else -2, 3, shape).astype(dtype)


def indices(high, *shape, dtype="int64"):
    """Indices into an axis of size ``high``; signed ones from -high on."""
    return random.integers(0 if np.dtype(dtype).kind == "u" else -high, high, shape).astype(dtype)
