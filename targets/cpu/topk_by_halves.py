"""topk of many elements of a row, of 64 bits each: sorted by lower halves, then by upper ones, where equals keep their order."""
import numpy as np

from legato.core.errors import Refusal
from legato.core.mlir import ir
from legato.dialects import relax
from legato.targets.builders.pointwise import element
from legato.targets.cpu.keys import MOST
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.topk_by_sorting import FEWEST
from legato.targets.cpu.topk_costs import by_heap, sorting
from legato.targets.rule import rewrite

HALF = 32


@rewrite("relax.topk", priority=1)
def topk_by_halves(op, x):
    """Of integers and f64, if that is faster than a heap, or all of a row is wanted whose length only the call knows."""
    axis, count, kind = op.attrs["axis"] % x.type.rank, op.attrs["k"], element(x.type)
    size = relax.TensorType.of(x.type).dims[axis]
    if kind.bits != 2 * HALF:
        return Refusal(f"its elements have {kind.bits} bits")
    lanes = op.machine.lanes(2 * HALF) if isinstance(op.machine, Machine) else 1
    is_known = isinstance(size, int) and isinstance(count, int)
    if not (FEWEST <= size <= MOST and count > 0 and sorting(size, lanes) <= by_heap(size, count) if is_known else size == count):
        return Refusal(f"not many of {FEWEST} elements or more, in numbers that are known, are wanted, or all")
    ranks, order = ranks_of(x), {"axis": axis, "largest": op.attrs["largest"]}
    signed = relax.TensorType.of(ranks.type).dtype == np.int64
    lower, upper = ranks, relax.right_shift(ranks, relax.constant(np.array(HALF, np.int64 if signed else np.uint64)))
    first = relax.topk(relax.astype(lower, dtype=np.uint32), k=size, **order)
    upper = relax.gather_elements(relax.astype(upper, dtype=np.int32 if signed else np.uint32), first, axis=axis)
    return relax.gather_elements(first, relax.topk(upper, k=count, **order), axis=axis)


def ranks_of(x: ir.Value) -> ir.Value:
    """Integers of 64 bits that are ordered as elements: themselves, or of floats. A NaN is greater than every number; zeros are equal."""
    if not isinstance(x.type.element_type, ir.F64Type):
        return x

    def number(value: float | int, dtype: type = np.int64) -> ir.Value:
        return relax.constant(np.array(value, dtype))

    zero, greatest = number(0, np.float64), number(np.iinfo(np.int64).max)
    bits = relax.bitcast(relax.where(relax.equal(x, zero), zero, x), dtype=np.int64)
    flipped = relax.bitwise_xor(bits, relax.bitwise_and(relax.right_shift(bits, number(63)), greatest))
    return relax.where(relax.not_equal(x, x), greatest, flipped)


RULES = (topk_by_halves,)
