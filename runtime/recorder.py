"""Instances of a compiled model that record their calls."""
import ctypes
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from legato.core.errors import LegatoError

HEAD, ROW = 2, 3    # words of ``Events`` (codegen/entry/layouts.py) before its rows, and of a row


@dataclass(frozen=True)
class RecordedCall:
    """A call of a kernel or packed function in a model.

    ``function``: its name in the compiled code. ``ops``: the graph ops that it computes, with the model's names. ``flops``, ``bytes``:
    arithmetic operations (a fused multiply-add is two), and bytes read and written, as expressions of the symbols; None if they depend on
    data or are not known.
    """

    function: str
    ops: tuple[str, ...]
    flops: str | None
    bytes: str | None


class Recorder:
    """Makes recording instances. ``calls``: reads the description that ``tir-emit-entry`` wrote; ``instance``: makes an instance, from
    the address of memory for its records."""

    def __init__(self, calls: Callable[[], str | None], instance: Callable[[ctypes.c_void_p], Callable[..., Any]]) -> None:
        self._calls, self._instance = calls, instance

    def calls(self) -> tuple[RecordedCall, ...]:
        """The calls that main makes. LegatoError for a model that was compiled without ``tir-profile-main``."""
        text = self._calls()
        if text is None:
            raise LegatoError("this model cannot be profiled: it was compiled without the pass tir-profile-main, or by an older Legato; "
                              "compile it again")
        return tuple(RecordedCall(function, tuple(ops), flops, bytes_) for function, ops, flops, bytes_ in json.loads(text))

    def instance(self, room: int) -> tuple["Records", Callable[..., Any]]:
        """Memory for so many records of a run, and an instance that writes them there."""
        records = Records(room)
        return records, self._instance(ctypes.c_void_p(records.address))


class Records:
    """What the last run recorded. It must outlive the instance that writes here."""

    def __init__(self, room: int) -> None:
        self._words = (ctypes.c_int64 * (HEAD + ROW * room))(room)
        self.address = ctypes.addressof(self._words)

    @property
    def counted(self) -> int:
        """The number of calls since the last ``take``, those without room for a record too."""
        return self._words[1]

    def take(self) -> list[tuple[int, int, int]]:
        """The calls since the last ``take``: number, begin and end in nanoseconds."""
        count = min(self._words[1], self._words[0])
        self._words[1] = 0
        return [tuple(self._words[at:at + ROW]) for at in range(HEAD, HEAD + ROW * count, ROW)]
