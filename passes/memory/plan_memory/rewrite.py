"""What a plan of memory makes of main: arguments for results and arena, views of the arena, and the function of their sizes."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import present, terminator
from legato.core.mlir import arith, func, ir, memref
from legato.dialects.relax.dims import Size
from legato.dialects.relax.markers import DEFAULT, NAME, SIGNATURE, SYMBOL, WEIGHT
from legato.dialects.relax.requirements import Room, requirements
from legato.dialects.tir.markers import ARENA, LATE_ARENAS, OUT
from legato.passes.memory.plan_memory import late
from legato.passes.memory.plan_memory.arguments import SizeValues, bare_type, bytes_at, bytes_type, with_shape
from legato.passes.memory.plan_memory.lifetimes import MainBuffer
from legato.passes.memory.plan_memory.pieces import CallersBuffer
from legato.passes.memory.plan_memory.sizes import MemrefSizes
from legato.passes.memory.plan_memory.stages import Stage, stage_of
from legato.passes.memory.signature import Boundary


class MainRewrite:
    """Rewrites main's arguments, and replaces its allocations. ``cut``: the caller's buffers of which parts are buffers of main;
    ``bytes``: these as memrefs of bytes, when they have been replaced."""

    def __init__(self, main: func.FuncOp, boundary: Boundary, sizes: MemrefSizes, arena_bytes: Size, stages: list[Stage],
                 cut: Set[CallersBuffer]) -> None:
        self.main, self.boundary, self.sizes, self.arena_bytes, self.stages = main, boundary, sizes, arena_bytes, stages
        self.cut, self.bytes = cut, dict[CallersBuffer, ir.Value]()
        block = main.body.blocks[0]
        self.attributes = [{NAME: ir.StringAttr.get(v.name)} | ({DEFAULT: ir.StringAttr.get(v.default)} if v.default else {})
                           for v in boundary.inputs]
        self.attributes += [{WEIGHT: ir.StringAttr.get(v.name)} for v in boundary.weights]
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            self.code = arith.ConstantOp(ir.IntegerType.get_signless(32), 0)
        self.start = self.code.operation   # values computed once go before it
        given = list(block.arguments)
        self.outputs = []
        for number, (value, output) in enumerate(zip(terminator(main.body.blocks[0]).operands, boundary.outputs)):
            type_ = bytes_type(value.type) if CallersBuffer(number, is_result=True) in cut else value.type
            self.outputs.append(self._add(bare_type(type_), {OUT: ir.UnitAttr.get(), NAME: ir.StringAttr.get(output.name)}))
        i8, constant = ir.IntegerType.get_signless(8), isinstance(arena_bytes, int)
        arena = self._add(ir.MemRefType.get([arena_bytes] if constant else [], i8), {ARENA: ir.UnitAttr.get()})
        symbols = {name: self._add(ir.IndexType.get(), {SYMBOL: ir.StringAttr.get(name)}) for name in boundary.symbols}
        self.symbols, self.values = symbols, SizeValues(symbols, self.start)
        for number, argument in enumerate(given):
            self._make_bare(argument, CallersBuffer(number))
        with ir.InsertionPoint(self.start), ir.Location.unknown():
            arena_type = arena.type if constant else ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], i8)
            self.arenas = [with_shape(arena, arena_type, (arena_bytes,), self.values)]
        stages[0].values, stages[0].anchor, stages[0].table = self.values, self.start, symbols

    def begin_stages(self, bytes_: list[Size], shapes: list[tuple[Size, ...]]) -> None:
        """After each call that defines sizes: computes them, checks them, and asks for an arena and results of such sizes."""
        required, about = requirements(self.main), defaultdict[str, list[int]](list)     # by symbol: rows are many, stages few
        for number, one in enumerate(required):
            for name in one.symbols():
                about[name].append(number)
        rooms = late.SharedRooms(self.main.operation.parent.regions[0].blocks[0])
        for stage, wanted in zip(self.stages[1:], bytes_[1:]):
            before = present(stage.before)
            stage.begin()
            with ir.InsertionPoint(stage.anchor), present(stage.call).location:
                for number in sorted({number for name in stage.known - before.known for number in about[name]}):
                    if required[number].known_by(stage.known):
                        sizes = required[number].sizes
                        late.check(self.main, number, [rooms(one.bytes, stage.table) if isinstance(one, Room) else stage.values(one)
                                                       for one in sizes])
                self.arenas.append(late.arena(self.main, self._late_arena(), wanted, stage.values) if wanted != 0 else None)
                for number, shape in enumerate(shapes):
                    if self.boundary.is_late(shape) and stage_of(self.stages, shape, stage.call) == self.stages.index(stage):
                        self.outputs[number] = late.result(self.main, number, shape, self.outputs[number].type, stage.values)

    def _late_arena(self, count: int = 1) -> int:
        """The number of a new arena, the first of so many."""
        attributes = self.main.operation.attributes
        number = attributes[LATE_ARENAS].value if LATE_ARENAS in attributes else 0
        attributes[LATE_ARENAS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number + count)
        return number

    def _add(self, type_: ir.Type, attributes: dict[str, ir.Attribute]) -> ir.Value:
        self.attributes.append(attributes)
        return self.main.body.blocks[0].add_argument(type_, ir.Location.unknown())

    def _make_bare(self, argument: ir.BlockArgument, which: CallersBuffer) -> None:
        shaped, shape = ir.MemRefType(argument.type), self.sizes.shape(argument)
        bare = bare_type(bytes_type(shaped) if which in self.cut else shaped)
        if bare == shaped and which not in self.cut:
            return
        argument.set_type(bare)
        with ir.InsertionPoint(self.start), ir.Location.unknown():
            again = self._shaped(argument, shaped, shape, self.values, which)
        shaper = again if self.bytes.get(which, argument) == argument else self.bytes[which]     # what uses the argument itself
        argument.replace_all_uses_except(again, shaper.owner.operation)

    def results(self, owners: dict[ir.Operation, int], shapes: list[tuple[Size, ...]], there: Set[int]) -> None:
        """Computes results in the caller's memory where possible, and copies the others there at the end, but for those that are ``there``;
        main returns a code."""
        claimed = {*owners.values(), *there}
        for op, number in owners.items():
            type_ = ir.MemRefType(op.results[0].type)
            stage = self.stages[stage_of(self.stages, (*shapes[number], *self.sizes.shape(op.results[0])), op)]
            with ir.InsertionPoint(stage.anchor), op.location:
                memory = self._shaped(self.outputs[number], type_, self.sizes.shape(op.results[0]), stage.values,
                                      CallersBuffer(number, is_result=True))
            op.results[0].replace_all_uses_with(memory)
            op.erase()
        last = terminator(self.main.body.blocks[0])
        with ir.InsertionPoint(last), last.location:
            for number, value in enumerate(list(last.operands)):
                if number not in claimed:
                    type_ = ir.MemRefType.get(value.type.shape, value.type.element_type)
                    values = self.stages[stage_of(self.stages, shapes[number], last)].values
                    memref.CopyOp(value, with_shape(self.outputs[number], type_, shapes[number], values))
            func.ReturnOp([self.code.result])
        last.erase()

    def _shaped(self, pointer: ir.Value, type_: ir.MemRefType, shape: Sequence[Size], values: SizeValues, which: CallersBuffer) -> ir.Value:
        """The caller's memory as a memref of this type; if it is ``cut``, by way of its bytes."""
        if which not in self.cut:
            return with_shape(pointer, type_, shape, values)
        self.bytes[which] = bytes_at(pointer, type_, shape, values)
        return memref.ViewOp(type_, self.bytes[which], arith.ConstantOp(ir.IndexType.get(), 0).result,
                             [values(size) for axis, size in enumerate(shape) if type_.is_dynamic_dim(axis)]).result

    def part(self, buffer: MainBuffer, whole: ir.Value, begin: Size) -> None:
        """Replaces an allocation by a part of a memref of bytes, which begins at a byte that is known when main begins."""
        self._replace(buffer.alloc, whole, self.values(begin))

    def view(self, buffer: MainBuffer, offset: Size, stage: int) -> None:
        """Replaces an allocation by a part of a stage's arena."""
        self._replace(buffer.alloc, self.arenas[stage] or self.arenas[0], self.stages[stage].values(offset))

    def _replace(self, op: ir.Operation, memory: ir.Value, shift: ir.Value) -> None:
        """Replaces an allocation by a part of a memref of bytes."""
        _refuse_layout(op)
        with ir.InsertionPoint(op), op.location:
            view = memref.ViewOp(ir.MemRefType(op.results[0].type), memory, shift, list(op.opview.dynamicSizes))
        op.results[0].replace_all_uses_with(view.result)
        op.erase()

    def carry(self, buffer: MainBuffer, size: Size, stage: int) -> None:
        """Gives an allocation that a loop carries to its next step one of two arenas, in turn: the other one has what this step was
        given."""
        op = buffer.alloc
        type_ = ir.MemRefType(op.results[0].type)
        _refuse_layout(op)
        with ir.InsertionPoint(op), op.location:
            memory = late.turn(self.main, self._late_arena(2), size, self.stages[stage].values)
            zero = arith.ConstantOp(ir.IndexType.get(), 0).result
            view = memref.ViewOp(type_, memory, zero, list(op.opview.dynamicSizes))
        op.results[0].replace_all_uses_with(view.result)
        op.erase()

    def finish(self) -> None:
        """Sets main's new type and attributes."""
        main = self.main
        for stage in self.stages[1:]:
            stage.anchor.erase()
        if SIGNATURE not in main.attributes:
            main.attributes[SIGNATURE] = ir.TypeAttr.get(main.type)
        arguments = [a.type for a in main.body.blocks[0].arguments]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(arguments, [ir.IntegerType.get_signless(32)]))
        main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(d) for d in self.attributes])
        if "res_attrs" in main.attributes:
            del main.attributes["res_attrs"]
        main.attributes["llvm.bareptr"] = ir.UnitAttr.get()


def _refuse_layout(op: ir.Operation) -> None:
    type_ = ir.MemRefType(op.results[0].type)
    if op.opview.symbolOperands or type_.layout != ir.MemRefType.get(type_.shape, type_.element_type).layout:
        raise PassFailed(f"a buffer of main has the layout {type_.layout}: only buffers without one are planned", op)


def add_sizes_function(module: ir.Module, main: func.FuncOp, boundary: Boundary, sizes: Sequence[Size | Room]) -> None:
    """Adds ``@main_sizes``, which computes ``sizes`` from the values of the symbols."""
    index = ir.IndexType.get()
    types = [ir.MemRefType.get([len(boundary.symbols)], index), ir.MemRefType.get([len(sizes)], index)]
    with ir.InsertionPoint.at_block_begin(module.body), main.operation.location:
        function = func.FuncOp("main_sizes", ir.FunctionType.get(types, []))
    main.operation.move_before(function.operation)
    function.attributes["llvm.bareptr"] = ir.UnitAttr.get()
    given, made = function.add_entry_block().arguments
    with ir.InsertionPoint(function.body.blocks[0]), main.operation.location:
        end = func.ReturnOp([])
    with ir.InsertionPoint(end), main.operation.location:
        symbols = {name: memref.LoadOp(given, [arith.ConstantOp(index, i).result]).result for i, name in enumerate(boundary.symbols)}
        values = SizeValues(symbols, end.operation)
        values.together([size for size in sizes if isinstance(size, Room)])
        for i, size in enumerate(sizes):
            memref.StoreOp(values(size), made, [arith.ConstantOp(index, i).result])
