"""Buffers whose stride along an axis is to be a multiple of a number plus an offset, so that rows lie in different banks of memory."""
from collections.abc import Sequence
from itertools import product
from math import prod

from legato.core.mlir import ir

ALIGN = "align"             # of tir.alloc_buffer: axis, factor, offset
ALIGNMENTS = "buffer_dim_align"  # TVM's annotation of a block: lists of the number of a buffer that it writes, axis, factor, offset
MOST_TRIED = 1 << 16


def alignment_of(made: ir.Operation) -> tuple[int, int, int] | None:
    """The axis, from 0, factor and offset of an allocation whose strides are to be aligned."""
    if ALIGN not in made.attributes:
        return None
    axis, factor, offset = made.attributes[ALIGN]
    return axis, factor, offset


def align(made: ir.Operation, axis: int, factor: int, offset: int) -> None:
    """Makes lowering align the strides of an allocation."""
    made.attributes[ALIGN] = ir.DenseI64ArrayAttr.get([axis, factor, offset], made.context)


def aligned_type(made: ir.Operation, type_: ir.MemRefType) -> ir.MemRefType:
    """A type for an allocation of (a part of) a buffer, larger than ``type_`` where its strides are to be aligned."""
    found = alignment_of(made)
    if found is None:
        return type_
    return ir.MemRefType.get(aligned_shape(type_.shape, *found), type_.element_type, memory_space=type_.memory_space)


def aligned_shape(shape: Sequence[int], axis: int, factor: int, offset: int) -> list[int]:
    """A shape, little larger than ``shape``, in which a step along ``axis`` is ``offset`` elements modulo ``factor``."""
    outer, inner = list(shape[:axis + 1]), list(shape[axis + 1:])
    ends = sorted({0, len(inner) - 1}) if len(inner) > 2 else list(range(len(inner)))   # those between grow only where they have to
    for grown in (ends, list(range(len(inner)))):
        if factor ** len(grown) <= MOST_TRIED:
            ranges = [range(factor if d in grown else 1) for d in range(len(inner))]
            tried = ([size + more for size, more in zip(inner, each)] for each in product(*ranges))
            found = min((one for one in tried if (prod(one) - offset) % factor == 0), key=prod, default=None)
            if found is not None:
                return [*outer, *found]
    return [*outer, *(size + (1 - size) % factor for size in inner[:-1]), inner[-1] + (offset - inner[-1]) % factor]
