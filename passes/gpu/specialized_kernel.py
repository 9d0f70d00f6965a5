"""The body of a kernel of which one warpgroup copies tiles to shared memory, and the others multiply them (tir-specialize-warps)."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import body, everything, find, index, move_before, substitute, terminator
from legato.core.mlir import arith, ir, scf
from legato.dialects.tir.markers import STAGES
from legato.passes.gpu import warpgroup_code as code
from legato.passes.gpu.copy_loop import BARRIER, PURE, STORES, CopyLoop
from legato.passes.gpu.tile_loop import ResidentTiles, block_numbers, count_steps, tile_loop
from legato.passes.gpu.warpgroup_code import SharedTile, plus

WARPGROUP = 4                     # warps
THREADS = 128                     # of a warpgroup
COPYING, MULTIPLYING = 40, 232    # registers of a thread of the warpgroup that copies, and of the two others that there are
FILLING, BESIDE = 104, 200        # likewise, where it computes the elements of a tile
BARRIER_BYTES = 8


class SpecializedKernel:
    """Rewrites the body of one kernel. ``stages``: the steps whose tiles have memory; ``warps``: those that multiply. ``grid``: the sizes
    of the grid of tiles that blocks go through, numbers or values; none where each block has one."""

    def __init__(self, kernel: ir.Operation, of: CopyLoop, tiles: dict[ir.Value, SharedTile], lasting: dict[ir.Value, SharedTile],
                 maps: dict[ir.Operation, ir.Value], stages: int, warps: int, grid: Sequence[int | ir.Value] = ()):
        self.kernel, self.of, self.tiles, self.lasting = kernel, of, tiles, lasting
        self.maps, self.stages, self.warps, self.grid = maps, stages, warps, grid
        self.numbers = block_numbers(kernel)
        self.size = sum(tile.size for tile in tiles.values())
        self.memory: ir.Value

    def build(self) -> None:
        """Makes the barriers, one branch for the warpgroup that copies and one for the others, which do what the kernel did."""
        block = self.kernel.regions[0].blocks[0]
        old = body(block)
        with ir.InsertionPoint.at_block_begin(block), self.of.loop.location:
            x, y, z = (ir.Operation.create("gpu.thread_id", [ir.IndexType.get()], [], {
                "dimension": ir.Attribute.parse(f"#gpu<dim {axis}>")}).results[0] for axis in "xyz")
            self.memory = code.dynamic_memory()
            alone = arith.AndIOp(equal(x, 0), equal(y, 0)).result
            with inside(arith.AndIOp(alone, equal(z, 0)).result):
                for stage in range(self.stages):
                    code.make_barrier(self.full(index(stage)), 1 + (THREADS if self.of.fills else 0))
                    code.make_barrier(self.empty(index(stage)), self.warps)
                if self.lasting:
                    code.make_barrier(self.ready(), 1)
                code.publish_barriers()
            ir.Operation.create(BARRIER, [], [], {"scope": ir.Attribute.parse("#gpu.barrier_scope<workgroup>")})
            copying = arith.CmpIOp(arith.CmpIPredicate.uge, z, index(self.warps)).result
            roles = scf.IfOp(copying, has_else=True)
            with ir.InsertionPoint(roles.else_block):
                end = scf.YieldOp([]).operation
            with ir.InsertionPoint(roles.then_block):
                if self.warps == 2 * WARPGROUP:
                    code.set_registers(FILLING if self.of.fills else COPYING, more=False)
                first = arith.AndIOp(alone, equal(z, self.warps)).result
                if self.of.fills:
                    self.copy(first, arith.SubIOp(z, index(self.warps)).result)
                else:
                    with inside(first):
                        self.copy(None, z)
                scf.YieldOp([])
        with ir.InsertionPoint(end), self.of.loop.location:
            if self.warps == 2 * WARPGROUP:
                code.set_registers(BESIDE if self.of.fills else MULTIPLYING, more=True)
            tiles = self.tiles_of_block()
        move_before([op for op in old if op.name == "memref.alloca"], body(block)[0])    # LLVM promotes the entry's allocations
        place = end if tiles is None else terminator(tiles.loop.body)
        move_before([op for op in old if op.name not in ("gpu.return", "memref.alloca")], place)
        if tiles is not None:
            for number, value in tiles.places.items():
                number.replace_all_uses_with(value)
                number.owner.operation.erase()
            with self.of.loop.location:
                count_steps(tiles, list(self.of.loop.operands)[:3])
        self.multiply(alone, None if tiles is None else tiles.done)

    def tiles_of_block(self) -> ResidentTiles | None:
        """The loop over a block's tiles, at the insertion point; None where it has one tile."""
        if not self.grid:
            return None
        return tile_loop(self.numbers, [index(one) if isinstance(one, int) else one for one in self.grid])

    def step(self, variable: ir.Value, bounds: Sequence[ir.Value], done: ir.Value | None) -> tuple[ir.Value, ir.Value]:
        """Of a step of the loop its stage, and the parity of the stage's turn. ``done``: the steps of tiles before, if there are any."""
        lower, _, by = bounds
        number = arith.DivUIOp(arith.SubIOp(variable, lower).result, by).result
        number = number if done is None else plus(number, done)
        turn = arith.DivUIOp(number, index(self.stages)).result
        return arith.RemUIOp(number, index(self.stages)).result, arith.RemUIOp(turn, index(2)).result

    def full(self, stage: ir.Value) -> ir.Value:
        """The address of the mbarrier whose phase is over when a stage's tiles have come."""
        before = self.stages * self.size + sum(tile.size for tile in self.lasting.values())
        return plus(self.memory, plus(arith.MulIOp(stage, index(BARRIER_BYTES)).result, before))

    def empty(self, stage: ir.Value) -> ir.Value:
        """The address of the mbarrier whose phase is over when a stage's tiles have been read."""
        return plus(self.full(stage), self.stages * BARRIER_BYTES)

    def ready(self) -> ir.Value:
        """The address of the mbarrier whose phase is over when the tiles of all steps have come."""
        return plus(self.empty(index(0)), self.stages * BARRIER_BYTES)

    def places(self, stage: ir.Value) -> dict[ir.Value, ir.Value]:
        """The addresses of a stage's tiles, and of those of all steps, by their buffers."""
        found: dict[ir.Value, ir.Value] = {}
        for tiles, at in ((self.tiles, plus(self.memory, arith.MulIOp(stage, index(self.size)).result)),
                          (self.lasting, plus(self.memory, self.stages * self.size))):
            offset = 0
            for buffer, tile in tiles.items():
                found[buffer] = plus(at, offset)
                offset += tile.size
        return found

    def copy(self, first: ir.Value | None, z: ir.Value) -> None:
        """The loop of the thread that copies, or of its warpgroup, where that fills tiles, too: ``first`` is the condition of the one then,
        and ``z`` a thread's number among four warps. A stage is free from the beginning: a barrier's phase before its first is over."""
        mapping: dict[ir.Value, ir.Value] = {op.results[0]: z for op in find(self.kernel, "gpu.thread_id")
                                             if "z" in str(op.attributes["dimension"]) and op.results[0] != z} if first is not None else {}
        tiles = self.tiles_of_block()
        if tiles is None:
            self.copy_steps(first, mapping, None)
            return
        with ir.InsertionPoint(terminator(tiles.loop.body)):
            count_steps(tiles, self.copy_steps(first, mapping | tiles.places, tiles.done))

    def copy_steps(self, first: ir.Value | None, mapping: dict[ir.Value, ir.Value], done: ir.Value | None) -> list[ir.Value]:
        """The loop over the steps of one tile. Returns its bounds."""
        known = rebuilder(mapping)
        bounds = [known(v) for v in list(self.of.loop.operands)[:3]]
        if self.lasting:
            places = self.places(index(0))
            copied = [(one, [known(v) for v in list(one.operands)[4:]]) for one in self.of.early]
            with ir.InsertionPoint.current if first is None else inside(first):
                self.begin(copied, places, self.ready())
        loop = scf.ForOp(*bounds)
        mapping[self.of.loop.regions[0].blocks[0].arguments[0]] = loop.induction_variable
        with ir.InsertionPoint(loop.body):
            mapping = dict(mapping)
            known = rebuilder(mapping)
            stage, parity = self.step(loop.induction_variable, bounds, done)
            code.wait_for(self.empty(stage), arith.SubIOp(index(1), parity).result)
            full, places = self.full(stage), self.places(stage)
            copied = [(one, [known(v) for v in list(one.operands)[4:]]) for one in self.of.copies]
            with ir.InsertionPoint.current if first is None else inside(first):
                self.begin(copied, places, full)
            if first is not None:
                self.fill(known, mapping, places)
                code.publish_stores()
                code.arrive(full)
            scf.YieldOp([])
        return bounds

    def begin(self, copied: Sequence[tuple[ir.Operation, Sequence[ir.Value]]], places: dict[ir.Value, ir.Value], barrier: ir.Value) -> None:
        """Begins copies, from these places in their sources, for which who waits at an mbarrier waits."""
        tiles = self.tiles | self.lasting
        code.expect(barrier, sum(tiles[one.operands[1]].size for one, _ in copied))
        for one, at in copied:
            code.copy_tile(tiles[one.operands[1]], places[one.operands[1]], self.maps[one], at, barrier)

    def fill(self, known: Callable[[ir.Value], ir.Value], mapping: dict[ir.Value, ir.Value], places: dict[ir.Value, ir.Value]) -> None:
        """What threads compute of a step's tiles, with stores to where wgmma looks for the elements."""
        own = {result for op in self.of.fills for inner in everything(op) for result in inner.results}
        arguments = {value for op in self.of.fills for inner in everything(op) for region in inner.regions for block in region.blocks
                     for value in block.arguments}
        for op in self.of.fills:
            for inner in everything(op):
                for value in inner.operands:
                    if value not in own and value not in arguments and value not in mapping and value not in places:
                        mapping[value] = known(value)
        for op in self.of.fills:
            new = op.clone()
            substitute(new, mapping)
            mapping.update(zip(op.results, new.results))
            for inner in everything(new):
                if inner.name in STORES and inner.operands[1] in places:
                    with ir.InsertionPoint(inner), inner.location:
                        buffer, value = inner.operands[1], inner.operands[0]
                        row, column = list(inner.operands)[2:]
                        code.store_in_tile(self.tiles[buffer], places[buffer], row, column, value)
                    inner.erase()

    def multiply(self, alone: ir.Value, done: ir.Value | None) -> None:
        """Turns the kernel's own loop into that of the warps that multiply. ``done``: as of ``step``."""
        loop = self.of.loop
        if self.lasting:
            with ir.InsertionPoint(loop), loop.location:
                code.wait_for(self.ready(), index(0))
        for op in dict.fromkeys(one.parent.operation for one in self.of.early):
            op.erase()
        with ir.InsertionPoint(self.of.first), loop.location:
            stage, parity = self.step(loop.regions[0].blocks[0].arguments[0], list(loop.operands)[:3], done)
            code.wait_for(self.full(stage), parity)
            places = self.places(stage)
        stores = [op for op in self.of.fills if any(inner.name in STORES for inner in everything(op))]
        for op in (self.of.first, self.of.guard, *stores, self.of.second):    # what else was for the stores is dead
            op.erase()
        for product in self.of.products:
            with ir.InsertionPoint(product), product.location:
                new = self.product(product, places)
            product.results[0].replace_all_uses_with(new)
            product.erase()
        with ir.InsertionPoint(terminator(loop.regions[0].blocks[0])), loop.location:
            with inside(alone):
                code.arrive(self.empty(stage))
        if STAGES in loop.attributes:
            del loop.attributes[STAGES]

    def product(self, product: ir.Operation, places: dict[ir.Value, ir.Value]) -> ir.Value:
        """The sums of a product of tiles at these places."""
        left, right, row, sums = product.operands
        tiles = self.tiles | self.lasting
        turned, types = code.multiplied(product)
        if left in tiles:
            return code.multiply(tiles[left], tiles[right], (places[left], places[right]), turned, row, sums, types)
        return code.multiply_own(left, tiles[right], places[right], turned[1], sums, types)


def equal(value: ir.Value, number: int) -> ir.Value:
    """Whether an index is a number."""
    return arith.CmpIOp(arith.CmpIPredicate.eq, value, index(number)).result


def inside(test: ir.Value) -> ir.InsertionPoint:
    """The insertion point under a condition."""
    made = scf.IfOp(test)
    with ir.InsertionPoint(made.then_block):
        return ir.InsertionPoint(scf.YieldOp([]).operation)


def rebuilder(mapping: dict[ir.Value, ir.Value]) -> Callable[[ir.Value], ir.Value]:
    """A function that computes a value of the kernel again, at the insertion point."""
    def known(value: ir.Value) -> ir.Value:
        if value in mapping or isinstance(value.owner, ir.Block):
            return mapping.get(value, value)
        op = value.owner.operation
        if not op.name.startswith(PURE):
            raise PassFailed(f"the place of a copy by tma_tile comes from {op.name}, which the warp that copies does not have", op)
        operands = [known(v) for v in op.operands]
        new = op.clone()
        for number, operand in enumerate(operands):
            new.operands[number] = operand
        mapping[value] = new.results[list(op.results).index(value)]
        return mapping[value]

    return known
