"""Inputs and outputs that are lists of tensors, or none: what a caller gives and gets, and the tensors of the compiled function.

Where only a call says how many tensors an output has, or whether it is none, the function gives them in a ``layout``:

=================  ==================================================================================================================
``tensor``         the tensor itself
``stacked``        all tensors of the list along a new axis 0
``joined A``       all tensors one behind the other along axis A, and a vector of their sizes along it
``flat``           the elements of all tensors one behind the other, and a matrix with a row for each tensor's shape
``list N``         N tensors
``optional L``     a boolean that says whether there is a value, and the value in the layout L, which means nothing where there is none
=================  ==================================================================================================================
"""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

NONE, RUN_TIME = -1, -2


@dataclass(frozen=True)
class ValueForm:
    """An input or output. ``count``: the tensors of a list, NONE for an optional without a value, RUN_TIME for an output in a layout, None
    for a tensor."""

    name: str
    count: int | None = None
    layout: str = "tensor"

    @property
    def tensors(self) -> int:
        """The number of its tensors in the compiled function."""
        if self.count != RUN_TIME:
            return 1 if self.count is None else max(self.count, 0)
        kind, *number = self._inner.split()
        return self._is_optional + {"tensor": 1, "stacked": 1, "joined": 2, "flat": 2}.get(kind, int(number[0]) if number else 0)

    def shown(self, parts: Sequence[Any]) -> str:
        """The form with its tensors as text: ``float32[3]``, ``[float32[3], float32[n]]``, ``[float32[?, 3], ...]``, ``None``."""
        if self.count == RUN_TIME:
            text = _shown(self._inner.split(), parts[self._is_optional:])
            return f"{text} or None" if self._is_optional else text
        return str(parts[0]) if self.count is None else "None" if self.count == NONE else f"[{', '.join(map(str, parts))}]"

    def value(self, parts: Sequence[Any]) -> Any:
        """What a caller gets, of the arrays of its tensors. Arrays of a list share no memory with each other."""
        if self.count != RUN_TIME:
            return parts[0] if self.count is None else None if self.count == NONE else list(parts)
        if self._is_optional and not bool(parts[0]):
            return None
        return _unpacked(self._inner.split(), parts[self._is_optional:])

    @property
    def _is_optional(self) -> bool:
        return self.layout.startswith("optional ")

    @property
    def _inner(self) -> str:
        return self.layout.removeprefix("optional ")


def _unpacked(layout: list[str], parts: Sequence[Any]) -> Any:
    kind = layout[0]
    if kind in ("tensor", "list"):
        return parts[0] if kind == "tensor" else list(parts)
    data = parts[0]
    if kind == "stacked":
        return [_own(data[number, ...]) for number in range(data.shape[0])]
    rows, axis, begin = np.asarray(parts[1]).tolist(), int(layout[1]) if kind == "joined" else 0, 0
    found = []
    for row in rows:
        size = row if kind == "joined" else int(np.prod(row))
        piece = _own(data[(*[slice(None)] * axis, slice(begin, begin + size))])
        found.append(piece if kind == "joined" else piece.reshape(row))
        begin += size
    return found


def _own(array: Any) -> Any:
    return array.copy() if isinstance(array, np.ndarray) else array


def _shown(layout: list[str], parts: Sequence[Any]) -> str:
    kind, *number = layout
    if kind in ("tensor", "list"):
        return str(parts[0]) if kind == "tensor" else f"[{', '.join(map(str, parts))}]"
    sizes = list(map(str, parts[0].shape))
    if kind == "stacked":
        sizes = sizes[1:]
    elif kind == "joined":
        sizes[int(number[0])] = "?"
    else:
        sizes = ["?"] * parts[1].shape[1]
    return f"[{parts[0].dtype}[{', '.join(sizes)}], ...]"


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
    return [form.value(parts) for form, parts in grouped(forms, tensors)]


def named(names: Sequence[str], values: Sequence[Any]) -> list[tuple[str, Any]]:
    """Each tensor of some values with its name: that of the value, ``y[0]`` and so on of those in a list."""
    found: list[tuple[str, Any]] = []
    for name, value in zip(names, values, strict=True):
        found += [(f"{name}[{number}]", part) for number, part in enumerate(value)] if isinstance(value, list) else \
            [] if value is None else [(name, value)]
    return found


def by_name(forms: Sequence[ValueForm], parts: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by an input's name, of tensors by their own. Inputs of which a tensor is missing are left out."""
    found = {}
    for form, names in grouped(forms, parts):
        if form.name in given:
            found[form.name] = given[form.name]
        elif all(name in given for name in names):
            found[form.name] = folded([form], [given[name] for name in names])[0]
    return found
