"""What numpy and scipy say of each op of the list, in more precision than the numbers under test have where they can; and the inputs."""
import ctypes
import ctypes.util
import json
import math
from pathlib import Path

import ml_dtypes
import numpy as np
import scipy.special

EXACT = {"f16": np.float64, "bf16": np.float64, "f32": np.float64, "f64": np.longdouble}


def _ilogb(x):
    with np.errstate(all="ignore"):
        value = np.frexp(x)[1].astype(np.int64) - 1
    value = np.where((x == 0) | np.isnan(x), -(2**31), value)
    return np.where(np.isinf(x), 2**31 - 1, value)


def _logb(x):
    value = np.where(x == 0, -np.inf, (np.frexp(x)[1] - 1).astype(x.dtype))
    return np.where(np.isinf(x) | np.isnan(x), np.abs(x), value)


def _precise(function, symbol):
    """scipy's for what has fewer bits; for f64, of which scipy loses some, the C library's function of long doubles."""
    long = getattr(ctypes.CDLL(ctypes.util.find_library("m")), symbol)
    long.restype, long.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble]
    one_by_one = np.vectorize(long, otypes=[np.float64])
    return lambda x: one_by_one(x) if x.dtype == np.longdouble else function(np.asarray(x, np.float64))


def _spacing(x):
    return np.nextafter(x, np.copysign(x.dtype.type(np.inf), x)) - x


def _round(x):
    """Half away from zero, as C does it."""
    return np.where(np.abs(x) % 1 >= 0.5, np.copysign(np.floor(np.abs(x)) + 1, x), np.trunc(x))


FLOAT_REFERENCES = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
    "atan2": np.arctan2, "pow": np.power, "erf": _precise(scipy.special.erf, "erfl"), "erfc": _precise(scipy.special.erfc, "erfcl"),
    "tgamma": _precise(scipy.special.gamma, "tgammal"),
    "lgamma": _precise(lambda x: np.where(np.isinf(x), np.inf, scipy.special.gammaln(x)), "lgammal"),
    "spacing": _spacing,
    "logb": _logb, "ilogb": _ilogb, "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), x + y, np.where(x > y, x - y, 0)),
    "remainder": lambda x, y: np.vectorize(_remainder, otypes=[x.dtype])(x, y), "fma": lambda x, y, z: x * y + z,
    "mod": np.mod, "round": _round, "modf": np.modf, "frexp": np.frexp, "divmod": np.divmod,
}


def _remainder(x, y):
    try:
        return math.remainder(float(x), float(y))
    except ValueError:
        return math.nan


def integer_reference(name):
    """An integer op of numpy's, or of C's where numpy has it under another name."""
    return {
        "fmax": np.maximum, "fmin": np.minimum, "pow": np.power, "mod": np.mod, "fmod": np.fmod,
        "logical_not": np.logical_not, "absolute": np.abs,
    }.get(name) or getattr(np, name)


RECORD = Path(__file__).with_name("every_float.json")


def recorded():
    """What every_float.py found on f32: for each function the greatest error, ``ulps``, and its ``argument`` as hexadecimal
    digits. ``NAME of operand``: in units of the operand where that is greater than the result."""
    return json.loads(RECORD.read_text())


def float_bits(dtype, count=24):
    """Numbers of every exponent and both signs, with zeros, denormals, infinities, NaNs and extremes, and the arguments of the greatest
    errors of f32; all of them for 16 bits."""
    dtype = np.dtype(dtype)
    if dtype.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    bits = dtype.itemsize * 8
    mantissa = np.finfo(dtype).nmant
    unsigned = np.dtype(f"u{dtype.itemsize}")
    random = np.random.default_rng(1)
    exponents = np.arange(1 << (bits - 1 - mantissa), dtype=unsigned)
    count = count if bits == 32 else 4
    low = random.integers(0, 1 << mantissa, len(exponents) * count, unsigned)
    patterns = (np.repeat(exponents, count) << unsigned.type(mantissa)) | low
    patterns = np.concatenate([patterns, exponents << unsigned.type(mantissa)])
    hard = [float.fromhex(entry["argument"]) for entry in recorded().values()] if bits == 32 else []
    positive = np.concatenate([patterns.view(dtype), np.linspace(0, 10, 2001).astype(dtype), np.array(hard, dtype), special(dtype)])
    return np.concatenate([positive, -positive])


def dense_bits(dtype, count=300000):
    """Many more numbers: even steps around 0, where functions change their expressions, and all sizes from 2^-30 to 2^12."""
    random = np.random.default_rng(6)
    steps = [np.linspace(-reach, reach, count) for reach in (1, 6, 30, 750)]
    sizes = np.exp2(random.uniform(-30, 12, count)) * random.choice([-1, 1], count)
    return np.concatenate([*steps, sizes]).astype(dtype)


def special(dtype):
    """What goes wrong first."""
    info = ml_dtypes.finfo(dtype)
    return np.array([0, 1, 2, 3, 0.5, 1.5, 2.5, 1 - info.eps / 2, 1 + info.eps, np.inf, np.nan, info.max, info.smallest_normal,
                     info.smallest_subnormal, 1 / 3, 100, 127, 1e4], dtype)


def pairs(values, count=20000):
    """Two arrays: each special number with each, and random pairs, half of them of like size."""
    random = np.random.default_rng(2)
    specials = np.concatenate([special(values.dtype), -special(values.dtype)]) if np.dtype(values.dtype).kind not in "iu" else values[:40]
    a, b = (v.ravel() for v in np.meshgrid(specials, specials))
    x, y = random.choice(values, count), random.choice(values, count)
    if np.dtype(values.dtype).kind not in "iu":
        with np.errstate(all="ignore"):
            near = (x[: count // 2].astype(np.float64) * random.uniform(0.01, 100, count // 2)).astype(values.dtype)
        y[: count // 2] = near
    return np.concatenate([a, x]), np.concatenate([b, y])


def integers(dtype):
    """All of 8 and 16 bits; else a sample with the extremes."""
    info = np.iinfo(dtype)
    if info.bits <= 16:
        return np.arange(info.min, info.max + 1).astype(dtype)
    random = np.random.default_rng(3)
    small = np.arange(max(info.min, -100), 200).astype(dtype)
    some = random.integers(info.min, info.max, 4000, dtype, endpoint=True) >> random.integers(0, info.bits, 4000).astype(dtype)
    return np.concatenate([np.array([info.min, info.max, info.max - 1], dtype), small, some])
