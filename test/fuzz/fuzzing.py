"""What a fuzzer is made of: a subject makes a case from a seed; a case runs, and has the files that reproduce it without the generator."""
import importlib
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["ok", "refused", "invalid", "wrong", "error", "crash", "hang"]
FINDINGS: tuple[Kind, ...] = ("wrong", "error", "crash", "hang")


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    ``ok``: the result is the oracle's. ``refused``: a ``LegatoError`` says what is not supported. ``invalid``: the oracle refuses the case,
    so it proves nothing. The rest are findings: ``wrong`` results; ``error``, an exception that is no ``LegatoError``, or a refusal of what
    must be taken; ``crash`` and ``hang`` of the process.
    """

    kind: Kind
    text: str = ""

    @property
    def finding(self) -> bool:
        return self.kind in FINDINGS


OK = Outcome("ok")


class Case(Protocol):
    """One program with its inputs. ``features``: what it covers, as "group value" ("op Conv", "dtype f16"), for the coverage table."""

    @property
    def features(self) -> Iterable[str]: ...

    def run(self) -> Outcome: ...

    def files(self) -> Mapping[str, str | bytes]:
        """Name to content: what reproduces the case."""
        ...


Subject = Callable[[int], Case]

SUBJECTS = {
    "kernels": "kernel_cases:kernel_case",
}


def subject(name: str) -> Subject:
    """A subject by its name in ``SUBJECTS``."""
    module, function = SUBJECTS[name].split(":")
    return getattr(importlib.import_module(module), function)


def attempt(case: Case) -> Outcome:
    """Runs the case; an exception is an ``error``."""
    try:
        return case.run()
    except Exception:
        return Outcome("error", traceback.format_exc())
