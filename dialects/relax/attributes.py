"""Kinds of op attributes: conversion between Python values and MLIR attributes, and defaults."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from legato.core import dtypes
from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects.relax import dims

REQUIRED = object()


class Attribute:
    """One attribute in the declaration of an op: ``axis = Int(-1)``.

    A default of None means that the attribute may be absent; without a default it is required. An attribute equal to its default is not
    written into the IR. ``op.axis`` is the Python value.
    """

    expects: str

    def __init__(self, default: Any = REQUIRED, doc: str = "") -> None:
        self.default = default
        self.doc = doc
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, op, owner=None):
        if op is None:
            return self
        attributes = op.operation.attributes
        return self.read(attributes[self.name]) if self.name in attributes else self.default

    def normalize(self, value: Any) -> Any:
        """Converts a caller's value to the plain Python value. TypeError or ValueError if it has no such value."""
        raise NotImplementedError

    def write(self, value: Any) -> ir.Attribute:
        """The MLIR attribute of a normalized value."""
        raise NotImplementedError

    def read(self, attribute: ir.Attribute) -> Any:
        """The Python value of an MLIR attribute. InferenceError if the attribute is of another kind."""
        raise NotImplementedError

    def _wrong(self, found: Any) -> InferenceError:
        return InferenceError(f"attribute '{self.name}' must be {self.expects}, found {found}")


def _of_64_bits(value: Any) -> int:
    """The integer that a value stands for. ValueError if it is too large for ``i64``."""
    number = operator.index(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


class Int(Attribute):
    """An integer, stored as ``i64``."""

    expects = "an integer (i64)"

    def normalize(self, value):
        return _of_64_bits(value)

    def write(self, value):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)

    def read(self, attribute):
        if not isinstance(attribute, ir.IntegerAttr) or isinstance(attribute, ir.BoolAttr):
            raise self._wrong(attribute)
        return attribute.value


class Ints(Attribute):
    """A list of integers, stored as ``array<i64: ...>``; a single integer is a list of one."""

    expects = "a list of integers (array<i64: ...>)"

    def normalize(self, value):
        return [_of_64_bits(v) for v in (value if isinstance(value, (Sequence, np.ndarray)) else [value])]

    def write(self, value):
        return ir.DenseI64ArrayAttr.get(value)

    def read(self, attribute):
        if not isinstance(attribute, ir.DenseI64ArrayAttr):
            raise self._wrong(attribute)
        return list(attribute)


class Float(Attribute):
    """A number, stored as ``f64``."""

    expects = "a number (f64)"

    def normalize(self, value):
        return float(value)

    def write(self, value):
        return ir.FloatAttr.get(ir.F64Type.get(), value)

    def read(self, attribute):
        if not isinstance(attribute, ir.FloatAttr):
            raise self._wrong(attribute)
        return attribute.value


class Bool(Attribute):
    """A flag."""

    expects = "true or false"

    def normalize(self, value):
        if value not in (0, 1):
            raise ValueError
        return bool(value)

    def write(self, value):
        return ir.BoolAttr.get(value)

    def read(self, attribute):
        if not isinstance(attribute, ir.BoolAttr):
            raise self._wrong(attribute)
        return attribute.value


class Str(Attribute):
    """One of the given words, or any string if there are no choices."""

    def __init__(self, default: Any = REQUIRED, choices: Sequence[str] = (), doc: str = "") -> None:
        super().__init__(default, doc)
        self.choices = tuple(choices)
        self.expects = f"one of {', '.join(map(repr, self.choices))}" if choices else "a string"

    def normalize(self, value):
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise ValueError
        return value

    def write(self, value):
        return ir.StringAttr.get(value)

    def read(self, attribute):
        if not isinstance(attribute, ir.StringAttr) or (self.choices and attribute.value not in self.choices):
            raise self._wrong(attribute)
        return attribute.value


class DType(Attribute):
    """An element type. Its Python value is a numpy dtype."""

    expects = "an element type"

    def normalize(self, value):
        try:
            return dtypes.as_dtype(value)
        except LegatoError as error:
            raise ValueError from error

    def write(self, value):
        return ir.TypeAttr.get(dtypes.mlir_type(value))

    def read(self, attribute):
        if not isinstance(attribute, ir.TypeAttr):
            raise self._wrong(attribute)
        try:
            return dtypes.numpy_dtype(attribute.value)
        except LegatoError as error:
            raise self._wrong(attribute) from error


class Shape(Attribute):
    """Sizes: ints, and expressions of symbols, but no unknown size. Its Python value is a list of ints and Dims."""

    expects = "a list of sizes (#relax.dims<[...]>)"

    def normalize(self, value):
        sizes = [dims.as_size(v) for v in value]
        if dims.UNKNOWN in sizes:
            raise ValueError
        return sizes

    def write(self, value):
        return dims.to_attribute(value)

    def read(self, attribute):
        if not isinstance(attribute, dims.DimsAttr):
            raise self._wrong(attribute)
        sizes = list(dims.from_attribute(attribute))
        if dims.UNKNOWN in sizes:
            raise self._wrong(attribute)
        return sizes


class OneSize(Attribute):
    """A size: an integer, stored as ``i64``, or an expression of symbols, stored as ``#relax.dims<["n"]>``."""

    expects = "a size (i64 or #relax.dims<[...]>)"

    def normalize(self, value):
        size = dims.as_size(value)
        if size is dims.UNKNOWN:
            raise ValueError
        return size

    def write(self, value):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value) if isinstance(value, int) else dims.to_attribute([value])

    def read(self, attribute):
        if isinstance(attribute, ir.IntegerAttr) and not isinstance(attribute, ir.BoolAttr):
            return attribute.value
        sizes = dims.from_attribute(attribute) if isinstance(attribute, dims.DimsAttr) else ()
        if len(sizes) != 1 or sizes[0] is dims.UNKNOWN:
            raise self._wrong(attribute)
        return sizes[0]


class Dense(Attribute):
    """A small constant (``dense<...> : tensor<...>``). Its Python value is a read-only array."""

    expects = "a dense constant"

    def normalize(self, value):
        return np.asarray(value)

    def write(self, value):
        return dtypes.dense_attribute(value)

    def read(self, attribute):
        if not isinstance(attribute, ir.DenseElementsAttr):
            raise self._wrong(attribute)
        return dtypes.array_of(attribute)
