"""Rules: how one op is legalized or lowered on one target, as values.

A rule has a *moment* and a *form*. At the moment *legalize* an op is replaced by ops that the device supports; at *lower* an intrinsic is
replaced by an instruction of the device or a library call. The forms:

- a *kernel* rule builds the body of a prim_func: ``fn(k, *inputs, *outputs)`` gets a graph op's operands and its outputs as tensors
  inside the kernel, and returns the values tied to the outputs;
- a *rewrite* rule replaces a graph op in place: ``fn(op, *operands)`` returns the values that replace the op's results;
- an *intrinsic* rule replaces a scalar or vector op, after scheduling: ``fn(op, *operands)`` returns the values that replace it.

Each may return a ``Refusal`` with its reason. What it has built by then is removed.
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from legato.core.dtypes import SPELLINGS
from legato.core.errors import LegatoError
from legato.core.user_code import source_of

Form = Literal["kernel", "rewrite", "intrinsic"]
Moment = Literal["legalize", "lower"]
Predicate = Callable[[Any], Any]
ELEMENT_TYPES = SPELLINGS | {"index"}     # of what an intrinsic computes
TARGETS_OWN, REGISTERED, GIVEN = 0, 1, 2  # layers: rules of the target, of the process's registry, given to one call


@dataclass(frozen=True)
class Rule:
    """The legalization or lowering of an op on a target. ``op``: a full op name (``relax.softmax``, ``math.exp``).

    Among the rules of one target for one op a higher ``layer`` comes first, then a higher ``priority``. ``when``: predicates on the first
    argument of the function; each returns True, or the reason for a refusal. ``dtypes``: the element types that an intrinsic rule supports
    (empty: any); f16 and bf16 are computed in f32 if only f32 is among them. ``source``: file:line. ``schedule``: of the kernels that the
    rule makes, in place of the target's own: a function that takes its steps on a Schedule, a ``legato.Schedule``, or a script.
    ``updates``: of a kernel rule, the operand that its one output starts as: the function gets the output in that operand's place as well,
    and changes it, unless the operand is a constant.
    """

    op: str
    form: Form
    function: Callable[..., Any]
    name: str
    source: str = ""
    priority: int = 0
    when: tuple[Predicate, ...] = ()
    moment: Moment = "legalize"
    dtypes: tuple[str, ...] = ()
    layer: int = TARGETS_OWN
    schedule: Any = None
    updates: int | None = None

    @property
    def rank(self) -> tuple[int, int]:
        """The order among the rules of one target for one op: the greatest is tried first."""
        return self.layer, self.priority

    def refusal(self, op: Any) -> str | None:
        """The reason why the predicates refuse ``op``, or None."""
        for predicate in self.when:
            answer = predicate(op)
            name = getattr(predicate, "__name__", predicate)
            if isinstance(answer, str) and answer:
                return answer
            if not isinstance(answer, bool | np.bool_):
                raise LegatoError(f"its predicate {name} ({source_of(predicate)}) must return True or the reason why not; it returned "
                                  f"{answer!r}")
            if not answer:
                return f"{name} is not met"
        return None

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def predicates(when: "Predicate | tuple[Predicate, ...] | list[Predicate]") -> tuple[Predicate, ...]:
    """One predicate or several, as a tuple. LegatoError for what is none."""
    found = tuple(when) if isinstance(when, tuple | list) else (when,)
    for one in found:
        if not callable(one):
            raise LegatoError(f"when=: a predicate is a function of the op that returns True or the reason why not, such as "
                              f"legato.kernels.dtype('f32'); found {one!r}")
    return found


def _check_dtypes(dtypes: Any) -> None:
    if not isinstance(dtypes, tuple | list) or not all(isinstance(one, str) and one in ELEMENT_TYPES for one in dtypes):
        raise LegatoError(f"dtypes=: a tuple of element types as IR spells them, such as ('f32', 'bf16', 'i64'); found {dtypes!r}")


def make_rules(ops: tuple[str, ...], form: Form, function: Callable[..., Any], **options: Any) -> tuple[Rule, ...]:
    """One rule per op, all with the same function."""
    if not callable(function):
        raise LegatoError(f"the rule of {', '.join(ops)} is no function: {function!r}")
    priority, updates = options.get("priority", 0), options.get("updates")
    if not isinstance(priority, int):
        raise LegatoError(f"priority=: an int, of which the higher is tried first; found {priority!r}")
    if updates is not None and (not isinstance(updates, int) or isinstance(updates, bool) or updates < 0):
        raise LegatoError(f"updates=: the number of an operand, from 0, that the output starts as; found {updates!r}")
    options["when"] = predicates(options.get("when", ()))
    _check_dtypes(options.get("dtypes", ()))
    options["dtypes"] = tuple(options.get("dtypes", ()))
    if form == "intrinsic" and options.get("schedule") is not None:
        raise LegatoError(f"schedule=: {', '.join(ops)} is computed inside of kernels that are scheduled already; rules of graph ops have "
                          "schedules")
    name = getattr(function, "__name__", type(function).__name__)
    return tuple(Rule(op, form, function, name, source_of(function), **options) for op in ops)


Function = Callable[..., Any]
When = Predicate | tuple[Predicate, ...]


def _decorator(ops: tuple[str, ...], form: Form, **options: Any) -> Callable[[Function], Any]:
    if not ops or not all(isinstance(op, str) for op in ops):
        example = "math.exp" if form == "intrinsic" else "relax.softmax"
        raise LegatoError(f"@{form}(...) takes the names of ops, such as @{form}('{example}'); found {', '.join(map(repr, ops)) or 'none'}")

    def make(function: Function) -> Rule | tuple[Rule, ...]:
        rules = make_rules(ops, form, function, **options)
        return rules[0] if len(rules) == 1 else rules

    return make


def kernel(*ops: str, priority: int = 0, when: When = (), schedule: Any = None, updates: int | None = None) -> Callable[[Function], Any]:
    """Decorator: makes a function a kernel rule: one ``Rule``, or a tuple for several ops. Registers nothing."""
    return _decorator(ops, "kernel", priority=priority, when=when, schedule=schedule, updates=updates)


def rewrite(*ops: str, priority: int = 0, when: When = (), schedule: Any = None) -> Callable[[Function], Any]:
    """Decorator: makes a function a rewrite rule: one ``Rule``, or a tuple for several ops. Registers nothing."""
    return _decorator(ops, "rewrite", priority=priority, when=when, schedule=schedule)


def intrinsic(*ops: str, moment: Moment = "legalize", dtypes: tuple[str, ...] = (), priority: int = 0,
              when: When = ()) -> Callable[[Function], Any]:
    """Decorator: makes a function an intrinsic rule: one ``Rule``, or a tuple for several ops. Registers nothing."""
    return _decorator(ops, "intrinsic", moment=moment, dtypes=dtypes, priority=priority, when=when)
