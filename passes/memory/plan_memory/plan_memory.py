"""tir-plan-memory: puts main's buffers into one arena; results are written to memory that the caller gives.

Before: ``main(inputs, weights) -> results``, with a ``memref.alloc`` for every buffer. After::

    func.func @main(inputs..., weights..., results..., arena, sizes...) -> i32          // 0, or the code of a call inside that failed
    func.func @main_sizes(%symbols: memref<Sxindex>, %sizes: memref<Kxindex>)  // arena bytes, shapes of results, requirements

Every argument is a bare pointer: a memref of static shape, or a memref of rank 0 where sizes are symbolic, whose shape main rebuilds from
the ``sizes`` (marked ``relax.symbol``). Results are marked ``tir.out``, the arena ``tir.arena``.

Where sizes depend on data (memory/stages.py), main asks for memory once it knows them: each later stage has an arena of its own
(``@legato.late_arena``), results of such sizes are asked for (``@legato.late_result``; their arguments are null), and requirements on
sizes are checked (``@legato.late_check``). tir-lower-packed gives these declarations their bodies.

A call of a kernel that only takes a contiguous slice (``tir.piece``) is left out where its output may lie in its input (memory/pieces.py).
An argument, or a result, of which slices are taken is a memref of bytes.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from legato.analysis.indices.sizes import always_fits, never_negative
from legato.core.dtypes import as_dtype
from legato.core.errors import LegatoError, UnsupportedError
from legato.core.ir_helpers import find, terminator
from legato.core.locations import describe, model_name
from legato.core.mlir import func, ir
from legato.core.views import WHOLE_VIEWS, root_of
from legato.dialects.relax.dims import UNKNOWN, Dim, Size, magnitude, maximum, product
from legato.dialects.relax.requirements import Requirement, require, required_by, requirements, requiring_calls
from legato.dialects.relax.sizes import is_too_large
from legato.dialects.tir.markers import KEEP_SIZE, NAMED_SIZE, REQUIRE
from legato.passes.memory.plan_memory import late
from legato.passes.memory.plan_memory.lifetimes import MainBuffer, find_buffers
from legato.passes.memory.plan_memory.pieces import CallersBuffer, take_pieces
from legato.passes.memory.plan_memory.placement import Life, Placement, place
from legato.passes.memory.plan_memory.rewrite import MainRewrite, add_sizes_function
from legato.passes.memory.plan_memory.sizes import MemrefSizes
from legato.passes.memory.plan_memory.stages import find_stages, pass_sizes, stage_of
from legato.passes.memory.signature import Boundary, donors
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

if TYPE_CHECKING:
    from legato.dialects.module import Module


@dataclass(frozen=True)
class PlanMemory(ModulePass):
    """Puts main's buffers into one arena by their lifetimes; results and arena become arguments; @main_sizes computes their sizes."""

    name: ClassVar[str] = "tir-plan-memory"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            placement, *later = plan_memory(module.module)
        context.report[self.name] = {
            "arena": str(placement.total), "without_reuse": str(placement.without_reuse), "buffers": len(placement.offsets)}
        if later:
            context.report[self.name]["late_arenas"] = [str(one.total) for one in later]


def plan_memory(module: ir.Module) -> list[Placement]:
    """Plans the memory of one module. Returns a placement for each stage of main. UnsupportedError where the size of a buffer depends on
    values of the inputs.
    """
    main = next((f for f in module.body.operations if isinstance(f, func.FuncOp) and f.name.value == "main" and not f.is_external), None)
    if main is None:
        raise LegatoError("memory is planned for the function @main, which this module does not have")
    refuse_unbuffered(main)
    boundary = Boundary.of(main)
    sizes = MemrefSizes(main, [value.shape for value in (*boundary.inputs, *boundary.weights)])
    stages = find_stages(main, boundary.symbols, sizes)
    buffers = find_buffers(main)
    last = terminator(main.body.blocks[0])
    returned = list(last.operands)
    donor = donors(main, boundary)
    owners = _owners(returned, main)
    for op in owners:   # read while main still has its arguments; a cast may have hidden the size from the result
        _known(sizes.shape(op.results[0]), op)
    # by its type, which is what calls are prepared for: the same size may have another form in the code
    shapes = [value.shape if UNKNOWN not in value.shape else _early(_known(sizes.shape(buffer), last), boundary, value.name)
              for buffer, value in zip(returned, boundary.outputs, strict=True)]
    elsewhere = {number for number, argument in enumerate(donor) if argument >= 0}
    there = {number for number in elsewhere if root_of(returned[number], WHOLE_VIEWS) == main.arguments[donor[number]]}
    owners = {op: number for op, number in owners.items() if number not in elsewhere}
    owners = {op: number for op, number in owners.items() if not _precedes(op, stages[stage_of(stages, shapes[number], op)].call)}
    measured = [(b, room_of(b, sizes, main)) for b in buffers if b.alloc not in owners and b.is_used]
    given = {one: CallersBuffer(number) for number, one in enumerate(main.arguments) if number not in donor}
    given |= {op.results[0]: CallersBuffer(number, is_result=True) for op, number in owners.items()
              if stage_of(stages, (*shapes[number], *sizes.shape(op.results[0])), op) == 0}
    pieces = take_pieces(module, main, buffers, {b for b, _ in measured if not b.is_carried}, given, sizes, boundary.symbols)
    placed = [(b, size) for b, size in measured if not b.is_carried and b not in pieces]
    groups: list[list[tuple[MainBuffer, Size]]] = [[] for _ in stages]
    for buffer, size in placed:
        groups[stage_of(stages, (size,), buffer.alloc)].append((buffer, size))
    placements = [place([Life(size, b.first, b.last) for b, size in group]) for group in groups]
    check_bytes(main, boundary, shapes, measured, [placement.total for placement in placements])
    check_regions(main)
    cut = {one.whole for one in pieces.values() if isinstance(one.whole, CallersBuffer)}
    plan = MainRewrite(main, boundary, sizes, placements[0].total, stages, cut)
    plan.begin_stages([placement.total for placement in placements], shapes)
    plan.results(owners, shapes, there)
    for stage, (group, placement) in enumerate(zip(groups, placements)):
        for (buffer, _), offset in zip(group, placement.offsets):
            plan.view(buffer, offset, stage)
            for piece, where in pieces.items():
                if where.whole is buffer:
                    plan.view(piece, offset + where.begin, stage)
    for piece, where in pieces.items():
        if isinstance(where.whole, CallersBuffer):
            plan.part(piece, plan.bytes[where.whole], where.begin)
    for buffer, size in measured:
        if buffer.is_carried:
            plan.carry(buffer, size, stage_of(stages, (size,), buffer.alloc))
    for buffer in buffers:
        if not buffer.is_used:
            plan.view(buffer, 0, stage_of(stages, (sizes.bytes(buffer.alloc.results[0]),), buffer.alloc))
        for op in buffer.deallocations:
            op.erase()
    pass_sizes(main, stages)
    erase_kept_sizes(module)
    plan.finish()
    early = [s for shape in shapes if not boundary.is_late(shape) for s in shape]
    required = [size for one in requirements(main) if one.known_by(boundary.symbols) for size in one.sizes]
    add_sizes_function(module, main, boundary, [placements[0].total, *early, *required])
    return placements


def refuse_unbuffered(main: func.FuncOp) -> None:
    """LegatoError unless main takes and returns buffers, as bufferization leaves it."""
    types = [value.type for value in (*main.arguments, *terminator(main.body.blocks[0]).operands)]
    other = next((t for t in types if not isinstance(t, ir.MemRefType)), None)
    if other is not None:
        raise LegatoError(f"memory is planned for a @main that takes and returns buffers; this one has {other}: run the pass between "
                          "bufferization (one-shot-bufferize, tir-drop-results) and tir-lower-packed, and once")


def erase_kept_sizes(module: ir.Module) -> None:
    """Erases the calls that kept the sizes of ``relax.size_of`` and ``relax.name_sizes`` alive: their values are in use now, or checked.
    And the declarations that those of requirements had."""
    kept = (KEEP_SIZE, NAMED_SIZE, f"{REQUIRE}_1", f"{REQUIRE}_2")
    for declaration in [op for op in module.body.operations if isinstance(op, func.FuncOp) and op.name.value in kept]:
        for call in [op for op in find(module.operation, "func.call") if op.attributes["callee"].value == declaration.name.value]:
            for result, size in zip(call.results, call.operands):
                result.replace_all_uses_with(size)
            call.erase()
        declaration.erase()


def _owners(returned: list[ir.Value], main: func.FuncOp) -> dict[ir.Operation, int]:
    """The allocations that can be replaced by a result's memory, with the number of the result."""
    owners: dict[ir.Operation, int] = {}
    for number, value in enumerate(returned):
        value = root_of(value, WHOLE_VIEWS)
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if op is not None and op.name == "memref.alloc" and op.block == main.body.blocks[0] and op not in owners:
            owners[op] = number
    return owners


def _precedes(op: ir.Operation, other: ir.Operation | None) -> bool:
    """Whether an op of a block comes before another one of it, if that is given: memory of a result is asked for behind it."""
    return other is not None and next(one.operation for one in op.block.operations if one.operation in (op, other)) == op


def _early(shape: tuple[Size, ...], boundary: Boundary, name: str) -> tuple[Size, ...]:
    """A result's shape that its type leaves open. UnsupportedError for one that depends on data: its type has to name it."""
    if boundary.is_late(shape):
        raise UnsupportedError(f"the result '{name}' has the sizes {list(shape)}, known only in the middle of a call, and its type "
                               "does not name them: write them in the type of main's result")
    return shape


def _known(shape: tuple[Size, ...], op: ir.Operation) -> tuple[Size, ...]:
    if UNKNOWN in shape:
        where = model_name(op)
        raise UnsupportedError(f"the size of a buffer in main{f' (at {where})' if where else ''} depends on values that are computed at "
                               "run time, not only on the shapes of the inputs; such shapes are not supported")
    return shape


def room_of(buffer: MainBuffer, sizes: MemrefSizes, main: func.FuncOp) -> Size:
    """The bytes of a buffer; 0 for one in a branch or loop that needs none or does not run, where its sizes may be negative."""
    (size,) = _known((sizes.bytes(buffer.alloc.results[0]),), buffer.alloc)
    return size if buffer.alloc.block == main.body.blocks[0] or never_negative(size) else maximum(size, 0, symbols_from=0)


def check_bytes(main: func.FuncOp, boundary: Boundary, shapes: Sequence[tuple[Size, ...]], placed: Sequence[tuple[MainBuffer, Size]],
                totals: Sequence[Size]) -> None:
    """Records on main that the arenas may have ``LARGEST`` bytes at most. LegatoError for static sizes that exceed it."""
    for buffer, size in placed:
        if is_too_large([size], 1):
            raise _too_large(f"a buffer in main (at {describe(buffer.alloc)})", size)
    for value, shape in zip(boundary.outputs, shapes):
        if is_too_large(shape, as_dtype(value.dtype).itemsize):
            raise _too_large(f"the output '{value.name}'", product(shape))
    given = dict.fromkeys(product(value.shape) * as_dtype(value.dtype).itemsize for value in boundary.inputs)
    rows = [Requirement(total, "the buffers of this call have more than 2**56 bytes", is_bytes=True)
            for total in totals if isinstance(total, Dim) and not always_fits(magnitude(total), given)]
    for total in totals:
        if is_too_large([total], 1):
            raise _too_large("the memory for the buffers of one call", total)
    require(main, [*requirements(main), *rows])


def check_regions(main: func.FuncOp) -> None:
    """Records on main what its branches and loops require, and has the entry check it there."""
    calls, known = requiring_calls(main), requirements(main)
    require(main, [*known, *map(required_by, calls)])
    for number, call in enumerate(calls, len(known)):
        with ir.InsertionPoint(call), call.location:
            late.check(main, number, list(call.operands))
        call.erase()


def _too_large(what: str, size: Size) -> LegatoError:
    return LegatoError(f"{what} would have {size} bytes, more than the 2**56 that a process can address")
