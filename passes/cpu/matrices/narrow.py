"""What convolutions pass on to convolutions only, which round it to bf16: stored in bf16, it takes half the memory, and is the same."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from legato.analysis.structured import ConvolutionForm
from legato.analysis.structured.ops import producer
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects.relax.markers import WORK
from legato.passes.cpu.kernel_loops import retype
from legato.passes.graph.functions import defining_op


@dataclass(frozen=True)
class ConvolutionCalls:
    """A kernel that becomes a product of matrices of bf16, and its calls."""

    form: ConvolutionForm
    calls: Sequence[ir.Operation]

    @property
    def name(self) -> str:
        """The kernel's."""
        return self.form.kernel.function.name.value

    @property
    def image(self) -> int | None:
        """The number of the operand with the image; None where it is a view of one, or is read by the ops after the convolution, too."""
        if producer(self.form.source) is not None or self.form.source in [value for value, _ in self.form.reads]:
            return None
        return ir.BlockArgument(self.form.source).arg_number


def narrow_results(found: Sequence[ConvolutionCalls]) -> tuple[list[ConvolutionCalls], list[ConvolutionCalls]]:
    """The kernels whose results, and those whose images, can be bf16: all calls of one read what the others write, and nobody else does."""
    writers, readers = {one.name: one for one in found}, {one.name: one for one in found if one.image is not None}
    before = None
    while before != (len(writers), len(readers)):
        before = len(writers), len(readers)
        writers = {name: one for name, one in writers.items() if all(_is_read_by(call, readers) for call in one.calls)}
        readers = {name: one for name, one in readers.items()
                   if all(_callee(defining_op(call.operands[present(one.image)])) in writers for call in one.calls)}
    return list(writers.values()), list(readers.values())


def _callee(op: ir.Operation | None) -> str | None:
    return op.attributes["callee"].value if op is not None and op.name == "func.call" else None


def _is_read_by(call: ir.Operation, readers: dict[str, ConvolutionCalls]) -> bool:
    """Whether only these kernels read a call's result, as an image, and its memory is its own."""
    memory, uses = defining_op(call.operands[len(call.operands) - 1]), list(call.results[0].uses)
    if memory is None or memory.name != "tensor.empty" or not uses:
        return False
    names = [(_callee(use.owner.operation), use.operand_number) for use in uses]
    return all(name is not None and name in readers and readers[name].image == place for name, place in names)


def _count_narrow(call: ir.Operation, shape: Sequence[int]) -> None:
    """Counts a tensor of this shape, for profiles, as bf16 in place of f32, where all sizes are known."""
    operations, size = (ir.StringAttr(one).value for one in call.attributes[WORK]) if WORK in call.attributes else ("", "")
    if size.isdigit():
        size = str(int(size) - 2 * prod(shape))
        call.attributes[WORK] = ir.ArrayAttr.get([ir.StringAttr.get(operations), ir.StringAttr.get(size)])


def read_narrow(one: ConvolutionCalls) -> None:
    """Lets a kernel read images of bf16."""
    source = one.form.source
    for call in one.calls:
        _count_narrow(call, source.type.shape)
    retype(one.form.kernel.function, source, source.type.shape, ir.BF16Type.get())


def write_narrow(one: ConvolutionCalls) -> None:
    """Lets a kernel, whose ops are replaced after this, and its calls return bf16."""
    out = list(one.form.kernel.function.arguments)[-1]
    type_ = ir.RankedTensorType.get(out.type.shape, ir.BF16Type.get())
    out.set_type(type_)
    for call in one.calls:
        _count_narrow(call, type_.shape)
        last = len(call.operands) - 1
        with ir.InsertionPoint(call), call.location:
            memory = present(defining_op(call.operands[last])).clone()
        memory.results[0].set_type(ir.RankedTensorType.get(call.results[0].type.shape, ir.BF16Type.get()))
        call.operands[last] = memory.results[0]
        call.results[0].set_type(memory.results[0].type)
