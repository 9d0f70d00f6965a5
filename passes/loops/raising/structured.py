"""Builds the structured op of a nest on the tensors that its buffers hold."""
from dataclasses import dataclass, field

from legato.analysis.indices.linear import quotients
from legato.analysis.kernel_sizes import KernelSizes, Size
from legato.core import fills
from legato.core.ir_helpers import body, copy
from legato.core.mlir import arith, ir, linalg, tensor
from legato.dialects.tir.loops import REDUCE
from legato.passes.loops.raising.empty_reductions import has_steps, is_zero, limit_init, zero
from legato.passes.loops.raising.kept import Kept
from legato.passes.loops.raising.nests import Load, StatementNest, Store
from legato.passes.loops.raising.views import TensorSlice, TensorView, collapsed, cut, expanded, is_static, padded, part, put


@dataclass
class Tensors:
    """``current``: the tensor that each buffer holds; a buffer that is not written yet has none. ``own``: buffers that the kernel
    allocates. ``begun``: the buffers whose first write was of a part."""

    sizes: KernelSizes
    current: dict[ir.Value, ir.Value]
    names: dict[ir.Value, str]
    own: set[ir.Value]
    begun: set[ir.Value] = field(default_factory=set)

    def read(self, buffer: ir.Value) -> ir.Value:
        """The tensor that a buffer holds, for a nest that reads it. Kept where nothing was written to it, and where only parts of an output
        were: what no write reaches is 0, or what the caller has there."""
        if buffer in self.begun and buffer not in self.own:
            raise Kept(f"'{self.names.get(buffer, 'a buffer')}' is read where parts of it were written")
        return self.held(buffer)

    def held(self, buffer: ir.Value) -> ir.Value:
        """The tensor that a buffer holds. Kept where nothing was written to it."""
        if buffer not in self.current:
            raise Kept(f"'{self.names.get(buffer, 'a buffer')}' is read before anything is written there")
        return self.current[buffer]

    def empty(self, shape: list[Size], element: ir.Type) -> ir.Value:
        """An empty tensor."""
        return tensor.EmptyOp([s if isinstance(s, int) else self.sizes.value(s) for s in shape], element).result

    def whole(self, buffer: ir.Value) -> ir.Value:
        """The tensor that a slice is inserted into: the buffer's, or an empty one."""
        if buffer not in self.current:
            self.begun.add(buffer)
            return self.empty(list(self.sizes.shape(buffer)), buffer.type.element_type)
        return self.current[buffer]


@dataclass
class StoreTarget:
    """The destination of a store: views from the buffer's tensor to the tensor that the op writes; ``found``: the slice between
    ``before`` and ``view``.
    """

    whole: TensorView
    found: TensorSlice | None
    before: TensorView
    view: TensorView


@dataclass
class Operands:
    """The inputs of an op, without duplicates."""

    values: list[ir.Value] = field(default_factory=list)
    maps: list[list[ir.AffineExpr]] = field(default_factory=list)

    def add(self, value: ir.Value, map_: list[ir.AffineExpr]) -> int:
        """Adds an operand with its indexing map. Returns its number."""
        for number, (other, m) in enumerate(zip(self.values, self.maps)):
            if other == value and m == map_:
                return number
        self.values.append(value)
        self.maps.append(map_)
        return len(self.values) - 1


def build(nest: StatementNest, tensors: Tensors) -> None:
    """Builds the op at the insertion point; buffers that the nest writes hold its results afterwards. Kept where there is none."""
    axes = nest.axes
    inputs, seen, extracted = Operands(), {}, {}
    for load in nest.loads:
        view = seen_by(load, nest, tensors)
        if view is None:
            extracted[load.op.results[0]] = load
        else:
            seen[load.op.results[0]] = inputs.add(view.value, view.expressions(axes))
    if is_fill(nest, tensors) or is_copy(nest, inputs, tensors):
        return
    keeps = [bool(nest.only_if) and store.buffer in tensors.current for store in nest.stores]
    targets = [target(store, nest, tensors, nest.reduces or kept) for store, kept in zip(nest.stores, keeps)]
    outs = [t.view for t in targets]
    maps = [v.expressions(axes) for v in outs]
    span(nest, inputs, maps, tensors)
    numbers = seen | {value: len(inputs.values) + number for value, number in nest.accumulated.items()}
    results = generic(nest, inputs, outs, maps, numbers, extracted, tensors)
    if nest.only_if:
        limit_init(results[0].owner, nest.only_if, keeps, tensors.sizes)
    for store, one, result in zip(nest.stores, targets, results):
        tensors.current[store.buffer] = written(one, result)


# --- reading ---


def seen_by(load: Load, nest: StatementNest, tensors: Tensors) -> TensorView | None:
    """What a load reads, as an operand of a structured op; None where it has to extract elements."""
    view = TensorView(tensors.read(load.buffer), list(tensors.sizes.shape(load.buffer)), load.forms, nest.indices)
    if not all(nest.indices.is_linear(f) or quotients(f) for f in view.forms):
        return None
    outside = not all(nest.indices.is_inside(f, s) for f, s in zip(view.forms, view.shape) if is_known(nest, f, s))
    if outside or (load.guards and not all(nest.indices.is_inside(f, s) for f, s in zip(view.forms, view.shape))):
        found = padded(view, load)
        if found is None and not load.guards:
            raise Kept(f"{nest.name} reads '{tensors.names.get(load.buffer, 'a buffer')}' outside of its sizes")
        if found is None:
            return None
        view, load.padded = found, True
    view = expanded(collapsed(view), nest.kinds)
    if not all(nest.indices.is_linear(f) for f in view.forms):
        return None
    found = part(view)
    view = view if found is None else cut(view, found)
    return view if is_static(view) else None


def is_known(nest: StatementNest, form, size: Size) -> bool:
    """Whether it is known statically if an index is inside of a dimension."""
    bounds = nest.indices.bounds(form) if nest.indices.is_linear(form) else None  # bounds of quotients are not exact
    return bounds is not None and isinstance(bounds[0], int) and isinstance(size - bounds[1], int)


def is_fill(nest: StatementNest, tensors: Tensors) -> bool:
    """Builds fills for a nest that writes scalars into all of its buffers. Returns whether it is one."""
    if nest.loads or nest.reduces:
        return False
    shapes = [tensors.sizes.shape(store.buffer) for store in nest.stores]
    if not all(is_outside(s.op.operands[0]) and is_whole(s, nest, shape) for s, shape in zip(nest.stores, shapes)):
        return False
    if nest.only_if and any(store.buffer in tensors.current for store in nest.stores):
        return False
    for store, shape in zip(nest.stores, shapes):
        value = store.op.operands[0]
        scalar = value if isinstance(value.owner, ir.Block) else value.owner.operation.clone().results[0]
        if nest.only_if and not is_zero(scalar):
            scalar = arith.SelectOp(has_steps(nest.only_if, tensors.sizes), scalar, zero(scalar.type)).result
        tensors.current[store.buffer] = fills.fill(scalar, tensors.empty(list(shape), store.buffer.type.element_type))
    return True


def is_outside(value: ir.Value) -> bool:
    """Whether a scalar is a constant, or defined outside of all loops."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner.owner.operation.name == "func.func"
    return owner.name == "arith.constant" or owner.operation.parent.name == "func.func"


def is_whole(store: Store, nest: StatementNest, shape: tuple[Size, ...]) -> bool:
    """Whether a store writes all elements of its buffer."""
    axes = [form.variable for form in store.forms]
    extents = nest.indices.extents
    return len(set(axes)) == len(axes) and all(axis in extents and extents[axis] == size for axis, size in zip(axes, shape))


def is_copy(nest: StatementNest, inputs: Operands, tensors: Tensors) -> bool:
    """Makes an own buffer that is a copy of a tensor hold that tensor. Returns whether the nest is such a copy."""
    if len(nest.stores) != 1 or len(inputs.values) != 1 or nest.reduces or nest.stores[0].buffer not in tensors.own:
        return False
    store, value = nest.stores[0], inputs.values[0]
    copied = stored_load(nest, store)
    if copied is None or not is_whole(store, nest, tensors.sizes.shape(store.buffer)):
        return False
    axes = nest.axes
    if inputs.maps[0] != [ir.AffineExpr.get_dim(axes.index(f.variable)) for f in store.forms]:
        return False
    tensors.current[store.buffer] = value
    return True


def stored_load(nest: StatementNest, store: Store) -> Load | None:
    """The load whose value is stored unchanged, or changed by its own padding selection only; else None."""
    value = store.op.operands[0]
    load = next((one for one in nest.loads if one.op.results[0] == value), None)
    if load is None and not isinstance(value.owner, ir.Block) and value.owner.name == "arith.select" and len(nest.loads) == 1:
        return nest.loads[0] if nest.loads[0].op.results[0] in list(value.owner.operands)[1:] and nest.loads[0].padded else None
    return load


# --- writing ---


def target(store: Store, nest: StatementNest, tensors: Tensors, read_first: bool) -> StoreTarget:
    """The destination of a store. Kept where it is not a slice of a tensor."""
    shape = list(tensors.sizes.shape(store.buffer))
    probe = TensorView(store.buffer, shape, store.forms, nest.indices)
    plain = part(probe) is None and all(f.variable is not None or f.is_constant for f in store.forms)
    if read_first:
        value = tensors.read(store.buffer)
    else:
        value = tensors.empty(shape, store.buffer.type.element_type) if plain else tensors.whole(store.buffer)
    first = TensorView(value, shape, store.forms, nest.indices)
    reshaped = expanded(collapsed(first), nest.kinds)
    found = part(reshaped)
    view = reshaped if found is None else cut(reshaped, found)
    if not is_static(view) or not all(f.variable is not None or f.is_constant for f in view.forms):
        raise Kept(f"{nest.name} writes '{tensors.names.get(store.buffer, 'a buffer')}' at places that are no part of it")
    axes = [f.variable for f in view.forms if not f.is_constant]
    if len(set(axes)) != len(axes):  # upstream takes every element of an output to be written
        raise Kept(f"{nest.name} writes a diagonal of '{tensors.names.get(store.buffer, 'a buffer')}'")
    return StoreTarget(first, found, reshaped, view)


def written(one: StoreTarget, result: ir.Value) -> ir.Value:
    """The buffer's tensor with an op's result inserted."""
    if one.found is not None:
        result = put(result, one.before.value, one.found, one.before)
    return back(result, one.before.value, one.whole.value)


def back(result: ir.Value, reshaped: ir.Value, whole: ir.Value) -> ir.Value:
    """Undoes the reshapes from ``whole`` to ``reshaped``."""
    if reshaped == whole:
        return result
    op = reshaped.owner.operation
    source = op.operands[0]
    groups = [[ir.IntegerAttr(i).value for i in ir.ArrayAttr(g)] for g in ir.ArrayAttr(op.attributes["reassociation"])]
    if op.name == "tensor.expand_shape":
        undone = tensor.CollapseShapeOp(source.type, result, groups).result
    else:
        sizes = [tensor.DimOp(source, arith.ConstantOp(ir.IndexType.get(), d).result).result for d in range(source.type.rank)
                 if source.type.is_dynamic_dim(d)]
        undone = tensor.ExpandShapeOp(source.type, result, groups, sizes, list(source.type.shape)).result
    return back(undone, source, whole)


# --- the op ---


def span(nest: StatementNest, inputs: Operands, outputs: list[list[ir.AffineExpr]], tensors: Tensors) -> None:
    """Adds an operand for its shape only, which gives the extents of axes that no operand is indexed by alone: the windows of pooling."""
    alone = {e.position for m in (*inputs.maps, *outputs) for e in m if isinstance(e, ir.AffineDimExpr)}
    missing = [n for n in range(len(nest.axes)) if n not in alone]
    if missing:
        shape = [nest.extents[n] for n in missing]
        inputs.values.append(tensors.empty(shape, nest.stores[0].buffer.type.element_type))
        inputs.maps.append([ir.AffineExpr.get_dim(n) for n in missing])


def generic(nest: StatementNest, inputs: Operands, outs: list[TensorView], maps: list[list[ir.AffineExpr]], numbers: dict[ir.Value, int],
            extracted: dict[ir.Value, Load], tensors: Tensors) -> list[ir.Value]:
    """Builds the ``linalg.generic``, with a copy of the nest's block as its body."""
    rank = len(nest.axes)
    kinds = ["reduction" if kind == REDUCE else "parallel" for kind in nest.kinds.values()]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, m)) for m in (*inputs.maps, *maps)]),
        "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{k}>") for k in kinds]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs.values), len(outs)]),
    }
    values = [v.value for v in outs]
    op = ir.Operation.create("linalg.generic", [v.type for v in values], [*inputs.values, *values], attributes, regions=1)
    block = op.regions[0].blocks.append(*[v.type.element_type for v in (*inputs.values, *values)])
    with ir.InsertionPoint(block):
        mapping: dict[ir.Value, ir.Value] = {v: block.arguments[i] for v, i in numbers.items()}
        inside = [o for o in body(nest.block) if o.name != "memref.store"]
        read = {v for o in inside for v in o.operands} | {s.op.operands[0] for s in nest.stores}
        mapping |= {a: linalg.IndexOp(i).result for i, a in enumerate(nest.axes) if a in read}
        for one in inside:
            if one.name == "memref.load" and one.results[0] in mapping:
                if one.results[0] in padded_loads(nest):
                    drop_selection(one.results[0], mapping)
            elif one.name == "memref.load":
                mapping[one.results[0]] = element(extracted[one.results[0]], mapping, tensors)
            elif not one.results or one.results[0] not in mapping:
                mapping = copy([one], mapping)
                plain_arithmetic(mapping[one.results[0]].owner)
        linalg.YieldOp([mapping.get(s.op.operands[0], s.op.operands[0]) for s in nest.stores])
    return list(op.results)


def padded_loads(nest: StatementNest) -> list[ir.Value]:
    """The values of loads that read padded tensors."""
    return [load.op.results[0] for load in nest.loads if load.padded]


def drop_selection(value: ir.Value, mapping: dict[ir.Value, ir.Value]) -> None:
    """Maps the selection between an element and the padding to the padded tensor's element."""
    select = next(iter(value.uses)).owner.operation
    mapping[select.results[0]] = mapping[value]


def element(load: Load, mapping: dict[ir.Value, ir.Value], tensors: Tensors) -> ir.Value:
    """Extracts one element; the indices of a guarded load are clamped to the tensor."""
    value = tensors.read(load.buffer)
    indices = [mapping.get(v, v) for v in list(load.op.operands)[1:]]
    if load.guards:
        zero, one = (arith.ConstantOp(ir.IndexType.get(), n).result for n in (0, 1))
        for number, size in enumerate(tensors.sizes.shape(load.buffer)):
            length = arith.ConstantOp(ir.IndexType.get(), size).result if isinstance(size, int) else tensor.DimOp(
                value, arith.ConstantOp(ir.IndexType.get(), number).result).result
            last = arith.SubIOp(length, one).result
            indices[number] = arith.MaxSIOp(arith.MinSIOp(indices[number], last).result, zero).result
    return tensor.ExtractOp(value, indices).result


def plain_arithmetic(op: ir.Operation) -> None:
    """Removes fast-math flags: schedules make fused multiply-adds themselves."""
    if "fastmath" in op.attributes:
        op.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")
