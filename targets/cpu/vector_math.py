"""Expansions of maxima, minima, reductions and estimates on CPUs, for which LLVM would emit more instructions.

``EXPANSIONS``: op name -> ``expand(op, machine) -> value | None`` (None: leave it to LLVM). Called with the insertion point at the op.
"""
from collections import deque
from collections.abc import Callable
from typing import Any

from legato.core.ir_helpers import constant_number, element_of
from legato.core.mlir import arith, ir, vector
from legato.dialects.tir.markers import ESTIMATE
from legato.targets.cpu.avx512 import estimate_reciprocal, fills_registers
from legato.targets.cpu.machine import Machine
from legato.targets.intrinsics.builder import OGT, OLT, ORD, UNO

Expansion = Callable[[ir.Operation, Machine], "ir.Value | None"]

EXTREMES = {"maximumf": OGT, "maxnumf": OGT, "minimumf": OLT, "minnumf": OLT}
SUMS = {"add": -0.0, "mul": 1.0}  # with what changes nothing


def free_of_nan(value: ir.Value) -> bool:
    """Whether ``value`` is a constant, equal in all lanes, that is no NaN."""
    number = constant_number(value)
    return number is not None and number == number


def choose(predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    """``a`` if the comparison holds, else ``b`` (also if one is NaN): one instruction for less and greater."""
    return arith.SelectOp(arith.CmpFOp(predicate, a, b).result, a, b).result


def extreme(predicate: int, a: ir.Value, b: ir.Value, nan_free: bool = False) -> ir.Value:
    """The maximum (OGT) or minimum (OLT); NaN if one is NaN, unless ``nan_free`` permits to lose NaNs."""
    if free_of_nan(b) or nan_free:
        a, b = b, a
        return choose(predicate, a, b)
    if free_of_nan(a):
        return choose(predicate, a, b)
    return arith.SelectOp(arith.CmpFOp(UNO, a, a).result, a, choose(predicate, a, b)).result


def nan_free(op: ir.Operation) -> bool:
    """Whether the op's fastmath flags exclude NaNs."""
    return "fastmath" in op.attributes and "nnan" in str(op.attributes["fastmath"])


def never_nan(value: ir.Value, seen: tuple[ir.Value, ...] = ()) -> bool:
    """Whether a value cannot be NaN, by its definition: constants, and maxnumf and minnumf (expanded or not) of such values. Nearest first,
    without recursion: sizes that are computed in floats are chains of thousands of maxima."""
    nearest, met = deque([value]), set()
    while nearest:
        value = nearest.popleft()
        if value in met:
            continue
        met.add(value)
        if free_of_nan(value) or (isinstance(value.owner, ir.Block) and carried_without_nan(value, seen)):
            return True
        nearest.extend(sources_without_nan(value.owner))
    return False


def sources_without_nan(owner: ir.Operation | ir.Block) -> list[ir.Value]:
    """The operands of which one that is no NaN suffices for the op's result to be none."""
    if isinstance(owner, ir.Block):
        return []
    if owner.name in ("arith.maxnumf", "arith.minnumf"):
        return list(owner.operands)
    if owner.name == "arith.select" and not isinstance(owner.operands[0].owner, ir.Block):
        test = owner.operands[0].owner
        chosen = test.name == "arith.cmpf" and test.attributes["predicate"].value in (OGT, OLT)
        return [owner.operands[2]] if chosen and list(test.operands) == list(owner.operands)[1:] else []
    return [owner.operands[0]] if owner.name == "vector.broadcast" else []


def carried_without_nan(value: ir.Value, seen: tuple[ir.Value, ...]) -> bool:
    """Whether ``value``, an argument of a block, is carried by a loop and never NaN at its begin nor after a step."""
    block = value.owner
    loop = block.owner
    if loop.operation.name != "scf.for" or value.arg_number == 0:
        return False
    if value in seen:
        return True
    last = block.operations[len(block.operations) - 1].operation
    around = (*seen, value)
    place = value.arg_number - 1
    return never_nan(loop.operation.operands[3 + place], around) and never_nan(last.operands[place], around)


def expand_number(predicate: int) -> Expansion:
    """The maximum or minimum that ignores NaN: one instruction if an operand is never NaN."""
    def expand(op: ir.Operation, machine: Machine) -> ir.Value | None:
        a, b = op.operands
        if never_nan(b):
            return choose(predicate, a, b)
        return choose(predicate, b, a) if never_nan(a) else None

    return expand


def expand_maximum(op: ir.Operation, machine: Machine) -> ir.Value:
    """maximumf."""
    return extreme(OGT, *op.operands, nan_free=nan_free(op))


def expand_minimum(op: ir.Operation, machine: Machine) -> ir.Value:
    """minimumf."""
    return extreme(OLT, *op.operands, nan_free=nan_free(op))


def joined(kind: str, value: ir.Value, free: bool) -> ir.Value | None:
    """The greatest or least element of a vector, by halves; LLVM's own lowering takes several instructions per step. Whether there is a
    NaN is asked once. None for other kinds."""
    predicate = EXTREMES.get(kind)
    if predicate is None or value.type.rank != 1 or value.type.shape[0] & (value.type.shape[0] - 1):
        return None
    if kind.startswith(("maxnum", "minnum")):  # NaNs are ignored: replace them by the neutral element first
        value, free = choose(predicate, value, neutral(value.type, predicate)), True
    number = value
    while number.type.shape[0] > 1:
        number = choose(predicate, *halves(number))
    number = vector.ExtractOp(number, [], [0]).result
    if free or value.type.shape[0] == 1:
        return number
    ordered = vector.ReductionOp(ir.IntegerType.get_signless(1), ir.Attribute.parse("#vector.kind<and>"),
                                 arith.CmpFOp(ORD, *halves(value)).result).result
    return arith.SelectOp(ordered, number, splat(number.type, float("nan"))).result


def halves(value: ir.Value) -> list[ir.Value]:
    """The first and the last elements of a vector of an even number."""
    width = value.type.shape[0] // 2
    half = ir.VectorType.get([width], value.type.element_type)
    return [vector.ExtractStridedSliceOp(half, value, [at], [width], [1]).result for at in (0, width)]


def neutral(type_: ir.Type, predicate: int) -> ir.Value:
    """The neutral element of a maximum or minimum."""
    return splat(type_, float("-inf" if predicate == OGT else "inf"))


def splat(type_: ir.Type, number: float) -> ir.Value:
    """A number of a type of floats, or a vector of it."""
    attribute = ir.FloatAttr.get(element_of(type_), number)
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return arith.ConstantOp(type_, attribute).result


def kind_of(op: ir.Operation) -> str:
    """The kind of a reduction: ``maxnumf`` for ``#vector.kind<maxnumf>``."""
    return str(op.attributes["kind"]).removeprefix("#vector.kind<").rstrip(">")


def with_accumulator(op: ir.Operation, result: ir.Value | None) -> ir.Value | None:
    """Combines the result with a reduction's second operand, if there is one."""
    if result is None or len(op.operands) == 1:
        return result
    name = {"maximumf": "maximumf", "minimumf": "minimumf", "maxnumf": "maxnumf", "minnumf": "minnumf"}[kind_of(op)]
    return getattr(arith, name)(result, op.operands[1])


def expand_reduction(op: ir.Operation, machine: Machine) -> ir.Value | None:
    """A reduction by halves."""
    if op.parent.operation.name == "vector.mask":
        return None  # the vector.mask op around it is expanded
    return with_accumulator(op, joined(kind_of(op), op.operands[0], nan_free(op)))


def expand_masked_reduction(op: ir.Operation, machine: Machine) -> ir.Value | None:
    """A masked reduction: disabled lanes become the neutral element. LLVM would add up numbers under a mask one after the other."""
    inner = op.regions[0].blocks[0].operations[0].operation
    if inner.name != "vector.reduction" or len(op.operands) != 1:
        return None
    kind, value = kind_of(inner), inner.operands[0]
    if kind in EXTREMES:
        lanes = arith.SelectOp(op.operands[0], value, neutral(value.type, EXTREMES[kind])).result
        return with_accumulator(inner, joined(kind, lanes, nan_free(inner)))
    if kind not in SUMS or not isinstance(value.type.element_type, ir.FloatType):
        return None
    lanes = arith.SelectOp(op.operands[0], value, splat(value.type, SUMS[kind])).result
    start = inner.operands[1] if len(inner.operands) > 1 else None
    return vector.ReductionOp(inner.results[0].type, inner.attributes["kind"], lanes, acc=start).result


def expand_division(op: ir.Operation, machine: Machine) -> ir.Value | None:
    """An estimate of a reciprocal by AVX-512, where one suffices: a division of 16 numbers keeps the divider busy for ten cycles."""
    operand = op.operands[1]
    if ESTIMATE not in op.attributes or not machine.has("avx512f") or not fills_registers(operand.type):
        return None
    return estimate_reciprocal(operand)


EXPANSIONS: dict[str, Any] = {
    "arith.divf": expand_division,
    "arith.maximumf": expand_maximum,
    "arith.minimumf": expand_minimum,
    "arith.maxnumf": expand_number(OGT),
    "arith.minnumf": expand_number(OLT),
    "vector.reduction": expand_reduction,
    "vector.mask": expand_masked_reduction,
}
