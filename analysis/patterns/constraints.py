"""What patterns require of a value besides the op that defines it: attributes, element type, shape, rank, and functions of a user."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

from legato.analysis.patterns.graph import Ref
from legato.core.dtypes import as_dtype
from legato.core.errors import LegatoError
from legato.core.user_code import asked, source_of
from legato.dialects.relax.dims import UNKNOWN, Dim, parse

Constraint = Callable[[Ref], "str | None"]  # returns None, or the reason why it does not hold


def of_a_user(function: Any) -> Constraint:
    """A user's constraint, whose answer is checked. LegatoError if it is no function; the constraint raises one for any other answer than
    None or a text, and for what it raises."""
    if not callable(function):
        raise LegatoError(f"where takes a function of the value that returns None or the reason why not, found {function!r}")

    def checked(ref: Ref) -> str | None:
        answer = asked(function, f"the constraint of a pattern on {ref}", ref)
        if answer is None or (isinstance(answer, str) and answer):
            return answer
        raise LegatoError(f"the constraint of a pattern on {ref} ({source_of(function)}) must return None or the reason why not; it "
                          f"returned {answer!r}")

    return checked


def of_attributes(wanted: Mapping[str, Any]) -> Constraint:
    """Attributes, defaults included, with these values; a callable is a predicate on the value."""
    return lambda ref: _attributes(ref, wanted)


def of_dtype(dtypes: Sequence[Any]) -> Constraint:
    """One of these element types."""
    accepted = [as_dtype(d) for d in _some(dtypes, "has_dtype", "element types", "has_dtype('f32', 'f16')")]
    return lambda ref: None if ref.type is not None and ref.type.dtype in accepted else (
        f"its elements are {ref.type and ref.type.dtype}, expected {' or '.join(str(d) for d in accepted)}")


def of_shape(sizes: Sequence[Any]) -> Constraint:
    """These sizes: ints, symbols, or None for any."""
    for size in sizes:
        if not (size is None or size is UNKNOWN or isinstance(size, str | Dim) or is_count(size)):
            raise LegatoError(f"has_shape takes sizes: ints, names of symbols and None for any, has_shape(1, 'n', None); found {size!r}")
    wanted = [parse(s) if isinstance(s, str) else s for s in sizes]

    def fits(ref: Ref) -> str | None:
        found = ref.type.dims if ref.type is not None else ()
        same = len(found) == len(wanted) and all(w is None or w == f for w, f in zip(wanted, found))
        return None if same else f"its shape is {_shown(found)}, expected {_shown(wanted)}"

    return fits


def of_rank(ranks: Sequence[int]) -> Constraint:
    """One of these ranks."""
    for rank in _some(ranks, "has_rank", "ranks", "has_rank(3, 4)"):
        if not is_count(rank):
            raise LegatoError(f"has_rank takes ranks, such as has_rank(3, 4), found {rank!r}")
    return lambda ref: None if ref.type is not None and ref.type.rank in ranks else (
        f"its rank is {ref.type and ref.type.rank}, expected {' or '.join(map(str, ranks))}")


def _some(given: Sequence[Any], method: str, what: str, example: str) -> Sequence[Any]:
    if not given:
        raise LegatoError(f"{method} takes the {what} that match, {example}, and found none")
    return given


def is_count(value: Any) -> bool:
    """Whether it is an int that is not negative."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _attributes(ref: Ref, wanted: Mapping[str, Any]) -> str | None:
    if ref.node is None:
        return "it is an argument, which has no attributes"
    attributes = ref.node.attrs
    for name, value in wanted.items():
        if name not in attributes:
            return f"it has no attribute '{name}' (it has: {', '.join(attributes) or 'none'})"
        found = attributes[name]
        fits = asked(value, f"the predicate of has_attr on the attribute '{name}' of {ref}", found) if callable(value) else found == value
        if not fits:
            return f"its attribute '{name}' is {found}" + ("" if callable(value) else f", expected {value}")
    return None


def _shown(sizes: Sequence[Any]) -> str:
    return f"[{', '.join('any' if s is None else str(s) for s in sizes)}]"
