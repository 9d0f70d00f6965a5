"""Branches that run: an ``scf.if`` in main, whose branches are graph ops."""
from collections.abc import Callable, Sequence, Set
from typing import TypeVar

from legato.core.mlir import arith, ir, scf, tensor
from legato.dialects import tir
from legato.dialects.relax.dims import UNKNOWN, materialize, symbols
from legato.dialects.relax.ops.count import sizes_of
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.regions import as_bit, copied, empty, named, plain, resized, root_of, stored, symbols_in
from legato.frontends.onnx.values import Emitter

Built = TypeVar("Built")


class OtherRanks(Refused):
    """Two branches give tensors of different ranks or element types."""


def branch(emitter: Emitter, condition: ir.Value, branches: tuple[Callable[[], Built], Callable[[], Built]],
           tensors: Callable[[Built, int], list[ir.Value]], name: str) -> list[ir.Value]:
    """The values of one of two branches, the first where the condition, a tensor of one boolean, holds. ``tensors`` makes tensors of what
    a branch built, in that branch, once both are built; its second argument is the number of the branch. Where the branches give tensors
    of different sizes, those of the result are symbols named after ``name``. OtherRanks where they give tensors of different element
    types or ranks."""
    bit = as_bit(condition)
    trial = ir.Operation.create("scf.if", [], [bit], regions=2)
    try:
        built = []
        for region, build in zip(trial.regions, branches):
            with ir.InsertionPoint(region.blocks.append()):
                built.append(build())
        found = []
        for region, number in zip(trial.regions, range(2)):
            with ir.InsertionPoint(region.blocks[0]):
                found.append(tensors(built[number], number))
        own = symbols_in(trial)
        with ir.InsertionPoint(trial):
            types = [_common_type(emitter, bit, (a, b), own, number, name) for number, (a, b) in enumerate(zip(*found, strict=True))]
            # where the sizes differ, both branches store their tensor in one of the result's, if it is known before
            outs = [empty(emitter, type_.dims, type_) if UNKNOWN not in type_.dims and any(value.type != type_.ir() for value in pair)
                    else None for type_, pair in zip(types, zip(*found))]
            made = scf.IfOp(bit, [tir.plain_type(type_.ir()) for type_ in types], has_else=True)
    except BaseException:
        trial.erase()
        raise
    in_loop = _is_in_loop(made.operation)
    for region, block, values in zip(trial.regions, (made.then_block, made.else_block), found):
        _move(region, block)
        with ir.InsertionPoint(block):
            yielded = [_built(plain(value), block, in_loop) if value.type == type_.ir() else
                       copied(resized(plain(value), tir.plain_type(type_.ir()))) if out is None else
                       stored(resized(plain(value), out.type), out) for value, type_, out in zip(values, types, outs)]
            scf.YieldOp(yielded)
    trial.erase()
    return [named(result, type_, f"{name}_size") for result, type_ in zip(made.results, types)]


def _common_type(emitter: Emitter, condition: ir.Value, pair: Sequence[ir.Value], own: Set[str], number: int, name: str) -> TensorType:
    """The type of a tensor that is one of two: sizes that differ become symbols, which the condition says. UNKNOWN for those of a tensor
    with a size that a branch defines: one of ``own``."""
    a, b = (TensorType.of(value.type) for value in pair)
    if (a.dtype, a.rank) != (b.dtype, b.rank):
        raise OtherRanks(f"its output {number} is a tensor of {a} in one branch and of {b} in the other; of a condition that is computed "
                         "at run time, both give tensors of one rank and element type")
    axes = [axis for axis in range(a.rank) if a.dims[axis] != b.dims[axis]]
    if own & {symbol for size in (*a.dims, *b.dims) for symbol in symbols(size)}:
        return a.with_dims([size if axis not in axes and not own & set(symbols(size)) else UNKNOWN for axis, size in enumerate(a.dims)])
    if not axes:
        return a
    i64, sizes = ir.IntegerType.get_signless(64), list(a.dims)
    values = [arith.SelectOp(condition, *(materialize(type_.dims[axis], emitter.function) for type_ in (a, b))).result for axis in axes]
    numbers = [arith.IndexCastOp(i64, value).result for value in values]
    vector = tensor.FromElementsOp(ir.RankedTensorType.get([len(axes)], i64), numbers).result
    for axis, size in zip(axes, sizes_of(vector, f"{name}_size")):
        sizes[axis] = size
    return a.with_dims(sizes)


def _built(value: ir.Value, block: ir.Block, in_loop: bool) -> ir.Value:
    """What a branch gives. In a loop, what is not made in its block is copied: upstream makes a select of a branch without ops, and cannot
    bufferize one of a state."""
    owner = root_of(value).owner
    return copied(value) if in_loop and (isinstance(owner, ir.Block) or owner.operation.block != block) else value


def _is_in_loop(op: ir.Operation) -> bool:
    """Whether an op is in a loop, or in the trial of its step."""
    while op.name not in ("scf.for", "scf.while", "scf.execute_region", "func.func"):
        op = op.parent.operation
    return op.name != "func.func"


def _move(region: ir.Region, block: ir.Block) -> None:
    for op in list(region.blocks[0].operations):
        block.append(op)
