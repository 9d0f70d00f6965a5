"""Constants of a graph's script: ``R.const``, ``R.weight``, numpy arrays."""

import ast
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.tvm.values import describe, dtype_of, element, ints, numpy_type

LARGE = 1024  # bytes: larger constants go to the weight store
NARROW = {"float64": "float32", "int64": "int32"}  # the types that Python's numbers get


def constant(parser: GraphParser, array: Any, name: str = "constant") -> ir.Value:
    """A numpy array as a ``relax.constant``; a large one in the module's weight store, under a key after ``name``."""
    array = np.asarray(array)
    if array.nbytes <= LARGE:
        return relax.constant(array)
    key = parser.program.module.weights.add(name, np.ascontiguousarray(array))
    return relax.weight(key, array.dtype, array.shape)


def weight(parser: GraphParser, node: ast.Call) -> ir.Value:
    """``R.weight("key", (64, 3, 7, 7), "float32")``: a constant whose bytes are in the weight store."""
    if len(node.args) != 3 or node.keywords:
        raise Misuse("R.weight takes a key, a shape and a type of elements")
    key, shape, dtype = (parser.expression(a) for a in node.args)
    return relax.weight(key, dtype_of(dtype), ints(shape))


def const(parser: GraphParser, node: ast.Call) -> ir.Value:
    """``R.const(1.5, "float32")``, of a number, a list of numbers or a numpy array."""
    given = dict(zip(("value", "dtype"), node.args)) | {str(k.arg): k.value for k in node.keywords}
    if "value" not in given or set(given) - {"value", "dtype"} or len(node.args) > 2:
        raise Misuse("R.const takes a value and a type of elements")
    value = parser.expression(given["value"])
    dtype = dtype_of(parser.expression(given["dtype"])) if "dtype" in given else None
    if isinstance(value, ir.Value):
        return value if dtype in (None, element(value)) else relax.astype(value, dtype)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise Misuse(f"R.const: {error}") from None
    if array.dtype.kind not in "biufV" or array.dtype.names is not None:
        raise Misuse(f"R.const takes numbers, lists of numbers and numpy arrays, not {describe(value)}")
    default = array.dtype.name if isinstance(value, (np.ndarray, np.generic)) else NARROW.get(array.dtype.name, array.dtype.name)
    try:
        with np.errstate(over="raise", invalid="raise"):
            return constant(parser, array.astype(numpy_type(dtype or default)))
    except (FloatingPointError, OverflowError, ValueError) as error:
        raise Misuse(f"R.const: {describe(value)} is no value of type {dtype or default}: {error}") from None
