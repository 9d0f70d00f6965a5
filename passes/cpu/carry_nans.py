"""tir-carry-nans: maxima and minima that a loop carries, with what is NaN as masks beside them.

The maximum of vectors, NaN where an element is, takes a comparison and a selection beside the instruction for the maximum, which
ignores NaN on one side, and each waits for the one before. Here the loop carries the greatest number, and a mask of the lanes without NaN;
behind it, the others become NaN. Two steps are done at once, as one comparison tells whether either of two elements is NaN. Without
AVX-512 a mask would take as many registers as its vector, and be packed to bytes in each step: there, loops stay as they are.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import body, copy, find, index, terminator
from legato.core.mlir import arith, ir, scf
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import EXACT, Rounding

PREDICATES = {"arith.maximumf": arith.CmpFPredicate.OGT, "arith.minimumf": arith.CmpFPredicate.OLT}
STEPS = 2       # at once


@dataclass(frozen=True)
class CarryNans(ModulePass):
    """Rewrites loops that carry vectors of maxima or minima, on CPUs with registers for masks."""

    name: ClassVar[str] = "tir-carry-nans"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may have registers for masks")

    def run(self, module: Module, context: PassContext) -> None:
        if not context.cpu(self.target).has("avx512f"):
            return
        with module.context:
            for op in find(module.module.operation, "scf.for", inner_first=True):
                loop = op.opview
                chains = [chain for number in range(len(loop.inner_iter_args)) if (chain := chain_of(loop, number)) is not None]
                if chains:
                    with op.location:
                        rewrite(loop, chains)


@dataclass(frozen=True)
class Chain:
    """The maxima, or minima, through which a loop carries a vector: ``number`` of those that it carries."""

    number: int
    ops: list[ir.Operation]
    """In order: each takes the result of the one before."""
    elements: list[ir.Value]
    """The other operand of each."""

    @property
    def predicate(self) -> arith.CmpFPredicate:
        """How an element compares with the result so far where it takes its place."""
        return PREDICATES[self.ops[0].name]


def chain_of(loop: scf.ForOp, number: int) -> Chain | None:
    """The chain of one of the values that a loop carries; None where it is used in another way."""
    value: ir.Value = loop.inner_iter_args[number]
    type_, end = value.type, terminator(loop.body)
    if not isinstance(type_, ir.VectorType) or type_.rank != 1 or type_.element_type not in (ir.F32Type.get(), ir.F64Type.get()):
        return None
    ops: list[ir.Operation] = []
    elements: list[ir.Value] = []
    while True:
        uses = list(value.uses)
        if len(uses) != 1:
            return None
        user = uses[0].owner.operation
        if user == end:
            return Chain(number, ops, elements) if ops and uses[0].operand_number == number else None
        if user.name not in PREDICATES or user.name != (ops or [user])[0].name or user.block != loop.body or _ignores_nans(user):
            return None
        ops.append(user)
        elements.append(other_operand(user, value))
        value = user.results[0]


def _ignores_nans(op: ir.Operation) -> bool:
    return "nnan" in str(op.attributes["fastmath"]) if "fastmath" in op.attributes else False


def rewrite(loop: scf.ForOp, chains: Sequence[Chain]) -> None:
    """Replaces a loop by one, or two, that carry masks, too."""
    op = loop.operation
    lower, upper, step, *starts = op.operands
    with ir.InsertionPoint(op):
        masks = [_ordered(starts[chain.number], starts[chain.number]) for chain in chains]
        carried = [*starts, *masks]
        if any(len(inner.regions) for inner in body(loop.body)):
            carried = _build(loop, chains, lower, upper, step, 1, carried)
        else:
            both = arith.muli(step, index(STEPS))
            middle = arith.addi(lower, arith.muli(arith.divsi(arith.subi(upper, lower), both), both))
            carried = _build(loop, chains, lower, middle, both, STEPS, carried)
            carried = _build(loop, chains, middle, upper, step, 1, carried)
        results = carried[:len(starts)]
        for chain, mask in zip(chains, carried[len(starts):]):
            type_ = results[chain.number].type
            nan = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, float("nan")))
            results[chain.number] = arith.select(mask, results[chain.number], arith.ConstantOp(type_, nan).result)
    for old, new in zip(op.results, results):
        old.replace_all_uses_with(new)
    op.erase()


def _build(loop: scf.ForOp, chains: Sequence[Chain], lower: ir.Value, upper: ir.Value, step: ir.Value, copies: int,
           starts: Sequence[ir.Value]) -> list[ir.Value]:
    """A loop of which a step does ``copies`` of the other's."""
    made, count = scf.ForOp(lower, upper, step, list(starts)), len(loop.inner_iter_args)
    with ir.InsertionPoint(made.body):
        values, masks = list(made.inner_iter_args)[:count], list(made.inner_iter_args)[count:]
        elements: list[list[ir.Value]] = [[] for _ in chains]
        at = made.induction_variable
        for number in range(copies):
            at = at if number == 0 else arith.addi(at, loop.operation.operands[2])
            mapping = {loop.induction_variable: at, **dict(zip(loop.inner_iter_args, values))}
            for one in body(loop.body):
                place = next((i for i, chain in enumerate(chains) if one in chain.ops), None)
                if place is None:
                    mapping = copy([one], mapping)
                    continue
                old = chains[place].elements[chains[place].ops.index(one)]
                element, so_far = (mapping.get(value, value) for value in (old, other_operand(one, old)))
                elements[place].append(element)
                greater = arith.CmpFOp(chains[place].predicate, element, so_far).result
                mapping[one.results[0]] = arith.select(greater, element, so_far)
            values = [mapping.get(value, value) for value in terminator(loop.body).operands]
        for place, found in enumerate(elements):
            for first in range(0, len(found), 2):
                masks[place] = arith.andi(masks[place], _ordered(found[first], found[min(first + 1, len(found) - 1)]))
        scf.YieldOp([*values, *masks])
    return list(made.results)


def other_operand(op: ir.Operation, value: ir.Value) -> ir.Value:
    """The operand beside a value, of two."""
    first, second = op.operands
    return second if first == value else first


def _ordered(a: ir.Value, b: ir.Value) -> ir.Value:
    """Where neither of two vectors is NaN."""
    return arith.CmpFOp(arith.CmpFPredicate.ORD, a, b).result
