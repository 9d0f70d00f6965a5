"""Arithmetic of layouts: permutations, and reshapes in a permuted layout.

A value with dimensions 0, 1, ... may be held as another tensor whose dimension i is the value's dimension `perm[i]`. That tuple is called
a layout here: `(0, 2, 3, 1)` holds an NCHW value as NHWC.
"""
from collections.abc import Sequence
from typing import NamedTuple

from legato.dialects.relax.dims import UNKNOWN, Size, floor_divide, product

Perm = tuple[int, ...]


def between(source: str, target: str) -> Perm:
    """The layout that holds a `source` value (``"NCHW"``) as a `target` one (``"NHWC"``)."""
    return tuple(source.index(letter) for letter in target)


def for_axes(layout: str, like: str) -> str:
    """A layout of images or kernels (``"NHWC"``) with the spatial axes of another (``"NCW"``: ``"NWC"``)."""
    return layout.replace("HW", "".join(letter for letter in "DHW" if letter in like))


def is_identity(perm: Perm) -> bool:
    """Whether the permutation changes nothing."""
    return perm == tuple(range(len(perm)))


def invert(perm: Perm) -> Perm:
    """The inverse permutation."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def compose(first: Perm, then: Perm) -> Perm:
    """The permutation that does `first`, then `then`."""
    return tuple(first[axis] for axis in then)


def apply(perm: Perm, sizes: Sequence[Size]) -> list[Size]:
    """The sizes in the layout `perm`."""
    return [sizes[axis] for axis in perm]


def moves_only_ones(perm: Perm, sizes: Sequence[Size]) -> bool:
    """Whether permuting a tensor of these sizes keeps the order of its elements: only dimensions of size 1 move."""
    moved = [axis for axis in perm if sizes[axis] != 1]
    return moved == sorted(moved)


def after_reduction(perm: Perm, axes: Sequence[int]) -> Perm:
    """The layout of the remaining dimensions after the value's dimensions `axes` are removed."""
    left = [axis for axis in perm if axis not in axes]
    return tuple(sorted(left).index(axis) for axis in left)


class DimGroup(NamedTuple):
    """Adjacent dimensions `old` that a reshape turns into the dimensions `new`."""

    old: tuple[int, ...]
    new: tuple[int, ...]


def groups(old: Sequence[Size], new: Sequence[Size]) -> list[DimGroup] | None:
    """The smallest groups of dimensions that a reshape from `old` to `new` sizes keeps separate; None if sizes cannot be compared."""
    result, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        a, b = i, j
        i, j = i + 1, j + 1
        while (here := product(old[a:i])) != (there := product(new[b:j])):
            if i < len(old) and is_less(here, there):
                i += 1
            elif j < len(new) and is_less(there, here):
                j += 1
            else:
                return None
        result.append(DimGroup(tuple(range(a, i)), tuple(range(b, j))))
    if any(size != 1 for size in (*old[i:], *new[j:])):
        return None
    result += [DimGroup((axis,), ()) for axis in range(i, len(old))]
    return result + [DimGroup((), (axis,)) for axis in range(j, len(new))]


def is_less(a: Size, b: Size) -> bool:
    """Whether one of two different sizes is the smaller one: of symbolic sizes, whether it divides the other."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return UNKNOWN not in (a, b) and a != 0 and floor_divide(b, a) * a == b


class LayoutReshape(NamedTuple):
    """How to reshape a tensor in a layout: permute it to the layout `before`, then reshape it; the result has the layout `after`."""

    before: Perm
    after: Perm


def reshape(perm: Perm, old: Sequence[Size], new: Sequence[Size]) -> LayoutReshape | None:
    """A reshape from `old` to `new` sizes of a value in the layout `perm` that moves little: only dimensions that merge must be adjacent.

    None if the groups of dimensions cannot be determined.
    """
    found = groups(old, new)
    if found is None:
        return None
    group_of = {axis: group for group in found for axis in group.old}
    # The position of a dimension of size 1 does not matter: a group is ordered by its others.
    met: list[DimGroup] = []
    for axis in perm:
        if old[axis] != 1 and group_of[axis] not in met:
            met.append(group_of[axis])
    ones = [group for group in found if group not in met]
    order = sorted(met + ones, key=lambda group: _position(group, met, found))
    before = tuple(axis for group in order for axis in group.old)
    after = tuple(axis for group in order for axis in group.new)
    kept = [axis for axis in perm if old[axis] != 1]
    if [axis for axis in before if old[axis] != 1] == kept:
        before = perm
    return LayoutReshape(before, after)


def _position(group: DimGroup, met: list[DimGroup], found: list[DimGroup]) -> tuple[int, int]:
    """The order of groups: as met; a group of ones only comes after the group that precedes it in the value."""
    index = found.index(group)
    if group in met:
        return met.index(group), 0
    for before in range(index - 1, -1, -1):
        if found[before] in met:
            return met.index(found[before]), index
    return -1, index
