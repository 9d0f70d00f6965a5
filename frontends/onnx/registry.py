"""ONNX ops that this process registers with ``@legato.onnx_op``. An import works on a snapshot; Legato's own table is in ``ops/``."""
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from legato.core.errors import LegatoError, Refusal
from legato.core.mlir import ir
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.reader import canonical_domain
from legato.frontends.onnx.values import Value

Key = tuple[str, str]   # domain, op type

_OUTPUTS = (ir.Value, Value, np.ndarray, np.generic, int, float)

_lock = threading.RLock()
_state: dict[Key, dict[int, Callable[..., Any]]] = {}


def onnx_op(domain: str, op_type: str, *, since: int = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: registers a function as the import of the ONNX op ``op_type`` of ``domain``, from version ``since`` of its opset on.

    The function is called with the node (``OnnxNode``: ``node.x(0)`` is an input, ``node.number("epsilon", 1e-5)`` an attribute) and
    returns the node's outputs: one value or a tuple, each a relax value or a numpy array; or ``legato.Refusal("why")``. Attributes and
    inputs that it does not read are errors. With several functions for one op, the newest that is not newer than the model's opset is
    called. They take the place of Legato's own import of an op, and of ONNX's definition. Defining a function again replaces it.

    The function itself is returned. LegatoError: the names are not names, or ``since`` is not a version.
    """
    where = f"@legato.onnx_op({domain!r}, {op_type!r})"
    if not all(isinstance(name, str) for name in (domain, op_type)) or not op_type:
        raise LegatoError(f"{where} wants the domain and the name of an ONNX op, as in @legato.onnx_op(\"acme\", \"FusedNorm\", since=1)")
    if not isinstance(since, int) or isinstance(since, bool) or since < 1:
        raise LegatoError(f"{where}: since is the version of the opset that the function is for, from 1 on; it is {since!r}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        global _state
        if not callable(function):
            raise LegatoError(f"{where} decorates a function of a node, not {type(function).__name__}")
        if not takes_one(function):
            name = getattr(function, "__name__", "it")
            raise LegatoError(f"{where} decorates a function that is called with the node alone; {name} takes "
                              f"{inspect.signature(function)}: inputs are node.x(0), attributes node.number(\"alpha\")")
        key = (canonical_domain(domain), op_type)
        with _lock:
            _state = _state | {key: _state.get(key, {}) | {since: function}}
        return function

    return register


def takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with one argument; True where its signature is not known."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def registered() -> Mapping[Key, Entry]:
    """The ops that are registered now."""
    return {key: _entry(key, functions) for key, functions in _state.items()}


@contextmanager
def isolated() -> Iterator[None]:
    """A context whose registrations are undone at its end, for tests and notebooks."""
    global _state
    before = _state
    try:
        yield
    finally:
        with _lock:
            _state = before


def _entry(key: Key, functions: Mapping[int, Callable[..., Any]]) -> Entry:
    versions = tuple(sorted(functions))

    @functools.wraps(functions[versions[-1]])     # what it raises is the user's
    def build(node):
        function = functions[max(version for version in versions if version <= node.version)]
        result = function(node)
        if isinstance(result, Refusal):
            raise Refused(str(result))
        if result is None:
            raise LegatoError(f"its import {function.__name__} returned nothing: it returns the values of the node's outputs, or "
                              "legato.Refusal(\"why\")")
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if value is not None and not isinstance(value, _OUTPUTS):
                raise LegatoError(f"its import {function.__name__} returned a {type(value).__name__} for an output: relax values and numpy "
                                  "arrays are outputs")
        return result

    return Entry(key[1], versions, build, domain=key[0], newer=True)
