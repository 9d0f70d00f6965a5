"""The interfaces of what a compile tells about itself, for the runtime, which keeps it and loads no compiler."""
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from legato.core.records import KernelRecord, PatternRecord, RuleRecord


class ReportLike(Protocol):
    """What a compile did: ``legato.Report``."""

    @property
    def stages(self) -> Sequence[tuple[str, float]]: ...
    @property
    def passes(self) -> Sequence[tuple[str, float]]: ...
    @property
    def stage_passes(self) -> Mapping[str, Sequence[tuple[str, float]]]: ...
    @property
    def kernels(self) -> Sequence[str]: ...
    @property
    def details(self) -> Mapping[str, Any]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def target(self) -> object: ...


class ExplanationLike(Protocol):
    """The rules and patterns that were applied, and the kernels that run: ``targets.explain.Explanation``. ``str()`` is a table."""

    @property
    def records(self) -> Sequence[RuleRecord]: ...
    @property
    def partition(self) -> Sequence[PatternRecord]: ...
    @property
    def kernels(self) -> Sequence[KernelRecord]: ...

    def json(self) -> str:
        """The explanation as JSON."""
        ...
