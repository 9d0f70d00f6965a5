"""tir-choose-by-rows: the forms of a kernel for numbers of rows become branches in it."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from legato.core.ir_helpers import body, copy, everything, find, index
from legato.core.mlir import arith, func, ir, memref, scf
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import FORM_OF, HOLDS_RESULT, OUT, ROWS
from legato.passes.pipeline.base import ModulePass, PassContext

TO_BUFFER, TO_TENSOR = "bufferization.to_buffer", "bufferization.to_tensor"
IN_BUFFERS = ("memref.", "arith.", "affine.", "gpu.", "scf.", "vector.", "math.", "nvgpu.", "nvvm.", "llvm.", "tir.", "func.",
              "ub.", TO_BUFFER, TO_TENSOR)


@dataclass(frozen=True)
class ChooseByRows(ModulePass):
    """Puts what each form of a kernel (``tir-copy-for-rows``, ``tir-split-many-rows``) does into the kernel, under the condition that its
    unknown sizes are the form's number, or the product of those of a result as many as the form is for at least, and what the kernel does
    itself under the opposite. Both must be on buffers, or be launches on those of their tensors; a form is erased if one of them is not."""

    name: ClassVar[str] = "tir-choose-by-rows"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            kernels = {kernel.name.value: kernel for kernel in tir.prim_funcs(module.module)}
            for form in list(kernels.values()):
                if FORM_OF not in form.attributes:
                    continue
                kernel = kernels[form.attributes[FORM_OF].value]
                if is_on_buffers(kernel) and is_on_buffers(form):
                    join(kernel, form)
                form.operation.erase()


def is_on_buffers(kernel: func.FuncOp) -> bool:
    """Whether the arguments of a kernel are buffers, or it is launches on buffers, which are those of its tensors."""
    entry = kernel.body.blocks[0]
    if all(isinstance(argument.type, ir.MemRefType) for argument in entry.arguments):
        return True
    inputs = [op.operands[0] for op in body(entry) if op.name == TO_BUFFER]
    return (bool(find(kernel.operation, "gpu.launch")) and len(set(inputs)) == len(inputs) and all(v in entry.arguments for v in inputs)
            and all(op.name.startswith(IN_BUFFERS) for op in everything(kernel) if op != kernel.operation))


def join(kernel: func.FuncOp, form: func.FuncOp) -> None:
    """Makes a branch of what a kernel does, whose other side is what its form does."""
    entry = kernel.body.blocks[0]
    own = [op for op in body(entry) if op.name not in (TO_BUFFER, TO_TENSOR)]
    buffers = {number: argument for number, argument in enumerate(entry.arguments) if isinstance(argument.type, ir.MemRefType)}
    for op in body(entry):
        if op.name == TO_BUFFER:
            op.move_before(own[0])
            buffers[list(entry.arguments).index(op.operands[0])] = op.results[0]
    arguments = list(form.body.blocks[0].arguments)
    for op in body(form.body.blocks[0]):     # what only the form reads
        if op.name == TO_BUFFER and (number := arguments.index(op.operands[0])) not in buffers:
            read = entry.arguments[number]
            with ir.InsertionPoint(own[0]), op.location:
                type_ = ir.MemRefType.get(read.type.shape, read.type.element_type)
                buffers[number] = ir.Operation.create(TO_BUFFER, [type_], [read]).results[0]
    with ir.InsertionPoint(own[0]), kernel.location:
        least, most = ir.DenseI64ArrayAttr(form.attributes[ROWS])
        results = [buffers[number] for number, attributes in enumerate(kernel.arg_attrs) if OUT in attributes]
        branch = scf.IfOp(are(buffers.values(), least) if least == most else are_many(results, least), has_else=True)
        with ir.InsertionPoint(branch.then_block):
            same = [number for number, buffer in buffers.items() if arguments[number].type == buffer.type]
            mapping: dict[ir.Value, ir.Value] = {arguments[number]: buffers[number] for number in same}
            inside = [op for op in body(form.body.blocks[0]) if op.name != TO_TENSOR]
            for op in inside:
                if op.name == TO_BUFFER:
                    buffer = buffers[arguments.index(op.operands[0])]
                    mapping[op.results[0]] = buffer if buffer.type == op.results[0].type else of_known_sizes(buffer, op.results[0].type)
            copy([op for op in inside if op.name != TO_BUFFER], mapping)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            end = scf.YieldOp([])
    for op in own:
        op.move_before(end.operation)
    marks = [of_kernel if HOLDS_RESULT in of_form else without(of_kernel, HOLDS_RESULT)
             for of_kernel, of_form in zip(kernel.arg_attrs, form.arg_attrs, strict=True)]
    kernel.arg_attrs = ir.ArrayAttr.get(marks)


def without(attributes: ir.DictAttr, name: str) -> ir.DictAttr:
    """Attributes but one."""
    return ir.DictAttr.get({one.name: one.attr for one in attributes if one.name != name})


def of_known_sizes(buffer: ir.Value, type_: ir.MemRefType) -> ir.Value:
    """A dense buffer whose sizes are known. Accesses through a memref.cast would become accesses to the buffer of unknown sizes."""
    strides, offset = type_.get_strides_and_offset()
    return memref.ReinterpretCastOp(type_, buffer, [], [], [], [offset], list(type_.shape), strides).result


def unknown_sizes(buffer: ir.Value) -> list[ir.Value]:
    """The sizes of a buffer that are not known."""
    type_ = ir.MemRefType(buffer.type)
    return [memref.dim(buffer, index(axis)) for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]


def are(buffers: Iterable[ir.Value], number: int) -> ir.Value:
    """Whether all unknown sizes of buffers are a number."""
    tests = [arith.cmpi(arith.CmpIPredicate.eq, size, index(number)) for buffer in buffers for size in unknown_sizes(buffer)]
    return reduce(arith.andi, tests)


def are_many(results: Iterable[ir.Value], least: int) -> ir.Value:
    """Whether the unknown sizes of the first result that has some are a number together, at least."""
    sizes = next(found for result in results if (found := unknown_sizes(result)))
    return arith.cmpi(arith.CmpIPredicate.sge, reduce(arith.muli, sizes), index(least))
