"""tir-share-kernels: kernels that differ only in numbers become one, and these numbers its arguments.

The layers of a quantized network differ in their scales and zero points. These are constants as long as rules ask what is clipped and
rounded; where this pass runs, that is done, and each kernel less is a kernel less to compile, and to keep.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.kernel_text import TABLE_USER, SameKernels, is_bytes, is_table, same_kernels
from legato.core.ir_helpers import ancestors, element_of, find
from legato.core.mlir import arith, func, ir, vector
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.kernel import add_argument
from legato.dialects.tir.markers import MAGNITUDE
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

PARALLEL = ("scf.forall", "scf.parallel")
# of integers: factors, divisors and sizes are better known
INTEGER_USERS = ("arith.addi", "arith.subi", "arith.select")


@dataclass(frozen=True)
class ShareKernels(ModulePass):
    """Replaces kernels with the same body, but for constants, by the first of them."""

    name: ClassVar[str] = "tir-share-kernels"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        calls = defaultdict(list)
        for call in find(module.module.operation, "func.call"):
            calls[call.attributes["callee"].value].append(call)
        called = [kernel for kernel in tir.prim_funcs(module.module) if not kernel.is_external and calls[kernel.name.value]]
        with module.context:
            for kernel in called:
                forget_magnitudes(kernel)
            for same in same_kernels(called, is_number):
                share(same, [calls[kernel.name.value] for kernel in same.kernels])


def forget_magnitudes(kernel: func.FuncOp) -> None:
    """Drops what rules were told of a kernel's arguments."""
    if "arg_attrs" in kernel.attributes:
        marks = [{own.name: own.attr for own in ir.DictAttr(known) if own.name != MAGNITUDE} for known in kernel.attributes["arg_attrs"]]
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(known) for known in marks])


def is_number(constant: ir.Operation, user: str) -> bool:
    """Whether a constant that can be a number may be an argument for an op of this name: a float for all, an integer that is added or
    selected, and a register of a table that an instruction takes."""
    type_ = constant.results[0].type
    if user == TABLE_USER:
        return is_bytes(type_)
    return not is_table(constant) and (isinstance(element_of(type_), ir.FloatType) or user in INTEGER_USERS)


def share(same: SameKernels, calls: Sequence[Sequence[ir.Operation]]) -> None:
    """Makes the first of kernels that are alike do for all. ``calls``: of each."""
    differing = same.differing()
    first = same.kernels[0]
    for numbers, places in differing.items():
        put(add_argument(first, numbers[0].type), places)
    for number, own in enumerate(calls):
        for call in own:
            with ir.InsertionPoint(call), call.location:
                given = [arith.ConstantOp(numbers[number].type, numbers[number]).result for numbers in differing]
                new = func.CallOp([result.type for result in call.results], first.name.value, [*call.operands, *given])
            for old, result in zip(call.results, new.results):
                old.replace_all_uses_with(result)
            for name, attribute in call.attributes.items():
                if name != "callee":
                    new.operation.attributes[name] = attribute
            call.erase()
    for kernel in same.kernels[1:]:
        kernel.operation.erase()


def put(argument: ir.Value, uses: Iterable[tuple[ir.Operation, int]]) -> None:
    """Puts an argument in the place of constants. A vector of it is made in each parallel loop, which scalars enter at less cost, and at
    the kernel's begin for uses outside of these: in branches, none of which needs to come before another."""
    made: dict[tuple[ir.Type, ir.Operation | None], ir.Value] = {}
    for op, place in uses:
        constant = op.operands[place].owner
        type_, value = constant.results[0].type, argument
        if type_ != argument.type:
            loop = next((outer for outer in ancestors(op) if outer.name in PARALLEL), None)
            if (type_, loop) not in made:
                block = argument.owner if loop is None else loop.regions[0].blocks[0]
                with ir.InsertionPoint.at_block_begin(block), constant.location:
                    made[type_, loop] = vector.BroadcastOp(type_, argument).result
            value = made[type_, loop]
        op.operands[place] = value
