"""Kernels of maxima of windows, through which bf16 passes: the greatest of rounded numbers is the greatest one, rounded."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernel
from legato.core.ir_helpers import defining_op
from legato.core.mlir import arith, func, ir, linalg, tensor
from legato.passes.cpu.matrices.rounding import rounded_into

POOLS = {"linalg.pooling_nwc_max": linalg.PoolingNwcMaxOp, "linalg.pooling_nhwc_max": linalg.PoolingNhwcMaxOp,
         "linalg.pooling_ndhwc_max": linalg.PoolingNdhwcMaxOp}
OTHERS = ("arith.constant", "tensor.pad", "linalg.fill", "tensor.empty")


@dataclass(frozen=True)
class MaximaCalls:
    """A kernel that is a maximum pool of images, padded with -inf, and its calls. What it reads and what it returns are bf16 together."""

    kernel: StructuredKernel
    calls: Sequence[ir.Operation]
    pool: ir.Operation
    operands: ClassVar[frozenset[int]] = frozenset([0])     # the images
    needed: ClassVar[frozenset[int]] = operands

    @classmethod
    def of(cls, kernel: StructuredKernel, calls: Sequence[ir.Operation]) -> MaximaCalls | None:
        """The calls of a kernel of channels-last images of f32; None for another one."""
        *ops, end = [op.operation for op in kernel.function.body.blocks[0].operations]
        pools = [op for op in ops if op.name in POOLS]
        arguments = list(kernel.function.arguments)
        if not calls or len(pools) != 1 or len(arguments) != 2 or not all(op.name in (*POOLS, *OTHERS) for op in ops):
            return None
        pool, f32 = pools[0], ir.F32Type.get()
        image, start = (defining_op(pool.operands[number]) for number in (0, 2))
        padded = pool.operands[0] if image is None or image.name != "tensor.pad" else image.operands[0]
        known = all(isinstance(one.type, ir.RankedTensorType) and one.type.element_type == f32 for one in arguments)
        starts = start is not None and start.name == "linalg.fill" and start.operands[1] == arguments[1]
        if not known or padded != arguments[0] or not starts or list(end.operands) != list(pool.results):
            return None
        lowest = [op.results[0].type != f32 or op.attributes["value"].value == float("-inf") for op in ops if op.name == "arith.constant"]
        return cls(kernel, calls, pool) if all(lowest) else None

    @property
    def function(self) -> func.FuncOp:
        """The kernel's function."""
        return self.kernel.function

    def copied(self, function: func.FuncOp) -> MaximaCalls | None:
        """The same of a copy of the kernel."""
        return MaximaCalls.of(StructuredKernel(function), self.calls)

    def narrow(self) -> None:
        """Lets the kernel, whose arguments are bf16 already, compare what it reads in f32, and return the maxima in bf16."""
        bf16, f32, pool = ir.BF16Type.get(), ir.F32Type.get(), self.pool
        out, result = list(self.function.arguments)[-1], pool.results[0]
        image = defining_op(pool.operands[0])
        with ir.InsertionPoint.at_block_begin(self.function.body.blocks[0]), pool.location:
            lowest = arith.ConstantOp(bf16, ir.FloatAttr.get(bf16, float("-inf"))).result
        if image is not None:
            image.results[0].set_type(ir.RankedTensorType.get(image.results[0].type.shape, bf16))
            yielded = list(image.regions[0].blocks[0].operations)[-1]
            yielded.operation.operands[0] = lowest
        fill = defining_op(pool.operands[2])
        assert fill is not None
        shape = list(result.type.shape)
        with ir.InsertionPoint(fill), pool.location:
            dynamic = [tensor.DimOp(out, arith.ConstantOp(ir.IndexType.get(), axis).result).result
                       for axis, size in enumerate(shape) if size < 0]
            memory = ir.Operation.create("tensor.empty", [ir.RankedTensorType.get(shape, f32)], dynamic).results[0]
        fill.operands[1] = memory
        with ir.InsertionPoint(pool), pool.location:
            span = tensor.EmptyOp(list(pool.operands[1].type.shape), bf16).result
            made = POOLS[pool.name]([result.type], [pool.operands[0], span], [fill.results[0]], strides=pool.attributes["strides"],
                                    dilations=pool.attributes["dilations"])
            linalg.fill_builtin_region(made.operation)
            rounded = rounded_into(made.results[0], out)
        result.replace_all_uses_with(rounded)
        pool.erase()
