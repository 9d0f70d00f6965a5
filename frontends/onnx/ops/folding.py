"""Computing at import with elements that are known: plain numpy arrays, or arrays of objects where some are symbolic sizes."""
from collections.abc import Callable

import numpy as np

from legato.core.dtypes import kind
from legato.dialects.relax.dims import Dim, Part, Size, floor_divide, maximum, minimum, modulo
from legato.frontends.onnx.problems import Undecided


def concrete(function: Callable) -> Callable:
    """A fold by a numpy function, for elements that are all plain numbers."""

    def fold(node, *arrays):
        return None if any(a is None or a.dtype == object for a in arrays) else _like(function(*arrays), arrays[0])

    return fold


def elementwise(function: Callable) -> Callable:
    """A fold by a numpy function that symbolic sizes follow too."""
    return lambda node, *arrays: _like(function(*arrays), arrays[0])


def _like(result: np.ndarray, array: np.ndarray) -> np.ndarray:
    """The result as an array; numpy's scalars lose small element types to nothing, its ufuncs keep them."""
    return np.asarray(result, object if array.dtype == object else None)


def least(size: Size) -> int | None:
    """A number that the size is never below, symbols being 1 or more; None if none can be told."""
    if isinstance(size, int):
        return size
    if not isinstance(size, Dim):
        return None
    total = 0
    for monomial, coefficient in size.terms:
        factor = coefficient
        for variable in monomial:
            bound = 1 if isinstance(variable, str) else _least_part(variable)
            if bound is None or bound < 0 or coefficient < 0:
                return None
            factor *= bound
        total += factor
    return total


def is_at_least(size: Size, bound: int) -> bool:
    """Whether the size is the bound or more for all values of its symbols."""
    found = least(size)
    return found is not None and found >= bound


def _least_part(part: Part) -> int | None:
    a, b = least(part.a), least(part.b)
    if part.op == "%":
        return 0 if b is not None and b > 0 else None
    if part.op == "max":
        return max((bound for bound in (a, b) if bound is not None), default=None)
    if a is None or b is None:
        return None
    if part.op == "min":
        return min(a, b)
    return (a // part.b if isinstance(part.b, int) else 0) if a >= 0 and b > 0 else None


def _divide_sizes(a: Size, b: Size) -> Size:
    """Rounds towards zero. Undecided where it cannot be told from the symbols which way that is."""
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
    """ONNX's Div: integers towards zero."""
    if a.dtype == object or b.dtype == object or kind(a.dtype) != "float":
        return np.asarray(_size_divide(a.astype(object), b.astype(object)), object).astype(_common(a, b))
    return a / b


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """ONNX's Mod with fmod=0: the sign of the divisor."""
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
    """Whether a < b. Undecided where it depends on symbols."""
    difference = b - a
    if isinstance(difference, int):
        return difference > 0
    if is_at_least(difference, 1):
        return True
    if is_at_least(-difference, 0):
        return False
    raise Undecided(f"whether {a} < {b} depends on the symbols")


def _is_equal(a: Size, b: Size) -> bool:
    """Whether a is b. Undecided where it depends on symbols."""
    difference = a - b
    if isinstance(difference, int):
        return difference == 0
    if is_at_least(difference, 1) or is_at_least(-difference, 1):
        return False
    raise Undecided(f"whether {a} is {b} depends on the symbols")


_size_less, _size_equal = np.frompyfunc(_is_less, 2, 1), np.frompyfunc(_is_equal, 2, 1)


def comparison(of_numbers: Callable, of_sizes: Callable) -> Callable:
    """A fold of a comparison: by numpy, or, with sizes among the elements, by what holds for all values of the symbols."""

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

