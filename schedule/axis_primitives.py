"""Primitives on the axes of blocks: transform_block_layout, reorder_block_iter_var."""
from collections.abc import Sequence

from legato.analysis.accesses import indices_of
from legato.analysis.indices.build import build, constant
from legato.analysis.indices.forms import Forms
from legato.analysis.indices.linear import quotients
from legato.core.ir_helpers import body, find, move_before, replace_uses, terminator
from legato.core.mlir import arith, ir
from legato.dialects.relax.dim import symbol
from legato.dialects.tir.loops import DYNAMIC, OPAQUE, REDUCE, SERIAL, SPATIAL, BlockOp, ForOp, before_end, loop_of, make_block
from legato.dialects.tir.walk import FIRST_INDEX, blocks
from legato.schedule.block_primitives import bound_of
from legato.schedule.digits import Bijection, Extent, MapDigit, NotBijectiveError, bijection, extent_of, indices_in
from legato.schedule.loop_primitives import nest, plus, product, times
from legato.schedule.order import check_recurrence
from legato.schedule.state import Kernel, ScheduleError, arithmetic, drop_unused, from_zero, predicate_of, statements

DIVISIONS = ("arith.divui", "arith.remui", "arith.divsi", "arith.remsi", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")
KEPT = ("name", "axes", "kinds", "extents")  # attributes of a block that say what its axes are


def transform_block_layout(kernel: Kernel, block: BlockOp, map: ir.AffineMap) -> BlockOp:
    """Makes the results of a bijective map the axes of a block, under a new nest of a loop for each. Returns the block."""
    if map.n_dims != len(block.axes) or not block.axes:
        raise ScheduleError(f"transform_block_layout: the map takes {map.n_dims} indices, and block '{block.name}' has {len(block.axes)} "
                            f"axes{': ' if block.axes else ''}{', '.join(block.axes)}")
    chain = loops_of_axes(block)
    extents = [present_extent(block, n) for n in range(len(block.axes))]
    try:
        found = bijection(map, extents)
    except NotBijectiveError as error:
        raise ScheduleError(f"transform_block_layout: the map is not bijective for the extents {shown(extents)} of block '{block.name}': "
                            f"{error}") from error
    kinds = [kind_of(block, digits, result) for digits, result in zip(found.results, map.results)]
    if block.init_block is not None and REDUCE not in kinds:
        raise ScheduleError(f"transform_block_layout: no result of the map is a reduce axis, and block '{block.name}' has an init")
    check_recurrence(block, range(len(block.axes)), "transform_block_layout")
    bounds = [bound_of(block, n, "transform_block_layout") if extent is None else extent for n, extent in enumerate(extents)]
    outer, sizes = chain[-1], [extent_of(digits) for digits in found.results]
    with ir.InsertionPoint(outer.operation), block.operation.location:
        ranges = [size if size is not None else (constant(0), total(digits, bounds)) for size, digits in zip(sizes, found.results)]
        made = nest([(r, SERIAL, f"ax{n}", None) for n, r in enumerate(ranges)])
        with before_end(made[-1].block):
            new = make_block(block.name, [f"v{n}" for n in range(len(made))], kinds, sizes, [loop.variable for loop in made],
                             init=block.init_block is not None)
    for name in block.operation.attributes:
        if name not in KEPT:
            new.operation.attributes[name] = block.operation.attributes[name]
    for loop in reversed(chain):
        move_before([op for op in body(loop.block) if arithmetic(op)], new.operation)
    for old, into in ((block.init_block, new.init_block), (block.block, new.block)):
        if old is not None and into is not None:
            with before_end(into), block.operation.location:
                replace_uses(old, inverse(found, list(into.arguments)))
            move_before(body(old), terminator(into))
            simplify(into, sizes)
    kernel.replaced(block.operation, new.operation)
    kernel.erase(outer.operation)
    drop_unused(kernel, new.operation)
    return new


def loops_of_axes(block: BlockOp) -> list[ForOp]:
    """The loops around a block, innermost first, up to the outermost one that is an axis. ScheduleError unless each of them is one, whole,
    serial, and holds nothing else."""
    what = "transform_block_layout"
    if OPAQUE in block.kinds or len(blocks(block.operation)) > 1:
        raise ScheduleError(f"{what}: block '{block.name}' has an opaque axis, or holds other blocks: its steps have an order")
    if predicate_of(block) is not None:
        raise ScheduleError(f"{what}: block '{block.name}' has a predicate: transform_block_layout comes before split")
    left = {}
    for axis, value, extent in zip(block.axes, block.values, block.extents):
        loop = loop_of(value)
        if loop is None or (extent is not None and loop.extent != extent):
            raise ScheduleError(f"{what}: the axis {axis} of block '{block.name}' is not one loop over all its values")
        from_zero(loop, what)
        if loop.kind != SERIAL:
            raise ScheduleError(f"{what}: the loop {loop.name} is {loop.thread or loop.kind}, and the new loops are serial: "
                                "transform_block_layout comes before")
        if any(use.owner.operation != block.operation for use in loop.variable.uses):
            raise ScheduleError(f"{what}: the loop {loop.name} is used by more than the axis {axis} of block '{block.name}'")
        left[loop.operation] = loop
    chain: list[ForOp] = []
    inner = block.operation
    while left:
        around = inner.parent.operation
        if around not in left or statements(inner.block) != [inner]:
            raise ScheduleError(f"{what}: block '{block.name}' does not stand alone in loops that are its axes")
        chain.append(left.pop(around))
        inner = around
    return chain


def present_extent(block: BlockOp, axis: int) -> Extent:
    """The number of values of an axis that is one loop."""
    loop = loop_of(block.values[axis])
    return block.extents[axis] if loop is None or block.extents[axis] is not None else loop.extent


def shown(extents: Sequence[Extent]) -> str:
    """Extents, for messages."""
    return ", ".join("?" if extent is None else str(extent) for extent in extents)


def kind_of(block: BlockOp, digits: Sequence[MapDigit], result: ir.AffineExpr) -> str:
    """The kind of a result of a map, that of its indices. ScheduleError where they are of several kinds. Indices of one value, which have
    no digits, count only where there are no others."""
    kinds = {block.kinds[d.source] for d in digits} or {block.kinds[n] for n in indices_in(result)}
    if len(kinds) > 1:
        raise ScheduleError(f"transform_block_layout: the result {result} of the map mixes spatial and reduce axes of block "
                            f"'{block.name}': {', '.join(block.axes[n] for n in sorted(indices_in(result)))}")
    return kinds.pop() if kinds else SPATIAL


def total(digits: Sequence[MapDigit], bounds: Sequence[int | ir.Value]) -> ir.Value:
    """The number of values of a result, one of whose indices has an unknown number of them."""
    return product([bounds[d.source] if d.extent is None else d.extent for d in digits])


def inverse(found: Bijection, results: Sequence[ir.Value]) -> list[ir.Value]:
    """The indices of a map as values, at the insertion point, from its results."""
    values = []
    for digits in found.indices:
        parts = []
        for at, digit in digits:
            rest = results[at]
            if digit.scale > 1:
                rest = arith.DivUIOp(rest, constant(digit.scale)).result
            if digit is not found.results[at][0] and digit.extent is not None:
                rest = arith.RemUIOp(rest, constant(digit.extent)).result
            parts.append(times(rest, digit.weight))
        value = parts[0] if parts else constant(0)
        for part in parts[1:]:
            value = plus(value, part)
        values.append(value)
    return values


def simplify(inside: ir.Block, extents: Sequence[Extent]) -> None:
    """Rebuilds the indices of accesses in a block's body whose divisions cancel."""
    known = [symbol(f"axis{n}") if extent is None else extent for n, extent in enumerate(extents)]
    reader = Forms(dict(zip(inside.arguments, known)))
    for op in find(inside.owner.operation, *FIRST_INDEX):
        for number, value in enumerate(indices_of(op)):
            if not divides(value):
                continue
            form = reader.form(value)
            if not quotients(form) and not any(divides(term) for term in form.terms):
                with ir.InsertionPoint(op), op.location:
                    op.operands[FIRST_INDEX[op.name] + number] = build(form)


def divides(value: ir.Value) -> bool:
    """Whether a value is computed by a division."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    return arithmetic(op) and (op.name in DIVISIONS or any(map(divides, op.operands)))


def reorder_block_iter_var(kernel: Kernel, block: BlockOp, order: list[int]) -> None:
    """Puts a block's axes into another order; the loops stay as they are."""
    if sorted(order) != list(range(len(block.axes))):
        raise ScheduleError(f"reorder_block_iter_var: {order} is no order of the numbers of the axes of block '{block.name}': "
                            f"{', '.join(f'{n} ({axis})' for n, axis in enumerate(block.axes))}")
    values, axes, kinds, extents = ([found[n] for n in order] for found in (block.values, block.axes, block.kinds, block.extents))
    for inside in (block.init_block, block.block):
        if inside is not None:
            uses = [[(use.owner.operation, use.operand_number) for use in argument.uses] for argument in inside.arguments]
            for new, old in enumerate(order):
                for op, number in uses[old]:
                    op.operands[number] = inside.arguments[new]
    attributes, context = block.operation.attributes, block.operation.context
    for n, value in enumerate(values):
        block.operation.operands[n] = value
    for name, texts in (("axes", axes), ("kinds", kinds)):
        attributes[name] = ir.ArrayAttr.get([ir.StringAttr.get(one, context) for one in texts], context)
    attributes["extents"] = ir.DenseI64ArrayAttr.get([DYNAMIC if one is None else one for one in extents], context)
