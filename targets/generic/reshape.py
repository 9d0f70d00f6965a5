"""Ops that only change the shape: tensor.collapse_shape and tensor.expand_shape in main, which move nothing."""
from collections.abc import Sequence
from math import prod

from legato.core.errors import Refusal
from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.targets.builders.structured import cast_to, collapse, expand
from legato.targets.rule import rewrite

Group = tuple[list[int], list[int]]


def matching_groups(sizes: Sequence[dims.Size], new: Sequence[dims.Size]) -> list[Group]:
    """The finest groups of adjacent dimensions of two shapes, in order, that have the same number of elements.

    ``[2, 3, n] -> [6, n]`` gives ``[([0, 1], [0]), ([2], [1])]``. A shape with a size of 0, or of rank 0, gives one group.
    """
    one = [(list(range(len(sizes))), list(range(len(new))))]
    if 0 in sizes or 0 in new or not sizes or not new:
        return one
    totals, new_totals = _running_products(sizes), _running_products(new)
    groups: list[Group] = []
    i = j = 0
    while pair := _next_pair(totals, new_totals, i, j):
        a, b = pair
        groups.append((list(range(i, a + 1)), list(range(j, b + 1))))
        i, j = a + 1, b + 1
    if not groups:
        return one
    if i < len(sizes) or j < len(new):  # trailing sizes of 1, or unknown sizes
        last, new_last = groups.pop()
        groups.append((last + list(range(i, len(sizes))), new_last + list(range(j, len(new)))))
    return groups


def _next_pair(totals: Sequence[dims.Size], new_totals: Sequence[dims.Size], i: int, j: int) -> tuple[int, int] | None:
    """The next positions, from i and j on, up to which both shapes have the same number of elements."""
    for a in range(i, len(totals)):
        for b in range(j, len(new_totals)):
            if totals[a] == new_totals[b] and totals[a] is not dims.UNKNOWN:
                return a, b
    return None


def _running_products(sizes: Sequence[dims.Size]) -> list[dims.Size]:
    result, total = [], 1
    for size in sizes:
        total = total * size
        result.append(total)
    return result


def view(op, x: ir.Value) -> ir.Value:
    """``x`` in the shape of the op's result."""
    result = op.output_types[0]
    old, new = list(dims.dims(x.type)), list(dims.dims(result))
    plain = op.plain(x)
    if old == new and dims.UNKNOWN not in old:
        return x
    groups = matching_groups(old, new)
    sizes = [s if isinstance(s, int) else op.index(s) for s in new]
    inner, outer = [g for g, _ in groups], [g for _, g in groups]
    if not old:
        return cast_to(expand(plain, [], [1] * len(sizes)), sizes)
    if not new:
        return collapse(cast_to(plain, [1] * len(old)), [])
    # a group is collapsed to one dimension between the two shapes
    flat = collapse(plain, inner)
    return expand(cast_to(flat, [_product([sizes[i] for i in group]) for group in outer]), outer, sizes)


def _product(sizes: Sequence[int | ir.Value]) -> int | ir.Value:
    """The product of static sizes; one of the others where there are such."""
    dynamic = [size for size in sizes if not isinstance(size, int)]
    return dynamic[0] if dynamic else prod(size for size in sizes if isinstance(size, int))


@rewrite("relax.reshape", "relax.squeeze", "relax.expand_dims")
def reshape(op, x):
    """A view."""
    return view(op, x)


@rewrite("relax.permute_dims", priority=1)
def permute_unit_dims(op, x):
    """A permutation of axes of size 1 only: a view."""
    axes = [a % x.type.rank for a in op.attrs["axes"]]
    moved = [a for a in axes if dims.dims(x.type)[a] != 1]
    if moved != sorted(moved):
        return Refusal(f"axes {op.attrs['axes']} move elements")
    return view(op, x)


RULES = (*reshape, permute_unit_dims)
