"""tir-simplify-conversions: conversions between floats and integers lose what bounds show to be unneeded.

What is clipped to the range of a type is converted to that type by tests of the same range: ``QuantizeLinear`` clips, and its conversion
saturates. Comparisons that never hold become false, and tests for NaN of what is none true. An integer that a conversion makes, and that
is widened, is made as wide at once: the conversion is of no float that the narrow type does not hold. One of which only the low bits
are read is made as narrow, where bounds show that these hold it.

Kernels with conversions are told how great the numbers in their constant arguments are (``tir.magnitude``): rules that convert vectors ask
whether what is rounded fits in 32 bits.

A value that is quantized and dequantized again stays a float: ``sitofp(fptosi(clip(round(x) + z, low, high)) - z)`` becomes
``clip(round(x), low - z, high - z)``, plus 0, which makes -0 an integer's 0, where the sign of a zero matters. A NaN that becomes the
lower bound does so in the comparison with that bound.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from legato.analysis.structured.argument_bounds import argument_bounds, mark_magnitudes
from legato.analysis.structured.clipped import EXACT, ClippedSum, splat, whole_constant
from legato.analysis.structured.float_bounds import (
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    ORDERED,
    FloatBounds,
    KnownBounds,
    predicate_of,
)
from legato.analysis.structured.zero_signs import zero_sign_matters
from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import arith, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

TO_INTEGER = ("arith.fptosi", "arith.fptoui")
TO_FLOAT = ("arith.sitofp", "arith.uitofp")
WIDENING = {"arith.extsi": "arith.fptosi", "arith.extui": "arith.fptoui"}


@dataclass(frozen=True)
class SimplifyConversions(ModulePass):
    """Comparisons of clipped floats that cannot hold become false; widened conversions to integers become conversions to wider ones;
    what is quantized and dequantized again is clipped and rounded as floats."""

    name: ClassVar[str] = "tir-simplify-conversions"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            arguments = argument_bounds(module)
            for kernel in tir.schedulable(module.module):
                if simplify(kernel.operation, arguments):
                    context.kernels.drop(kernel)
                if "arg_attrs" in kernel.attributes and find(kernel.operation, *TO_INTEGER):
                    mark_magnitudes(kernel.operation, arguments)


def simplify(kernel: ir.Operation, arguments: Mapping[ir.Value, FloatBounds]) -> bool:
    """Simplifies the conversions of one kernel, of whose arguments this is known. Returns whether there were some."""
    known = KnownBounds(arguments)
    changed = [fold(op, known) for op in find(kernel, "arith.cmpf")]
    changed += [widen(op) for op in find(kernel, *WIDENING)]
    changed += [shift(op, arguments) for op in find(kernel, "arith.addi", "arith.subi")]
    changed += [give_least(op) for op in find(kernel, "arith.select")]
    known = KnownBounds(arguments)
    changed += [stay_float(op, known) for op in find(kernel, *TO_FLOAT)]
    known = KnownBounds(arguments)
    changed += [narrow(op, known) for op in find(kernel, "arith.trunci")]
    return any([*changed, *(fold(op, known) for op in find(kernel, "arith.cmpf"))])


def fold(op: ir.Operation, known: KnownBounds) -> bool:
    """Replaces one comparison by false, if it never holds, or by true, if it says that a number is none. Returns whether it did."""
    a, b = (known.of(operand) for operand in op.operands)
    predicate = predicate_of(op)
    never = {LESS: a.low >= b.high, LESS_EQUAL: a.low > b.high, GREATER: a.high <= b.low, GREATER_EQUAL: a.high < b.low}
    always = predicate == ORDERED and a.some and b.some
    if not always and not never.get(predicate, False):
        return False
    for user in dict.fromkeys(use.owner.operation for use in op.results[0].uses):
        if user.name == "arith.select" and user.operands[0] == op.results[0]:
            user.results[0].replace_all_uses_with(user.operands[1 if always else 2])
            user.erase()
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(arith.ConstantOp(op.results[0].type, ir.BoolAttr.get(always)).result)
    op.erase()
    return True


def widen(op: ir.Operation) -> bool:
    """Replaces the extension of a converted float by a conversion to the wide type. Returns whether it did."""
    made = defining_op(op.operands[0])
    if made is None or made.name != WIDENING[op.name]:
        return False
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(ir.Operation.create(made.name, [op.results[0].type], list(made.operands)).results[0])
    op.erase()
    if next(iter(made.results[0].uses), None) is None:
        made.erase()
    return True


def narrow(op: ir.Operation, known: KnownBounds) -> bool:
    """Replaces the lowest bits of a converted float, which are all that it has, by a conversion to so many. Returns whether it did."""
    made, type_ = defining_op(op.operands[0]), op.results[0].type
    if made is None or made.name not in TO_INTEGER or not isinstance(type_, ir.IntegerType) or len(list(made.results[0].uses)) > 1:
        return False
    found, half = known.of(made.operands[0]), 1 << type_.width - 1
    conversion = "arith.fptoui" if 0 <= found.low and found.high < 2 * half else "arith.fptosi"
    if not found.some or (conversion == "arith.fptosi" and not -half <= found.low <= found.high < half):
        return False
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(ir.Operation.create(conversion, [type_], [made.operands[0]]).results[0])
    op.erase()
    made.erase()
    return True


def shift(op: ir.Operation, arguments: Mapping[ir.Value, FloatBounds]) -> bool:
    """Has a clipped sum of whole floats, which is converted to an integer, add what is added to that integer. Returns whether it did."""
    made, term = defining_op(op.operands[0]), whole_constant(op.operands[1])
    if made is None or made.name not in TO_INTEGER or term is None or op.results[0].type.width < 32:
        return False
    chain = ClippedSum.of(made.operands[0])
    if chain is None or not chain.term or not _is_only_use(made):
        return False
    known = KnownBounds(arguments)
    found = known.of(made.operands[0])
    if not known.of(chain.x).whole or max(-found.low, found.high, abs(term)) > EXACT // 2:
        return False
    more = term if op.name == "arith.addi" else -term
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(arith.FPToSIOp(op.results[0].type, chain.shifted(more)).result)
    op.erase()
    return True


def give_least(op: ir.Operation) -> bool:
    """Replaces the test for NaN of a clipped float, where NaN becomes the lower bound, by a comparison that NaN fails. Returns whether it
    did."""
    chain = ClippedSum.of(op.results[0])
    if chain is None or chain.at_least or [kind for kind, _ in chain.steps] != [LESS, GREATER, ORDERED]:
        return False
    low, high, of_nan = (constant for _, constant in chain.steps)
    to_integers = all(use.owner.operation.name in TO_INTEGER for use in op.results[0].uses)
    if not of_nan == low <= high or not (low or to_integers):    # -0 becomes 0
        return False
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(replace(chain, steps=chain.steps[:2], at_least=True).shifted(0))
    op.erase()
    return True


def stay_float(op: ir.Operation, known: KnownBounds) -> bool:
    """Replaces a whole float that is converted to an integer and back by itself. Returns whether it did."""
    made = defining_op(op.operands[0])
    if made is None or made.name not in TO_INTEGER or not isinstance(op.results[0].type, ir.F32Type):
        return False
    value = made.operands[0]
    found = known.of(value)
    if value.type != op.results[0].type or not (found.some and found.whole and max(-found.low, found.high) <= EXACT):
        return False
    if "arith.fptoui" == made.name and found.low < 0:
        return False
    with ir.InsertionPoint(op), op.location:
        plain = arith.addf(value, splat(value.type, 0)) if zero_sign_matters(op.results[0]) else value
        op.results[0].replace_all_uses_with(plain)
    op.erase()
    return True


def _is_only_use(op: ir.Operation) -> bool:
    """Whether an op's result, and what it converts, are read once."""
    return all(len(list(value.uses)) == 1 for value in (op.results[0], op.operands[0]))
