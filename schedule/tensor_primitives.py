"""Primitives on whole tiles: blockize, tensorize."""
from typing import Any

from legato.analysis.accesses import buffer_of, indices_of
from legato.analysis.indices.build import build
from legato.analysis.indices.forms import linear, roots
from legato.analysis.indices.linear import Linear
from legato.core.errors import LegatoError
from legato.core.interfaces import ScriptKernel
from legato.core.ir_helpers import ancestors, body, copy, find, present
from legato.core.mlir import ir, memref
from legato.dialects import tir
from legato.dialects.loading import scratch_context
from legato.dialects.tir.loops import SERIAL, SPATIAL, BlockOp, ForOp, before_end, make_block
from legato.dialects.tir.markers import EXTERN, INPLACE
from legato.dialects.tir.walk import blocks, loops, loops_around
from legato.schedule.loop_primitives import nest
from legato.schedule.reduction_primitives import drop_init, rebuild
from legato.schedule.state import Kernel, ScheduleError, from_zero, statements, users, within

# Intrinsics of devices by name: a description (what it computes, as a kernel) and an implementation (a kernel of the same parameters).
TENSOR_INTRINSICS: dict[str, tuple[Any, Any]] = {}
UNKNOWN_OFFSET = ir.ShapedType.get_dynamic_stride_or_offset()


def register_tensor_intrinsic(name: str, description: Any, implementation: Any) -> None:
    """Names an intrinsic for ``tensorize``: two kernels (``@T.prim_func``) of the same parameters, the computation that is matched
    and its replacement. A name that is registered again stands for the new ones. LegatoError for what is no kernel, and for parameters that
    are not the same."""
    who = f"register_tensor_intrinsic({name!r}, ...)"
    if not isinstance(name, str) or not name:
        raise LegatoError(f"{who}: the name is a text, by which tensorize knows the intrinsic")
    for what, kernel in (("description", description), ("implementation", implementation)):
        if not isinstance(kernel, ScriptKernel):
            raise LegatoError(f"{who}: the {what} is a kernel under @T.prim_func, not {kernel!r}")
    with scratch_context(), ir.Location.unknown():
        scratch = ir.Module.create()
        wanted, found = (parameters_of(kernel.build(scratch)) for kernel in (description, implementation))
        if wanted != found:
            raise LegatoError(f"{who}: the parameters of the description are {', '.join(map(str, wanted))}; the implementation has "
                              f"{', '.join(map(str, found)) or 'none'}")
    TENSOR_INTRINSICS[name] = description, implementation


def parameters_of(kernel: Any) -> list[ir.Type]:
    """The types of the parameters of a kernel as they are written."""
    found = {place_of(kernel, argument): argument.type for argument in kernel.arguments}
    return [found[place] for place in sorted(found)]


def blockize(kernel: Kernel, loop: ForOp) -> BlockOp:
    """Puts all that is inside of the loop into one block, whose axes are those of the inner block in tiles. Returns the outer block."""
    found = blocks(loop.operation)
    if len(found) != 1:
        raise ScheduleError(f"blockize: under the loop {loop.name} stand {len(found)} blocks; it has to be one")
    inner = found[0]
    if any(around.name == "scf.if" for around in within(inner.operation, loop.operation)):
        raise ScheduleError(f"blockize: block '{inner.name}' has a predicate: its tiles are not all whole")
    inside = [f for f in loops_around(inner.operation) if f.operation == loop.operation or loop.operation in ancestors(f.operation)]
    extents = {f.variable: f.extent for f in inside}
    for one in inside:
        from_zero(one, "blockize")
    if None in extents.values():
        raise ScheduleError(f"blockize: a loop under {loop.name} has an extent that is not known")
    tiles = [cut(value, extents, axis, inner.name) for value, axis in zip(inner.values, inner.axes)]
    sizes = [t[2] for t in tiles]
    whole = [None if e is None else -(-e // s) for e, s in zip(inner.extents, sizes)]
    with ir.InsertionPoint(loop), loop.operation.location:
        outer = make_block(kernel.unique(f"{inner.name}_o"), [f"{a}o" for a in inner.axes], inner.kinds, whole,
                           [build(t[0].renamed({term: rebuild(term, {}) for term in t[0].terms})) for t in tiles],
                           init=inner.init_block is not None)
        if inner.init_block is not None:
            with before_end(outer.init_block):
                tile_init(kernel, inner, outer, sizes)
    loop.operation.move_before(outer.block.operations[0].operation)
    with ir.InsertionPoint(inner.operation), inner.operation.location:
        for number, (_, part, _size) in enumerate(tiles):
            inner.operation.operands[number] = build(part)
    inner.operation.attributes["extents"] = ir.DenseI64ArrayAttr.get(sizes, inner.operation.context)
    shift(inner.block, list(outer.block.arguments), sizes)
    if inner.init_block is not None:
        drop_init(kernel, inner)
    return outer


def cut(value: ir.Value, extents: dict[ir.Value, int], axis: str, block: str) -> tuple[Linear, Linear, int]:
    """An axis's value as tile number, index in the tile, and the size of a tile."""
    form = linear(value)
    part = form.only(set(extents))
    rest = form - part
    low, high = part.range(extents) or (1, 0)
    size = high + 1
    inside = any(r in extents for v in rest.terms for r in roots(v))  # in a quotient or remainder
    if inside or low != 0 or any(f % size for f in rest.terms.values()) or rest.constant % size:
        raise ScheduleError(f"blockize: the axis {axis} of block '{block}' is not cut into tiles by the loops")
    return Linear({v: f // size for v, f in rest.terms.items()}, rest.constant // size), part, size


def shift(block: ir.Block, tiles: list[ir.Value], sizes: list[int]) -> None:
    """Replaces the axes inside of the tile by the axes of the whole."""
    first = block.operations[0].operation
    for argument, tile, size in zip(block.arguments, tiles, sizes):
        users = [(u.owner.operation, u.operand_number) for u in argument.uses]
        with ir.InsertionPoint(first), first.location:
            place = build(Linear({tile: size}) + Linear({argument: 1}))
        for op, number in users:
            op.operands[number] = place


def tile_init(kernel: Kernel, inner: BlockOp, outer: BlockOp, sizes: list[int]) -> None:
    """The init of a whole tile, at the insertion point in the outer block's init."""
    spatial = [n for n, kind in enumerate(inner.kinds) if kind == SPATIAL]
    made = nest([(sizes[n], SERIAL, f"{inner.axes[n]}_init", None) for n in spatial])
    with before_end(made[-1].block) if made else ir.InsertionPoint.current:
        block = make_block(kernel.unique(f"{inner.name}_init"), [inner.axes[n] for n in spatial], [SPATIAL] * len(spatial),
                           [sizes[n] for n in spatial], [m.variable for m in made])
        with before_end(block.block):
            old, around = present(inner.init_block), present(outer.init_block)
            places = {old.arguments[n]: build(Linear({around.arguments[n]: sizes[n]}) + Linear({a: 1}))
                      for n, a in zip(spatial, block.block.arguments)}
            copy(body(old), places)


# --- tensorize ---

def tensorize(kernel: Kernel, op: ir.Operation, intrinsic: str) -> BlockOp:
    """Replaces the loops inside of a loop, or of a block that ``blockize`` made, by an intrinsic that computes the same.

    Returns the block around it.
    """
    loop = op.opview if op.name == "tir.for" else first_loop(op.opview, intrinsic)
    number = [f.operation for f in loops(kernel.function.operation)].index(loop.operation)
    with ir.InsertionPoint(kernel.function):
        trial = kernel.function.operation.clone()  # tried on a copy, because it may fail after tiling
    try:
        replace_tile(Kernel(trial.opview), loops(trial)[number], intrinsic)
    finally:
        trial.erase()
    return replace_tile(kernel, loop, intrinsic)


def first_loop(block: BlockOp, intrinsic: str) -> ForOp:
    """The loops of a block that contains nothing else. ScheduleError for other blocks."""
    inside = statements(block.block)
    if len(inside) != 1 or inside[0].name != "tir.for":
        raise ScheduleError(f"tensorize: block '{block.name}' holds no loops that '{intrinsic}' could do: blockize makes such a block")
    return inside[0].opview


def replace_tile(kernel: Kernel, loop: ForOp, intrinsic: str) -> BlockOp:
    """Replaces one nest by the intrinsic. ScheduleError where it computes something else."""
    if intrinsic not in TENSOR_INTRINSICS:
        raise ScheduleError(f"tensorize: there is no intrinsic '{intrinsic}'; there are: {', '.join(sorted(TENSOR_INTRINSICS)) or 'none'}")
    with ir.Location.unknown():
        scratch = ir.Module.create()
        description, implementation = (k.build(scratch) for k in TENSOR_INTRINSICS[intrinsic])
    drop_copies(description)
    drop_copies(implementation)
    check_nest(loop, description, intrinsic)
    around = loop.operation.parent
    outer = around.opview if around.name == "tir.block" else blockize(kernel, loop)
    inner = blocks(loop.operation)[0]
    tiles = match(inner, blocks(description.operation)[0], intrinsic)
    parameters = {op.results[0]: op.operands[0] for op in find(description.operation, "bufferization.to_buffer")}
    with ir.InsertionPoint(loop), loop.operation.location:
        views = {place_of(description, parameters[wanted]): view(*tile) for wanted, tile in tiles.items()}
        inside = [op.operation for op in implementation.body.blocks[0].operations]
        mapping: dict[ir.Value, ir.Value] = {}
        for op in inside[:-1]:
            if op.name == "bufferization.to_buffer":
                if (place := place_of(implementation, op.operands[0])) in views:
                    mapping[op.results[0]] = views[place]
                elif list(op.results[0].uses):
                    raise ScheduleError(f"tensorize: '{intrinsic}' is done with the parameter {place}, which its description does not use")
            elif op.name != "bufferization.to_tensor":
                mapping = copy([op], mapping)
    bring_declarations(kernel, scratch)
    kernel.erase(loop.operation)
    return outer


def sources(kernel: Any) -> list[int]:
    """For each output the input that it updates, where a kernel changes a parameter in place; -1 for others."""
    attributes = kernel.attributes
    return list(attributes[INPLACE]) if INPLACE in attributes else [-1] * tir.out_count(kernel)


def place_of(kernel: Any, argument: ir.Value) -> int:
    """The number of a parameter as the kernel is written, where an input that is changed in place and its output are one."""
    number, found = ir.BlockArgument(argument).arg_number, sources(kernel)
    output = number - (len(kernel.type.inputs) - len(found))
    return found[output] if output >= 0 and found[output] >= 0 else number


def drop_copies(kernel: Any) -> None:
    """Removes a kernel's copies of inputs into the outputs that update them."""
    changed = [n for n in sources(kernel) if n >= 0]
    for buffer in [op.results[0] for op in find(kernel.operation, "bufferization.to_buffer")]:
        if ir.BlockArgument(buffer.owner.operands[0]).arg_number in changed:
            for load in users(buffer, "memref.load"):
                nest = Kernel(kernel).top(load)
                if nest.parent is not None:
                    nest.erase()


def bring_declarations(kernel: Kernel, scratch: ir.Module) -> None:
    """Declares the C functions that an implementation calls in the kernel's module."""
    home = kernel.function.operation.parent.regions[0].blocks[0]
    known = {op.operation.attributes["sym_name"].value for op in home.operations if "sym_name" in op.operation.attributes}
    for op in list(scratch.body.operations):
        if op.operation.name == "func.func" and EXTERN in op.operation.attributes and op.name.value not in known:
            home.append(op.operation.clone(ip=False))


def check_nest(loop: ForOp, description: Any, intrinsic: str) -> None:
    """ScheduleError unless extents, axis kinds and ops of the loop are the description's."""
    wanted = [f.extent for f in loops(description.operation)]
    found = [f.extent for f in loops(loop.operation)]
    if wanted != found:
        raise ScheduleError(f"tensorize: '{intrinsic}' is loops of {wanted} steps; under {loop.name} are loops of {found}")
    described = blocks(description.operation)
    here = blocks(loop.operation)
    if len(described) != 1 or len(here) != 1 or described[0].kinds != here[0].kinds:
        raise ScheduleError(f"tensorize: '{intrinsic}' has one block with axes {described[0].kinds}, and under {loop.name} is "
                            f"{here[0].kinds if here else 'none'}")
    a, b = (meaningful(block.block) for block in (described[0], here[0]))
    if [op.name for op in a] != [op.name for op in b]:
        raise ScheduleError(f"tensorize: '{intrinsic}' does {', '.join(op.name for op in a)}; block '{here[0].name}' does "
                            f"{', '.join(op.name for op in b)}")


def meaningful(block: ir.Block) -> list[ir.Operation]:
    """The ops of a body without index arithmetic."""
    return [op for op in body(block) if not (op.results and isinstance(op.results[0].type, ir.IndexType))]


def match(block: BlockOp, described: BlockOp, intrinsic: str) -> dict[ir.Value, tuple[ir.Value, list[Linear], list[int]]]:
    """For each buffer of the description the buffer here, where the tile begins, and its shape. ScheduleError where the computations
    differ."""
    axes = dict(zip(described.block.arguments, block.block.arguments))
    values: dict[ir.Value, ir.Value] = {}
    tiles: dict[ir.Value, tuple[ir.Value, list[Linear], list[int]]] = {}
    wrong = ScheduleError(f"tensorize: block '{block.name}' does not compute what '{intrinsic}' does")
    for a, b in zip(meaningful(described.block), meaningful(block.block)):
        if a.name in ("memref.load", "memref.store"):
            begins = beginning([linear(v) for v in indices_of(a)], [linear(v) for v in indices_of(b)], axes, list(block.block.arguments))
            if begins is None or tiles.setdefault(buffer_of(a), (buffer_of(b), begins, list(buffer_of(a).type.shape)))[:2] != (
                    buffer_of(b), begins) or buffer_of(a).type.element_type != buffer_of(b).type.element_type:
                raise wrong
            if a.name == "memref.store" and values.get(a.operands[0]) != b.operands[0]:
                raise wrong
        elif any(values.get(x) != y for x, y in zip(a.operands, b.operands)):
            raise wrong
        values |= dict(zip(a.results, b.results))
    return tiles


def beginning(wanted: list[Linear], found: list[Linear], axes: dict[ir.Value, ir.Value], inner: list[ir.Value]) -> list[Linear] | None:
    """The begin of a tile: the difference of the indices here to the description's. None where they step differently."""
    extra = len(found) - len(wanted)
    if extra < 0:
        return None
    expected = [Linear({})] * extra + [w.renamed(axes) for w in wanted]
    begins = [f - e for f, e in zip(found, expected)]
    return None if any(v in inner for b in begins for v in b.terms) else begins


def view(buffer: ir.Value, begins: list[Linear], shape: list[int]) -> ir.Value:
    """The tile of a buffer, at the insertion point."""
    type_ = buffer.type
    strides, _ = type_.get_strides_and_offset()
    extra = type_.rank - len(shape)
    layout = ir.Attribute.parse(f"strided<[{', '.join(str(s) for s in list(strides)[extra:])}], offset: ?>")
    made = ir.MemRefType.get(shape, type_.element_type, layout)
    return memref.SubViewOp(made, buffer, [build(b) for b in begins], [], [], [UNKNOWN_OFFSET] * type_.rank, [1] * extra + shape,
                            [1] * type_.rank).result

