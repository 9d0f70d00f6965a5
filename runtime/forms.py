"""Inputs and outputs that are lists of tensors, or none: what a caller gives and gets, and the tensors of the compiled function."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NONE = -1


@dataclass(frozen=True)
class ValueForm:
    """An input or output. ``count``: the tensors of a list, NONE for an optional without a value, None for a tensor."""

    name: str
    count: int | None = None

    @property
    def tensors(self) -> int:
        """The number of its tensors."""
        return 1 if self.count is None else max(self.count, 0)

    def shown(self, parts: Sequence[Any]) -> str:
        """The form with its tensors as text: ``float32[3]``, ``[float32[3], float32[n]]``, ``None``."""
        return str(parts[0]) if self.count is None else "None" if self.count == NONE else f"[{', '.join(map(str, parts))}]"


def forms_of(rows: Sequence[Sequence[Any]]) -> tuple[ValueForm, ...]:
    """The forms of the metadata's rows."""
    return tuple(ValueForm(*row) for row in rows)


def grouped(forms: Sequence[ValueForm], tensors: Sequence[Any]) -> Iterator[tuple[ValueForm, Sequence[Any]]]:
    """Each form with its tensors."""
    begin = 0
    for form in forms:
        yield form, tensors[begin: begin + form.tensors]
        begin += form.tensors


def flattened(forms: Sequence[ValueForm], parameters: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The tensors of a call's arguments. TypeError for a list of another length, or a value that is none or has to be one."""
    if len(values) != len(forms):
        raise TypeError(f"main takes {len(forms)} arguments, but {len(values)} were given")
    tensors: list[Any] = []
    for number, ((form, parts), value) in enumerate(zip(grouped(forms, parameters), values)):
        is_list = isinstance(value, (list, tuple))
        fits = form.count is None or (value is None if form.count == NONE else is_list and len(value) == form.count)
        if not fits:
            given = f"a list of {len(value)}" if is_list else "None" if value is None else f"a value of {type(value).__name__}"
            raise TypeError(f"main: argument {number} '{form.name}' must be {form.shown(parts)}, but {given} was given: how many tensors "
                            "it has is fixed when the model is imported")
        tensors += [value] if form.count is None else value or []
    return tensors


def folded(forms: Sequence[ValueForm], tensors: Sequence[Any]) -> list[Any]:
    """A call's results of their tensors."""
    return [parts[0] if form.count is None else None if form.count == NONE else list(parts) for form, parts in grouped(forms, tensors)]


def by_name(forms: Sequence[ValueForm], parts: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by an input's name, of tensors by their own. Inputs of which a tensor is missing are left out."""
    found = {}
    for form, names in grouped(forms, parts):
        if form.name in given:
            found[form.name] = given[form.name]
        elif all(name in given for name in names):
            found[form.name] = folded([form], [given[name] for name in names])[0]
    return found
