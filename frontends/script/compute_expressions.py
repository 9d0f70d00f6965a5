"""Expressions of elements and axes in Python, as ``T.compute`` takes them: built as IR when a kernel is made of them."""

import inspect
import itertools
import linecache
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.core.user_code import OWN
from legato.dialects.relax import dims
from legato.frontends.script.kernel import arithmetic, forms, operators
from legato.frontends.script.kernel.intrinsics import ScalarFunction
from legato.frontends.script.kernel.values import UNKNOWN_TRUTH
from legato.frontends.script.kernel.vocabulary import FUNCTIONS
from legato.frontends.script.language.source import Misuse, ScriptError
from legato.frontends.script.language.types import DTYPES, dtype_name
from legato.frontends.script.language.words import NAMES_OF_SIZES

OF_TYPES = ("min_value", "max_value", "infinity")  # functions of a type, not of a value
EXTERN = ("call_extern", "call_pure_extern")


class Expr:
    """An expression of elements and axes. ``build`` makes IR of it, with a builder (of compute.py) that makes values of what it is made
    of; ``place``: the user's line, as file and number."""

    __array_ufunc__ = None  # numpy's numbers leave operators to this class

    def __init__(self, build: Callable[[Any], Any]):
        self.build, self.place = build, users_line()

    def value(self, builder: Callable[[Any], Any]) -> Any:
        """The expression as a value of the kernel that is being built. ScriptError, at the user's line, where it has none."""
        try:
            return self.build(builder)
        except Misuse as error:
            file, line = self.place
            text = linecache.getline(file, line).rstrip("\n")
            indent = len(text) - len(text.lstrip())
            raise ScriptError(str(error), file, line, indent + 1, text, len(text) - indent) from error

    def astype(self, dtype: str) -> "Expr":
        """The value as one of another type."""
        return apply("cast", self, dtype_name(dtype))

    def __bool__(self) -> bool:
        raise TypeError(UNKNOWN_TRUTH)

    def __iter__(self) -> Any:
        raise TypeError("an element of a computation is one value: there is nothing to iterate over")

    def __hash__(self) -> int:
        return id(self)


def users_line() -> tuple[str, int]:
    """The file and line of the user's code that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _binary(op: str, swapped: bool = False) -> Callable[[Expr, Any], Expr]:
    def method(self: Expr, other: Any) -> Expr:
        a, b = (other, self) if swapped else (self, other)
        return Expr(lambda builder: arithmetic.binary(op, builder(a), builder(b)))

    return method


for _op, _name in operators.ARITHMETIC:
    setattr(Expr, f"__{_name}__", _binary(_op))
    setattr(Expr, f"__r{_name}__", _binary(_op, swapped=True))
for _op, _name in (*operators.ORDER, *operators.EQUALITY):
    setattr(Expr, f"__{_name}__", _binary(_op))
Expr.equal = _binary("==")
Expr.not_equal = _binary("!=")
Expr.__neg__ = lambda self: Expr(lambda builder: arithmetic.negate(builder(self)))
Expr.__invert__ = lambda self: Expr(lambda builder: arithmetic.invert(builder(self)))
Expr.__abs__ = lambda self: apply("abs", self)


class ReduceAxis(Expr):
    """An axis that a sum, a maximum or the like runs over: ``k = reduce_axis(64)``."""

    def __init__(self, extent: Any, name: str = "k"):
        super().__init__(lambda builder: builder.axes[self])
        self.extent = extent[1] if isinstance(extent, tuple) else extent
        self.name = name


class Reduction(Expr):
    """A reduction over axes, made by ``sum`` and the like: the whole body of a compute. ``where``: a condition of the values that count,
    or None."""

    def __init__(self, combiner: str, body: Any, axes: tuple[ReduceAxis, ...], where: Any = None):
        super().__init__(self.refuse)
        self.combiner, self.body, self.axes, self.where = combiner, body, axes, where

    def refuse(self, builder: Any) -> Any:
        """Misuse: a reduction has no value inside of another expression."""
        raise Misuse("a reduction is the whole body of a compute: give it a compute of its own, and use that one's elements")


def reduce_axis(extent: Any, name: str = "k") -> ReduceAxis:
    """An axis of ``extent`` values, from 0 on (``(0, extent)`` says the same). LegatoError for another begin."""
    if isinstance(extent, tuple) and not (len(extent) == 2 and isinstance(extent[0], int) and extent[0] == 0):
        raise LegatoError(f"reduce_axis: an axis begins at 0, and this one is {extent}: add what it begins at to the index")
    return ReduceAxis(extent, name)


def _reduction(combiner: str) -> Callable[..., Reduction]:
    def reduce(body: Any, axis: ReduceAxis | Sequence[ReduceAxis], where: Any = None) -> Reduction:
        axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
        if not _are_axes(axes):
            raise LegatoError("a reduction runs over axes: k = T.reduce_axis(64)")
        return Reduction(combiner, body, axes, where)

    reduce.__doc__ = (f"The {'sum' if combiner == '+' else 'product' if combiner == '*' else combiner} of ``body`` over reduce axes; "
                      "``where``: a condition of the values that count.")
    return reduce


sum, product, max_over, min_over = (_reduction(c) for c in ("+", "*", "max", "min"))
REDUCTIONS = {"sum": sum, "prod": product, "product": product, "max": max_over, "min": min_over}


def apply(name: str, *arguments: Any) -> Expr:
    """A function of the script on expressions: ``apply("exp", A[i])``. LegatoError for an unknown one, and another number of
    arguments."""
    entry = FUNCTIONS.get(name)
    if not isinstance(entry, ScalarFunction):
        raise LegatoError(f"there is no function T.{name}")
    try:
        inspect.signature(entry.build).bind(*arguments)
    except TypeError as error:
        raise LegatoError(f"T.{name}: {error}") from None
    return Expr(lambda builder: entry.build(*(builder(a) for a in arguments)))


def if_then_else(test: Any, then: Any, other: Any) -> Any:
    """One of two expressions, by a condition; the other one is not evaluated, so that it may read what is not there."""
    if isinstance(test, (bool, int, float)):
        return then if test else other
    return Expr(lambda builder: forms.one_of(builder(test), lambda: builder(then), lambda: builder(other)))


def call_extern(*arguments: Any, dtype: str | None = None) -> Expr:
    """A call of a C function: ``call_extern("float32", "f", x)``."""
    return Expr(lambda builder: forms.extern([builder(a) for a in arguments], dtype))


_unnamed = itertools.count()


def call_word(word: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any] | None:
    """``T.<word>(...)`` called by Python outside of a script: a reduction, as ``T.max(A[i, k], axis=k)``, a function of elements, as
    ``T.max(A[i], 0.0)``, or a size symbol, ``T.var("n", "int64")``. None for anything else."""
    if word in NAMES_OF_SIZES:
        return (size_symbol(*arguments, **keywords),)
    axis = keywords.get("axis", arguments[1] if len(arguments) == 2 else None)
    if word in REDUCTIONS and arguments and _are_axes(axis):
        return (REDUCTIONS[word](arguments[0], axis, **{k: v for k, v in keywords.items() if k != "axis"}),)
    keywords = {k: v for k, v in keywords.items() if k not in forms.RESTATED or word in EXTERN}
    if not any(isinstance(a, (Expr, dims.Dim)) for a in arguments) and not (word in OF_TYPES and arguments):
        return None
    if word == "if_then_else" and len(arguments) == 3 and not keywords:
        return (if_then_else(*arguments),)
    if word in EXTERN and set(keywords) <= {"dtype"}:
        return (call_extern(*arguments, **keywords),)
    if keywords or not isinstance(FUNCTIONS.get(word), ScalarFunction):
        return None
    return (apply(word, *arguments),)


def _are_axes(axis: Any) -> bool:
    return isinstance(axis, ReduceAxis) or (isinstance(axis, (list, tuple)) and len(axis) > 0 and all(map(_are_axes, axis)))


def size_symbol(name: str = "int64", dtype: str = "int64") -> dims.Dim:
    """A size that is known when the kernel is called, for shapes and extents. Without a name it is one of its own."""
    name, dtype = (f"size_{next(_unnamed)}", name) if name in DTYPES else (name, dtype)
    if not isinstance(name, str):
        raise LegatoError(f"a size symbol has a name: T.var(\"n\", \"int64\"), not {name!r}")
    if not dtype_name(dtype).startswith(("int", "uint")):
        raise LegatoError(f"the size symbol '{name}' is an integer: T.var(\"{name}\", \"int64\"), not {dtype_name(dtype)}")
    return dims.symbol(dims.symbol_name(name))


def number(x: Any) -> Any:
    """A number of numpy as one of Python; any other value itself."""
    return x.item() if isinstance(x, np.generic) else x


def parts_of(x: Any) -> list[Any]:
    """What an expression is made of: expressions, tensors and Python values, found in the closure of its ``build``."""
    if isinstance(x, Reduction):
        return [x.body, x.where]
    if isinstance(x, Expr):
        return [cell.cell_contents for cell in x.build.__closure__ or () if cell.cell_contents is not x]
    return list(x) if isinstance(x, (tuple, list)) else []


def refusal(body: Any) -> str | None:
    """Why a value is not what a compute's function may give, or None."""
    if body is None:
        return "gives None: is a return missing?"
    if isinstance(body, (tuple, list)):
        return "gives several values: a compute is one tensor, so write one compute for each"
    if not isinstance(number(body), (Expr, dims.Dim, bool, int, float)):
        return f"gives {body!r}, which is neither an expression of elements nor a number"
    return None
