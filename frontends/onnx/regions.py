"""Loops that run: regions of scf in main, whose bodies are graph ops.

Values go in and out of regions with plain types, without names of sizes, and are cast to relax's types inside. A loop's states lie in one
buffer each: at the end of a step the new state is copied there. A state whose sizes change has a buffer of its own in each step, and its
sizes are symbols of the step (``relax.name_sizes``). What is stacked is written into its tensor step by step.
"""
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from legato.core.ir_helpers import find
from legato.core.mlir import arith, bufferization, builtin, ir, scf, tensor
from legato.dialects import relax, tir
from legato.dialects.relax.dims import UNKNOWN, Size, is_defined, materialize, symbols
from legato.dialects.relax.ops.count import with_named_sizes
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
DEFINING = ("relax.nonzero", "relax.size_of", "relax.name_sizes")
VIEWS = ("builtin.unrealized_conversion_cast", "relax.name_sizes", "relax.reshape", "relax.squeeze", "relax.expand_dims",
         "relax.permute_dims")


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The tensor with another type of the same layout: with relax's dims, or without."""
    return value if value.type == type_ else builtin.unrealized_conversion_cast([type_], [value])


def plain(value: ir.Value) -> ir.Value:
    """The tensor with its type without relax's dims."""
    return cast(value, tir.plain_type(value.type))


def is_known_outside(emitter: Emitter, size: Size) -> bool:
    """Whether a size has a value in front of the loop or branch in whose block the insertion point is."""
    with ir.InsertionPoint(ir.InsertionPoint.current.block.owner.operation):
        return all(is_defined(name, emitter.function) for name in symbols(size))


def symbols_in(op: ir.Operation) -> set[str]:
    """The symbols of which ops in an op's regions define the values."""
    found: set[str] = set()
    for defining in find(op, *DEFINING):
        before = [name for value in defining.operands for size in TensorType.of(value.type).dims for name in symbols(size)]
        after = [name for value in defining.results for size in TensorType.of(value.type).dims for name in symbols(size)]
        found |= set(after).difference(before)
    return found


def named(value: ir.Value, type_: TensorType, name: str) -> ir.Value:
    """A tensor of plain type with relax's type; sizes that are not known get names."""
    axes = [axis for axis, size in enumerate(type_.dims) if size is UNKNOWN]
    return with_named_sizes(cast(value, type_.ir()), axes, name)


def copied(value: ir.Value) -> ir.Value:
    """The tensor in memory of its own."""
    return bufferization.AllocTensorOp(value.type, [], copy=value).result


def resized(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The tensor with a type that knows fewer sizes."""
    return value if value.type == type_ else tensor.CastOp(type_, value).result


def loop(emitter: Emitter, count: Size | ir.Value, states: Sequence[ir.Value], step: Step, types: Sequence[TensorType] | None = None,
         stacked: Sequence[TensorType] = (), backwards: Sequence[bool] = (), name: str = "loop") -> tuple[list[ir.Value], list[ir.Value]]:
    """Runs ``step`` for each number below ``count``: it takes the turn and the states, and returns the new states and the slices of what
    is stacked along a new axis 0. ``types``, ``stacked``: what ``types_of_step`` says of the states and the slices; by default the states
    keep their types. ``backwards``: whether slices are stacked from the end. ``name``: what sizes of states are named after. Returns the
    states after the last step, and the stacks.

    Refused where a state changes its type, or a slice has another one.
    """
    index, i64 = ir.IndexType.get(), ir.IntegerType.get_signless(64)
    number_of_steps = materialize(count, emitter.function)
    zero, one = (arith.ConstantOp(index, value).result for value in (0, 1))
    types = types or [TensorType.of(value.type) for value in states]
    stacks = [empty(emitter, (count, *type_.dims), type_) for type_ in stacked]
    made = scf.ForOp(zero, number_of_steps, one, [*_carried(states, types), *stacks])
    try:
        with ir.InsertionPoint(made.body):
            carried = list(made.inner_iter_args)
            number = arith.IndexCastOp(i64, made.induction_variable).result
            number = tensor.FromElementsOp(ir.RankedTensorType.get([], i64), [number]).result
            last = arith.SubIOp(arith.SubIOp(number_of_steps, one).result, made.induction_variable).result
            given = [named(value, type_, name) for value, type_ in zip(carried, types)]
            new, found = step(Turn(number, made.induction_variable, last), given)
            _check(types, new, "state")
            _check(stacked, found, "scanned output")
            places = [last if back else made.induction_variable for back in backwards or [False] * len(found)]
            scf.YieldOp(_kept(types, new, found, carried, places))
    except BaseException:
        made.operation.erase()
        raise
    results = list(made.results)
    whole = [TensorType((count, *type_.dims), type_.dtype).ir() for type_ in stacked]
    return [named(v, t, name) for v, t in zip(results, types)], [cast(v, t) for v, t in zip(results[len(types):], whole)]


WhileStep = Callable[[ir.Value, list[ir.Value]], tuple[ir.Value, list[ir.Value], list[ir.Value]]]


def while_loop(emitter: Emitter, limit: ir.Value | None, condition: ir.Value | None, states: Sequence[ir.Value], step: WhileStep,
               types: Sequence[TensorType], stacked: Sequence[TensorType], room: Size, name: str,
               ) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
    """Runs ``step`` while its number is below ``limit`` (None: without end) and the condition holds. ``step`` takes the number, a tensor
    of int64 without dimensions, and the states, and returns the next condition, the new states and the slices of what is stacked along a
    new axis 0, in tensors of ``room`` slices. Returns the number of steps (a vector of one int64), the states and the stacks.

    ``types``, ``stacked``, ``name``, Refused: as of ``loop``.
    """
    i64, bit = ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(1)
    zero, one = (arith.ConstantOp(i64, value).result for value in (0, 1))
    end = None if limit is None else tensor.ExtractOp(plain(relax.reshape(limit, shape=[])), []).result
    going = arith.ConstantOp(bit, 1).result if condition is None else as_bit(condition)
    # the tensors first: upstream drops what is read before a step only, and bufferizes tensors at equal places on both sides
    carried = [*_carried(states, types), *(empty(emitter, (room, *type_.dims), type_) for type_ in stacked), zero, going]
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
            following, new, found = step(count, [named(value, type_, name) for value, type_ in zip(given, types)])
            _check(types, new, "state")
            _check(stacked, found, "scanned output")
            place, following = arith.IndexCastOp(ir.IndexType.get(), number).result, as_bit(following)
            scf.YieldOp([*_kept(types, new, found, given, [place] * len(found)), arith.AddIOp(number, one).result, following])
    except BaseException:
        made.operation.erase()
        raise
    *results, count, _ = made.results
    whole = [TensorType((room, *type_.dims), type_.dtype).ir() for type_ in stacked]
    steps = tensor.FromElementsOp(ir.RankedTensorType.get([1], i64), [count]).result
    return steps, [named(v, t, name) for v, t in zip(results, types)], [cast(v, t) for v, t in zip(results[len(types):], whole)]


def types_of_step(states: Sequence[ir.Value], step: Step, name: str = "loop", types: Sequence[TensorType] | None = None,
                  ) -> tuple[list[TensorType], list[TensorType]]:
    """The types that states have in all steps, with UNKNOWN for sizes that change, and those of the slices that a step stacks: by trials
    of the step that are erased again. ``types``: of the first trial, where UNKNOWN says what changes; by default those of the states.

    Refused where a state changes its rank or element type, and for a slice with a size that the step computes.
    """
    index, i64 = ir.IndexType.get(), ir.IntegerType.get_signless(64)
    types = [TensorType.of(value.type) for value in states] if types is None else list(types)
    while True:
        trial = ir.Operation.create("scf.execute_region", [], [], regions=1)
        try:
            with ir.InsertionPoint(trial.regions[0].blocks.append()):
                zero = arith.ConstantOp(index, 0).result
                number = tensor.FromElementsOp(ir.RankedTensorType.get([], i64), [arith.ConstantOp(i64, 0).result]).result
                given = [named(value, type_, name) for value, type_ in zip(_carried(states, types), types)]
                new, found = step(Turn(number, zero, zero), given)
                _check(types, new, "state", sizes=False)
                wider = [type_.with_dims([a if a == b else UNKNOWN for a, b in zip(type_.dims, TensorType.of(value.type).dims)])
                         for type_, value in zip(types, new)]
                slices, own = [TensorType.of(value.type) for value in found], symbols_in(trial)
        finally:
            trial.erase()
        if wider == types:
            _refuse_own(slices, own)
            return types, slices
        types = wider


def _refuse_own(slices: Sequence[TensorType], own: Set[str]) -> None:
    """Refused for a slice with a size that only the step knows."""
    for number, type_ in enumerate(slices):
        if own & {name for size in type_.dims for name in symbols(size)}:
            raise Refused(f"its scanned output {number} is a tensor of {type_}, whose sizes are known only in a step: what a loop "
                          "stacks has sizes that are known before it, or that its body declares")


def _carried(states: Sequence[ir.Value], types: Sequence[TensorType]) -> list[ir.Value]:
    """The states before a loop as it carries them: of plain types, without the sizes that change."""
    return [resized(plain(value), tir.plain_type(type_.ir())) for value, type_ in zip(states, types)]


def as_bit(condition: ir.Value) -> ir.Value:
    """The element of a tensor of one boolean."""
    flat = plain(condition if not condition.type.rank else relax.reshape(condition, shape=[]))
    element = tensor.ExtractOp(flat, []).result
    return arith.CmpIOp(arith.CmpIPredicate.ne, element, arith.ConstantOp(element.type, 0).result).result


def _check(types: Sequence[TensorType], values: Sequence[ir.Value], what: str, sizes: bool = True) -> None:
    """Refused for values of other element types or ranks than these types, or other ``sizes``, where the types know them."""
    for number, (before, value) in enumerate(zip(types, values, strict=True)):
        after = TensorType.of(value.type)
        fits = (before.dtype, before.rank) == (after.dtype, after.rank)
        if not fits or (sizes and any(a != b and a is not UNKNOWN for a, b in zip(before.dims, after.dims))):
            raise Refused(f"its {what} {number} is a tensor of {before} before a step and of {after} after it: in a loop whose number of "
                          "steps is known only at run time, element types and ranks stay the same, and so do the shapes of what is stacked")


def empty(emitter: Emitter, sizes: Sequence[Size], type_: TensorType) -> ir.Value:
    """Memory for a tensor of these sizes, of the element type of ``type_``."""
    dynamic = [size if isinstance(size, int) else materialize(size, emitter.function) for size in sizes]
    return tensor.EmptyOp(dynamic, tir.plain_type(type_.ir()).element_type).result


def _kept(types: Sequence[TensorType], new: Sequence[ir.Value], found: Sequence[ir.Value], carried: Sequence[ir.Value],
          places: Sequence[ir.Value]) -> list[ir.Value]:
    """What a loop carries to its next step: first what is stacked is stored, which may be an old state, then the new states."""
    stacks = [_inserted(plain(value), into, place) for value, into, place in zip(found, carried[len(new):], places)]
    values = [into if unchanged(value, into) else copied(resized(plain(value), into.type)) if UNKNOWN in type_.dims else _own(plain(value))
              for type_, value, into in zip(types, new, carried)]
    return [value if value == into or UNKNOWN in type_.dims else stored(value, into)
            for type_, value, into in zip(types, values, carried)] + stacks


def unchanged(value: ir.Value, state: ir.Value) -> bool:
    """Whether a step gives a state as it got it."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in ("builtin.unrealized_conversion_cast", "relax.name_sizes"):
        value = value.owner.operands[0]
    return value == state


def _own(value: ir.Value) -> ir.Value:
    """A value of a step in memory that is no state's: a copy of one that may be a state, or a part or view of one."""
    return copied(value) if isinstance(root_of(value).owner, ir.Block) else value


def root_of(value: ir.Value) -> ir.Value:
    """What a value is a view of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in VIEWS:
        value = value.owner.operands[0]
    return value


def stored(value: ir.Value, into: ir.Value) -> ir.Value:
    """``value`` in the memory of a state."""
    return bufferization.MaterializeInDestinationOp(into.type, value, into).result


def slice_at(x: ir.Value, place: ir.Value) -> ir.Value:
    """The slice of ``x`` at an index of axis 0, without the axis."""
    sizes, whole = TensorType.of(x.type), plain(x)
    index, dynamic = ir.IndexType.get(), ir.ShapedType.get_dynamic_size()
    inner = list(whole.type.shape)[1:]
    extents = [tensor.DimOp(whole, arith.ConstantOp(index, axis).result).result for axis, size in enumerate(inner, 1) if size == dynamic]
    type_ = ir.RankedTensorType.get(inner, whole.type.element_type)
    if 0 in inner:      # slices of no elements begin beyond the end, for upstream's verifier
        known = iter(extents)
        none = tensor.EmptyOp([next(known) if size == dynamic else size for size in inner], type_.element_type)
        return cast(none.result, sizes.with_dims(sizes.dims[1:]).ir())
    offsets, ones = [dynamic] + [0] * len(inner), [1] * (len(inner) + 1)
    part = tensor.ExtractSliceOp(type_, whole, [place], extents, [], offsets, [1, *inner], ones).result
    return cast(part, sizes.with_dims(sizes.dims[1:]).ir())


def slice_of(x: ir.Value, number: ir.Value) -> ir.Value:
    """The slice of ``x`` along axis 0 whose number is a tensor of rank 0 of int64, without the axis."""
    return slice_at(x, arith.IndexCastOp(ir.IndexType.get(), tensor.ExtractOp(plain(number), []).result).result)


def _inserted(value: ir.Value, into: ir.Value, place: ir.Value) -> ir.Value:
    """``into`` with a slice stored at a place of axis 0."""
    if 0 in value.type.shape:
        return into
    index, dynamic = ir.IndexType.get(), ir.ShapedType.get_dynamic_size()
    sizes, rank = [], value.type.rank
    for axis, size in enumerate(value.type.shape):
        if size == dynamic:
            sizes.append(tensor.DimOp(value, arith.ConstantOp(index, axis).result).result)
    return tensor.InsertSliceOp(value, into, [place], sizes, [], [dynamic] + [0] * rank, [1, *value.type.shape], [1] * (rank + 1)).result


