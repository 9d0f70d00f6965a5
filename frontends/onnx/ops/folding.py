"""Constant folding at import: on numpy arrays, or on arrays of objects if some elements are symbolic sizes."""
from collections.abc import Callable

import numpy as np

from legato.core.dtypes import kind
from legato.dialects.relax.dim_bounds import lower_bound
from legato.dialects.relax.dims import UNKNOWN, Size, floor_divide, maximum, minimum, modulo
from legato.frontends.onnx.problems import Undecided


def concrete(function: Callable) -> Callable:
    """A fold by a numpy function, for elements without symbols."""

    def fold(node, *arrays):
        return None if any(a is None or a.dtype == object for a in arrays) else _like(function(*arrays), arrays[0])

    return fold


def elementwise(function: Callable) -> Callable:
    """A fold by a numpy function that works on symbolic sizes, too."""
    return lambda node, *arrays: _like(function(*arrays), arrays[0])


def _like(result: np.ndarray, array: np.ndarray) -> np.ndarray:
    """The result as an array; it keeps the ufunc's element type."""
    return np.asarray(result, object if array.dtype == object else None)


def is_at_least(size: Size, bound: int, symbols_from: int = 1) -> bool:
    """Whether the size is at least the bound for all values of its symbols, of which each is at least ``symbols_from``."""
    found = None if size is UNKNOWN else lower_bound(size, symbols_from)
    return found is not None and found >= bound


def _divide_sizes(a: Size, b: Size) -> Size:
    """Division rounded towards zero. Undecided if the signs depend on the symbols."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if (a < 0) == (b < 0) else -(-a // b)
    if not (is_at_least(a, 0) and is_at_least(b, 1)):
        raise Undecided(f"the sign of {a} / {b} is not known")
    return floor_divide(a, b)


_size_divide = np.frompyfunc(_divide_sizes, 2, 1)
_size_modulo = np.frompyfunc(modulo, 2, 1)
_size_minimum = np.frompyfunc(minimum, 2, 1)
_size_maximum = np.frompyfunc(maximum, 2, 1)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """ONNX's Div: integers are rounded towards zero."""
    if a.dtype == object or b.dtype == object or kind(a.dtype) != "float":
        return np.asarray(_size_divide(a.astype(object), b.astype(object)), object).astype(_common(a, b))
    return a / b


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """ONNX's Mod with fmod=0: the result has the sign of the divisor."""
    return np.asarray(_size_modulo(a, b), object) if object in (a.dtype, b.dtype) else np.mod(a, b)


def smallest(*arrays: np.ndarray) -> np.ndarray:
    """ONNX's Min."""
    return _fold_all(np.minimum, _size_minimum, arrays)


def greatest(*arrays: np.ndarray) -> np.ndarray:
    """ONNX's Max."""
    return _fold_all(np.maximum, _size_maximum, arrays)


def _fold_all(of_numbers: Callable, of_sizes: Callable, arrays) -> np.ndarray:
    result = arrays[0]
    for array in arrays[1:]:
        symbolic = object in (result.dtype, array.dtype)
        result = np.asarray(of_sizes(result, array), object) if symbolic else of_numbers(result, array)
    return result


def _common(a: np.ndarray, b: np.ndarray) -> np.dtype:
    return np.dtype(object) if object in (a.dtype, b.dtype) else a.dtype


def _is_less(a: Size, b: Size) -> bool:
    """Whether a < b. Undecided where it depends on symbols, which may be 0: nothing checks that they are not."""
    difference = b - a
    if isinstance(difference, int):
        return difference > 0
    if is_at_least(difference, 1, symbols_from=0):
        return True
    if is_at_least(-difference, 0, symbols_from=0):
        return False
    raise Undecided(f"whether {a} < {b} depends on the symbols")


def _is_equal(a: Size, b: Size) -> bool:
    """Whether a is b. Undecided where it depends on symbols, which may be 0."""
    difference = a - b
    if isinstance(difference, int):
        return difference == 0
    if is_at_least(difference, 1, symbols_from=0) or is_at_least(-difference, 1, symbols_from=0):
        return False
    raise Undecided(f"whether {a} is {b} depends on the symbols")


_size_less, _size_equal = np.frompyfunc(_is_less, 2, 1), np.frompyfunc(_is_equal, 2, 1)


def comparison(of_numbers: Callable, of_sizes: Callable) -> Callable:
    """A fold of a comparison: by numpy, or with symbolic sizes if it has one result for all values of the symbols."""

    def fold(node, a, b):
        if object not in (a.dtype, b.dtype):
            return np.asarray(of_numbers(a, b))
        return np.asarray(of_sizes(a, b)).astype(np.bool_)

    return fold


equal = comparison(np.equal, _size_equal)
less = comparison(np.less, _size_less)
greater = comparison(np.greater, lambda a, b: _size_less(b, a))
less_equal = comparison(np.less_equal, lambda a, b: np.logical_not(np.asarray(_size_less(b, a)).astype(np.bool_)))
greater_equal = comparison(np.greater_equal, lambda a, b: np.logical_not(np.asarray(_size_less(a, b)).astype(np.bool_)))

