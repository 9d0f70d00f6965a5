"""The rules of CPUs for intrinsics: the polynomials and selections of vector_math, as legalizations."""
from collections.abc import Callable
from typing import Any

from ...dialects.errors import Refusal
from ..rule import Rule, source_of
from .vector_math import EXPANSIONS


def _rule(op: str, expand: Callable[..., Any]) -> Rule:
    def legalize(op: Any, *operands: Any) -> Any:
        value = expand(op.op, op.machine)
        return Refusal("LLVM does it better") if value is None else value

    return Rule(op, "intrinsic", legalize, expand.__name__, source_of(expand))


RULES = tuple(_rule(op, expand) for op, expand in EXPANSIONS.items())
