"""tir-share-kernels: kernels that differ only in numbers become one, and these numbers its arguments.

The layers of a quantized network differ in their scales and zero points. These are constants as long as rules ask what is clipped and
rounded; where this pass runs, that is done, and each kernel less is a kernel less to compile, and to keep.
"""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import ancestors, element_of, find
from legato.core.mlir import arith, func, ir, vector
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import MAGNITUDE
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

PARALLEL = ("scf.forall", "scf.parallel")
SUMS = ("arith.addi", "arith.subi", "arith.select")     # of integers: factors, divisors and sizes are better known
CONSTANT = re.compile(r'"arith\.constant"\(\).*')


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
            for same_type in grouped(called, lambda kernel: kernel.attributes["function_type"]):    # most others are not printed
                for kernels in grouped(same_type, text_of):
                    share(kernels, [calls[kernel.name.value] for kernel in kernels])


def forget_magnitudes(kernel: func.FuncOp) -> None:
    """Drops what rules were told of a kernel's arguments."""
    if "arg_attrs" in kernel.attributes:
        marks = [{own.name: own.attr for own in ir.DictAttr(known) if own.name != MAGNITUDE} for known in kernel.attributes["arg_attrs"]]
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(known) for known in marks])


def grouped(kernels: Iterable[func.FuncOp], key: Callable[[func.FuncOp], Hashable]) -> list[list[func.FuncOp]]:
    """The kernels in groups that have the same key, without those that are alone."""
    groups: dict[Hashable, list[func.FuncOp]] = defaultdict(list)
    for kernel in kernels:
        groups[key(kernel)].append(kernel)
    return [group for group in groups.values() if len(group) > 1]


def text_of(kernel: func.FuncOp) -> str:
    """A kernel without its name and its numbers."""
    constants = iter(find(kernel.operation, "arith.constant"))
    text = kernel.operation.get_asm(print_generic_op_form=True, use_local_scope=True, assume_verified=True)
    text = CONSTANT.sub(lambda found: str(op.results[0].type) if is_number(op := next(constants)) else found.group(), text)
    return text.replace(f'sym_name = "{kernel.name.value}"', "", 1)


def is_number(constant: ir.Operation) -> bool:
    """Whether an ``arith.constant`` may be an argument instead: a float, or an integer that is added or selected, in all lanes, or a
    register of a table of bytes."""
    result, value = constant.results[0], constant.attributes["value"]
    if is_table(constant):
        return True
    if (isinstance(value, ir.DenseElementsAttr) and not value.is_splat) or isinstance(result.type, (ir.RankedTensorType, ir.IndexType)):
        return False
    element = element_of(result.type)
    if isinstance(element, ir.FloatType):
        return True
    return isinstance(element, ir.IntegerType) and element.width > 1 and all(use.owner.name in SUMS for use in result.uses)


def is_table(constant: ir.Operation) -> bool:
    """Whether a constant is a vector of different bytes that instructions take."""
    result, value = constant.results[0], constant.attributes["value"]
    return (isinstance(value, ir.DenseElementsAttr) and not value.is_splat and isinstance(result.type, ir.VectorType)
            and str(result.type.element_type) == "i8" and all(use.owner.name == "llvm.call_intrinsic" for use in result.uses))


def share(kernels: Sequence[func.FuncOp], calls: Sequence[Sequence[ir.Operation]]) -> None:
    """Makes the first of kernels that are alike do for all. ``calls``: of each."""
    constants = [[op for op in find(kernel.operation, "arith.constant") if is_number(op)] for kernel in kernels]
    # the numbers that differ, of each kernel, and the constants in their place
    differing: dict[tuple[ir.Attribute, ...], list[ir.Operation]] = defaultdict(list)
    for same in zip(*constants, strict=True):
        numbers = tuple(number_of(op) for op in same)
        if any(number != numbers[0] for number in numbers):
            differing[numbers].append(same[0])
    first = kernels[0]
    for numbers, places in differing.items():
        argument = add_argument(first, numbers[0].type)
        for op in places:
            put(argument, op)
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
    for kernel in kernels[1:]:
        kernel.operation.erase()


def number_of(constant: ir.Operation) -> ir.Attribute:
    """The number of a constant scalar, or of all lanes of a vector."""
    value = constant.attributes["value"]
    return value.get_splat_value() if isinstance(value, ir.DenseElementsAttr) and value.is_splat else value


def add_argument(kernel: func.FuncOp, type_: ir.Type) -> ir.Value:
    """A new argument behind a kernel's others."""
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*kernel.type.inputs, type_], kernel.type.results))
    if "arg_attrs" in kernel.attributes:
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([*kernel.attributes["arg_attrs"], ir.DictAttr.get({})])
    return kernel.body.blocks[0].add_argument(type_, kernel.location)


def put(argument: ir.Value, constant: ir.Operation) -> None:
    """Puts an argument in the place of a constant. A vector of it is made in each parallel loop, which scalars enter at less cost."""
    result, made = constant.results[0], {}
    for use in list(result.uses):
        value = argument
        if result.type != argument.type:
            loop = next((op for op in ancestors(use.owner.operation) if op.name in PARALLEL), None)
            if loop not in made:
                place = ir.InsertionPoint(constant) if loop is None else ir.InsertionPoint.at_block_begin(loop.regions[0].blocks[0])
                with place, constant.location:
                    made[loop] = vector.BroadcastOp(result.type, argument).result
            value = made[loop]
        use.owner.operation.operands[use.operand_number] = value
    constant.erase()
