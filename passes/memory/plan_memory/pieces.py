"""Buffers of main that lie inside of others: contiguous slices, which need no copy."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.core.views import VIEWS, WHOLE_VIEWS, root_of
from legato.dialects import tir
from legato.dialects.relax.dims import UNKNOWN, Size, modulo, parse, substitute, symbols
from legato.dialects.tir.markers import OUT, PIECE
from legato.passes.memory.plan_memory.lifetimes import MainBuffer
from legato.passes.memory.plan_memory.placement import ALIGNMENT
from legato.passes.memory.plan_memory.sizes import MemrefSizes


@dataclass(frozen=True)
class CallersBuffer:
    """A buffer in the caller's memory: a result, or else an argument, by its number."""

    number: int
    is_result: bool = False


@dataclass(frozen=True)
class BufferPiece:
    """A buffer that is a part of another one. ``begin``: the byte of ``whole`` that is its first."""

    whole: MainBuffer | CallersBuffer
    begin: Size


def take_pieces(module: ir.Module, main: func.FuncOp, buffers: list[MainBuffer],
                placed: Set[MainBuffer], given: Mapping[ir.Value, CallersBuffer], sizes: MemrefSizes,
                known: Collection[str]) -> dict[MainBuffer, BufferPiece]:
    """Erases the calls of kernels marked ``tir.piece`` whose output, one of the buffers that are ``placed`` in an arena, may lie in their
    input, another one or one in the caller's memory (``given``): where it begins at a multiple of the arena's alignment, and nothing
    writes to either of them after the call. The input lives as long as its pieces. Erases kernels that are not called any more.
    ``known``: the symbols that are known when main begins."""
    kernels = {kernel.name.value: kernel for kernel in tir.prim_funcs(module)}
    if not any(PIECE in kernel.attributes for kernel in kernels.values()):
        return {}
    block = main.body.blocks[0]
    place = {op.operation: number for number, op in enumerate(block.operations)}
    wholes: dict[ir.Value, MainBuffer | CallersBuffer] = {**given}
    wholes |= {buffer.alloc.results[0]: buffer for buffer in buffers if buffer in placed and buffer.alloc.block == block}

    values = {whole: value for value, whole in wholes.items()}
    found: dict[MainBuffer, BufferPiece] = {}
    for call in [op.operation for op in block.operations if op.operation.name == "func.call"]:
        kernel = kernels.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
        if kernel is None or PIECE not in kernel.attributes:
            continue
        begin = first_byte(kernel, sizes.shape(call.operands[0]))
        source, piece = (wholes.get(root_of(value, WHOLE_VIEWS)) for value in call.operands)
        if source is None or not isinstance(piece, MainBuffer) or source is piece:
            continue
        if modulo(begin, ALIGNMENT) != 0 or not symbols(begin) <= set(known):
            continue
        outer = found.get(source, BufferPiece(source, 0)) if isinstance(source, MainBuffer) else BufferPiece(source, 0)
        later, own = (_writes(values[one], place, kernels) for one in (outer.whole, piece))
        if later is None or own != [place[call]] or any(one > place[call] for one in later):
            continue
        found[piece] = BufferPiece(outer.whole, outer.begin + begin)
        if isinstance(outer.whole, MainBuffer):
            outer.whole.touch(piece.last)
        call.erase()
    _erase_uncalled(module, kernels)
    return found


def first_byte(kernel: func.FuncOp, shape: Sequence[Size]) -> Size:
    """The byte of a kernel's input, of this shape, at which its output begins; UNKNOWN where it depends on a size that is not known."""
    mark = kernel.attributes[PIECE]
    if isinstance(mark, ir.IntegerAttr):
        return mark.value
    begin = parse(ir.StringAttr(mark).value)
    given = {f"x{axis}": size for axis, size in enumerate(shape)}
    return UNKNOWN if any(given[name] is UNKNOWN for name in symbols(begin)) else substitute(begin, given)


def _writes(buffer: ir.Value, place: dict[ir.Operation, int], kernels: dict[str, func.FuncOp]) -> list[int] | None:
    """The numbers of main's ops that may write to a buffer; None where another value than views may be it."""
    written = []
    for op, number in _uses(buffer):
        at = op
        while at not in place:
            at = at.parent.operation
        if op.name == "memref.dealloc":
            continue
        if op.name == "func.call":
            kernel = kernels.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
            if kernel is None or number >= _inputs(kernel):
                written.append(place[at])
        elif op.name == "memref.copy":
            if number == 1:
                written.append(place[at])
        elif op.name not in ("memref.load", "memref.dim", "func.return"):
            return None
    return written


def _uses(value: ir.Value) -> Iterator[tuple[ir.Operation, int]]:
    """The uses of a buffer and of its views: ops, and the numbers of their operands."""
    for use in value.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            yield from _uses(op.results[0])
        else:
            yield op, use.operand_number


def _inputs(kernel: func.FuncOp) -> int:
    """The number of a kernel's arguments in front of its outputs."""
    marks = [OUT in ir.DictAttr(one) for one in ir.ArrayAttr(kernel.attributes["arg_attrs"])] if "arg_attrs" in kernel.attributes else []
    return marks.index(True) if True in marks else 0


def _erase_uncalled(module: ir.Module, kernels: dict[str, func.FuncOp]) -> None:
    """Erases kernels of pieces that nothing calls."""
    called = {ir.FlatSymbolRefAttr(call.attributes["callee"]).value for call in find(module, "func.call")}
    for name, kernel in kernels.items():
        if PIECE in kernel.attributes and name not in called:
            kernel.operation.erase()
