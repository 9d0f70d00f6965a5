"""tir-share-kernels: kernels that differ only in numbers become one, and these numbers its arguments.

The layers of a quantized network differ in their scales and zero points. These are constants as long as rules ask what is clipped and
rounded; where this pass runs, that is done, and each kernel less is a kernel less to compile, and to keep.
"""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured.ops import producer
from legato.core.ir_helpers import ancestors, count, element_of, find, in_program_order, present
from legato.core.mlir import arith, func, ir, vector
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import MAGNITUDE
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

PARALLEL = ("scf.forall", "scf.parallel")
# of integers: factors, divisors and sizes are better known
INTEGER_USERS = ("arith.addi", "arith.subi", "arith.select")
TABLE_USER = "llvm.call_intrinsic"
START = re.compile(r'\s*(?:(%\d+)(?::\d+)? = )?(?:"([\w.]+)")?')    # of a line: what an op makes, and its name
VALUE = re.compile(r"(%\d+)")


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
            of_type = grouped(called, lambda kernel: kernel.attributes["function_type"])
            # others are not printed
            for same in (group for kernels in of_type for group in grouped(kernels, size_of)):
                texts = {kernel: KernelText.of(kernel) for kernel in same}
                for kernels in grouped(same, lambda kernel, texts=texts: texts[kernel].text):
                    share(kernels, [texts[kernel] for kernel in kernels], [calls[kernel.name.value] for kernel in kernels])


def forget_magnitudes(kernel: func.FuncOp) -> None:
    """Drops what rules were told of a kernel's arguments."""
    if "arg_attrs" in kernel.attributes:
        marks = [{own.name: own.attr for own in ir.DictAttr(known) if own.name != MAGNITUDE} for known in kernel.attributes["arg_attrs"]]
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(known) for known in marks])


def size_of(kernel: func.FuncOp) -> int:
    """The ops of a kernel that are no constants."""
    return count(kernel) - len(find(kernel, "arith.constant"))


def grouped(kernels: Iterable[func.FuncOp], key: Callable[[func.FuncOp], Hashable]) -> list[list[func.FuncOp]]:
    """The kernels in groups that have the same key, without those that are alone."""
    groups: dict[Hashable, list[func.FuncOp]] = defaultdict(list)
    for kernel in kernels:
        groups[key(kernel)].append(kernel)
    return [group for group in groups.values() if len(group) > 1]


@dataclass(frozen=True)
class KernelText:
    """A kernel as text without its name and its numbers, whose values are counted as they come. ``numbers``: the constants that were left
    out, once for each use, in the order of the text."""

    text: str
    numbers: Sequence[ir.Operation]

    @classmethod
    def of(cls, kernel: func.FuncOp) -> KernelText:
        """The text of a kernel."""
        constants = iter(find(kernel.operation, "arith.constant"))
        text = kernel.operation.get_asm(print_generic_op_form=True, use_local_scope=True, assume_verified=True)
        known: dict[str, ir.Operation] = {}
        counted: dict[str, str] = {}
        lines: list[str] = []
        numbers: list[ir.Operation] = []
        made = 0
        for line in text.replace(f'sym_name = "{kernel.name.value}"', "", 1).splitlines():
            name, user = present(START.match(line)).groups()
            if user == "arith.constant":
                constant = next(constants)
                if can_be_number(constant):
                    known[name] = constant
                    continue
            if name is not None:
                known.pop(name, None)    # of an inner region before
                counted[name], made = f"%{made}", made + 1
            pieces = VALUE.split(line)
            for place in range(1, len(pieces), 2):
                constant = known.get(pieces[place])
                if constant is None:
                    pieces[place] = counted.get(pieces[place], pieces[place])
                elif is_number(constant, user):
                    numbers.append(constant)
                    pieces[place] = "number"
                else:
                    pieces[place] = str(constant.attributes["value"])
            lines.append("".join(pieces))
        return cls("\n".join(lines), numbers)


def can_be_number(constant: ir.Operation) -> bool:
    """Whether an ``arith.constant`` may be an argument instead for some users: a float or an integer, in all lanes, or a table of bytes."""
    type_, value = constant.results[0].type, constant.attributes["value"]
    element = element_of(type_)
    if isinstance(type_, ir.RankedTensorType) or not isinstance(element, (ir.FloatType, ir.IntegerType)) or str(element) == "i1":
        return False
    return is_bytes(type_) or not isinstance(value, ir.DenseElementsAttr) or value.is_splat


def is_bytes(type_: ir.Type) -> bool:
    """Whether a type is that of a register with a table of bytes, or a part of it."""
    return isinstance(type_, ir.VectorType) and str(type_.element_type) == "i8"


def is_number(constant: ir.Operation, user: str) -> bool:
    """Whether a constant that can be a number may be an argument for an op of this name: a float for all, an integer that is added or
    selected, and a register of a table that an instruction takes."""
    type_, value = constant.results[0].type, constant.attributes["value"]
    if user == TABLE_USER:
        return is_bytes(type_)
    if isinstance(value, ir.DenseElementsAttr) and not value.is_splat:
        return False
    return isinstance(element_of(type_), ir.FloatType) or user in INTEGER_USERS


def number_uses(kernel: func.FuncOp) -> Iterator[tuple[ir.Operation, int]]:
    """The ops, and the places of their operands, that take the numbers of a kernel, in the order of its text."""
    for op in in_program_order(kernel.operation):
        for place, operand in enumerate(op.operands):
            constant = producer(operand)
            if constant is not None and constant.name == "arith.constant" and can_be_number(constant) and is_number(constant, op.name):
                yield op, place


def share(kernels: Sequence[func.FuncOp], texts: Sequence[KernelText], calls: Sequence[Sequence[ir.Operation]]) -> None:
    """Makes the first of kernels that are alike do for all. ``calls``: of each."""
    # the numbers that differ, of each kernel, and the uses of those of the first
    differing: dict[tuple[ir.Attribute, ...], list[tuple[ir.Operation, int]]] = defaultdict(list)
    uses = list(number_uses(kernels[0]))
    for use, same in zip(uses, zip(*(text.numbers for text in texts), strict=True), strict=True):
        numbers = tuple(number_of(constant, use[0].name) for constant in same)
        if any(number != numbers[0] for number in numbers):
            differing[numbers].append(use)
    first = kernels[0]
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
    for kernel in kernels[1:]:
        kernel.operation.erase()


def number_of(constant: ir.Operation, user: str) -> ir.Attribute:
    """The number of a constant scalar, or of all lanes of a vector; of a table, all of them."""
    value = constant.attributes["value"]
    return value.get_splat_value() if isinstance(value, ir.DenseElementsAttr) and user != TABLE_USER else value


def add_argument(kernel: func.FuncOp, type_: ir.Type) -> ir.Value:
    """A new argument behind a kernel's others."""
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*kernel.type.inputs, type_], kernel.type.results))
    if "arg_attrs" in kernel.attributes:
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([*kernel.attributes["arg_attrs"], ir.DictAttr.get({})])
    return kernel.body.blocks[0].add_argument(type_, kernel.location)


def put(argument: ir.Value, uses: Iterable[tuple[ir.Operation, int]]) -> None:
    """Puts an argument in the place of constants. A vector of it is made in each parallel loop, which scalars enter at less cost."""
    made: dict[tuple[ir.Type, ir.Operation | None], ir.Value] = {}
    for op, place in uses:
        constant = op.operands[place].owner
        type_, value = constant.results[0].type, argument
        if type_ != argument.type:
            loop = next((outer for outer in ancestors(op) if outer.name in PARALLEL), None)
            if (type_, loop) not in made:
                point = ir.InsertionPoint(constant) if loop is None else ir.InsertionPoint.at_block_begin(loop.regions[0].blocks[0])
                with point, constant.location:
                    made[type_, loop] = vector.BroadcastOp(type_, argument).result
            value = made[type_, loop]
        op.operands[place] = value
