"""Arguments that a call writes results to: what their memory must be like."""
from collections.abc import Sequence
from typing import Any

import numpy as np

from legato.runtime.arrays import is_negated, is_torch
from legato.runtime.signature import Parameter


def check_donated(args: Sequence[Any], parameters: Sequence[Parameter], donors: Sequence[int]) -> None:
    """ValueError for a donated argument that a call would have to copy, or that is not writable; wrong types and shapes are the call's
    to refuse."""
    for number in donors:
        if number < len(args):
            reason = _unwritable(args[number])
            if reason:
                raise ValueError(f"main: argument {number} '{parameters[number].name}' is donated: a result is written to its memory, and "
                                 f"it {reason}")


def _unwritable(value: Any) -> str:
    """Why results cannot be written to the memory of an argument; empty if they can, or if it is no tensor."""
    if isinstance(value, np.generic):
        return "is a scalar, which has no memory of its own: give an array"
    if not isinstance(value, np.ndarray):
        if is_negated(value):
            return "is a negated view: give its resolve_neg()"
        return "" if is_torch(value) else _unwritable_dlpack(value)   # torch's are writable, and of element types that numpy lacks
    if not value.flags.writeable:
        return "is read-only: give a copy"
    if not value.dtype.isnative:
        return "is not in native byte order: give a converted copy"
    if not value.flags.c_contiguous or not value.flags.aligned:
        return "is not contiguous and aligned: give a copy that is (numpy.ascontiguousarray)"
    return "is an array with masked elements: give its data" if isinstance(value, np.ma.MaskedArray) else ""


def _unwritable_dlpack(value: Any) -> str:
    try:
        view = np.from_dlpack(value)
    except (AttributeError, TypeError, BufferError, RuntimeError):
        return ""   # no tensor, not on the CPU, or of elements that numpy lacks
    return "" if view.flags.writeable else "is read-only: give a numpy array that is a copy of it"
