"""What can go wrong, as values that name the op, what was expected and what to do."""

from dataclasses import dataclass


class LegatoError(Exception):
    """Anything that Legato refuses or fails at, told to the person who asked for it."""


class UnsupportedError(LegatoError):
    """The model asks for what Legato does not do. Nothing else is reported this way."""


class InferenceError(LegatoError):
    """Operands or attributes of one op do not fit together.

    Raised by shape inference without naming the op; whoever called it (a builder, a verifier, a pass) adds the op and its location.
    ``for_any_sizes``: a builder found that they do not, whatever the sizes are that only the run time knows.
    """

    for_any_sizes = False


class StaticSizeError(InferenceError):
    """A size that is known only at run time stands where the op wants a number."""


class ElementTypeError(InferenceError):
    """The operands have element types that the op does not take."""


@dataclass(frozen=True)
class Refusal:
    """A rule's answer that it does not take an op, with the reason. A value, not an exception."""

    reason: str

    def __str__(self) -> str:
        return self.reason
