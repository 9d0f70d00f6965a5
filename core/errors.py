"""Errors that Legato raises on purpose; messages name the op, what was expected and what to do."""

from dataclasses import dataclass


class LegatoError(Exception):
    """Base of all errors that Legato raises on purpose."""


class UnsupportedError(LegatoError):
    """The model uses a feature that Legato does not support. Raised for nothing else."""


class InferenceError(LegatoError):
    """Operands or attributes of one op do not fit together.

    Shape inference raises it without naming the op; its caller (a builder, a verifier, a pass) adds the op and its location.
    ``for_any_sizes``: the operands do not fit whatever values the dynamic sizes take.
    """

    for_any_sizes = False


class StaticSizeError(InferenceError):
    """A size is known only at run time, but the op needs a constant there."""


class ElementTypeError(InferenceError):
    """The operands have element types that the op does not accept."""


@dataclass(frozen=True)
class Refusal:
    """A rule's answer that it does not apply to an op, with the reason. A value, not an exception."""

    reason: str

    def __str__(self) -> str:
        return self.reason
