"""tir-dynamic-shared: shared buffers for which a kernel's own memory does not suffice lie in what launches ask for.

Upstream lowers each workgroup buffer to a variable of the kernel, of which NVIDIA's assembler takes 48 KB.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find, index
from legato.core.mlir import arith, ir, memref
from legato.dialects.module import Module
from legato.passes.gpu.align_shared import SHARED_ALIGNMENT
from legato.passes.gpu.launches import launches_of
from legato.passes.loops.buffers import size_of
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

SEGMENTS, SHARED_SEGMENT = "operandSegmentSizes", 10     # of a launch's operands
PROMISED = 16      # bytes that the beginning of dynamic memory is aligned to


@dataclass(frozen=True)
class DynamicShared(ModulePass):
    """Makes the workgroup buffers of kernels that have more than a block's own shared memory parts of its dynamic one, whose size their
    launches say then."""

    name: ClassVar[str] = "tir-dynamic-shared"
    target: TargetText = option("nvvm", "the target whose memory is used")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.gpu(self.target)
        with module.context, ir.Location.unknown():
            launches = launches_of(module.module)
            for kernel in find(module.operation, "gpu.func"):
                buffers = shared_buffers(kernel)
                if sum(size_of(one.type) for one in buffers) <= machine.shared_bytes:
                    continue
                total = make_dynamic(kernel, buffers)
                if total > machine.dynamic_shared_bytes:
                    raise PassFailed(f"the shared buffers of a block take {total} bytes, and there are {machine.dynamic_shared_bytes}",
                                     kernel)
                for launch in launches.get(ir.StringAttr(kernel.parent.attributes["sym_name"]).value, []):
                    ask(launch, total)


def shared_buffers(kernel: ir.Operation) -> list[ir.Value]:
    """The workgroup buffers of a kernel."""
    count = kernel.attributes["workgroup_attributions"].value if "workgroup_attributions" in kernel.attributes else 0
    first = len(ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs)
    return list(kernel.regions[0].blocks[0].arguments)[first:first + count]


def alignments(kernel: ir.Operation, count: int) -> list[int]:
    """The bytes that the workgroup buffers of a kernel are aligned to."""
    if "workgroup_attrib_attrs" not in kernel.attributes:
        return [SHARED_ALIGNMENT] * count
    return [one["llvm.align"].value if "llvm.align" in one else SHARED_ALIGNMENT
            for one in map(ir.DictAttr, kernel.attributes["workgroup_attrib_attrs"])]


def make_dynamic(kernel: ir.Operation, buffers: Sequence[ir.Value]) -> int:
    """Puts views of dynamic memory in the places of a kernel's workgroup buffers. Returns the bytes that they take."""
    block = kernel.regions[0].blocks[0]
    aligned = alignments(kernel, len(buffers))
    with ir.InsertionPoint.at_block_begin(block), kernel.location:
        memory = ir.Operation.create("gpu.dynamic_shared_memory", [ir.MemRefType.get(
            [ir.ShapedType.get_dynamic_size()], ir.IntegerType.get_signless(8),
            memory_space=ir.Attribute.parse("#gpu.address_space<workgroup>"))]).results[0]
        begin, total = index(0), 0
        if max(aligned) > SHARED_ALIGNMENT:
            at = memref.extract_aligned_pointer_as_index(memory)
            rest = arith.RemUIOp(at, index(max(aligned))).result
            begin = arith.RemUIOp(arith.SubIOp(index(max(aligned)), rest).result, index(max(aligned))).result
            total = max(aligned) - PROMISED
        offset = 0
        for _, buffer in sorted(zip(aligned, buffers), key=lambda one: -one[0]):
            view = memref.ViewOp(buffer.type, memory, arith.AddIOp(begin, index(offset)).result if total else index(offset), []).result
            buffer.replace_all_uses_with(view)
            offset += -(-size_of(buffer.type) // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
    for buffer in reversed(buffers):
        block.erase_argument(ir.BlockArgument(buffer).arg_number)
    for name in ("workgroup_attributions", "workgroup_attrib_attrs"):
        if name in kernel.attributes:
            del kernel.attributes[name]
    return total + offset


def ask(launch: ir.Operation, total: int) -> None:
    """Says how much dynamic shared memory a launch takes."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes[SEGMENTS]))
    operands = list(launch.operands)
    place = sum(segments[:SHARED_SEGMENT])
    with ir.InsertionPoint(launch), launch.location:
        given = arith.ConstantOp(ir.IntegerType.get_signless(32), total).result
        attributes = {name: launch.attributes[name] for name in launch.attributes}
        attributes[SEGMENTS] = ir.DenseI32ArrayAttr.get([*segments[:SHARED_SEGMENT], 1, *segments[SHARED_SEGMENT + 1:]])
        ir.Operation.create("gpu.launch_func", [], [*operands[:place], given, *operands[place + segments[SHARED_SEGMENT]:]], attributes)
    launch.erase()
