"""Whether one constant computes what two do, one after the other: where it overflows, underflows or cancels, it does not.

(x * 1e30) * 1e30 is finite for small x, but 1e30 * 1e30 is infinite in f32; (x + 12582912) - 12582912 rounds x to an integer.
"""
import ml_dtypes
import numpy as np


def stands_for(name: str, combined: np.ndarray, a: np.ndarray, b: np.ndarray, as_one: bool = False) -> bool:
    """Whether (x + a) + b may be x + combined (``name`` is ``add``), or (x * a) * b be x * combined (``multiply``).

    Sums must be of similar size, up to half of the digits. Integers wrap, in any order."""
    if combined.dtype.kind in "iub":
        return True
    if name == "multiply":
        return keeps_factors(combined, a, b, as_one)
    greatest = [_greatest(array) for array in (a, b, combined)]
    digits = 2.0 ** (ml_dtypes.finfo(combined.dtype).nmant // 2)
    return bool(np.isfinite(greatest).all()) and max(greatest) <= digits * min(greatest)


def keeps_factors(product: np.ndarray, a: np.ndarray, b: np.ndarray, as_one: bool = False) -> bool:
    """Whether the products a * b are finite, and normal numbers unless a factor is zero; with ``as_one``, whether the greatest is a normal
    number: some weights may be tiny, as those of channels that training left unused."""
    if product.dtype.kind in "iub" or not product.size:
        return True
    greatest, least = _greatest(product), float(ml_dtypes.finfo(product.dtype).smallest_normal)
    if not np.isfinite(greatest):
        return False
    if as_one and greatest >= least:
        return True
    return not ((np.abs(product) < least) & (a != 0) & (b != 0)).any()


def _greatest(array: np.ndarray) -> float:
    """The greatest absolute value; NaN where there is one."""
    return max(abs(float(array.max())), abs(float(array.min()))) if array.size else 0.0
