"""tir-specialize-warps: kernels that multiply tiles by warpgroups get a warp that copies, and the others multiply (NVIDIA's sm_90a).

Upstream's nvgpu.warpgroup.mma takes a right operand of depth x columns only, and its ``transform.nvgpu.rewrite_copy_as_tma`` neither has
stages nor another warp.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find, index
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import STAGES, TENSOR_MAPS
from legato.dialects.tir.tiles import BULK_COPY, TENSOR_MAP, WARPGROUP_PRODUCT
from legato.passes.gpu import tile_loop
from legato.passes.gpu import warpgroup_code as code
from legato.passes.gpu.copy_loop import copy_loop
from legato.passes.gpu.specialized_kernel import BARRIER_BYTES, WARPGROUP, SpecializedKernel
from legato.passes.gpu.warpgroup_code import SharedTile
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

WARP = (4, 8)                     # threads of a warp along x and y
GRID, BLOCK, SHARED, PARAMETERS = slice(1, 4), slice(4, 7), 10, 11     # of a launch's operandSegmentSizes


@dataclass(frozen=True)
class SpecializeWarps(ModulePass):
    """Rewrites kernels with ``tir.bulk_copy``, and its ``tir.warpgroup_product``. A block gets a warpgroup more, of which one thread copies
    the tiles of each step of the loop to dynamic shared memory, as many steps ahead as the loop's ``pipeline_stages`` say and the target
    has room for. Warpgroups and copies wait for each other at mbarriers, two for each stage. The host makes a tensor map of each operand,
    which is a parameter of the kernel then. Where a block has a multiprocessor for itself and tiles are many, there are as many blocks as
    multiprocessors, and each goes through several of the tiles that it was written for: copies for the next one are under way while a
    result is written."""

    name: ClassVar[str] = "tir-specialize-warps"
    target: TargetText = option("nvvm", "the target whose memory is used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        machine = context.gpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "gpu.func"):
                used = find(kernel, BULK_COPY, WARPGROUP_PRODUCT)
                if used and not machine.warpgroups:
                    raise PassFailed(f"the target '{target.name}' has no copy engine with tensor maps and no products of warpgroups, which "
                                     "the schedule of this kernel uses (tensorize by tma_tile, wgmma_...): compile it for "
                                     "nvvm{chip=sm_90a}, or leave these steps out", used[0])
                if any(op.name == BULK_COPY for op in used):
                    specialize(module.operation, kernel, machine.dynamic_shared_bytes)


def specialize(module: ir.Operation, kernel: ir.Operation, shared_bytes: int) -> None:
    """Rewrites one kernel and its launches."""
    of = copy_loop(kernel)
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    launches = [op for op in find(module, "gpu.launch_func") if ir.SymbolRefAttr(op.attributes["kernel"]).value[-1] == name]
    warps = warps_of(kernel, launches)
    tiles = {one: SharedTile.of(one.type) for one in of.tiles}
    lasting = {one: SharedTile.of(one.type) for one in of.lasting}
    each = sum(tile.size for tile in tiles.values()) + 2 * BARRIER_BYTES
    always = sum(tile.size for tile in lasting.values()) + BARRIER_BYTES * bool(lasting) + code.GROUP
    wanted = of.loop.attributes[STAGES].value if STAGES in of.loop.attributes else 1
    stages = min(wanted, (shared_bytes - always) // each)
    if stages < 1:
        raise PassFailed(f"the tiles of a step take {each} bytes of shared memory, and a block has {shared_bytes}"
                         f"{f', of which other tiles take {always}' if lasting else ''}: choose smaller tiles", kernel)
    copies = [*of.copies, *of.early]
    host = [[host_map(op, launch, kernel) for op in copies] for launch in launches]
    sizes = tile_loop.known_sizes(launches)
    alone = 2 * (stages * each + always) > shared_bytes      # whether a block has a multiprocessor for itself
    stays = alone and not of.early and tile_loop.worthwhile(sizes)
    counts, maps, gone = add_parameters(kernel, 3 if stays and sizes is None else 0, len(copies))
    grid = (counts or sizes or ()) if stays else ()
    SpecializedKernel(kernel, of, tiles, lasting, dict(zip(copies, maps)), stages, warps, grid).build()
    for old in reversed(gone):
        kernel.regions[0].blocks[0].erase_argument(ir.BlockArgument(old).arg_number)
    for launch, given in zip(launches, host):
        relaunch(launch, warps + WARPGROUP, stages * each + always, given, stays, bool(counts))
    if stays and "known_grid_size" in kernel.attributes:
        del kernel.attributes["known_grid_size"]
    kernel.attributes["known_block_size"] = ir.DenseI32ArrayAttr.get([*WARP, warps + WARPGROUP])


def warps_of(kernel: ir.Operation, launches: Sequence[ir.Operation]) -> int:
    """The warps of a block, along z. PassFailed where they are no whole warpgroups."""
    sizes = [tuple(constant_of(v) for v in list(launch.operands)[3:6]) for launch in launches]
    warps = sizes[0][2] if sizes else None
    if len(set(sizes)) != 1 or sizes[0][:2] != WARP or warps is None or warps % WARPGROUP:
        raise PassFailed(f"products of warpgroups want blocks of {WARP[0]} threads along x, {WARP[1]} along y and multiples of {WARPGROUP} "
                         f"along z; this one has {sizes[0] if sizes else 'no launch'}", kernel)
    return warps


def host_map(copy: ir.Operation, launch: ir.Operation, kernel: ir.Operation) -> ir.Value:
    """The tensor map that a copy takes, made in front of a launch."""
    first = sum(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"])[n] for n in range(PARAMETERS))
    arguments = list(kernel.regions[0].blocks[0].arguments)
    given = dict(zip(arguments, list(launch.operands)[first:]))

    def on_host(value: ir.Value) -> ir.Value:
        if value in given:
            return given[value]
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if op is None or not op.name.startswith(("arith.", "memref.dim")):
            raise PassFailed("the bounds of a copy by tma_tile are known before the kernel begins", copy)
        operands = [on_host(v) for v in op.operands]
        new = op.clone()
        for number, operand in enumerate(operands):
            new.operands[number] = operand
        return new.results[list(op.results).index(value)]

    source, target, *bounds = list(copy.operands)[:4]
    tile = SharedTile.of(target.type)
    with ir.InsertionPoint(launch), launch.location:
        if source not in given:
            raise PassFailed("what is copied by tma_tile is a parameter of the kernel", copy)
        return ir.Operation.create(TENSOR_MAP, [ir.Type.parse("!llvm.ptr")], [given[source], *(on_host(v) for v in bounds)], {
            "rows": copy.attributes["rows"], "box": ir.DenseI64ArrayAttr.get([tile.rows, code.PANEL // tile.width])}).results[0]


def add_parameters(kernel: ir.Operation, indices: int, count: int) -> tuple[list[ir.Value], list[ir.Value], list[ir.Value]]:
    """Appends parameters to a kernel, so many indices and then tensor maps. Returns both, and the shared buffers that it had, of which
    those that are tiles are used still."""
    block = kernel.regions[0].blocks[0]
    type_ = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
    pointer = ir.Type.parse("!llvm.ptr")
    own = list(block.arguments)[len(type_.inputs):]
    counts = [block.add_argument(ir.IndexType.get(), kernel.location) for _ in range(indices)]
    maps = [block.add_argument(pointer, kernel.location) for _ in range(count)]
    kept = [old for old in own if not any(use.owner.operation.name in (BULK_COPY, WARPGROUP_PRODUCT) for use in old.uses)]
    for old in kept:
        old.replace_all_uses_with(block.add_argument(old.type, kernel.location))
    inputs = [*type_.inputs, *(one.type for one in (*counts, *maps))]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    kernel.attributes["workgroup_attributions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(kept))
    kernel.attributes[TENSOR_MAPS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)
    return counts, maps, own


def relaunch(launch: ir.Operation, warps: int, shared: int, maps: Sequence[ir.Value], stays: bool, counted: bool) -> None:
    """Replaces a launch by one with more warps, dynamic shared memory, and tensor maps as its last parameters. ``stays``: whether its
    blocks go through tiles; ``counted``: whether the kernel is told of its grid's sizes."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    operands = list(launch.operands)
    first = sum(segments[:PARAMETERS])
    with ir.InsertionPoint(launch), launch.location:
        sizes = [*(tile_loop.resident(operands[:3]) if stays else operands[:3]), *operands[3:5], index(warps)]
        given = operands[first:first + segments[PARAMETERS]] + (operands[:3] if counted else [])
        segments[SHARED], segments[PARAMETERS] = 1, len(given) + len(maps)
        attributes = {name: launch.attributes[name] for name in launch.attributes}
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments)
        ir.Operation.create("gpu.launch_func", [], [*sizes, code.integer(32, shared), *given, *maps], attributes)
    launch.erase()
