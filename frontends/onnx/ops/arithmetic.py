"""Arithmetic of two or more inputs, with broadcasting."""
import functools
import operator

import numpy as np

from legato.core.dtypes import convert_array, kind
from legato.dialects import relax
from legato.frontends.onnx.broadcasting import aligned
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops import folding
from legato.frontends.onnx.problems import Malformed


def _binary(op_type: str, versions: tuple[int, ...], builder: str, fold=None) -> Entry:
    return Entry(op_type, versions, lambda node: getattr(relax, builder)(*aligned(node.xs())), fold)


_NAMED = (
    _binary("Add", (7, 13, 14), "add", folding.elementwise(operator.add)),
    _binary("Sub", (7, 13, 14), "subtract", folding.elementwise(operator.sub)),
    _binary("Mul", (7, 13, 14), "multiply", folding.elementwise(operator.mul)),
    _binary("Div", (7, 13, 14), "divide", folding.elementwise(folding.divide)),
    _binary("BitwiseAnd", (18,), "bitwise_and"),
    _binary("BitwiseOr", (18,), "bitwise_or"),
    _binary("BitwiseXor", (18,), "bitwise_xor"),
)


def _fold_mod(node, a, b):
    if not node.flag("fmod"):
        return folding.remainder(a, b)
    return np.fmod(a, b) if object not in (a.dtype, b.dtype) else None


@op("Mod", 10, 13, 28, fold=_fold_mod)
def mod(node):
    """Mod: the sign of the divisor, or with fmod of the dividend."""
    return relax.mod(*aligned(node.xs()), fmod=node.flag("fmod"))


@op("Pow", 7, 12, 13, 15, fold=folding.concrete(lambda a, b: convert_array(np.power(a, b), a.dtype)))
def power(node):
    """Pow. The result has the base's element type. An integer base with a float exponent is computed in f64, or in its own type where the
    exponents are known to be whole."""
    base, exponent = aligned(node.xs())
    of_base, of_exponent = node.dtype(0), node.dtype(1)
    if of_base == of_exponent:
        return relax.power(base, exponent)
    if kind(of_exponent) != "float" or kind(of_base) == "float" or _is_whole(node.value(1).known()):
        return relax.power(base, relax.astype(exponent, dtype=of_base))
    wide = (relax.astype(x, dtype=np.dtype(np.float64)) for x in (base, exponent))
    return relax.astype(relax.power(*wide), dtype=of_base)


def _is_whole(exponents: np.ndarray | None) -> bool:
    """Whether these are known, and whole numbers from 0 on."""
    if exponents is None:
        return False
    numbers = exponents.astype(np.float64)
    return bool((np.isfinite(numbers) & (numbers >= 0) & (numbers == np.trunc(numbers))).all())


@op("BitShift", 11, 28)
def bit_shift(node):
    """BitShift, to the left or right."""
    direction = node.string("direction").upper()
    if direction not in ("LEFT", "RIGHT"):
        raise Malformed(f"attribute 'direction' must be 'LEFT' or 'RIGHT', found '{node.string('direction')}'")
    return (relax.left_shift if direction == "LEFT" else relax.right_shift)(*aligned(node.xs()))


def _variadic(op_type: str, versions: tuple[int, ...], builder: str, fold=None) -> Entry:
    return Entry(op_type, versions, lambda node: functools.reduce(getattr(relax, builder), aligned(node.xs())), fold)


@op("Mean", 6, 8, 13)
def mean(node):
    """Mean: the sum of the inputs divided by their number, whose reciprocal f16 and bf16 would round, and integers have none."""
    total = functools.reduce(relax.add, aligned(node.xs()))
    return total if len(node) == 1 else relax.divide(total, node.literal(len(node), node.dtype()))


ENTRIES = (
    *_NAMED,
    mod,
    power,
    bit_shift,
    mean,
    _variadic("Sum", (6, 8, 13), "add", lambda node, *arrays: functools.reduce(operator.add, arrays)),
    _variadic("Max", (6, 8, 12, 13), "maximum", lambda node, *arrays: folding.greatest(*arrays)),
    _variadic("Min", (6, 8, 12, 13), "minimum", lambda node, *arrays: folding.smallest(*arrays)),
)
