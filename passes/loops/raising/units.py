"""Axes of extent 1 for dimensions of size 1, so that structured ops index all dimensions."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from legato.analysis.indices.linear import Linear
from legato.dialects.tir.loops import SPATIAL
from legato.passes.loops.raising.axes import AxisForms


@dataclass(frozen=True)
class Unit:
    """An axis of extent 1, for a dimension of size 1."""

    number: int


def with_units(accesses: Sequence[Any], stores: int, kinds: dict[Any, str], indices: AxisForms) -> tuple[dict[Any, str], AxisForms]:
    """Gives dimensions of size 1 that are accessed at 0 axes. ``accesses``: the stores, followed by the loads."""
    units: list[Unit] = []
    for number, access in enumerate(accesses):
        shape, used = indices.sizes.shape(access.buffer), 0
        for dimension, (form, size) in enumerate(zip(access.forms, shape)):
            if size != 1 or not form.is_constant or form.constant != 0:
                continue
            if used == len(units):
                if number >= stores:
                    break
                units.append(Unit(used))
            access.forms[dimension] = Linear({units[used]: 1})
            used += 1
    if not units:
        return kinds, indices
    order = list(kinds)
    for unit in units:  # each after the axis of the dimension before it
        forms = next(a.forms for a in accesses if any(form.terms == {unit: 1} for form in a.forms))
        at = next(n for n, form in enumerate(forms) if form.terms == {unit: 1})
        before = [key for form in forms[:at] for key in form.terms if key in order]
        order.insert(order.index(before[-1]) + 1 if before else 0, unit)
    return {axis: kinds.get(axis, SPATIAL) for axis in order}, AxisForms({**dict.fromkeys(units, 1), **indices.extents}, indices.sizes)
