"""tir-expand-pads: a ``tensor.pad`` in a kernel becomes copies of rows, and stores of the padding value around them.

Upstream tiles pads into conditionals and vectorizes few of them. A row is the part from the last dimension on that is padded or dynamic,
contiguous in both tensors: copying it is one ``memcpy``. Rows of large tensors are copied in parallel loops.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from legato.core.mlir import arith, ir, scf, tensor, vector
from legato.core.slices import dim
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

CHUNK = 64  # elements that one store writes to the padding row
WORTH_IT = 1 << 15  # elements from which on rows are copied in parallel
Piece = tuple[ir.Value, Any]  # part of a row, a tensor of rank 1, and its offset


@dataclass(frozen=True)
class ExpandPads(ModulePass):
    """Pads of kernels become loops that copy rows."""

    name: ClassVar[str] = "tir-expand-pads"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            for op in [o.operation for o in kernel.body.blocks[0].operations]:
                if op.name == "tensor.pad" and (value := padding_value(op)) is not None and is_by_rows(op):
                    with ir.InsertionPoint(op), op.location:
                        op.results[0].replace_all_uses_with(_Rows(op, value).build())
                    op.erase()
                    context.kernels.drop(kernel)


def padding_value(pad: ir.Operation) -> ir.Value | None:
    """The value that a pad fills with; None where it depends on the index."""
    block = pad.regions[0].blocks[0]
    value = block.operations[len(block.operations) - 1].operands[0]
    return value if value.owner != pad.regions[0].blocks[0] and len(list(block.operations)) == 1 else None


def padded_dims(pad: ir.Operation) -> list[int]:
    """The dimensions that a pad pads."""
    low, high = pad.attributes["static_low"], pad.attributes["static_high"]
    return [d for d in range(len(low)) if low[d] != 0 or high[d] != 0]


def is_by_rows(pad: ir.Operation) -> bool:
    """Whether the amounts are static and not negative."""
    amounts = [*pad.attributes["static_low"], *pad.attributes["static_high"]]
    return ir.ShapedType.get_dynamic_size() not in amounts and min(amounts) >= 0 and bool(padded_dims(pad))


class _Rows:
    """Builds one pad at the insertion point. The dimensions from the last one on that is padded or dynamic are merged into one."""

    def __init__(self, pad: ir.Operation, value: ir.Value) -> None:
        self.value = value
        self.result_type = pad.results[0].type
        self.last = max(d for d in range(self.result_type.rank) if d in padded_dims(pad) or self.result_type.is_dynamic_dim(d))
        self.inner = prod(self.result_type.shape[d] for d in range(self.last + 1, self.result_type.rank))
        self.low, self.high = list(pad.attributes["static_low"]), list(pad.attributes["static_high"])
        self.groups = [[d] for d in range(self.last)] + [list(range(self.last, self.result_type.rank))]
        self.source = pad.operands[0]
        self.sizes = [dim(self.source, d) for d in range(self.last + 1)]  # of the source, in dimensions up to ``last``

    def build(self) -> ir.Value:
        source, element = self._collapsed(self.source), self.result_type.element_type
        shape = [self._plus(size, low + high) for size, low, high in zip(self.sizes, self.low, self.high)]
        width = self._times(shape[-1])
        target = tensor.EmptyOp([*shape[:-1], width], element).result
        row = self._padding_row(width)
        left, right = self.low[self.last] * self.inner, self.high[self.last] * self.inner
        length = self._times(self.sizes[-1])

        def border(_: Sequence[ir.Value]) -> list[Piece]:
            return [(_part(row, [], width), 0)]

        def inside(place: Sequence[ir.Value]) -> list[Piece]:
            line = _part(source, [arith.subi(p, _index(self.low[d])) for d, p in enumerate(place)], length)
            ends = [(_part(row, [], left), 0)] if left else []
            ends += [(_part(row, [], right), self._plus(length, left))] if right else []
            return [(line, left), *ends]

        whole = [(0, size) for size in shape[: self.last]]
        for d in range(self.last):  # dimensions before d: only the unpadded range; after d: their whole extent
            core = (self.low[d], self._plus(self.sizes[d], self.low[d]))
            for begin, end in ((0, self.low[d]), (core[1], shape[d])):
                if begin is not end and begin != end:
                    target = _rows(target, width, [*whole[:d], (begin, end), *whole[d + 1:]], border)
            whole[d] = core
        target = _rows(target, width, whole, inside)
        return self._expanded(target, shape)

    def _padding_row(self, width: Any) -> ir.Value:
        """A tensor filled with the padding value, of ``width`` elements rounded up to ``CHUNK``."""
        element = self.result_type.element_type
        chunks = -(-width // CHUNK) * CHUNK if isinstance(width, int) else arith.muli(
            arith.ceildivui(width, _index(CHUNK)), _index(CHUNK))
        values = vector.BroadcastOp(ir.VectorType.get([CHUNK], element), self.value).result
        empty = tensor.EmptyOp([chunks], element).result
        loop = scf.ForOp(_index(0), _index(chunks), _index(CHUNK), [empty])
        with ir.InsertionPoint(loop.body):
            into = loop.inner_iter_args[0]
            plain = ir.AffineMapAttr.get(ir.AffineMap.get_identity(1))
            written = vector.TransferWriteOp(into.type, values, into, [loop.induction_variable], plain, [True])
            scf.YieldOp([written.result])
        return loop.results[0]

    def _collapsed(self, value: ir.Value) -> ir.Value:
        if len(self.groups[-1]) == 1:
            return value
        shape = [*list(value.type.shape)[: self.last], _static(self._times(self.sizes[-1]))]
        return tensor.CollapseShapeOp(ir.RankedTensorType.get(shape, value.type.element_type), value, self.groups).result

    def _expanded(self, value: ir.Value, shape: Sequence[Any]) -> ir.Value:
        if len(self.groups[-1]) == 1:
            return value
        sizes = [*shape, *list(self.result_type.shape)[self.last + 1:]]
        return tensor.ExpandShapeOp(self.result_type, value, self.groups, [s for s in sizes if not isinstance(s, int)],
                                    [_static(s) for s in sizes]).result

    def _plus(self, size: Any, amount: int) -> Any:
        return size + amount if isinstance(size, int) else (arith.addi(size, _index(amount)) if amount else size)

    def _times(self, size: Any) -> Any:
        return size * self.inner if isinstance(size, int) else arith.muli(size, _index(self.inner))


def _index(value: Any) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), value).result if isinstance(value, int) else value


def _static(size: Any) -> int:
    return size if isinstance(size, int) else ir.ShapedType.get_dynamic_size()


def _part(tensor_: ir.Value, place: Sequence[ir.Value], length: Any) -> ir.Value:
    """The first ``length`` elements of the row at ``place``, as a tensor of rank 1."""
    type_ = ir.RankedTensorType.get([_static(length)], tensor_.type.element_type)
    dynamic = ir.ShapedType.get_dynamic_size()
    ones = [1] * len(place)
    return tensor.ExtractSliceOp(type_, tensor_, list(place), [] if isinstance(length, int) else [length], [],
                                 [*[dynamic] * len(place), 0], [*ones, _static(length)], [*ones, 1]).result


def _rows(target: ir.Value, width: Any, ranges: Sequence[tuple[Any, Any]],
          pieces: Callable[[Sequence[ir.Value]], list[Piece]]) -> ir.Value:
    """Inserts ``pieces(index of the row)`` into each row of ``target`` in the ranges; rows have ``width`` elements."""
    if not ranges:
        return _with_pieces(target, pieces([]))
    if target.type.has_static_shape and prod(target.type.shape) < WORTH_IT:
        return _serial_rows(target, width, ranges, pieces, [])
    loop = scf.ForallOp([begin for begin, _ in ranges], [end for _, end in ranges], [1] * len(ranges), [target])
    with ir.InsertionPoint(loop.body):
        place, into = list(loop.induction_variables), loop.inner_iter_args[0]
        row = _with_pieces(_part(into, place, width), pieces(place))  # one insertion for each row: upstream keeps only one of several
        ending = scf.InParallelOp()
        with ir.InsertionPoint(ending.regions[0].blocks[0]):
            tensor.ParallelInsertSliceOp(row, into, *_window(place, 0, width))
    return loop.results[0]


def _serial_rows(target: ir.Value, width: Any, ranges: Sequence[tuple[Any, Any]],
                 pieces: Callable[[Sequence[ir.Value]], list[Piece]], place: list[ir.Value]) -> ir.Value:
    """As ``_rows``, by nested serial loops."""
    if not ranges:
        row = _with_pieces(_part(target, place, width), pieces(place))
        return tensor.InsertSliceOp(row, target, *_window(place, 0, width)).result
    loop = scf.ForOp(_index(ranges[0][0]), _index(ranges[0][1]), _index(1), [target])
    with ir.InsertionPoint(loop.body):
        place = [*place, loop.induction_variable]
        scf.YieldOp([_serial_rows(loop.inner_iter_args[0], width, ranges[1:], pieces, place)])
    return loop.results[0]


def _with_pieces(row: ir.Value, pieces: list[Piece]) -> ir.Value:
    for part, offset in pieces:
        row = tensor.InsertSliceOp(part, row, *_window([], offset, dim(part, 0))).result
    return row


def _window(place: Sequence[ir.Value], offset: Any, length: Any) -> tuple[Any, ...]:
    """The slice of a piece in the row at ``place``: dynamic offsets, sizes and strides, then static ones."""
    dynamic, ones = ir.ShapedType.get_dynamic_size(), [1] * len(place)
    offsets = [*place, *([] if isinstance(offset, int) else [offset])]
    return (offsets, [] if isinstance(length, int) else [length], [], [*[dynamic] * len(place), _static(offset)],
            [*ones, _static(length)], [*ones, 1])
