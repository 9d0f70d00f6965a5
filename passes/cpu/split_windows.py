"""tir-split-windows: pooling and depthwise kernels on padded input read the input itself where their windows lie inside.

The output is cut into the positions whose windows need no padding and up to four strips around them, which alone are computed from (small)
padded copies. Every part ends in an elementwise op, what stood behind the window op or a copy, so that schedules find one form: a fill, a
window op and a reader, for each part.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.mlir import arith, func, ir, linalg, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

WINDOWS = ("linalg.pooling_nhwc_max", "linalg.pooling_nhwc_min", "linalg.pooling_nhwc_sum", "linalg.pooling_nhwc_max_unsigned",
           "linalg.pooling_nhwc_min_unsigned", "linalg.depthwise_conv_2d_nhwc_hwc")
WORTH_IT = 0.4  # the least part of the output that needs no padding
Sizes = Sequence[int | ir.Value]


@dataclass(frozen=True)
class SplitWindows(ModulePass):
    """Cut padded pooling and depthwise kernels into an unpadded inside and padded strips."""

    name: ClassVar[str] = "tir-split-windows"

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            split_windows(kernel)


def split_windows(kernel: func.FuncOp) -> bool:
    """Cuts one kernel; False for one that is no window kernel of this form."""
    form = WindowForm.of(kernel)
    if form is None:
        return False
    with ir.InsertionPoint(form.returns), form.window.location:
        out = form.out
        for part in form.parts():
            out = form.build(part, out)
        form.returns.operands[0] = out
    for op in (form.reader, form.window, form.fill, form.pad):
        if op is not None:
            op.erase()
    return True


@dataclass
class Axis:
    """One spatial axis: sizes of input and output, padding in front, stride, dilation, taps."""

    size: int
    count: int
    begin: int
    stride: int
    dilation: int
    taps: int

    def inside(self) -> tuple[int, int]:
        """The positions whose windows lie in the input, from the first to behind the last."""
        first = -(-self.begin // self.stride)
        last = (self.size + self.begin - (self.taps - 1) * self.dilation - 1) // self.stride + 1
        first = min(max(first, 0), self.count)
        return first, min(max(last, first), self.count)

    def reads(self, start: int, end: int) -> tuple[int, int, int, int]:
        """For the positions from start to end: first and last element of the input (behind it), padding before and behind."""
        low = start * self.stride - self.begin
        high = (end - 1) * self.stride - self.begin + (self.taps - 1) * self.dilation + 1
        return max(low, 0), min(high, self.size), max(-low, 0), max(high - self.size, 0)


Part = tuple[tuple[int, int], tuple[int, int]]


@dataclass
class WindowForm:
    """A kernel of one window op, with the ops around it."""

    window: ir.Operation
    fill: ir.Operation
    pad: ir.Operation | None
    reader: ir.Operation | None
    returns: ir.Operation
    out: ir.Value
    source: ir.Value
    axes: tuple[Axis, Axis]

    @classmethod
    def of(cls, kernel: func.FuncOp) -> "WindowForm | None":
        ops = [op.operation for op in kernel.body.blocks[0].operations]
        windows = [op for op in ops if op.name in WINDOWS]
        if len(windows) != 1 or len(ops[-1].operands) != 1:
            return None
        window, returns = windows[0], ops[-1]
        fill, pad, readers = maker(window.operands[2]), maker(window.operands[0]), list(window.results[0].uses)
        if fill is None or fill.name != "linalg.fill" or len(readers) != 1:
            return None
        if pad is not None and pad.name != "tensor.pad":
            pad = None
        reader = readers[0].owner.operation
        if reader == returns:
            reader = None
        elif not is_elementwise_reader(reader, window.results[0]) or reader.results[0] != returns.operands[0]:
            return None
        source = pad.operands[0] if pad is not None else window.operands[0]
        out = list(kernel.body.blocks[0].arguments)[-1]
        axes = axes_of(window, pad, source)
        return None if axes is None else cls(window, fill, pad, reader, returns, out, source, axes)

    def parts(self) -> list[Part]:
        """Ranges of output rows and columns, the strips first."""
        rows, columns = self.axes
        (top, bottom), (left, right) = rows.inside(), columns.inside()
        whole = (0, rows.count), (0, columns.count)
        if (bottom - top) * (right - left) < WORTH_IT * rows.count * columns.count:
            return [whole]
        middle = (top, bottom)
        parts = [((0, top), whole[1]), ((bottom, rows.count), whole[1]), (middle, (0, left)), (middle, (right, columns.count)),
                 (middle, (left, right))]
        return [(r, c) for r, c in parts if r[0] < r[1] and c[0] < c[1]]

    def build(self, part: Part, out: ir.Value) -> ir.Value:
        """Computes one part of the output; gives the output with it."""
        (top, bottom), (left, right) = part
        sizes = [dim(out, 0), bottom - top, right - left, dim(out, 3)]
        offsets = [0, top, left, 0]
        element = self.window.results[0].type.element_type
        empty = tensor.EmptyOp(sizes, element).result
        fill = copy_of(self.fill, [self.fill.operands[0], empty], [empty.type])
        window = copy_of(self.window, [self.input(part), self.window.operands[1], fill.results[0]], [empty.type])
        place = slice_of(out, offsets, sizes)
        if self.reader is None:
            result = read_through(window.results[0], place)
        else:
            operands = [self.operand(i, window.results[0], place, offsets, sizes) for i in range(len(self.reader.operands))]
            result = copy_of(self.reader, operands, [place.type]).results[0]
        return inserted(result, out, offsets, sizes)

    def input(self, part: Part) -> ir.Value:
        """What the windows of one part read, padded where they reach beyond the input."""
        low, high, offsets, sizes = [0], [0], [0], [dim(self.source, 0)]
        for axis, (start, end) in zip(self.axes, part):
            first, last, before, behind = axis.reads(start, end)
            offsets.append(first)
            sizes.append(last - first)
            low.append(before)
            high.append(behind)
        offsets, sizes, low, high = [*offsets, 0], [*sizes, dim(self.source, 3)], [*low, 0], [*high, 0]
        piece = slice_of(self.source, offsets, sizes)
        if not any(low) and not any(high):
            return piece
        padded = [s + a + b if isinstance(s, int) else s for s, a, b in zip(sizes, low, high)]
        type_ = ir.RankedTensorType.get(shape_of(padded), piece.type.element_type)
        pad = tensor.PadOp(type_, piece, [], [], low, high)
        block = pad.regions[0].blocks.append(*[ir.IndexType.get()] * 4)
        with ir.InsertionPoint(block):
            tensor.YieldOp(self.pad.regions[0].blocks[0].operations[0].operands[0])
        return pad.result

    def operand(self, index: int, window: ir.Value, place: ir.Value, offsets: list[int], sizes: Sizes) -> ir.Value:
        """An operand of the reader, as far as one part of the output reads it."""
        value = self.reader.operands[index]
        if index == len(self.reader.operands) - 1:
            return place
        if value == self.window.results[0]:
            return window
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        map_ = self.reader.attributes["indexing_maps"][index].value
        loops = [e.position if isinstance(e, ir.AffineDimExpr) else None for e in map_.results]
        starts = [0 if l is None else offsets[l] for l in loops]
        extents = [dim(value, d) if l is None else sizes[l] for d, l in enumerate(loops)]
        return slice_of(value, starts, extents)


def maker(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner


def is_elementwise_reader(op: ir.Operation, value: ir.Value) -> bool:
    """Whether ``op`` goes through ``value`` and its own output element by element."""
    if op.name != "linalg.generic" or len(op.results) != 1 or "reduction" in str(op.attributes["iterator_types"]):
        return False
    maps = [a.value for a in op.attributes["indexing_maps"]]
    identity = ir.AffineMap.get_identity(maps[0].n_dims)
    plain = all(isinstance(e, (ir.AffineDimExpr, ir.AffineConstantExpr)) for m in maps for e in m.results)
    read = [m for v, m in zip(op.operands, maps) if v == value]
    indexed = any(o.operation.name == "linalg.index" for o in op.regions[0].blocks[0].operations)
    return plain and not indexed and maps[-1] == identity and read == [identity] and value.type.shape == op.results[0].type.shape


def axes_of(window: ir.Operation, pad: ir.Operation | None, source: ir.Value) -> tuple[Axis, Axis] | None:
    """The two spatial axes; None where a size is dynamic, or the padding is not of plain numbers."""
    begins = [0, 0]
    if pad is not None:
        low, high = list(pad.attributes["static_low"]), list(pad.attributes["static_high"])
        block = pad.regions[0].blocks[0]
        value = block.operations[0].operands[0] if len(list(block.operations)) == 1 else None
        plain = min([*low, *high]) >= 0 and not any(low[i] or high[i] for i in (0, 3))
        if value is None or value.owner == block or not plain:
            return None
        begins = low[1:3]
    strides, dilations = (window.attributes[n] for n in ("strides", "dilations"))
    result, kernel = window.results[0].type, window.operands[1].type
    sizes = [*source.type.shape[1:3], *result.shape[1:3], *kernel.shape[:2]]
    if min(sizes) < 0:
        return None
    made = [Axis(source.type.shape[i + 1], result.shape[i + 1], begins[i], strides[i], dilations[i], kernel.shape[i]) for i in (0, 1)]
    return made[0], made[1]


def dim(value: ir.Value, axis: int) -> int | ir.Value:
    if not value.type.is_dynamic_dim(axis):
        return value.type.get_dim_size(axis)
    return tensor.DimOp(value, arith.ConstantOp(ir.IndexType.get(), axis).result).result


def shape_of(sizes: Sizes) -> list[int]:
    return [s if isinstance(s, int) else ir.ShapedType.get_dynamic_size() for s in sizes]


def slice_of(value: ir.Value, offsets: Sequence[int], sizes: Sizes) -> ir.Value:
    type_ = ir.RankedTensorType.get(shape_of(sizes), value.type.element_type)
    if type_ == value.type:
        return value
    dynamic = [s for s in sizes if not isinstance(s, int)]
    return tensor.ExtractSliceOp(type_, value, [], dynamic, [], offsets, shape_of(sizes), [1] * len(sizes)).result


def inserted(value: ir.Value, into: ir.Value, offsets: Sequence[int], sizes: Sizes) -> ir.Value:
    if value.type == into.type:
        return value
    dynamic = [s for s in sizes if not isinstance(s, int)]
    return tensor.InsertSliceOp(value, into, [], dynamic, [], offsets, shape_of(sizes), [1] * len(sizes)).result


def copy_of(op: ir.Operation, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> ir.Operation:
    """The op on other operands, with other result types."""
    new = op.clone()
    for i, value in enumerate(operands):
        new.operands[i] = value
    for result, type_ in zip(new.results, types):
        result.set_type(type_)
    return new.operation


def read_through(value: ir.Value, out: ir.Value) -> ir.Value:
    """An elementwise copy, with an operand that it does not read: upstream erases one that is plainly the identity."""
    rank, element = value.type.rank, value.type.element_type
    attribute = ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, 0)
    maps = [ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)]
    kinds = ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank)
    unread = arith.ConstantOp(element, attribute).result
    copy = linalg.GenericOp([out.type], [value, unread], [out], ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]), kinds)
    block = copy.regions[0].blocks.append(element, element, element)
    with ir.InsertionPoint(block):
        linalg.YieldOp([block.arguments[0]])
    return copy.results[0]
