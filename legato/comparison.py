"""Comparison with onnxruntime: random inputs, the other runtime, relative errors."""
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from legato.core.errors import LegatoError


def random_inputs(inputs: list[Any], sizes: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Random values for an executable's inputs: normal floats, integers 0 and 1, booleans.

    ``sizes``: values of symbols; the default is DEFAULT_SIZE.
    """
    random = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for spec in inputs:
        shape = [size_of(d, sizes) for d in spec.shape]
        kind = np.dtype(spec.dtype).kind
        if kind == "b":
            arrays[spec.name] = random.integers(0, 2, shape).astype(bool)
        elif kind in "iu":
            arrays[spec.name] = random.integers(0, 2, shape).astype(spec.dtype)
        else:
            arrays[spec.name] = random.standard_normal(shape).astype(spec.dtype)
    return arrays


SIZE = re.compile(r"(?P<symbol>\w+)(?: \* (?P<scale>\d+))?(?: (?P<sign>[+-]) (?P<offset>\d+))?")  # the forms of an input's size
DEFAULT_SIZE = 8


def symbol_in(size: int | str) -> str | None:
    """The symbol in an input's size: ``n`` for ``n * 2 + 1``. None for a number and for ``?``."""
    match = SIZE.fullmatch(str(size))
    return match["symbol"] if match and not isinstance(size, int) else None


def size_of(size: int | str, sizes: dict[str, int]) -> int:
    """The value of an input's size. ``sizes``: values of symbols; the default is DEFAULT_SIZE."""
    if isinstance(size, int):
        return size
    match = SIZE.fullmatch(size)
    if match is None:
        return DEFAULT_SIZE
    offset = int(match["offset"] or 0)
    return sizes.get(match["symbol"], DEFAULT_SIZE) * int(match["scale"] or 1) + (-offset if match["sign"] == "-" else offset)


class Peer:
    """onnxruntime on the same model, with one thread by default."""

    def __init__(self, model: str | bytes, threads: int = 1):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def check_overridable(self, names: Sequence[str]) -> None:
        """LegatoError for an initializer that onnxruntime does not let a call override."""
        known = {i.name for i in self.session.get_overridable_initializers()}
        for name in names:
            if name not in known:
                raise LegatoError(f"onnxruntime takes '{name}' for a constant: it overrides initializers that the model lists among its "
                                  "inputs, in version 4 of the format or later")

    def __call__(self, inputs: dict[str, np.ndarray]) -> list[Any]:
        wanted = {i.name for i in (*self.session.get_inputs(), *self.session.get_overridable_initializers())}
        return list(self.session.run(None, {k: v for k, v in inputs.items() if k in wanted}))


def relative_error(a: np.ndarray, b: np.ndarray) -> float:
    """max|a-b| / max|b|. Infinite if shapes or element types differ, or if NaN and infinities are at different positions."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.size == 0 or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return 0.0
    if a.dtype.kind in "biu":
        return float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    return float(np.max(np.abs(a[finite] - b[finite])) / max(np.max(np.abs(b[finite])), 1e-30))
