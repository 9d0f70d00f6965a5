"""Kernels as text without their numbers: what tells which kernels differ in nothing else, and in which numbers."""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from legato.core.ir_helpers import count, defining_op, element_of, find, in_program_order, present
from legato.core.mlir import func, ir
from legato.dialects.tir.markers import MAGNITUDE

IsNumber = Callable[[ir.Operation, str], bool]     # whether a constant may be an argument instead, for a user of this name
Use = tuple[ir.Operation, int]                     # of a constant: an op, and the place of its operand
START = re.compile(r'\s*(?:(%\d+)(?::\d+)? = )?(?:"([\w.]+)")?')    # of a line: what an op makes, and its name
TABLE_USER = "llvm.call_intrinsic"
VALUE = re.compile(r"(%\d+)")
KNOWN_MAGNITUDE = re.compile(rf"{re.escape(MAGNITUDE)} = [^,}}]*(, )?")


@dataclass(frozen=True)
class KernelText:
    """A kernel as text without its name, what is known of the numbers in its arguments, and its own numbers, whose values are counted as
    they come. ``numbers``: the constants that were left out, once for each use, in the order of the text."""

    text: str
    numbers: Sequence[ir.Operation]

    @classmethod
    def of(cls, kernel: func.FuncOp, is_number: IsNumber) -> KernelText:
        """The text of a kernel. ``is_number``: whether a constant that can be a number is one for a user."""
        constants = iter(find(kernel.operation, "arith.constant"))
        text = kernel.operation.get_asm(print_generic_op_form=True, use_local_scope=True, assume_verified=True)
        head, body = text.replace(f'sym_name = "{kernel.name.value}"', "", 1).split("\n", 1)
        known: dict[str, ir.Operation] = {}
        counted: dict[str, str] = {}
        lines = [KNOWN_MAGNITUDE.sub("", head)]
        numbers: list[ir.Operation] = []
        made = 0
        for line in body.splitlines():
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


@dataclass(frozen=True)
class SameKernels:
    """Kernels that differ in numbers only, two or more. ``numbers``: those of each, once for each use, in the order of ``uses``, which are
    the first one's."""

    kernels: Sequence[func.FuncOp]
    uses: Sequence[Use]
    numbers: Sequence[Sequence[ir.Operation]]

    def differing(self) -> dict[tuple[ir.Attribute, ...], list[Use]]:
        """The numbers that are not the same in all kernels, of each kernel, and the uses of those of the first."""
        found: dict[tuple[ir.Attribute, ...], list[Use]] = defaultdict(list)
        for use, same in zip(self.uses, zip(*self.numbers, strict=True), strict=True):
            numbers = tuple(number_of(constant, use[0].name) for constant in same)
            if any(number != numbers[0] for number in numbers):
                found[numbers].append(use)
        return found


def same_kernels(kernels: Iterable[func.FuncOp], is_number: IsNumber) -> Iterator[SameKernels]:
    """Those of the kernels that differ in numbers only, in groups. Kernels of other types and sizes are not printed."""
    for of_type in _grouped(kernels, lambda kernel: kernel.attributes["function_type"]):
        for of_size in _grouped(of_type, _size_of):
            texts = {kernel: KernelText.of(kernel, is_number) for kernel in of_size}
            for same in _grouped(of_size, lambda kernel, texts=texts: texts[kernel].text):
                yield SameKernels(same, list(number_uses(same[0], is_number)), [texts[kernel].numbers for kernel in same])


def _size_of(kernel: func.FuncOp) -> int:
    """The ops of a kernel that are no constants."""
    return count(kernel) - len(find(kernel, "arith.constant"))


def _grouped(kernels: Iterable[func.FuncOp], key: Callable[[func.FuncOp], Hashable]) -> list[list[func.FuncOp]]:
    """The kernels in groups that have the same key, without those that are alone."""
    groups: dict[Hashable, list[func.FuncOp]] = defaultdict(list)
    for kernel in kernels:
        groups[key(kernel)].append(kernel)
    return [group for group in groups.values() if len(group) > 1]


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


def is_table(constant: ir.Operation) -> bool:
    """Whether a constant has several numbers."""
    value = constant.attributes["value"]
    return isinstance(value, ir.DenseElementsAttr) and not value.is_splat


def number_uses(kernel: func.FuncOp, is_number: IsNumber) -> Iterator[Use]:
    """The uses of a kernel's numbers, in the order of its text."""
    for op in in_program_order(kernel.operation):
        for place, operand in enumerate(op.operands):
            constant = defining_op(operand)
            if constant is not None and constant.name == "arith.constant" and can_be_number(constant) and is_number(constant, op.name):
                yield op, place


def number_of(constant: ir.Operation, user: str) -> ir.Attribute:
    """The number of a constant scalar, or of all lanes of a vector; of a table that an instruction takes, all of them."""
    value = constant.attributes["value"]
    return value.get_splat_value() if isinstance(value, ir.DenseElementsAttr) and user != TABLE_USER else value
