"""The report of partitioning, for explain."""
from __future__ import annotations

from typing import Any

from legato.core.records import PatternRecord

KEY = "partition"


def records(report: dict[str, Any]) -> list[PatternRecord]:
    """The records of a run of passes, in its report."""
    return report.setdefault(KEY, [])
