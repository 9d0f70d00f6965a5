"""Problems of an import: collected node by node and reported in one error."""
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from legato.core.errors import LegatoError, UnsupportedError

SHOWN = 3   # names of problems of one cause


class Refused(Exception):
    """Legato does not support this node; the text is the reason. The importer records it and continues."""


class Malformed(Exception):
    """This node violates ONNX's rules; the text is the reason. The importer records it and continues."""


class Told(Exception):
    """The problem inside this node has been recorded. The importer continues."""


class Undecided(Exception):
    """The result of a fold depends on symbols; the node is imported without folding."""


class ByDefinition(Exception):
    """An entry leaves this node to the op's definition in ONNX's schema. What it has built already has no users."""


class TryAgain(Exception):
    """No problem: what imports the body around the node does so again, with other values."""


@dataclass(frozen=True)
class Problem:
    """A node, input, initializer or output of the model that cannot be imported.

    ``name``: its name in the model, ``op``: its op type (``"input"``, ``"initializer"`` or ``"output"`` if it is not a node), ``opset``:
    the version of its domain's operator set.
    """

    name: str
    op: str
    domain: str
    opset: int | None
    reason: str
    malformed: bool = False

    @property
    def what(self) -> str:
        """The op or the kind, and the reason: what problems of one cause have in common."""
        opset = "" if self.opset is None else f", opset {self.opset}"
        return f"({spelled(self.domain, self.op)}{opset}): {self.reason}"

    def __str__(self) -> str:
        return f"{self.name} {self.what}"


def spelled(domain: str, op: str) -> str:
    """An op with its domain, if that is not ONNX's own."""
    return op if domain in ("", "ai.onnx") else f"{domain}.{op}"


class Problems(list):
    """The problems of one import, in the order found."""

    def raise_all(self, model: str) -> None:
        """Raises one error with all problems, if there are any: UnsupportedError if something is unsupported, else LegatoError.

        The error's ``problems`` has them as values.
        """
        if not self:
            return
        unsupported = [p for p in self if not p.malformed]
        malformed = [p for p in self if p.malformed]
        parts = []
        if unsupported:
            parts.append(_listing(f"{model} asks for what Legato does not do", unsupported))
        if malformed:
            parts.append(_listing(f"{model} is not a valid ONNX model", malformed))
        error = (UnsupportedError if unsupported else LegatoError)("\n".join(parts))
        error.problems = tuple(self)
        raise error


def _listing(title: str, problems: list[Problem]) -> str:
    """The problems, those of one cause in one line: a weights file that is missing is one line, not one for each weight."""
    count = "" if len(problems) == 1 else f", in {len(problems)} places"
    names = defaultdict(list)
    for problem in problems:
        names[problem.what].append(problem.name)
    return "\n".join([f"{title}{count}:", *(f"  {some_of(of)} {what}" for what, of in names.items())])


def some_of(names: Sequence[str]) -> str:
    """``a``; ``a, b``; ``a, b, c and 97 more``."""
    return ", ".join(names) if len(names) <= SHOWN else f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
