"""Primitives that change layouts and extents: pack and pad."""
from legato.analysis.accesses import buffer_of, indices_of
from legato.core.ir_helpers import body, find, index, present
from legato.core.mlir import arith, bufferization, ir, memref, scf
from legato.dialects import relax
from legato.dialects.tir.loops import REDUCE, SERIAL, SPATIAL, UNROLLED, BlockOp, before_end, loop_of, make_block, make_buffer
from legato.dialects.tir.markers import SIGNATURE
from legato.dialects.tir.walk import blocks, buffer_name
from legato.schedule.buffer_primitives import behind, copy_nest, expression, keeps, pick, redirect, transform_layout
from legato.schedule.loop_primitives import nest
from legato.schedule.state import Kernel, ScheduleError, accesses, only_accessed, only_block, plain_axes, predicate_of, reads, users, writes


def pack(kernel: Kernel, block: BlockOp, at: int | str, tiles: list[int]) -> None:
    """Tiles the layout of buffer number ``at`` of those that the block reads: (n, m) becomes (n / t, m / u, t, u).

    A parameter of the kernel is packed by its callers, by graph ops: a constant at compile time, any other value by a kernel.
    """
    buffer = pick(kernel, reads(block), at, block, "pack", "reads")
    type_ = buffer.type
    if not type_.has_static_shape or len(tiles) != type_.rank or any(t < 1 for t in tiles):
        raise ScheduleError(f"pack: '{buffer_name(buffer)}' is {type_}; {tiles} are no tiles of it")
    producers = [b for b in blocks(kernel.function.operation) if buffer in writes(b)]
    if producers:
        transform_layout(kernel, producers[0], writes(producers[0]).index(buffer), tile_map(tiles))
        return
    others = [u.owner.operation.name for u in buffer.uses if u.owner.operation.name != "memref.load"]
    if others:
        raise ScheduleError(f"pack: '{buffer_name(buffer)}' is used by {others[0]}, which would not find it")
    made = buffer.owner
    if isinstance(made, ir.Block) or made.name != "bufferization.to_buffer" or not isinstance(made.operands[0], ir.BlockArgument):
        raise ScheduleError(f"pack: '{buffer_name(buffer)}' is neither a parameter of the kernel nor written by one of its blocks")
    pack_parameter(kernel, buffer, tiles)


def tile_map(tiles: list[int]) -> ir.AffineMap:
    """The map from an index to its tile and its place in the tile."""
    d = [ir.AffineExpr.get_dim(n) for n in range(len(tiles))]
    numbers = [ir.AffineExpr.get_floor_div(e, t) for e, t in zip(d, tiles)]
    return ir.AffineMap.get(len(tiles), 0, [*numbers, *(e % t for e, t in zip(d, tiles))])


def pack_parameter(kernel: Kernel, buffer: ir.Value, tiles: list[int]) -> None:
    """Packs a parameter in the kernel and in all calls."""
    made = buffer.owner.operation
    argument, shape = ir.BlockArgument(made.operands[0]), list(buffer.type.shape)
    number, element = argument.arg_number, buffer.type.element_type
    packed = [-(-s // t) for s, t in zip(shape, tiles)] + tiles
    argument.set_type(ir.RankedTensorType.get(packed, element))
    with ir.InsertionPoint(made), made.location:
        new = bufferization.ToBufferOp(ir.MemRefType.get(packed, element), made.operands[0]).result
    index_map = tile_map(tiles)
    for load in users(buffer, "memref.load"):
        with ir.InsertionPoint(load), load.location:
            places = [expression(e, indices_of(load)) for e in index_map.results]
            load.results[0].replace_all_uses_with(memref.LoadOp(new, places).result)
        kernel.erase(load)
    kernel.erase(made)
    retype(kernel, number, packed)
    for call in calls_of(kernel):
        with ir.InsertionPoint(call), call.location:
            call.operands[number] = packed_value(call.operands[number], shape, tiles)


def retype(kernel: Kernel, number: int, shape: list[int]) -> None:
    """Changes the shape of a parameter in the kernel's types."""
    attributes = kernel.function.attributes
    for name in ("function_type", SIGNATURE):
        if name in attributes:
            type_ = attributes[name].value
            inputs = list(type_.inputs)
            inputs[number] = ir.RankedTensorType.get(shape, inputs[number].element_type)
            attributes[name] = ir.TypeAttr.get(ir.FunctionType.get(inputs, list(type_.results)))


def calls_of(kernel: Kernel) -> list[ir.Operation]:
    """All calls of the kernel."""
    module = kernel.function.operation.parent
    return [c for c in find(module, "func.call") if c.attributes["callee"].value == kernel.function.name.value]


def packed_value(value: ir.Value, shape: list[int], tiles: list[int]) -> ir.Value:
    """The value in tiles, by graph ops."""
    rest = [-s % t for s, t in zip(shape, tiles)]
    if any(rest):
        value = relax.pad(value, pads=[*[0] * len(shape), *rest])
    counts = [(s + r) // t for s, r, t in zip(shape, rest, tiles)]
    value = relax.reshape(value, shape=[size for pair in zip(counts, tiles) for size in pair])
    rank = len(shape)
    return relax.permute_dims(value, axes=[*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)])


# --- pad ---

def pad(kernel: Kernel, block: BlockOp, sizes: list[int]) -> None:
    """Rounds the extents of the block's axes up to multiples of ``sizes``: it reads 0 beyond, and what it writes there is dropped."""
    if len(sizes) != len(block.axes) or any(s < 1 for s in sizes) or None in block.extents:
        raise ScheduleError(f"pad: block '{block.name}' has the axes {', '.join(block.axes)}, of extents {block.extents}; {sizes} do not "
                            "fit")
    top = only_block(kernel, block, "pad")
    loops = [loop_of(v) for v in block.values]
    if predicate_of(block) is not None or any(f is None or f.extent != e for f, e in zip(loops, block.extents)):
        raise ScheduleError(f"pad: each axis of block '{block.name}' has to be one loop over all its values")
    extents = [-(-present(e) // s) * s for e, s in zip(block.extents, sizes)]
    grown = [a for a, old, new in zip(block.kinds, block.extents, extents) if old != new]
    for axis, kind, loop, old, new in zip(block.axes, block.kinds, loops, block.extents, extents):
        if kind == REDUCE and old != new and present(loop).kind not in (SERIAL, UNROLLED):
            raise ScheduleError(f"pad: the loop {present(loop).name} is {present(loop).kind}; the axis {axis} of block '{block.name}' is "
                                "reduced over it, and its steps would write the same place at once")
    if REDUCE in grown and not is_sum_of_products(block):
        raise ScheduleError(f"pad: block '{block.name}' is no sum of products, to which what is beyond would add nothing")
    written = writes(block)
    touched: dict[ir.Value, list[int]] = {}
    for kind, some in (("memref.load", reads(block)), ("memref.store", written)):
        for buffer in some:
            only_accessed(kernel, buffer, "pad")
            found = [plain_axes(op, block, "pad") for op in accesses(block, kind) if buffer_of(op) == buffer]
            others = [b for b in blocks(kernel.function.operation) if b.operation != block.operation and buffer in writes(b)]
            if any(axes != found[0] for axes in found):
                raise ScheduleError(f"pad: block '{block.name}' accesses '{buffer_name(buffer)}' in several ways")
            if buffer in written and others:
                raise ScheduleError(f"pad: '{buffer_name(buffer)}' is also written by block '{others[0].name}'")
            touched[buffer] = found[0]
    for buffer, axes in touched.items():
        shape, before = [extents[a] for a in axes], [present(block.extents[a]) for a in axes]
        if shape == before:
            continue
        # a buffer may have fewer elements than the axes have values: the block accesses those under a condition
        own = [n if buffer.type.is_dynamic_dim(d) else min(n, buffer.type.shape[d]) for d, n in enumerate(before)]
        starts = buffer not in written or keeps(kernel, block, buffer, own)
        mine = [op for kind in ("memref.load", "memref.store") for op in accesses(block, kind) if buffer_of(op) == buffer]
        with ir.InsertionPoint(top), block.operation.location:
            new = make_buffer(ir.MemRefType.get(shape, buffer.type.element_type), f"{buffer_name(buffer)}_pad")
            if starts:
                fill_nest(kernel, buffer, new, own)
        if buffer in written:
            with behind(top), block.operation.location:
                copy_nest(kernel, new, buffer, f"{buffer_name(buffer)}_crop", own)
        redirect(mine, new)
    block.operation.attributes["extents"] = ir.DenseI64ArrayAttr.get(extents, block.operation.context)
    for loop, extent in zip(loops, extents):
        with ir.InsertionPoint(top), block.operation.location:
            present(loop).operation.operands[1] = index(extent)


def is_sum_of_products(block: BlockOp) -> bool:
    """Whether a block multiplies and adds, and nothing else."""
    names = [op.name for op in body(block.block) if op.name.startswith("arith.") and not isinstance(op.results[0].type, ir.IndexType)]
    return names in (["arith.mulf", "arith.addf"], ["arith.muli", "arith.addi"])


def fill_nest(kernel: Kernel, source: ir.Value, target: ir.Value, sizes: list[int]) -> None:
    """Loops that copy the first elements of a buffer, as many as ``sizes`` says, into a larger one, and fill the rest with 0."""
    shape, element = list(target.type.shape), target.type.element_type
    made = nest([(s, SERIAL, f"ax{d}", None) for d, s in enumerate(shape)])
    with before_end(made[-1].block):
        block = make_block(kernel.unique(f"{buffer_name(source)}_pad"), [f"v{d}" for d in range(len(shape))], [SPATIAL] * len(shape),
                           shape, [f.variable for f in made])
        with before_end(block.block):
            axes = list(block.block.arguments)
            inside = None
            for axis, size, whole in zip(axes, sizes, shape):
                if size != whole:
                    here = arith.CmpIOp(arith.CmpIPredicate.slt, axis, index(size)).result
                    inside = here if inside is None else arith.AndIOp(inside, here).result
            test = scf.IfOp(inside, [element], has_else=True)
            with ir.InsertionPoint(test.then_block):
                scf.YieldOp([memref.LoadOp(source, axes).result])
            with ir.InsertionPoint(test.else_block):
                zero = 0.0 if isinstance(element, ir.FloatType) else 0
                scf.YieldOp([arith.ConstantOp(element, zero).result])
            memref.StoreOp(test.results[0], target, axes)

