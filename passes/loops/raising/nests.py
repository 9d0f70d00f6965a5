"""Reads a statement as a nest of axes that start at 0: their extents, and its loads and stores."""
from dataclasses import dataclass, field
from typing import Any

from legato.analysis.accesses import accesses_in
from legato.analysis.indices.conditions import constraints
from legato.analysis.indices.forms import depends
from legato.analysis.indices.linear import Linear, variables
from legato.analysis.kernel_sizes import KernelSizes, Size, is_natural, may_be_zero
from legato.analysis.structured.ops import COMBINERS
from legato.core.ir_helpers import body, copy
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.loops import OPAQUE, REDUCE, SERIAL, SPATIAL, BlockOp, before_end
from legato.passes.loops.raising.axes import AxisForms
from legato.passes.loops.raising.kept import Kept
from legato.passes.loops.raising.statements import Statement, localize, shown
from legato.passes.loops.raising.straighten import Guard, straighten
from legato.passes.loops.raising.units import with_units


@dataclass
class Load:
    """``guards``: the conditions under which it is read; ``padded``: it reads a padded tensor, which replaces its selection."""

    op: ir.Operation
    forms: list[Linear]
    guards: list[Guard]
    padded: bool = False

    @property
    def buffer(self) -> ir.Value:
        """The buffer that is read."""
        return self.op.operands[0]


@dataclass
class Store:
    """A store of a nest. ``forms``: its indices."""

    op: ir.Operation
    forms: list[Linear]

    @property
    def buffer(self) -> ir.Value:
        """The buffer that is written."""
        return self.op.operands[1]


@dataclass
class StatementNest:
    """``axes``: arguments of ``block``, and units; ``accumulated``: the loads of elements that a reduction accumulates, with the number
    of the store; ``only_if``: for an init, the extents of its reduction, without steps of which it does not run.
    """

    name: str
    block: ir.Block
    indices: AxisForms
    kinds: dict[Any, str]
    loads: list[Load]
    stores: list[Store]
    accumulated: dict[ir.Value, int]
    location: ir.Location
    only_if: list[Size] = field(default_factory=list)

    @property
    def axes(self) -> list[Any]:
        """The axes, outermost first."""
        return list(self.kinds)

    @property
    def extents(self) -> list[Size]:
        """The extent of each axis."""
        return [self.indices.extents[a] for a in self.axes]

    @property
    def reduces(self) -> bool:
        """Whether it has a reduce axis."""
        return REDUCE in self.kinds.values()


def read_nests(statement: Statement, sizes: KernelSizes) -> list[StatementNest]:
    """The nests of a statement: of its init, and its own; none where it has no steps. Kept where it has no structured form."""
    block = statement.block
    if any(loop.kind != SERIAL for loop in statement.loops):
        kind = next(loop.kind for loop in statement.loops if loop.kind != SERIAL)
        raise Kept(f"the loops around {shown(block)} are scheduled by hand: one is {kind}")
    extents = axis_extents(statement, sizes)
    if 0 in extents:
        return []
    indices = AxisForms(dict(zip(block.block.arguments, extents)), sizes)
    turn_around(block, indices)
    straight = straighten(block, indices)
    main = read_nest(block, block.block, indices, straight.guards, statement.own)
    if block.init_block is None:
        return [main]
    init = read_nest(block, block.init_block, indices.renamed(list(block.init_block.arguments)), straight.guards, False)
    if {s.buffer for s in init.stores} != {s.buffer for s in main.stores}:
        raise Kept(f"the init of {shown(block)} writes something else than its body")
    if places_of(init, block.init_block) != places_of(main, block.block):
        raise Kept(f"the init of {shown(block)} writes other elements than its body, which may be those of other steps")
    init.only_if = [extent for extent, kind in zip(main.extents, main.kinds.values()) if kind == REDUCE and may_be_zero(extent)]
    return [init, main]


def places_of(nest: StatementNest, inside: ir.Block) -> dict[ir.Value, list[Linear]]:
    """The elements that a nest writes, by buffer, as forms of the numbers of the block's axes."""
    numbers = {argument: number for number, argument in enumerate(inside.arguments)}
    moving = [axis for axis in nest.axes if nest.indices.extents[axis] != 1]
    return {s.buffer: [(form.only(moving) + Linear({}, form.constant)).renamed(numbers) for form in s.forms] for s in nest.stores}


# --- axes ---


def axis_extents(statement: Statement, sizes: KernelSizes) -> list[Size]:
    """The extent of each axis. Lower bounds other than 0 are added inside of the block."""
    block, loops = statement.block, {}
    for loop in statement.loops:
        lower, upper = (sizes.of(v) for v in loop.bounds)
        if lower is None or upper is None:
            raise Kept(f"the bounds of the loop {loop.name} depend on other loops, or on data")
        if not sizes.has_natural(upper - lower):
            raise Kept(f"the loop {loop.name} may end before it begins: from {lower} to {upper}")
        loops[loop.variable] = lower, upper - lower
    over = AxisForms({v: extent for v, (_, extent) in loops.items()}, sizes, {v: Linear({v: 1}, lower) for v, (lower, _) in loops.items()})
    forms = [over.form(v) for v in block.values]
    used = [v for form in forms for v in form.terms]
    for loop in statement.loops:
        if loop.variable not in used and loops[loop.variable][1] != 1:
            raise Kept(f"{shown(block)} is done again in each step of the loop {loop.name}: none of its axes takes its variable")
    if len(used) != len(set(used)):
        raise Kept(f"two axes of {shown(block)} take the variable of one loop")
    extents = [axis_extent(form, loops, axis) for form, axis in zip(forms, block.axes)]
    for test in statement.tests:
        ended = shortened(extents, test, over, forms)
        if ended is None:
            into_block(block, test)
        else:
            extents = ended
    for number, form in enumerate(forms):
        if form.constant != 0:
            begin_at(block, number, form.constant, sizes)
    return extents


def axis_extent(form: Linear, loops: dict[ir.Value, tuple[Size, Size]], name: str) -> Size:
    """The extent of an axis bound to loops that are the digits of its index. Kept where they are not."""
    if len(form.terms) == 1 and next(iter(form.terms.values())) == 1 and next(iter(form.terms)) in loops:
        return loops[next(iter(form.terms))][1]
    expected = 1
    for value, factor in sorted(form.terms.items(), key=lambda t: t[1]):
        if value not in loops:
            raise Kept(f"the axis {name} takes values that are no sum of loop variables")
        if factor != expected:
            raise Kept(f"the axis {name} does not run over all its values, or over some more than once")
        expected = expected * loops[value][1]
        if not isinstance(expected, int) and value != max(form.terms, key=lambda v: form.terms[v]):
            raise Kept(f"the axis {name} is split by a size that is known at run time only")
    return expected


def shortened(extents: list[Size], test: ir.Value, over: AxisForms, forms: list[Linear]) -> list[Size] | None:
    """The extents of the axes where a condition around the block ends some of them. None where that is not all that it does."""
    found = constraints(test, over)
    if found is None:
        return None
    extents = list(extents)
    for constraint in found:
        if over.is_natural(constraint):
            continue
        number = next((n for n, form in enumerate(forms) if (constraint + form).is_constant and form.terms), None)
        if number is None:
            return None
        end = (constraint + forms[number]).constant + 1 - forms[number].constant
        if over.sizes.has_natural(end) and is_natural(extents[number] - end):
            extents[number] = end
        elif not is_natural(end - extents[number]):
            return None
    return extents


def into_block(block: BlockOp, test: ir.Value) -> None:
    """Moves a condition around the block into it."""
    for inside in (block.init_block, block.block):
        if inside is None:
            continue
        operations = body(inside)
        with before_end(inside):
            made = scf.IfOp(test)
            with ir.InsertionPoint(made.then_block):
                copy(operations, {})
                scf.YieldOp([])
        for op in reversed(operations):
            op.erase()
    localize(block, set())


def begin_at(block: BlockOp, number: int, begin: Size, sizes: KernelSizes) -> None:
    """Makes an axis start at 0: its lower bound is added inside of the block."""
    for inside in (block.init_block, block.block):
        if inside is not None:
            argument = inside.arguments[number]
            with ir.InsertionPoint.at_block_begin(inside):
                shifted = arith.AddIOp(argument, sizes.value(begin)).result
            replace_but(argument, shifted)


def turn_around(block: BlockOp, indices: AxisForms) -> None:
    """Reverses axes along which the block writes backwards."""
    arguments = list(block.block.arguments)
    for store in [op for op in body(block.block) if op.name == "memref.store"]:
        for form in [indices.form(v) for v in list(store.operands)[2:]]:
            axis = next(iter(form.terms)) if len(form.terms) == 1 else None
            if axis is None or axis not in arguments or form.terms[axis] >= 0 or not isinstance(extent := indices.extents[axis], int):
                continue
            for inside in (block.init_block, block.block):
                if inside is not None:
                    argument = inside.arguments[arguments.index(axis)]
                    with ir.InsertionPoint.at_block_begin(inside):
                        turned = arith.SubIOp(arith.ConstantOp(ir.IndexType.get(), extent - 1).result, argument).result
                    replace_but(argument, turned)


def replace_but(old: ir.Value, new: ir.Value) -> None:
    """Replaces the uses of ``old``, except in the op that defines ``new``."""
    for use in list(old.uses):
        if use.owner.operation != new.owner.operation:
            use.owner.operation.operands[use.operand_number] = new


# --- accesses ---


def read_nest(block: BlockOp, inside: ir.Block, indices: AxisForms, guards: dict[ir.Value, list[Guard]], own: bool) -> StatementNest:
    """The nest of a block's body, or of its init."""
    name, arguments = shown(block), list(inside.arguments)
    found = [(access, [indices.form(v) for v in access.indices]) for access in accesses_in([inside])]
    stores = [Store(access.op, forms) for access, forms in found if access.writes]
    loads = [Load(access.op, forms, guards.get(access.op.results[0], [])) for access, forms in found if not access.writes]
    if not stores:
        raise Kept(f"{name} writes nothing that is seen")
    kinds = dict(zip(arguments, block.kinds))
    for load in loads:
        store = next((s for s in stores if s.buffer == load.buffer), None)
        if store is not None and store.forms != load.forms:
            raise Kept(f"{name} reads other elements of what it writes: its steps depend on each other")
    if OPAQUE in kinds.values():
        raise Kept(f"{name} has opaque axes")
    if inside != block.block:
        kinds = {a: SPATIAL for a, kind in kinds.items() if kind == SPATIAL}
        indices = AxisForms({a: e for a, e in indices.extents.items() if a in kinds}, indices.sizes)
    for store in stores:
        check_store(name, store, kinds, indices, block)
    kinds, indices = with_units([*stores, *loads], len(stores), kinds, indices)
    nest = StatementNest(name, inside, indices, kinds, loads, stores, {}, block.operation.location)
    if nest.reduces:
        take_accumulated(nest, own, block)
    return nest


def check_store(name: str, store: Store, kinds: dict[ir.Value, str], indices: AxisForms, block: BlockOp) -> None:
    """Kept unless a store writes a different element for each value of the spatial axes, and the same one along a reduction."""
    axes = dict(zip(kinds, block.axes if len(kinds) == len(block.axes) else [str(n) for n in range(len(kinds))]))
    found = {variable for form in store.forms for variable in variables(form)}
    if any(variable not in kinds for variable in found):
        raise Kept(f"{name} writes at places that are computed from data")
    for axis, kind in kinds.items():
        if kind == REDUCE and axis in found:
            raise Kept(f"{name} writes another place for each step of its reduce axis {axes[axis]}")
        if kind == SPATIAL and axis not in found and indices.extents[axis] != 1:
            raise Kept(f"{name} writes one place for all values of its spatial axis {axes[axis]}")


def take_accumulated(nest: StatementNest, own: bool, block: BlockOp) -> None:
    """Separates the loads of accumulated elements. Kept where the order of a reduction's steps may matter."""
    names = ", ".join(axis for axis, kind in zip(block.axes, block.kinds) if kind == REDUCE)
    for number, store in enumerate(nest.stores):
        former = [load for load in nest.loads if load.buffer == store.buffer]
        nest.loads = [load for load in nest.loads if load.buffer != store.buffer]
        nest.accumulated |= {load.op.results[0]: number for load in former}
        values = {load.op.results[0] for load in former}
        if not depends(store.op.operands[0], values):
            raise Kept(f"{nest.name} adds nothing up: of the steps along {names} the last one's value stays")
        if own and not combines(store.op.operands[0], values):
            raise Kept(f"the steps along {names} depend on each other in their order: what they write is no sum, product, maximum or "
                       "minimum")


def combines(value: ir.Value, former: set[ir.Value]) -> bool:
    """Whether a value is the former one combined with an independent one by an associative, commutative op."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name not in COMBINERS:
        return False
    a, b = owner.operands
    if depends(a, former) and depends(b, former):
        return False
    inner = a if depends(a, former) else b
    return inner in former or (not isinstance(inner.owner, ir.Block) and inner.owner.name == owner.name and combines(inner, former))
