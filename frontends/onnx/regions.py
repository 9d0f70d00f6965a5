"""Branches and loops that run: regions of scf in main, whose bodies are graph ops.

Values go in and out of regions with plain types, without names of sizes, and are cast to relax's types inside. A loop's states lie in one
buffer each: at the end of a step the new state is copied there. What is stacked is written into its tensor step by step.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from legato.core.mlir import arith, bufferization, builtin, ir, scf, tensor
from legato.dialects import relax, tir
from legato.dialects.relax.dims import UNKNOWN, Size, materialize
from legato.dialects.relax.ops.count import sizes_of
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.values import Emitter


@dataclass(frozen=True)
class Turn:
    """A step of a loop: its number as a tensor of int64 without dimensions, and that and the number of steps behind it as index values."""

    number: ir.Value
    index: ir.Value
    left: ir.Value


Step = Callable[[Turn, list[ir.Value]], tuple[list[ir.Value], list[ir.Value]]]
VIEWS = ("builtin.unrealized_conversion_cast", "relax.reshape", "relax.squeeze", "relax.expand_dims", "relax.permute_dims")
DEFINING = ("relax.nonzero", "relax.size_of")


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The tensor with another type of the same layout: with relax's dims, or without."""
    return value if value.type == type_ else builtin.unrealized_conversion_cast([type_], [value])


def plain(value: ir.Value) -> ir.Value:
    """The tensor with its type without relax's dims."""
    return cast(value, tir.plain_type(value.type))


def branch(emitter: Emitter, condition: ir.Value, then: Callable[[], list[ir.Value]], other: Callable[[], list[ir.Value]], name: str,
           ) -> list[ir.Value]:
    """The values of one of two branches. ``condition``: a tensor of one boolean. Where the branches give tensors of different sizes, those
    of the result are symbols named after ``name``. Refused where they give tensors of different element types or ranks."""
    bit = _as_bit(condition)
    trial = ir.Operation.create("scf.if", [], [bit], regions=2)
    try:
        found = []
        for region, build in zip(trial.regions, (then, other)):
            with ir.InsertionPoint(region.blocks.append()):
                found.append(build())
            _refuse_sizes(region)
        with ir.InsertionPoint(trial):
            types = [_common_type(emitter, bit, (a, b), number, name) for number, (a, b) in enumerate(zip(*found, strict=True))]
            # where the sizes differ, both branches store their tensor in one of the result's
            outs = [_empty(emitter, type_.dims, type_) if any(value.type != type_.ir() for value in pair) else None
                    for type_, pair in zip(types, zip(*found))]
            made = scf.IfOp(bit, [tir.plain_type(type_.ir()) for type_ in types], has_else=True)
    except BaseException:
        trial.erase()
        raise
    for region, block, values in zip(trial.regions, (made.then_block, made.else_block), found):
        _move(region, block)
        with ir.InsertionPoint(block):
            yielded = [plain(value) if out is None else _stored(_resized(plain(value), out.type), out) for value, out in zip(values, outs)]
            scf.YieldOp(yielded)
    trial.erase()
    return [cast(result, type_.ir()) for result, type_ in zip(made.results, types)]


def _common_type(emitter: Emitter, condition: ir.Value, pair: Sequence[ir.Value], number: int, name: str) -> TensorType:
    """The type of a tensor that is one of two: sizes that differ become symbols, which the condition says."""
    a, b = (TensorType.of(value.type) for value in pair)
    if a == b:
        return a
    if (a.dtype, a.rank) != (b.dtype, b.rank):
        raise Refused(f"its output {number} is a tensor of {a} in one branch and of {b} in the other; of a condition that is computed at "
                      "run time, both give tensors of one rank and element type")
    axes = [axis for axis in range(a.rank) if a.dims[axis] != b.dims[axis]]
    if ir.InsertionPoint.current.block.owner.operation != emitter.function.operation:
        raise Refused(f"its output {number} is a tensor of {a} in one branch and of {b} in the other, inside of a branch or loop that is "
                      "decided at run time: there both give tensors of one shape")
    i64, sizes = ir.IntegerType.get_signless(64), list(a.dims)
    values = [arith.SelectOp(condition, *(materialize(type_.dims[axis], emitter.function) for type_ in (a, b))).result for axis in axes]
    numbers = [arith.IndexCastOp(i64, value).result for value in values]
    vector = tensor.FromElementsOp(ir.RankedTensorType.get([len(axes)], i64), numbers).result
    for axis, size in zip(axes, sizes_of(vector, f"{name}_size")):
        sizes[axis] = size
    return a.with_dims(sizes)


def _resized(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The tensor with a type that knows fewer sizes."""
    return value if value.type == type_ else tensor.CastOp(type_, value).result


def loop(emitter: Emitter, count: Size | ir.Value, states: Sequence[ir.Value], step: Step, stacked: Sequence[TensorType] = (),
         backwards: Sequence[bool] = ()) -> tuple[list[ir.Value], list[ir.Value]]:
    """Runs ``step`` for each number below ``count``: it takes the turn and the states, and returns the new states and the slices of what
    is stacked along a new axis 0. ``stacked``: the types of the slices; ``backwards``:
    whether they are stacked from the end. Returns the states after the last step, and the stacks.

    Refused where a state changes its type, or a slice has another one.
    """
    index, i64 = ir.IndexType.get(), ir.IntegerType.get_signless(64)
    number_of_steps = materialize(count, emitter.function)
    zero, one = (arith.ConstantOp(index, value).result for value in (0, 1))
    types, slices = [value.type for value in states], [type_.ir() for type_ in stacked]
    stacks = [_empty(emitter, (count, *type_.dims), type_) for type_ in stacked]
    made = scf.ForOp(zero, number_of_steps, one, [*map(plain, states), *stacks])
    try:
        with ir.InsertionPoint(made.body):
            carried = list(made.inner_iter_args)
            number = arith.IndexCastOp(i64, made.induction_variable).result
            number = tensor.FromElementsOp(ir.RankedTensorType.get([], i64), [number]).result
            last = arith.SubIOp(arith.SubIOp(number_of_steps, one).result, made.induction_variable).result
            new, found = step(Turn(number, made.induction_variable, last), [cast(value, type_) for value, type_ in zip(carried, types)])
            _check(types, new, "state")
            _check(slices, found, "scanned output")
            places = [last if back else made.induction_variable for back in backwards or [False] * len(found)]
            scf.YieldOp(_kept(new, found, carried, places))
        _refuse_sizes(made.operation.regions[0])
    except BaseException:
        made.operation.erase()
        raise
    results = list(made.results)
    whole = [TensorType((count, *type_.dims), type_.dtype).ir() for type_ in stacked]
    return [cast(v, t) for v, t in zip(results, types)], [cast(v, t) for v, t in zip(results[len(types):], whole)]


WhileStep = Callable[[ir.Value, list[ir.Value]], tuple[ir.Value, list[ir.Value], list[ir.Value]]]


def while_loop(emitter: Emitter, limit: ir.Value | None, condition: ir.Value | None, states: Sequence[ir.Value], step: WhileStep,
               stacked: Sequence[TensorType], room: Size) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
    """Runs ``step`` while its number is below ``limit`` (None: without end) and the condition holds. ``step`` takes the number, a tensor
    of int64 without dimensions, and the states, and returns the next condition, the new states and the slices of what is stacked along a
    new axis 0, in tensors of ``room`` slices. Returns the number of steps (a vector of one int64), the states and the stacks.

    Refused as ``loop``.
    """
    i64, bit = ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(1)
    types, slices = [value.type for value in states], [type_.ir() for type_ in stacked]
    zero, one = (arith.ConstantOp(i64, value).result for value in (0, 1))
    end = None if limit is None else tensor.ExtractOp(plain(relax.reshape(limit, shape=[])), []).result
    going = arith.ConstantOp(bit, 1).result if condition is None else _as_bit(condition)
    # the tensors first: upstream drops what is read before a step only, and bufferizes tensors at equal places on both sides
    carried = [*map(plain, states), *(_empty(emitter, (room, *type_.dims), type_) for type_ in stacked), zero, going]
    made = scf.WhileOp([value.type for value in carried], carried)
    try:
        before, after = (region.blocks.append(*[value.type for value in carried]) for region in made.operation.regions)
        with ir.InsertionPoint(before):
            *_, number, holds = before.arguments
            if end is not None:
                holds = arith.AndIOp(holds, arith.CmpIOp(arith.CmpIPredicate.slt, number, end).result).result
            scf.ConditionOp(holds, list(before.arguments))
        with ir.InsertionPoint(after):
            *given, number, _ = after.arguments
            count = tensor.FromElementsOp(ir.RankedTensorType.get([], i64), [number]).result
            following, new, found = step(count, [cast(value, type_) for value, type_ in zip(given, types)])
            _check(types, new, "state")
            _check(slices, found, "scanned output")
            place, following = arith.IndexCastOp(ir.IndexType.get(), number).result, _as_bit(following)
            scf.YieldOp([*_kept(new, found, given, [place] * len(found)), arith.AddIOp(number, one).result, following])
        _refuse_sizes(made.operation.regions[1])
    except BaseException:
        made.operation.erase()
        raise
    *results, count, _ = made.results
    whole = [TensorType((room, *type_.dims), type_.dtype).ir() for type_ in stacked]
    steps = tensor.FromElementsOp(ir.RankedTensorType.get([1], i64), [count]).result
    return steps, [cast(v, t) for v, t in zip(results, types)], [cast(v, t) for v, t in zip(results[len(types):], whole)]


def types_of_step(states: Sequence[ir.Value], step: Step) -> list[TensorType]:
    """The types of the slices that a step stacks, by a trial of it that is erased again."""
    index, i64 = ir.IndexType.get(), ir.IntegerType.get_signless(64)
    trial = ir.Operation.create("scf.execute_region", [], [], regions=1)
    try:
        with ir.InsertionPoint(trial.regions[0].blocks.append()):
            zero = arith.ConstantOp(index, 0).result
            number = tensor.FromElementsOp(ir.RankedTensorType.get([], i64), [arith.ConstantOp(i64, 0).result]).result
            carried = [cast(plain(value), value.type) for value in states]
            return [TensorType.of(value.type) for value in step(Turn(number, zero, zero), carried)[1]]
    finally:
        trial.erase()


def _as_bit(condition: ir.Value) -> ir.Value:
    flat = plain(condition if not condition.type.rank else relax.reshape(condition, shape=[]))
    element = tensor.ExtractOp(flat, []).result
    return arith.CmpIOp(arith.CmpIPredicate.ne, element, arith.ConstantOp(element.type, 0).result).result


def _move(region: ir.Region, block: ir.Block) -> None:
    for op in list(region.blocks[0].operations):
        block.append(op)


def _check(types: Sequence[ir.Type], values: Sequence[ir.Value], what: str) -> None:
    for number, (type_, value) in enumerate(zip(types, values, strict=True)):
        if value.type != type_:
            before, after = TensorType.of(type_), TensorType.of(value.type)
            raise Refused(f"its {what} {number} is a tensor of {before} before a step and of {after} after it: in a "
                          "loop whose number of steps is known only at run time, shapes stay the same")


def _refuse_sizes(region: ir.Region) -> None:
    """Refused for an op that defines a size in a region: ops behind it could not name it."""
    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in DEFINING:
            raise Refused(f"{op.name.removeprefix('relax.')} defines a size that depends on data, in a branch or loop that is "
                          "decided at run time; only what stands outside of it can")
        return ir.WalkResult.ADVANCE

    for op in region.blocks[0].operations:
        op.operation.walk(visit)


def _empty(emitter: Emitter, sizes: Sequence[Size], type_: TensorType) -> ir.Value:
    if UNKNOWN in sizes:
        raise Refused(f"the shape {list(sizes)} of its scanned output is not known before the loop")
    dynamic = [size if isinstance(size, int) else materialize(size, emitter.function) for size in sizes]
    return tensor.EmptyOp(dynamic, tir.plain_type(type_.ir()).element_type).result


def _kept(new: Sequence[ir.Value], found: Sequence[ir.Value], carried: Sequence[ir.Value], places: Sequence[ir.Value]) -> list[ir.Value]:
    """What a loop carries to its next step: first what is stacked is stored, which may be an old state, then the new states."""
    stacks = [_inserted(plain(value), into, place) for value, into, place in zip(found, carried[len(new):], places)]
    values = [_own(plain(value)) for value in new]
    return [_stored(value, into) for value, into in zip(values, carried)] + stacks


def _own(value: ir.Value) -> ir.Value:
    """A value of a step in memory that is no state's: a copy of one that may be a state, or a part or view of one."""
    root = value
    while not isinstance(root.owner, ir.Block) and root.owner.name in VIEWS:
        root = root.owner.operands[0]
    if isinstance(root.owner, ir.Block):
        return bufferization.AllocTensorOp(value.type, [], copy=value).result
    return value


def _stored(value: ir.Value, into: ir.Value) -> ir.Value:
    """``value`` in the memory of a state."""
    return bufferization.MaterializeInDestinationOp(into.type, value, into).result


def slice_at(x: ir.Value, place: ir.Value) -> ir.Value:
    """The slice of ``x`` at an index of axis 0, without the axis."""
    sizes, whole = TensorType.of(x.type), plain(x)
    index, dynamic = ir.IndexType.get(), ir.ShapedType.get_dynamic_size()
    inner = list(whole.type.shape)[1:]
    extents = [tensor.DimOp(whole, arith.ConstantOp(index, axis).result).result for axis, size in enumerate(inner, 1) if size == dynamic]
    type_ = ir.RankedTensorType.get(inner, whole.type.element_type)
    offsets, ones = [dynamic] + [0] * len(inner), [1] * (len(inner) + 1)
    part = tensor.ExtractSliceOp(type_, whole, [place], extents, [], offsets, [1, *inner], ones).result
    return cast(part, sizes.with_dims(sizes.dims[1:]).ir())


def _inserted(value: ir.Value, into: ir.Value, place: ir.Value) -> ir.Value:
    """``into`` with a slice stored at a place of axis 0."""
    index, dynamic = ir.IndexType.get(), ir.ShapedType.get_dynamic_size()
    sizes, rank = [], value.type.rank
    for axis, size in enumerate(value.type.shape):
        if size == dynamic:
            sizes.append(tensor.DimOp(value, arith.ConstantOp(index, axis).result).result)
    return tensor.InsertSliceOp(value, into, [place], sizes, [], [dynamic] + [0] * rank, [1, *value.type.shape], [1] * (rank + 1)).result


