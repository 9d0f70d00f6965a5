"""One nest of serial loops around one block, as a structured op on tensors."""
from dataclasses import dataclass, field
from typing import Any

from ..dialects.tir.linear import Linear, linear
from ..dialects.tir.loops import REDUCE, SERIAL, SPATIAL, BlockOp, ForOp, constant_of
from ..dialects.tir.walk import body, copy, reaches_out
from ..mlir import ir, linalg, tensor
from .raise_pad import Pad, read_pad

PURE = ("arith", "math")


class Kept(Exception):
    """Why a kernel stays loops."""


@dataclass
class Store:
    """A store of the block: the buffer, and for each of its dimensions the axis."""

    op: ir.Operation
    buffer: ir.Value
    axes: list[int]


@dataclass
class Nest:
    """``reads``: the buffers whose former contents matter; ``accumulated``: the loads of what the block writes itself."""

    block: BlockOp
    extents: list[int | None]
    loads: list[tuple[ir.Operation, list[Linear] | None]]
    stores: list[Store]
    initial: list[Store]
    accumulated: list[ir.Operation]
    reads: list[ir.Value] = field(default_factory=list)

    @property
    def writes(self) -> list[ir.Value]:
        return [s.buffer for s in self.stores]


class Tensors:
    """The tensor that each buffer holds, while the nests are gone through in order."""

    def __init__(self, arguments: dict[ir.Value, ir.Value]):
        self.current = dict(arguments)
        self.arguments = dict(arguments)

    def allocate(self, op: ir.Operation) -> None:
        type_, sizes = op.results[0].type, iter(op.operands)
        shape = [next(sizes) if type_.is_dynamic_dim(d) else type_.shape[d] for d in range(type_.rank)]
        with ir.InsertionPoint(op), op.location:
            self.current[op.results[0]] = tensor.EmptyOp(shape, type_.element_type).result

    def replace_size(self, op: ir.Operation) -> None:
        if op.operands[0] in self.arguments:
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(tensor.DimOp(self.arguments[op.operands[0]], op.operands[1]).result)
            op.erase()


def read_nest(op: ir.Operation) -> "Nest | Pad":
    """What a nest does. Raises Kept where that has no structured form."""
    loops, block = chain(op)
    variables = {loop.variable: loop for loop in loops}
    if any(loop.kind != SERIAL or constant_of(loop.bounds[0]) != 0 for loop in loops):
        raise Kept(f"the loops around block '{block.name}' have kinds: they are scheduled by hand")
    extents = [axis_extent(linear(v), variables, name) for v, name in zip(block.values, block.axes)]
    used = [v for value in block.values for v in linear(value).terms]
    if len(used) != len(set(used)) or set(used) != set(variables):
        raise Kept(f"the axes of block '{block.name}' do not take each loop's variable once")
    if any(kind not in (SPATIAL, REDUCE) for kind in block.kinds):
        raise Kept(f"the block '{block.name}' has opaque axes")
    if reaches_out(block):
        raise Kept(f"the block '{block.name}' reads more of the loops around it than its axes")
    return read_pad(block, extents) or read_block(block, extents)


def chain(op: ir.Operation) -> tuple[list[ForOp], BlockOp]:
    """The loops, outermost first, and the one block in them."""
    loops = []
    while op.name == "tir.for":
        loops.append(op.opview)
        inner = [o for o in body(op.opview.block) if o.name.split(".")[0] != "arith"]
        if len(inner) != 1:
            raise Kept("a loop holds more than one statement")
        op = inner[0]
    if op.name != "tir.block":
        raise Kept(f"{op.name} among its loops")
    return loops, op.opview


def axis_extent(form: Linear, variables: dict[ir.Value, ForOp], name: str) -> int | None:
    """How many values an axis takes, which have to be all from 0 on: digits of a number, most significant first."""
    if form.variable is not None and form.variable in variables:
        return variables[form.variable].extent
    expected = 1
    for value, factor in sorted(form.terms.items(), key=lambda t: t[1]):
        if value not in variables or factor != expected or variables[value].extent is None:
            raise Kept(f"the axis {name} does not run over all its values")
        expected *= variables[value].extent
    if form.constant:
        raise Kept(f"the axis {name} does not begin at 0")
    return expected


def read_block(block: BlockOp, extents: list[int | None]) -> Nest:
    stores = [read_store(op, block, block.block) for op in body(block.block) if op.name == "memref.store"]
    initial = [] if block.init_block is None else [read_store(op, block, block.init_block) for op in body(block.init_block)
                                                   if op.name == "memref.store"]
    if not stores:
        raise Kept(f"the block '{block.name}' writes nothing")
    if initial and [(s.buffer, s.axes) for s in initial] != [(s.buffer, s.axes) for s in stores]:
        raise Kept(f"the init of block '{block.name}' writes something else than its body")
    for store in stores:
        check_whole(store, block, extents)
    nest = Nest(block, extents, [], stores, initial, [])
    arguments = list(block.block.arguments)
    seen_stores: set[ir.Value] = set()
    for op in body(block.block):
        if op.name == "memref.store":
            seen_stores.add(op.operands[1])
        elif op.name == "memref.load":
            read_load(op, nest, arguments, seen_stores)
        elif op.name.split(".")[0] not in PURE or len(op.regions):
            raise Kept(f"{op.name} in block '{block.name}'")
    alone = [f.variable for _, forms in nest.loads for f in forms or () if f.variable is not None]
    plain = {a for s in stores for a in s.axes} | {arguments.index(v) for v in alone}
    if len(plain) != len(arguments):
        missing = next(n for i, n in enumerate(block.axes) if i not in plain)
        raise Kept(f"no access of block '{block.name}' has the axis {missing} for itself: its extent would not be known")
    for op in body(block.init_block) if block.init_block is not None else ():
        if op.name == "memref.load":
            if op.operands[0] in nest.writes:
                raise Kept(f"the init of block '{block.name}' reads what it writes")
            nest.reads.append(op.operands[0])
            check_linear(op, list(block.init_block.arguments), [a for s in stores for a in s.axes])
        elif op.name != "memref.store" and op.name.split(".")[0] not in PURE:
            raise Kept(f"{op.name} in the init of block '{block.name}'")
    return nest


def read_store(op: ir.Operation, block: BlockOp, where: ir.Block) -> Store:
    arguments = list(where.arguments)
    axes = [arguments.index(v) if v in arguments else None for v in list(op.operands)[2:]]
    spatial = [i for i, kind in enumerate(block.kinds) if kind == SPATIAL]
    if None in axes or sorted(axes) != spatial:
        raise Kept(f"the block '{block.name}' writes a buffer not by each of its spatial axes, once")
    return Store(op, op.operands[1], axes)


def check_whole(store: Store, block: BlockOp, extents: list[int | None]) -> None:
    shape = store.buffer.type.shape
    for axis, size in zip(store.axes, shape):
        if (extents[axis] if extents[axis] is not None else ir.ShapedType.get_dynamic_size()) != size:
            raise Kept(f"the block '{block.name}' writes only a part of a buffer")


def read_load(op: ir.Operation, nest: Nest, arguments: list[ir.Value], stored: set[ir.Value]) -> None:
    buffer, indices = op.operands[0], list(op.operands)[1:]
    store = next((s for s in nest.stores if s.buffer == buffer), None)
    if store is not None:
        if [arguments.index(v) if v in arguments else None for v in indices] != store.axes or buffer in stored:
            raise Kept(f"the block '{nest.block.name}' reads other elements of what it writes")
        nest.accumulated.append(op)
        if not nest.initial:
            nest.reads.append(buffer)
        return
    nest.reads.append(buffer)
    forms = [linear(v) for v in indices]
    if all(v in arguments for f in forms for v in f.terms):
        check_bounds(op, forms, nest, arguments)
        nest.loads.append((op, forms))
    else:
        nest.loads.append((op, None))


def check_bounds(op: ir.Operation, forms: list[Linear], nest: Nest, arguments: list[ir.Value]) -> None:
    """A structured op reads all of an operand's dimension, or windows of it."""
    for form, size in zip(forms, op.operands[0].type.shape):
        axis = form.variable
        if axis is not None:
            extent = nest.extents[arguments.index(axis)]
            if (ir.ShapedType.get_dynamic_size() if extent is None else extent) != size:
                raise Kept(f"the block '{nest.block.name}' reads only a part of a buffer's dimension")
        elif not form.is_constant:
            known = {a: e for a, e in zip(arguments, nest.extents) if e is not None}
            bounds = form.range(known)
            if bounds is None or bounds[0] != 0 or bounds[1] != size - 1:
                raise Kept(f"the block '{nest.block.name}' reads windows that do not fill a buffer's dimension")
        elif size != 1:
            raise Kept(f"the block '{nest.block.name}' reads one place of a buffer's dimension")


def check_linear(op: ir.Operation, arguments: list[ir.Value], axes: list[int]) -> None:
    for value in list(op.operands)[1:]:
        if value not in arguments or arguments.index(value) not in axes:
            raise Kept("an init reads by something else than a spatial axis")


def raise_nest(nest: "Nest | Pad", tensors: Tensors) -> None:
    """Builds the structured op in front of the nest."""
    block = nest.block
    place = block.operation
    while place.parent.name != "func.func":
        place = place.parent.operation
    with ir.InsertionPoint(place), block.operation.location:
        if isinstance(nest, Pad):
            nest.build(tensors.current)
            return
        for number, store in enumerate(nest.initial):
            tensors.current[store.buffer] = initialize(nest, number, tensors)
        build(nest, tensors)


def initialize(nest: Nest, number: int, tensors: Tensors) -> ir.Value:
    """The output's first value: filled with a scalar, or computed from what the spatial axes say."""
    store, block = nest.initial[number], nest.block
    out = tensors.current[store.buffer]
    value = store.op.operands[0]
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "arith.constant":
        return linalg.fill(owner.clone().results[0], outs=[out])
    outside = isinstance(owner, ir.Block) or owner.operation.block != block.init_block
    if outside:
        return linalg.fill(value, outs=[out])
    arguments = list(block.init_block.arguments)
    loops = {axis: i for i, axis in enumerate(store.axes)}
    loads = [op for op in body(block.init_block) if op.name == "memref.load"]
    maps = [[loops[arguments.index(v)] for v in list(op.operands)[1:]] for op in loads] + [list(range(len(loops)))]
    inside = [op for op in body(block.init_block) if op.name not in ("memref.load", "memref.store")]
    return generic(len(loops), ["parallel"] * len(loops), [tensors.current[op.operands[0]] for op in loads], [out],
                   [[dim(d) for d in m] for m in maps], inside, dict(zip([op.results[0] for op in loads], range(len(loads)))), [value],
                   {a: loops[i] for i, a in enumerate(arguments) if i in loops}, {})[0]


def dim(position: int) -> ir.AffineExpr:
    return ir.AffineExpr.get_dim(position)


def build(nest: Nest, tensors: Tensors) -> None:
    block = nest.block
    arguments = list(block.block.arguments)
    rank = len(arguments)
    direct = [(op, forms) for op, forms in nest.loads if forms is not None]
    extracted = {op: tensors.current[op.operands[0]] for op, forms in nest.loads if forms is None}
    direct, inputs = once(direct)
    maps = [[expression(f, arguments) for f in forms] for _, forms in direct] + [[dim(a) for a in s.axes] for s in nest.stores]
    for op in nest.accumulated:
        inputs[op.results[0]] = len(direct) + next(i for i, s in enumerate(nest.stores) if s.buffer == op.operands[0])
    skipped = {op for op, forms in nest.loads if forms is not None} | set(nest.accumulated)
    inside = [op for op in body(block.block) if op.name != "memref.store" and op not in skipped]
    kinds = ["reduction" if kind == REDUCE else "parallel" for kind in block.kinds]
    results = generic(rank, kinds, [tensors.current[op.operands[0]] for op, _ in direct], [tensors.current[s.buffer] for s in nest.stores],
                      maps, inside, inputs, [s.op.operands[0] for s in nest.stores], {a: i for i, a in enumerate(arguments)}, extracted)
    for store, result in zip(nest.stores, results):
        tensors.current[store.buffer] = result


def once(loads: list[tuple[ir.Operation, list[Linear]]]) -> tuple[list[tuple[ir.Operation, list[Linear]]], dict[ir.Value, int]]:
    """The loads of different elements, and for what each load gives its number among them."""
    kept: list[tuple[ir.Operation, list[Linear]]] = []
    numbers = {}
    for op, forms in loads:
        same = next((i for i, (other, g) in enumerate(kept) if other.operands[0] == op.operands[0] and g == forms), None)
        if same is None:
            same = len(kept)
            kept.append((op, forms))
        numbers[op.results[0]] = same
    return kept, numbers


def expression(form: Linear, arguments: list[ir.Value]) -> ir.AffineExpr:
    total: Any = ir.AffineExpr.get_constant(form.constant)
    for value, factor in form.terms.items():
        total = total + dim(arguments.index(value)) * factor
    return total


def generic(rank: int, kinds: list[str], inputs: list[ir.Value], outputs: list[ir.Value], maps: list[list[ir.AffineExpr]],
            inside: list[ir.Operation], arguments: dict[ir.Value, int], results: list[ir.Value], axes: dict[ir.Value, int],
            extracted: dict[ir.Operation, ir.Value]) -> list[ir.Value]:
    """A ``linalg.generic``: ``inside`` is copied into it, ``arguments`` being the block's arguments by number, ``axes`` loop indices."""
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, m)) for m in maps]),
        "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{k}>") for k in kinds]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
    }
    op = ir.Operation.create("linalg.generic", [o.type for o in outputs], [*inputs, *outputs], attributes, regions=1)
    block = op.regions[0].blocks.append(*[v.type.element_type for v in (*inputs, *outputs)])
    with ir.InsertionPoint(block):
        mapping: dict[ir.Value, ir.Value] = {v: block.arguments[i] for v, i in arguments.items()}
        read = {v for o in inside for v in o.operands} | set(results)
        mapping |= {a: linalg.IndexOp(i).result for a, i in axes.items() if a in read}
        for one in inside:
            if one in extracted:
                indices = [mapping.get(v, v) for v in list(one.operands)[1:]]
                mapping[one.results[0]] = tensor.ExtractOp(extracted[one], indices).result
            else:
                mapping = copy([one], mapping)
                plain_arithmetic(mapping[one.results[0]].owner)
        linalg.YieldOp([mapping.get(v, v) for v in results])
    return list(op.results)


def plain_arithmetic(op: ir.Operation) -> None:
    """Takes the permission to round once away: schedules make fused multiply-adds themselves."""
    if "fastmath" in op.attributes:
        op.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")


