"""tir-outline-parallel: the steps of parallel loops become functions, which the threads of the model's own pool call.

Works on the LLVM dialect, where ``omp.parallel`` around one ``omp.wsloop`` is what is left of a loop whose steps are independent. A region
that does more, such as a reduction among threads, stays as it is, and needs an OpenMP runtime.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from legato.core.ir_helpers import find, terminator, walk
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import THREADS
from legato.passes.cpu.outlining import call, declare, declare_part, is_constant, short_type
from legato.passes.pipeline.base import ModulePass, PassContext

PARALLEL = "legato.parallel"   # (code, context, steps): codegen/entry/pool.py
Use = tuple[ir.Operation, int]     # an op, and the number of its operand


@dataclass(frozen=True)
class OutlineParallel(ModulePass):
    """Makes a function ``(context, first, end)`` of the steps of each parallel loop, and a call of ``@legato.parallel`` of the loop."""

    name: ClassVar[str] = "tir-outline-parallel"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            regions = [(region, loop) for region in find(module.module.operation, "omp.parallel", inner_first=True)
                       if (loop := loop_of(region)) is not None]
            for number, (region, loop) in enumerate(regions):
                with region.location:
                    outline(module.module, region, loop, number)
            if regions and not any(_symbol(op) == PARALLEL for op in module.body.operations):
                with ir.InsertionPoint(module.body):
                    declare(PARALLEL, "!llvm.func<void (ptr, ptr, i64)>")


def loop_of(region: ir.Operation) -> ir.Operation | None:
    """The loop nest that a parallel region consists of; None if there is more in the region."""
    inside = [op.operation for op in region.regions[0].blocks[0].operations]
    if len(region.regions[0].blocks) != 1 or [op.name for op in inside] != ["omp.wsloop", "omp.terminator"] or len(region.operands) > 1:
        return None
    share = inside[0]
    nested = [op.operation for op in share.regions[0].blocks[0].operations]
    plain = not len(share.operands) and not len(share.regions[0].blocks[0].arguments) and "order" not in share.attributes
    return nested[0] if plain and [op.name for op in nested] == ["omp.loop_nest"] else None


def outline(module: ir.Module, region: ir.Operation, loop: ir.Operation, number: int) -> None:
    """Replaces one parallel region by a call."""
    caller = _function_around(region)
    captured = _captured(caller, loop)
    axes = len(loop.operands) // 3
    bounds = [list(loop.operands)[i * axes:(i + 1) * axes] for i in range(3)]   # of all axes: starts, ends, steps
    with ir.InsertionPoint(module.body):
        part = _part(caller, region, number)
    kept = [value for value in captured if not is_constant(value)]
    type_ = ir.Type.parse(f"!llvm.struct<({', '.join(short_type(value.type) for value in kept)})>")

    i64 = ir.IntegerType.get_signless(64)
    entry = ir.Block.create_at_start(part.regions[0], [_pointer(), i64, i64])
    at, first, end = entry.arguments
    with ir.InsertionPoint(entry):
        for value, replaced in _loaded(captured, at, type_):
            _replace(value, replaced, captured[value])
        own = [loop.operands[i * axes:(i + 1) * axes] for i in range(3)]
        inner_counts = _counts(own)
    with ir.InsertionPoint(region):
        counts = _counts(bounds)
        context = _stored(kept, type_)
        code = _op("llvm.mlir.addressof", [], _pointer(), global_name=ir.FlatSymbolRefAttr.get(part.attributes["sym_name"].value))
        steps = counts[0]
        for count in counts[1:]:
            steps = _binary("llvm.mul", steps, count)
        call(PARALLEL, [code, context, steps])
    _run_steps(entry, first, end, list(loop.regions[0].blocks), lambda step: _indices(step, own, inner_counts))
    region.erase()


def _part(caller: ir.Operation, region: ir.Operation, number: int) -> ir.Operation:
    """A function, at the insertion point, for the steps of a region, marked with the threads asked for."""
    part = declare_part(caller, f"part_{number}", "!llvm.func<void (ptr, i64, i64)>")
    asked = [op.owner.attributes["value"].value for op in region.operands]
    part.attributes[THREADS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), max(asked, default=1))
    return part


def _run_steps(entry: ir.Block, first: ir.Value, end: ir.Value, body: Sequence[ir.Block],
               indices: Callable[[ir.Value], Sequence[ir.Value]]) -> None:
    """Continues a function behind its entry: the body of a loop nest for each step from ``first`` to ``end``, and the return. ``indices``:
    the variables of the nest at a step, which are built at the insertion point."""
    i64 = ir.IntegerType.get_signless(64)
    head = ir.Block.create_after(entry, i64)
    with ir.InsertionPoint(entry):
        _branch(head, [first])
    step = head.arguments[0]
    with ir.InsertionPoint(head):
        compared = _op("llvm.icmp", [step, end], ir.IntegerType.get_signless(1), predicate=_integer(2))   # slt
    for block in body:
        block.append_to(head.region)
    leave = ir.Block.create_after(body[-1])
    with ir.InsertionPoint(leave):
        ir.Operation.create("llvm.return")
    begin, variables = ir.Block.create_after(head), list(body[0].arguments)
    with ir.InsertionPoint(begin):
        for variable, value in zip(variables, indices(step), strict=True):
            variable.replace_all_uses_with(value)
        _branch(body[0], [])
    for _ in variables:
        body[0].erase_argument(0)
    with ir.InsertionPoint(head):
        ir.Operation.create("llvm.cond_br", [], [compared], {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0])}, [begin, leave])
    for op in [last for block in body if (last := terminator(block)).name == "omp.yield"]:
        with ir.InsertionPoint(op):
            one = _op("llvm.mlir.constant", [], i64, value=ir.IntegerAttr.get(i64, 1))
            _branch(head, [_binary("llvm.add", step, one)])
        op.erase()


def _function_around(op: ir.Operation) -> ir.Operation:
    while op.name != "llvm.func":
        op = op.parent.operation
    return op


def _captured(caller: ir.Operation, loop: ir.Operation) -> dict[ir.Value, list[Use]]:
    """The values of a function that its loop uses, for bounds too, and does not define, with their uses elsewhere: these are few."""
    values: list[ir.Value] = []
    elsewhere: dict[ir.Value, list[Use]] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op == loop:
            return ir.WalkResult.SKIP
        values.extend(op.results)
        values.extend(argument for region in op.regions for block in region.blocks for argument in block.arguments)
        for number, operand in enumerate(op.operands):
            elsewhere.setdefault(operand, []).append((op, number))
        return ir.WalkResult.ADVANCE

    walk(caller, visit, ir.WalkOrder.PRE_ORDER)
    found = {value: elsewhere.get(value, []) for value in values}
    return {value: uses for value, uses in found.items() if next(islice(value.uses, len(uses), None), None) is not None}


def _replace(value: ir.Value, by: ir.Value, but: Iterable[Use]) -> None:
    """Replaces the uses of a value, ``but`` for some."""
    value.replace_all_uses_with(by)
    for op, number in but:
        op.operands[number] = value


def _stored(values: Sequence[ir.Value], type_: ir.Type) -> ir.Value:
    """Memory of a type on the stack, with the values."""
    i64 = ir.IntegerType.get_signless(64)
    one = _op("llvm.mlir.constant", [], i64, value=ir.IntegerAttr.get(i64, 1))
    memory = _op("llvm.alloca", [one], _pointer(), elem_type=ir.TypeAttr.get(type_))
    for number, value in enumerate(values):
        ir.Operation.create("llvm.store", [], [value, _field(memory, type_, number)], {"ordering": _integer(0)})
    return memory


def _loaded(captured: Iterable[ir.Value], memory: ir.Value, type_: ir.Type) -> list[tuple[ir.Value, ir.Value]]:
    """The captured values, each with itself at the insertion point: a copy of a constant, or from memory."""
    found, number = [], 0
    for value in captured:
        if is_constant(value):
            found.append((value, value.owner.operation.clone().results[0]))
            continue
        place = _field(memory, type_, number)
        found.append((value, _op("llvm.load", [place], value.type, ordering=_integer(0))))
        number += 1
    return found


def _counts(bounds: Sequence[Sequence[ir.Value]]) -> list[ir.Value]:
    """The number of steps of each axis: its length over its step, rounded up."""
    i64 = ir.IntegerType.get_signless(64)
    counts = []
    for start, end, step in zip(*bounds, strict=True):
        one, zero = (_op("llvm.mlir.constant", [], i64, value=ir.IntegerAttr.get(i64, number)) for number in (1, 0))
        length = _binary("llvm.sub", end, start)
        count = _binary("llvm.sdiv", _binary("llvm.sub", _binary("llvm.add", length, step), one), step)
        positive = _op("llvm.icmp", [length, zero], ir.IntegerType.get_signless(1), predicate=_integer(4))   # sgt
        counts.append(_op("llvm.select", [positive, count, zero], i64))
    return counts


def _indices(step: ir.Value, bounds: Sequence[Sequence[ir.Value]], counts: Sequence[ir.Value]) -> list[ir.Value]:
    """The variables of the axes at a step of the whole nest, the last axis fastest."""
    found = []
    for start, by, count in reversed(list(zip(bounds[0], bounds[2], counts, strict=True))):
        number = step if count is counts[0] else _binary("llvm.srem", step, count)
        step = step if count is counts[0] else _binary("llvm.sdiv", step, count)
        found.append(_binary("llvm.add", start, _binary("llvm.mul", number, by)))
    return found[::-1]


def _branch(to: ir.Block, values: Sequence[ir.Value]) -> None:
    ir.Operation.create("llvm.br", [], values, {}, [to])


def _binary(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return _op(name, [left, right], left.type)


def _field(memory: ir.Value, type_: ir.Type, number: int) -> ir.Value:
    return _op("llvm.getelementptr", [memory], _pointer(), elem_type=ir.TypeAttr.get(type_),
               rawConstantIndices=ir.DenseI32ArrayAttr.get([0, number]))


def _op(name: str, operands: Sequence[ir.Value], result: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, [result], operands, attributes).results[0]


def _integer(value: int, bits: int = 64) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value)


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")


def _symbol(op: ir.OpView) -> str | None:
    return op.attributes["sym_name"].value if "sym_name" in op.attributes else None
