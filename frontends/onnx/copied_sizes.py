"""ONNX's Reshape copies the input's size at an axis where a size of 0 is asked for: a symbolic size may be 0 at a call only.

What is imported takes such a size for 0. Where onnxruntime, which copies, could give another shape for it, calls are checked.
"""
from collections.abc import Iterator, Sequence, Set
from itertools import combinations

from legato.dialects.relax.dim_bounds import lower_bound
from legato.dialects.relax.dims import UNKNOWN, Dim, Size, broadcast_size, product
from legato.frontends.onnx.node import OnnxNode

MOST = 8    # independent sizes that may be 0, of which all combinations are tried


def require_no_copies(node: OnnxNode, wanted: Sequence[Size], given: Sequence[Size]) -> None:
    """Calls check that no size asked for, -1 for the rest, is 0 where the copied size would fit: ``given`` are the input's sizes."""
    if UNKNOWN in (*wanted, *given) or not _may_differ(wanted, given):
        return
    needs = (f"the sizes asked for, {list(wanted)}, not to be 0 where those of its input, {list(given)}, are not: "
             "a 0 means the input's size there (allowzero=0)")
    pairs = [(want, size) for want, size in zip(wanted, given) if want != -1]
    copied = [_or_else(want, size) for want, size in pairs]
    more = sum((size - want for size, (want, _) in zip(copied, pairs)), start=0)
    if -1 in wanted:
        node.require_equal(more, 0, needs)
    else:
        elements = product([*copied, *wanted[len(given):]])
        node.require_equal(_or_else(elements, more), elements, needs)


def _or_else(size: Size, other: Size) -> Size:
    """``size``, or ``other`` where that is 0."""
    return broadcast_size(size + 1, other + 1) - 1


def _may_differ(wanted: Sequence[Size], given: Sequence[Size]) -> bool:
    """Whether sizes that are 0 at a call can make the copied shape another one, of as many elements as the input has: none."""
    if all(isinstance(want, int) or want == size for want, size in zip(wanted, given)):
        return False
    independent = sorted({factor for size in (*wanted, *given) for factor in _factors(size)})
    if len(independent) > MOST:
        return True
    return any(_differs(wanted, given, set(zeros)) for zeros in _subsets(independent))


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (chosen for count in range(1, len(names) + 1) for chosen in combinations(names, count))


def _differs(wanted: Sequence[Size], given: Sequence[Size], zeros: Set[str]) -> bool:
    """Whether the copied shape fits the input and is another one, where just these factors of sizes are 0."""
    if not any(_is_zero(size, zeros) for size in given):
        return False                    # elements are missing then: an error
    known = [axis for axis, want in enumerate(wanted) if want != -1]
    asked = [axis for axis in known if _is_zero(wanted[axis], zeros)]
    if any(axis >= len(given) for axis in asked):
        return False                    # onnxruntime's error
    is_empty = any(_is_zero(given[axis], zeros) for axis in asked)
    return any(not _is_zero(given[axis], zeros) for axis in asked) and is_empty == (-1 not in wanted)


def _is_zero(size: Size, zeros: Set[str]) -> bool:
    return size == 0 or not zeros.isdisjoint(_factors(size))


def _factors(size: Size) -> set[str]:
    """What makes a size 0 if it is: the variables of a product, else the size itself unless it never is 0."""
    if not isinstance(size, Dim):
        return set()
    if len(size.terms) == 1:
        return {str(variable) for variable in size.variables()}
    least = lower_bound(size, 0)
    return {str(size)} if least is None or least < 1 else set()
