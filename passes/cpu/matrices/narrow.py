"""What only convolutions read, stored in bf16: it takes half the memory. Read as an image, it is rounded to bf16 anyhow; what is added to
the result of a convolution is rounded once more. Convolutions write it, and kernels that round it with their last op (``rounding``); it
passes through those of maxima (``maxima``) and of tensors beside each other (``concats``).
"""
from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, replace
from math import prod

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.grouped_convolution import ImageConvolutionForm, image_convolution
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import func, ir
from legato.dialects.relax import origins
from legato.dialects.relax.calls import fresh_name
from legato.passes.cpu.kernel_loops import retype
from legato.passes.cpu.matrices.concats import ConcatCalls
from legato.passes.cpu.matrices.maxima import MaximaCalls
from legato.passes.cpu.matrices.rounding import RoundingCalls


@dataclass(frozen=True)
class ConvolutionCalls:
    """A kernel that becomes a product of matrices of bf16, and its calls."""

    form: ImageConvolutionForm
    calls: Sequence[ir.Operation]
    merges: bool = False
    """Whether it is merged with the convolution that reads it, where its images, and nothing else, are bf16."""

    @property
    def function(self) -> func.FuncOp:
        """The kernel's function."""
        return self.form.kernel.function

    def copied(self, function: func.FuncOp) -> ConvolutionCalls:
        """The same of a copy of the kernel."""
        return replace(self, form=present(image_convolution(StructuredKernel(function))))

    @property
    def image(self) -> int | None:
        """The number of the operand with the image; None where it is a view of one, or is read by the ops after the convolution, too."""
        if defining_op(self.form.source) is not None or self.form.source in [value for value, _ in self.form.reads]:
            return None
        return ir.BlockArgument(self.form.source).arg_number

    @property
    def operands(self) -> set[int]:
        """The numbers of the operands that can be bf16: the image, and what the ops after the convolution read."""
        image = None if self.form.source.type.element_type != ir.F32Type.get() else self.image
        if self.merges:
            return set() if image is None else {image}
        read = {ir.BlockArgument(value).arg_number for value, _ in self.form.reads
                if defining_op(value) is None and isinstance(value.type, ir.RankedTensorType) and value != self.form.source
                and value.type.element_type == ir.F32Type.get()}
        return read if image is None else {image, *read}


Passing = MaximaCalls | ConcatCalls     # what they read is bf16 only where what they return is
Narrowable = ConvolutionCalls | RoundingCalls | Passing


@dataclass(frozen=True)
class NarrowCalls:
    """Calls of one kernel that are given bf16 for the same operands; ``writes``: whether they return it, too."""

    kernel: Narrowable
    reads: frozenset[int]
    writes: bool

    def apply(self) -> None:
        """Changes the kernel, of which a convolution's ops are replaced after this, and its calls."""
        kernel = self.kernel
        for number in sorted(self.reads):
            read_narrow(kernel, number)
        if self.writes:
            write_narrow(kernel)


def narrow_calls(found: Sequence[Narrowable], exact: Collection[str] | None) -> list[NarrowCalls]:
    """What can be bf16: operands that calls of these kernels make which only convolutions read. Calls of a kernel that differ in this are
    given kernels of their own. ``exact``: the kernels whose results are numbers of bf16, if others may not be rounded."""
    kernels = {call: one for one in found for call in one.calls}
    writers = {call: None for call in kernels if exact is None or call.attributes["callee"].value in exact}
    readers = {(call, number): call.operands[number] for call, one in kernels.items() for number in one.operands}
    passes = {call: one.needed for call, one in kernels.items() if isinstance(one, Passing)}
    before = None
    while before != (len(writers), len(readers)):
        before = len(writers), len(readers)
        writers = {call: None for call in writers
                   if _is_read_by(call, readers) and all((call, number) in readers for number in passes.get(call, ()))}
        readers = {place: value for place, value in readers.items()
                   if defining_op(value) in writers and (place[0] not in passes or place[0] in writers)}
    made = []
    for one in found:
        groups: dict[tuple[frozenset[int], bool], list[ir.Operation]] = {}
        for call in one.calls:
            reads = frozenset(number for number in one.operands if (call, number) in readers)
            groups.setdefault((reads, call in writers), []).append(call)
        copies = [one, *(present(one.copied(_copied(one.function))) for _ in range(len(groups) - 1))]
        for kernel, ((reads, writes), calls) in zip(copies, groups.items(), strict=True):
            for call in calls:
                call.attributes["callee"] = ir.FlatSymbolRefAttr.get(kernel.function.name.value)
            made.append(NarrowCalls(replace(kernel, calls=calls), reads, writes))
    return made


def _copied(function: func.FuncOp) -> func.FuncOp:
    copy = function.operation.clone(ir.InsertionPoint(function))
    symbols = {op.attributes["sym_name"].value for op in function.operation.block.operations if "sym_name" in op.attributes}
    copy.attributes["sym_name"] = ir.StringAttr.get(fresh_name(f"{function.name.value}_bf16", symbols))
    return copy.operation.opview


def _is_read_by(call: ir.Operation, readers: Container[tuple[ir.Operation, int]]) -> bool:
    """Whether only these operands are a call's result, and its memory is its own."""
    memory, uses = defining_op(call.operands[len(call.operands) - 1]), list(call.results[0].uses)
    if memory is None or memory.name != "tensor.empty" or not uses:
        return False
    return all((use.owner.operation, use.operand_number) in readers for use in uses)


def _count_narrow(call: ir.Operation, shape: Sequence[int]) -> None:
    """Counts a tensor of this shape, for profiles, as bf16 in place of f32, where all sizes are known."""
    work = origins.work_of(call)
    if work is not None and isinstance(work[1], int):
        origins.set_work(call, work[0], work[1] - 2 * prod(shape))


def read_narrow(one: Narrowable, number: int) -> None:
    """Lets a kernel, whose ops are replaced or changed after this, read an operand of bf16."""
    argument = one.function.arguments[number]
    for call in one.calls:
        _count_narrow(call, argument.type.shape)
    retype(one.function, argument, argument.type.shape, ir.BF16Type.get())


def write_narrow(one: Narrowable) -> None:
    """Lets a kernel, of which a convolution's ops are replaced after this, and its calls return bf16."""
    out = list(one.function.arguments)[-1]
    type_ = ir.RankedTensorType.get(out.type.shape, ir.BF16Type.get())
    out.set_type(type_)
    if not isinstance(one, ConvolutionCalls):
        one.round() if isinstance(one, RoundingCalls) else one.narrow()
        retype(one.function, out, type_.shape, type_.element_type)
    for call in one.calls:
        _count_narrow(call, type_.shape)
        last = len(call.operands) - 1
        with ir.InsertionPoint(call), call.location:
            memory = present(defining_op(call.operands[last])).clone()
        memory.results[0].set_type(ir.RankedTensorType.get(call.results[0].type.shape, ir.BF16Type.get()))
        call.operands[last] = memory.results[0]
        call.results[0].set_type(memory.results[0].type)
