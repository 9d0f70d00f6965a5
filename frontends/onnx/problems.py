"""What an import finds wrong, collected node by node and told at once."""
from dataclasses import dataclass

from legato.core.errors import LegatoError, UnsupportedError


class Refused(Exception):
    """This node asks for what Legato does not do; the text is the reason. The importer adds the node and goes on."""


class Malformed(Exception):
    """This node breaks ONNX's rules; the text says how. The importer adds the node and goes on."""


class Told(Exception):
    """What is wrong inside this node is among the problems already. The importer goes on."""


class Undecided(Exception):
    """Folding cannot tell what a node gives, because that depends on symbols: it is imported like any other."""


@dataclass(frozen=True)
class Problem:
    """One node, or one input of the model, that cannot be imported.

    ``name`` is the model's own name for it, ``op`` its op type (``"input"``, ``"initializer"`` or ``"output"`` for what is no node),
    ``opset`` the version of its domain's operator set.
    """

    name: str
    op: str
    domain: str
    opset: int | None
    reason: str
    malformed: bool = False

    def __str__(self) -> str:
        domain = "" if self.domain in ("", "ai.onnx") else f"{self.domain}."
        opset = "" if self.opset is None else f", opset {self.opset}"
        return f"{self.name} ({domain}{self.op}{opset}): {self.reason}"


class Problems(list):
    """The problems of one import, first met first."""

    def raise_all(self, model: str) -> None:
        """Raises what there is, if anything, in one error: UnsupportedError if something is not supported, else LegatoError.

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
    count = "" if len(problems) == 1 else f", in {len(problems)} places"
    return "\n".join([f"{title}{count}:", *(f"  {problem}" for problem in problems)])
