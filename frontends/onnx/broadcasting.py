"""ONNX's broadcasting of sizes of which only a call can tell whether they are 1."""
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.assumed import never_equal
from legato.dialects.relax.dim_bounds import is_filled
from legato.dialects.relax.dims import UNKNOWN, Dim, Size, broadcast_size
from legato.dialects.relax.sizes import symbols

_agreed: ContextVar[Set[str]] = ContextVar("agreed", default=frozenset())


@contextmanager
def agreed_sizes() -> Iterator[set[str]]:
    """Inside of the ``with``, the symbols, for the caller to add, of sizes that are equal at every call where they meet in an elementwise
    op, none of them 1 where another one is not."""
    agreed = set[str]()
    token = _agreed.set(agreed)
    try:
        yield agreed
    finally:
        _agreed.reset(token)


def common_size(sizes: Sequence[Size]) -> Size | None:
    """The size that some sizes of one axis broadcast to. None where relax's ops decide: at most one is not 1, or two never fit."""
    firm = [size for size in dict.fromkeys(sizes) if size != 1]
    firm = [size for size in firm if not any(is_filled(size, other) for other in firm)]
    if len(firm) < 2 or UNKNOWN in firm or any(never_equal(a, b) for a in firm for b in firm):
        return None
    for size in firm:
        if isinstance(size, int):
            return size
    common = firm[0]
    for size in firm[1:]:
        common = broadcast_size(common, size)
    return common


def aligned(xs: Sequence[ir.Value], last: int = 0) -> list[ir.Value]:
    """The operands of an elementwise op, where a symbolic size may be 1 at a call and another one is not: broadcast to the common one.

    ``last``: the number of last axes that are not broadcast (those of matrices).
    """
    shapes, agreed = [relax.TensorType.of(x.type).dims for x in xs], _agreed.get()
    if agreed and all(size is not UNKNOWN and symbols(size) <= agreed for shape in shapes for size in shape):
        return list(xs)
    rank = max(map(len, shapes))
    common = {axis: common_size([s[axis] for s in shapes if len(s) >= -axis]) for axis in range(-rank, -last)}
    return [_stretched(x, shape, common) for x, shape in zip(xs, shapes)]


def _stretched(x: ir.Value, shape: Sequence[Size], common: dict[int, Size | None]) -> ir.Value:
    wanted = list(shape)
    for axis in range(-len(shape), 0):
        size = common.get(axis)
        if size is not None and isinstance(shape[axis], Dim):
            wanted[axis] = size
    return x if wanted == list(shape) else relax.dynamic_broadcast_to(x, shape=wanted)


def expanded_to(x: ir.Value, other: ir.Value) -> ir.Value:
    """An operand that broadcasts to the shape of another one, but not the other way: so that an elementwise op takes both."""
    shape, wanted = list(relax.TensorType.of(x.type).dims), relax.TensorType.of(other.type).dims
    if len(shape) > len(wanted):
        return x
    common = {axis - len(wanted): size for axis, size in enumerate(wanted) if size is not UNKNOWN}
    return _stretched(x, shape, common)


def expanded(x: ir.Value, shape: Sequence[Size]) -> ir.Value:
    """``x`` broadcast to a shape: a symbolic size other than the wanted one must be 1 at a call."""
    sizes = relax.TensorType.of(x.type).dims
    pairs = zip(sizes, shape[len(shape) - len(sizes):])
    by_call = any(isinstance(size, Dim) and size != wanted for size, wanted in pairs)
    return (relax.dynamic_broadcast_to if by_call else relax.broadcast_to)(x, shape=list(shape))
