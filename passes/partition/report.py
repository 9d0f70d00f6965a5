"""What partitioning did, for explain."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KEY = "partition"


@dataclass(frozen=True)
class Record:
    """A pattern of a backend at one op. ``function``: what it became; ``reason``: why it was not taken; ``ops``: as messages show them."""

    backend: str
    pattern: str
    ops: tuple[str, ...]
    function: str | None = None
    reason: str | None = None


def records(report: dict[str, Any]) -> list[Record]:
    """The records of a run of passes."""
    return report.setdefault(KEY, [])
