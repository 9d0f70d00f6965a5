"""Rules: how one op is legalized, as values.

A rule comes in one of two forms. A *kernel* rule builds the body of a prim_func: ``fn(k, *inputs, *outputs)`` gets the op's operands and
its outputs as tensors inside the kernel and returns the values tied to the outputs. A *rewrite* rule stands at the op's place: ``fn(op,
*operands)`` returns the values that replace the op's results. Either may return a ``Refusal`` with its reason, before it builds anything.
"""
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Form = Literal["kernel", "rewrite"]


@dataclass(frozen=True)
class Rule:
    """``op``: a full op name (``relax.softmax``); ``priority``: among rules of one target for one op, higher is tried first."""

    op: str
    form: Form
    function: Callable[..., Any] = field(compare=False)
    name: str
    source: str = ""
    priority: int = 0
    when: tuple[Callable[[Any], Any], ...] = ()

    def refusal(self, op: Any) -> str | None:
        """Why this rule does not take ``op``, or None. Predicates answer True, or a reason."""
        for predicate in self.when:
            answer = predicate(op)
            if answer is not True:
                return str(answer) if answer else f"{predicate.__name__} is not met"
        return None

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def _source(function: Callable[..., Any]) -> str:
    code = inspect.unwrap(function).__code__
    path = Path(code.co_filename)
    return f"{path.parent.name}/{path.name}:{code.co_firstlineno}"


def _decorator(form: Form, ops: tuple[str, ...], priority: int, when: tuple[Callable[[Any], Any], ...]):
    def make(function: Callable[..., Any]):
        rules = tuple(Rule(op, form, function, function.__name__, _source(function), priority, when) for op in ops)
        return rules[0] if len(rules) == 1 else rules

    return make


def kernel(*ops: str, priority: int = 0, when: tuple[Callable[[Any], Any], ...] = ()):
    """Makes a kernel rule of a function: one ``Rule``, or a tuple of them for several ops."""
    return _decorator("kernel", ops, priority, when)


def rewrite(*ops: str, priority: int = 0, when: tuple[Callable[[Any], Any], ...] = ()):
    """Makes a rewrite rule of a function: one ``Rule``, or a tuple of them for several ops."""
    return _decorator("rewrite", ops, priority, when)
