"""Indices of accesses as sums of a block's axes, through blocks that are inlined."""
from collections.abc import Iterator, Mapping, Sequence

from legato.analysis.block_kernel import KernelBlock
from legato.analysis.indices.forms import linear
from legato.core.mlir import ir

IndexForm = dict[int, int] | None     # the factors of axes in an index; None for another index


def reads_of(block: KernelBlock, gone: Sequence[KernelBlock]) -> Iterator[tuple[ir.Value, list[IndexForm]]]:
    """The buffers that a block reads, directly or by blocks ``gone`` that are inlined into it, with its index along each dimension."""
    writers = {one.stores[0].buffer: one for one in gone}
    for load in block.loads:
        forms = [form_of(block, index) for index in load.indices]
        source = writers.get(load.buffer)
        if source is None:
            yield load.buffer, forms
            continue
        mine = dict(zip(source.writes_axes or [], forms))
        for buffer, inner in reads_of(source, gone):
            yield buffer, [inserted(form, mine) for form in inner]


def form_of(block: KernelBlock, index: ir.Value) -> IndexForm:
    """The factor of each of a block's axes in an index, where it is a sum of these."""
    terms = {block.axis_of(term): factor for term, factor in linear(index).terms.items()}
    return None if None in terms else {axis: factor for axis, factor in terms.items() if axis is not None}


def inserted(form: IndexForm, axes: Mapping[int, IndexForm]) -> IndexForm:
    """The form of an index in which axes are indices of another block."""
    total: dict[int, int] = {}
    for axis, factor in (form or {}).items():
        if (of_axis := axes.get(axis)) is None:
            return None
        for other, times in of_axis.items():
            total[other] = total.get(other, 0) + times * factor
    return None if form is None else total
