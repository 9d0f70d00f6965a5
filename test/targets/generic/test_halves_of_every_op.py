"""Every op on bf16 or f16, compiled, against other implementations in f32 on the same numbers: apart by the rounding of its results."""
import warnings

import ml_dtypes
import numpy as np
from cases import CASES
from one_op import Case, computed
from oracles import ORACLES

from legato.dialects import relax

HALVES = (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))
OTHERS = {"bitcast"}    # its case is of types of 4 bytes


def chosen():
    """The first case of each op with floats, each in one of the types."""
    first = {}
    for case in CASES:
        if case.op not in OTHERS and any(case.dtype(n) == np.float32 for n in range(len(case.shapes))):
            first.setdefault(case.op, case)
    for number, case in enumerate(first.values()):
        half = HALVES[number % 2]
        arrays = case.arrays(seed=3)
        if case.op == "batch_norm":
            arrays[4] = np.abs(arrays[4])
        yield half, Case(case.op, [array.astype(half) if array.dtype == np.float32 else array for array in arrays], case.attrs)


def wrong(case, half, found):
    """What a result is, and should be; None if it is right."""
    wide = [array.astype(np.float32) if array.dtype == half else array for array in case.inputs]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = np.asarray(ORACLES[case.op](*wide, **relax.OPS[case.op].with_defaults(case.attrs)))
    if found.shape == wanted.shape and found.dtype != half:
        return None if np.array_equal(found, wanted) else f"{found.tolist()}, not {wanted.tolist()}"
    step = float(ml_dtypes.finfo(half).eps)
    wanted = wanted.astype(half).astype(np.float64)
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
    same = found.shape == wanted.shape and np.allclose(found.astype(np.float64), wanted, rtol=step, atol=step * largest / 2, equal_nan=True)
    return None if same else f"{found.tolist()}, not {wanted.tolist()}"


def test_every_op():
    halves, cases = zip(*chosen())
    assert len(cases) > 110
    found = [f"{case}: {problem}"[:1000] for case, half, result in zip(cases, halves, computed(cases), strict=True)
             if (problem := wrong(case, half, result)) is not None]
    assert not found, "\n".join(found)
