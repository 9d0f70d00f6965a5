"""tir-guard-short-indices: kernels of sizes that the host knows have a second form with indices of 32 bits, for sizes that permit it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.indices.polynomials import ZERO, Polynomial, PolynomialBounds, PolynomialRange
from legato.core.ir_helpers import everything, find, index
from legato.core.mlir import arith, ir, memref, scf
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import TENSOR_MAPS
from legato.passes.gpu.launches import launches_of
from legato.passes.gpu.short_indices import (
    KNOWN,
    LAYOUT,
    MOST,
    OF_NATURALS,
    SHORT,
    axis_of,
    fits,
    greatest,
    has_offset,
    is_index,
    is_small,
    made_by,
)
from legato.passes.pipeline.base import ModulePass, PassContext

GRID, SIZE, OFFSET, NUMBER = "grid", "size", "offset", "number"
# of a launch: (GRID, axis, 0), (SIZE, parameter, axis) and (OFFSET, parameter, 0) of a buffer, (NUMBER, parameter, 0)
HostNumber = tuple[str, int, int]
SHORT_FORM = "_short"    # of a kernel's name
PARAMETERS = 11          # of a launch's operandSegmentSizes


@dataclass(frozen=True)
class GuardShortIndices(ModulePass):
    """Copies each gpu.module whose kernel has loops and indices that fit 32 bits for some sizes only, gives the copy's ``index`` 32 bits,
    and lets the host launch it where the sizes of that launch are such: where upper bounds of all indices, and of the places of all
    elements, as polynomials of the sizes and the grid, are small enough. A kernel without loops computes few indices, and stays alone.
    """

    name: ClassVar[str] = "tir-guard-short-indices"

    def run(self, module: Module, context: PassContext) -> None:
        launches = launches_of(module.module)
        with module.context, ir.Location.unknown():
            for holder in find(module.operation, "gpu.module"):
                own, kernels = launches.get(holder.attributes["sym_name"].value, []), find(holder, "gpu.func")
                if own and len(kernels) == 1 and find(kernels[0], "scf.for", "scf.while") and not fits(kernels[0]):
                    conditions = conditions_of(kernels[0], own)
                    if conditions is not None:
                        guard(module.module, holder, own, conditions)


@dataclass(frozen=True)
class Conditions:
    """What has to hold for a launch: polynomials that may be at most ``MOST``, and numbers that may not be negative."""

    limited: Sequence[Polynomial]
    naturals: Sequence[HostNumber]


class LaunchedBounds(PolynomialBounds):
    """Bounds of the indices in a kernel by what the host knows at its launches. ``numbers``: the index parameters that were seen."""

    def __init__(self, kernel: ir.Operation, launches: Sequence[ir.Operation]) -> None:
        super().__init__()
        self.kernel, self.launches = kernel, launches
        self.arguments = list(kernel.regions[0].blocks[0].arguments)
        self.numbers: dict[HostNumber, None] = {}

    def host(self, number: HostNumber) -> PolynomialRange:
        """A number of the host's, or the constant that it is in all launches."""
        found = {constant_of(host_value(number, launch)) if number[0] in (GRID, NUMBER) else None for launch in self.launches}
        known = found.pop() if len(found) == 1 else None
        if known is not None:
            return self.constant(known)
        if number[0] == NUMBER:
            self.numbers[number] = None
        return PolynomialRange(ZERO, Polynomial.variable(number))

    def below(self, limit: PolynomialRange) -> PolynomialRange:
        """The values from 0 to one below a limit."""
        return PolynomialRange(ZERO, limit.above) if limit.exact is None else PolynomialRange(ZERO, Polynomial.of(max(0, limit.exact - 1)))

    def given(self, value: ir.Value) -> PolynomialRange | None:
        if isinstance(value.owner, ir.Block):
            if value in self.arguments:
                return self.host((NUMBER, self.arguments.index(value), 0)) if is_index(value) else None
            loop = value.owner.owner.operation
            if loop.name != "scf.for" or value != value.owner.arguments[0]:
                return None
            first, end = (self.of(bound) for bound in list(loop.operands)[:2])
            return PolynomialRange(first.below, self.below(end).above)
        op = value.owner.operation
        if op.name in KNOWN:
            axis = "xyz".index(axis_of(op))
            if KNOWN[op.name] in self.kernel.attributes:
                return self.below(self.constant(list(ir.DenseI32ArrayAttr(self.kernel.attributes[KNOWN[op.name]]))[axis]))
            return self.below(self.host((GRID, axis, 0))) if op.name == "gpu.block_id" else None
        if op.name == "memref.dim" and op.operands[0] in self.arguments and (axis := constant_of(op.operands[1])) is not None:
            return self.size(op.operands[0], axis)
        most = greatest(value)
        return None if most is None else PolynomialRange(ZERO, Polynomial.of(most))

    def opaque(self, value: ir.Value) -> PolynomialRange:
        return PolynomialRange(None, None)

    def size(self, buffer: ir.Value, axis: int) -> PolynomialRange:
        """A size of a parameter."""
        type_ = ir.MemRefType(buffer.type)
        known = not type_.is_dynamic_dim(axis)
        return self.constant(type_.shape[axis]) if known else self.host((SIZE, self.arguments.index(buffer), axis))

    def elements(self, buffer: ir.Value) -> Polynomial | None:
        """More than the place of a parameter's last element; None where strides are known to the host only."""
        type_ = ir.MemRefType(buffer.type)
        strides, _ = type_.get_strides_and_offset()
        if isinstance(type_.element_type, ir.IndexType):
            return None
        if type_.affine_map == ir.AffineMap.get_identity(type_.rank):
            count = self.constant(1)
            for axis in range(type_.rank):
                count = self.multiply(count, self.size(buffer, axis))
            return count.above
        if ir.MemRefType.get_dynamic_stride_or_offset() in strides:
            return None
        place = self.host((OFFSET, self.arguments.index(buffer), 0)) if has_offset(buffer) else self.constant(0)
        for axis, stride in enumerate(strides):
            place = self.add(place, self.multiply(self.size(buffer, axis), self.constant(stride)))
        return place.above


def conditions_of(kernel: ir.Operation, launches: Sequence[ir.Operation]) -> Conditions | None:
    """What has to hold for 32 bits to suffice; None where nothing is known to."""
    if TENSOR_MAPS in kernel.attributes:
        return None
    bounds = LaunchedBounds(kernel, launches)
    limited: list[Polynomial | None] = []
    for argument in bounds.arguments:
        if not is_small(argument) or has_offset(argument):
            limited.append(bounds.elements(argument) if isinstance(argument.type, ir.MemRefType) else None)
    for op in everything(kernel):
        if op != kernel:
            limited += limits_of(op, bounds)
    found: list[Polynomial] = []
    for one in limited:
        if one is None or ((constant := one.constant) is not None and constant > MOST):
            return None
        if one.constant is None and not any(other.covers(one) for other in found):
            found = [other for other in found if not one.covers(other)] + [one]
    return Conditions(found, list(bounds.numbers))


def limits_of(op: ir.Operation, bounds: LaunchedBounds) -> list[Polynomial | None]:
    """What an op asks to be small; None for what is not known."""
    found: list[Polynomial | None] = []
    if not all(is_small(one) for one in op.operands if one not in bounds.arguments):
        found.append(None)
    if op.name in OF_NATURALS and any(is_index(one) and not bounds.is_natural(bounds.of(one)) for one in op.operands):
        found.append(None)
    if op.name == "scf.for":    # what the loop's variable is when it ends
        end, step = (bounds.of(bound).above for bound in list(op.operands)[1:3])
        found.append(None if end is None or step is None else end + step)
    for value in made_by(op):
        if is_index(value):
            found += [bounds.of(value).below, bounds.of(value).above]
        elif not is_small(value):
            found.append(None)
    return found


def guard(module: ir.Module, holder: ir.Operation, launches: Sequence[ir.Operation], conditions: Conditions) -> None:
    """Adds the form of a kernel with short indices, and lets the host choose at each launch; without conditions the kernel becomes it."""
    if not conditions.limited and not conditions.naturals:
        holder.attributes[LAYOUT] = ir.Attribute.parse(SHORT)
        return
    names = {op.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.attributes}
    name = holder.attributes["sym_name"].value + SHORT_FORM
    while name in names:
        name += SHORT_FORM
    with ir.InsertionPoint(holder):
        made = holder.clone()
    for op in (made, *find(made, "gpu.func")):
        op.attributes["sym_name"] = ir.StringAttr.get(name)
    made.attributes[LAYOUT] = ir.Attribute.parse(SHORT)
    for launch in launches:
        with ir.InsertionPoint(launch), launch.location:
            branch = scf.IfOp(holds(conditions, launch), has_else=True)
            short = ir.SymbolRefAttr.get([name, name])
            for block, kernel in ((branch.then_block, short), (branch.else_block, launch.attributes["kernel"])):
                with ir.InsertionPoint(block):
                    launch.clone().attributes["kernel"] = kernel
                    scf.YieldOp([])
        launch.erase()


def host_value(number: HostNumber, launch: ir.Operation) -> ir.Value:
    """A number at a launch. The op of a size or an offset is made at the insertion point."""
    kind, which, axis = number
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    if kind == GRID:
        return launch.operands[segments[0] + which]
    parameter = launch.operands[sum(segments[:PARAMETERS]) + which]
    if kind == OFFSET:
        return memref.ExtractStridedMetadataOp(parameter).results[1]
    return parameter if kind == NUMBER else memref.dim(parameter, index(axis))


def holds(conditions: Conditions, launch: ir.Operation) -> ir.Value:
    """Whether the conditions hold at a launch. Polynomials are computed in f64, which does not wrap, and is exact as far as they may go."""
    f64, i64 = ir.F64Type.get(), ir.IntegerType.get_signless(64)
    values: dict[HostNumber, ir.Value] = {}

    def factor(number: HostNumber) -> ir.Value:
        if number not in values:
            values[number] = arith.sitofp(f64, arith.index_cast(i64, host_value(number, launch)))
        return values[number]

    tests = [arith.cmpi(arith.CmpIPredicate.sge, host_value(number, launch), index(0)) for number in conditions.naturals]
    for one in conditions.limited:
        total: ir.Value | None = None
        for numbers, coefficient in one.terms.items():
            term = arith.constant(f64, float(coefficient))
            for number in numbers:
                term = arith.mulf(term, factor(number))
            total = term if total is None else arith.addf(total, term)
        assert total is not None
        tests.append(arith.cmpf(arith.CmpFPredicate.OLE, total, arith.constant(f64, float(MOST))))
    result = tests[0]
    for test in tests[1:]:
        result = arith.andi(result, test)
    return result
