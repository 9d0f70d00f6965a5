"""Legato's passes by name, in the order of the pipeline: one entry each, ``"module below legato:class"``; and those that users register.

The entries are text, and a pass is imported at its first use, since every pass imports the pipeline.
"""
from __future__ import annotations

import functools
import inspect
from importlib import import_module
from typing import TypeVar

from legato.passes.pipeline import upstream
from legato.passes.pipeline.base import PASS_NAME, ModulePass
from legato.passes.pipeline.text import PipelineError

PassClass = TypeVar("PassClass", bound=type[ModulePass])

PASSES: dict[str, str] = {
    "relax-quantize-before-moves": "passes.graph.integers.quantize_before_moves:QuantizeBeforeMoves",
    "relax-integer-contractions": "passes.graph.integers.contractions:IntegerContractions",
    "relax-tabulate-bytes": "passes.graph.integers.tabulate_bytes:TabulateBytes",
    "relax-float8-products": "passes.graph.float8:Float8Products",
    "relax-quantized-weights": "passes.graph.integers.weights:QuantizedWeights",
    "relax-transposed-convolutions": "passes.graph.transposed_convolutions:TransposedConvolutions",
    "relax-patch-convolutions": "passes.graph.patch_convolutions:PatchConvolutions",
    "relax-split-pools": "passes.graph.split_pools:SplitPools",
    "relax-split-pool-axes": "passes.graph.split_pool_axes:SplitPoolAxes",
    "relax-plane-convolutions": "passes.graph.plane_convolutions:PlaneConvolutions",
    "relax-widen-convolutions": "passes.graph.widen_convolutions:WidenConvolutions",
    "relax-depthwise-groups": "passes.graph.depthwise_groups:DepthwiseGroups",
    "relax-fold-turned-factors": "passes.graph.fold_turned_factors:FoldTurnedFactors",
    "relax-turn-few-columns": "passes.graph.turn_few_columns:TurnFewColumns",
    "relax-turn-short-rows": "passes.graph.turn_short_rows:TurnShortRows",
    "relax-combine-parallel-matmuls": "passes.graph.combine_parallel_matmuls:CombineParallelMatmuls",
    "relax-rotate-halves": "passes.graph.rotate_halves:RotateHalves",
    "relax-share-heads": "passes.graph.share_heads:ShareHeads",
    "relax-unit-axes-first": "passes.graph.unit_axes_first:UnitAxesFirst",
    "relax-turn-weights": "passes.graph.turn_weights:TurnWeights",
    "relax-narrow-indices": "passes.graph.narrow_indices:NarrowIndices",
    "relax-repeat-elements": "passes.graph.repeat_elements:RepeatElements",
    "relax-slice-parts": "passes.graph.slice_parts:SliceParts",
    "relax-split-loops": "passes.graph.split_loops:SplitLoops",
    "relax-weigh-rows": "passes.graph.weigh_rows:WeighRows",
    "relax-expand-constants": "passes.graph.expand_constants:ExpandConstants",
    "relax-pad-depth": "passes.graph.pad_depth:PadDepth",
    "relax-pad-channels": "passes.graph.pad_channels:PadChannels",
    "relax-pad-products": "passes.graph.pad_products:PadProducts",
    "relax-pad-columns": "passes.graph.pad_columns:PadColumns",
    "relax-infer-shapes": "passes.graph.infer_shapes:InferShapes",
    "relax-fold-constants": "passes.graph.fold_constants:FoldConstants",
    "relax-canonicalize": "passes.graph.canonicalize.canonicalize:Canonicalize",
    "relax-convert-layout": "passes.graph.layout.convert_layout:ConvertLayout",
    "relax-hoist-invariants": "passes.graph.hoist_invariants:HoistInvariants",
    "relax-collapse-batch": "passes.graph.collapse_batch:CollapseBatch",
    "relax-require-sizes": "passes.graph.require_sizes:RequireSizes",
    "relax-fuse-by-pattern": "passes.partition.fuse_by_pattern:FuseByPattern",
    "relax-merge-composites": "passes.partition.merge_composites:MergeComposites",
    "relax-veto-small": "passes.partition.veto_small:VetoSmall",
    "relax-outline-external": "passes.partition.outline_external:OutlineExternal",
    "relax-run-codegen": "passes.partition.run_codegen:RunCodegen",
    "relax-inline-external": "passes.partition.inline_external:InlineExternal",
    "relax-inline": "passes.partition.inline_functions:InlineFunctions",
    "relax-inline-callers": "passes.partition.inline_callers:InlineCallers",
    "relax-legalize": "passes.legalize.legalize:Legalize",
    "tir-init-outputs": "passes.loops.init_outputs:InitOutputs",
    "tir-raise-loops": "passes.loops.raise_loops:RaiseLoops",
    "tir-expand-float8": "passes.loops.expand_float8:ExpandFloat8",
    "tir-to-loops": "passes.loops.to_loops:ToLoops",
    "tir-materialize-factors": "passes.structured.materialize_factors:MaterializeFactors",
    "tir-convert-kernel-layout": "passes.structured.convert_kernel_layout:ConvertKernelLayout",
    "tir-round-factors": "passes.structured.round_factors:RoundFactors",
    "tir-group-factors": "passes.structured.group_factors:GroupFactors",
    "tir-widen-factors": "passes.cpu.widen_factors:WidenFactors",
    "tir-split-kernels": "passes.structured.split_kernels:SplitKernels",
    "tir-split-many-rows": "passes.cpu.split_many_rows:SplitManyRows",
    "tir-turned-products": "passes.cpu.turned_products:TurnedProducts",
    "tir-copy-panels": "passes.cpu.copy_panels:CopyPanels",
    "tir-sum-rows": "passes.cpu.sum_rows:SumRows",
    "tir-strassen-products": "passes.cpu.strassen_products:StrassenProducts",
    "tir-split-products": "passes.cpu.split_products:SplitProducts",
    "tir-merge-calls": "passes.structured.merge_calls:MergeCalls",
    "tir-repeat-widenings": "passes.structured.repeat_widenings:RepeatWidenings",
    "tir-fuse-attention": "passes.structured.fuse_attention:FuseAttention",
    "tir-fuse-slices": "passes.structured.fuse_slices:FuseSlices",
    "tir-fuse": "passes.structured.fuse:Fuse",
    "tir-simplify-conversions": "passes.structured.simplify_conversions:SimplifyConversions",
    "tir-tie-outputs": "passes.structured.tie_outputs:TieOutputs",
    "tir-collapse-dims": "passes.structured.collapse_dims:CollapseDims",
    "tir-mark-pieces": "passes.structured.mark_pieces:MarkPieces",
    "tir-count-work": "passes.structured.count_work:CountWork",
    "tir-winograd-convolutions": "passes.cpu.winograd_convolutions:WinogradConvolutions",
    "tir-matrix-convolutions": "passes.cpu.matrix_convolutions:MatrixConvolutions",
    "tir-pair-products": "passes.cpu.pair_products:PairProducts",
    "tir-direct-convolutions": "passes.cpu.direct_convolutions:DirectConvolutions",
    "tir-fuse-pointwise-depthwise": "passes.cpu.fuse_pointwise_depthwise:FusePointwiseDepthwise",
    "tir-column-convolutions": "passes.cpu.column_convolutions:ColumnConvolutions",
    "tir-pointwise-matmuls": "passes.cpu.pointwise_matmuls:PointwiseMatmuls",
    "tir-plane-pools": "passes.cpu.plane_pools:PlanePools",
    "tir-channel-pools": "passes.cpu.channel_pools:ChannelPools",
    "tir-depthwise-convolutions": "passes.cpu.depthwise_convolutions:DepthwiseConvolutions",
    "tir-pack-weights": "passes.structured.pack_weights:PackWeights",
    "tir-split-windows": "passes.cpu.split_windows:SplitWindows",
    "tir-expand-pads": "passes.cpu.expand_pads:ExpandPads",
    "tir-expand-readers": "passes.cpu.expand_readers:ExpandReaders",
    "tir-hoist-row-math": "passes.cpu.hoist_row_math:HoistRowMath",
    "tir-fold-empty-views": "passes.structured.fold_empty_views:FoldEmptyViews",
    "tir-gather-rows": "passes.cpu.gather_rows:GatherRows",
    "tir-prepare-contractions": "passes.cpu.prepare_contractions:PrepareContractions",
    "tir-prepare": "passes.structured.prepare:Prepare",
    "tir-tile-attention": "passes.cpu.tile_attention:TileAttention",
    "tir-schedule": "passes.structured.schedule:ScheduleKernels",
    "tir-drop-unchanged": "passes.structured.drop_unchanged:DropUnchanged",
    "tir-select-masked-writes": "passes.cpu.select_masked_writes:SelectMaskedWrites",
    "tir-apply-schedules": "passes.loops.apply_schedules:ApplySchedules",
    "tir-copy-for-rows": "passes.gpu.copy_for_rows:CopyForRows",
    "tir-choose-by-rows": "passes.loops.choose_by_rows:ChooseByRows",
    "tir-default-schedules": "passes.gpu.default_schedules:DefaultSchedules",
    "tir-lower-threads": "passes.gpu.lower_threads:LowerThreads",
    "tir-serialize-threads": "passes.gpu.serialize_threads:SerializeThreads",
    "tir-lower-loops": "passes.loops.lower_loops:LowerLoops",
    "relax-lift-weights": "passes.memory.lift_weights:LiftWeights",
    "tir-prepare-main": "passes.memory.bufferize.prepare_main:PrepareMain",
    "tir-tie-results": "passes.memory.bufferize.tie_results:TieResults",
    "tir-unchain-inserts": "passes.memory.bufferize.unchain_inserts:UnchainInserts",
    "tir-eliminate-empty-tensors": "passes.memory.bufferize.eliminate_empty_tensors:EliminateEmptyTensors",
    "tir-nest-slices": "passes.memory.bufferize.nest_slices:NestSlices",
    "tir-drop-ties": "passes.memory.bufferize.drop_ties:DropTies",
    "tir-keep-partial-writes": "passes.memory.bufferize.keep_partial_writes:KeepPartialWrites",
    "tir-drop-results": "passes.memory.bufferize.drop_results:DropResults",
    "tir-drop-loop-copies": "passes.memory.bufferize.drop_loop_copies:DropLoopCopies",
    "tir-extract-workspaces": "passes.memory.bufferize.extract_workspaces:ExtractWorkspaces",
    "tir-fill-memory": "passes.memory.fill_memory:FillMemory",
    "tir-parallel-loops": "passes.memory.parallel_loops:ParallelLoops",
    "tir-results-in-place": "passes.memory.results_in_place:ResultsInPlace",
    "tir-plan-memory": "passes.memory.plan_memory.plan_memory:PlanMemory",
    "tir-lower-packed": "passes.calls.lower_packed:LowerPacked",
    "tir-profile-main": "passes.calls.profile_main:ProfileMain",
    "tir-prepare-parallel": "passes.gpu.prepare_parallel:PrepareParallel",
    "tir-launch-writes": "passes.gpu.launch_writes:LaunchWrites",
    "tir-launch-loops": "passes.gpu.launch_loops:LaunchLoops",
    "tir-promote-matrices": "passes.gpu.promote_matrices:PromoteMatrices",
    "tir-lower-integer-matrices": "passes.gpu.lower_integer_matrices:LowerIntegerMatrices",
    "tir-lower-matrices": "passes.gpu.lower_matrices:LowerMatrices",
    "tir-vulkan-memory-model": "passes.gpu.vulkan_memory_model:VulkanMemoryModel",
    "tir-name-kernels": "passes.gpu.name_kernels:NameKernels",
    "tir-fold-grids": "passes.gpu.fold_grids:FoldGrids",
    "tir-sink-scalars": "passes.gpu.sink_scalars:SinkScalars",
    "tir-emulate-long-integers": "passes.gpu.emulate_long_integers:EmulateLongIntegers",
    "tir-flatten-kernels": "passes.gpu.flatten_kernels:FlattenKernels",
    "tir-forbid-contraction": "passes.gpu.forbid_contraction:ForbidContraction",
    "tir-short-conversions": "passes.gpu.short_conversions:ShortConversions",
    "tir-guard-short-indices": "passes.gpu.guard_short_indices:GuardShortIndices",
    "tir-short-indices": "passes.gpu.short_indices:ShortIndices",
    "tir-widen-indices": "passes.gpu.widen_indices:WidenIndices",
    "tir-constant-distances": "passes.gpu.constant_distances:ConstantDistances",
    "tir-ask-registers": "passes.gpu.ask_registers:AskRegisters",
    "tir-keep-loops": "passes.gpu.keep_loops:KeepLoops",
    "tir-specialize-warps": "passes.gpu.specialize_warps:SpecializeWarps",
    "tir-exchange-results": "passes.gpu.exchange_results:ExchangeResults",
    "tir-swizzle-tiles": "passes.gpu.swizzle_tiles:SwizzleTiles",
    "tir-drop-parameters": "passes.gpu.drop_parameters:DropParameters",
    "tir-pass-tensor-maps": "passes.gpu.pass_tensor_maps:PassTensorMaps",
    "tir-stage-copies": "passes.gpu.stage_copies:StageCopies",
    "tir-dynamic-shared": "passes.gpu.dynamic_shared:DynamicShared",
    "tir-align-shared": "passes.gpu.align_shared:AlignShared",
    "tir-legalize-intrinsics": "passes.legalize.legalize_intrinsics:LegalizeIntrinsics",
    "tir-lower-intrinsics": "passes.legalize.lower_intrinsics:LowerIntrinsics",
    "tir-hoist-accumulators": "passes.loops.hoist_accumulators:HoistAccumulators",
    "tir-bound-integers": "passes.loops.bound_integers:BoundIntegers",
    "tir-widen-masked-halves": "passes.loops.widen_masked_halves:WidenMaskedHalves",
    "tir-halves-as-integers": "passes.loops.halves_as_integers:HalvesAsIntegers",
    "tir-share-copies": "passes.cpu.share_copies:ShareCopies",
    "tir-lower-copies": "passes.cpu.lower_copies:LowerCopies",
    "tir-lower-matrix-products": "passes.cpu.lower_matrix_products:LowerMatrixProducts",
    "tir-overlap-outputs": "passes.cpu.overlap_outputs:OverlapOutputs",
    "tir-lower-dot-products": "passes.cpu.lower_dot_products:LowerDotProducts",
    "tir-flatten-transposes": "passes.cpu.flatten_transposes:FlattenTransposes",
    "tir-fill-vectors": "passes.cpu.fill_vectors:FillVectors",
    "tir-prefetch-weights": "passes.cpu.prefetch_weights:PrefetchWeights",
    "tir-prefetch-rows": "passes.cpu.prefetch_rows:PrefetchRows",
    "tir-prefetch-epilogues": "passes.cpu.prefetch_epilogues:PrefetchEpilogues",
    "tir-slice-transfers": "passes.cpu.slice_transfers:SliceTransfers",
    "tir-share-kernels": "passes.cpu.share_kernels:ShareKernels",
    "tir-lower-vectors": "passes.cpu.lower_vectors:LowerVectors",
    "tir-split-masks": "passes.cpu.split_masks:SplitMasks",
    "tir-integer-maxima": "passes.cpu.integer_maxima:IntegerMaxima",
    "tir-carry-nans": "passes.cpu.carry_nans:CarryNans",
    "tir-keep-vector-loops": "passes.cpu.keep_vector_loops:KeepVectorLoops",
    "tir-lift-globals": "passes.gpu.lift_globals:LiftGlobals",
    "tir-call-driver": "passes.gpu.call_driver:CallDriver",
    "tir-pass-pointers": "passes.cpu.pass_pointers:PassPointers",
    "tir-inline-alloca-scopes": "passes.cpu.inline_alloca_scopes:InlineAllocaScopes",
    "tir-check-bounds": "passes.cpu.check_bounds:CheckBounds",
    "tir-outline-parallel": "passes.cpu.outline_parallel:OutlineParallel",
    "tir-expand-metadata": "passes.cpu.expand_metadata:ExpandMetadata",
    "tir-device-functions": "passes.gpu.device_functions:DeviceFunctions",
    "tir-check-lowered": "passes.legalize.check_lowered:CheckLowered",
    "tir-split-blocks": "passes.cpu.split_blocks:SplitBlocks",
    "tir-mark-functions": "passes.cpu.mark_functions:MarkFunctions",
    "tir-emit-entry": "codegen.emit_entry:EmitEntry",
}


_registered: dict[str, type[ModulePass]] = {}


@functools.cache
def load(name: str) -> type[ModulePass]:
    """The pass class of a name in ``PASSES``."""
    module, _, cls = PASSES[name].partition(":")
    return getattr(import_module(f"legato.{module}"), cls)


def all_passes() -> tuple[type[ModulePass], ...]:
    """All pass classes, in order."""
    return tuple(map(load, PASSES))


def registered() -> dict[str, type[ModulePass]]:
    """The passes that ``register_pass`` made known, by name."""
    return dict(_registered)


def register_pass(pass_class: PassClass) -> PassClass:
    """Decorator: makes a pass known by its name in this process: in ``Pipeline``, in the stages of targets, and in ``compile(passes=...)``.

    A class that is defined again (a notebook's cell run twice) replaces the former one. PipelineError if the name is taken, or is no
    name of a pass.
    """
    check_name(pass_class)
    before = load(pass_class.name) if pass_class.name in PASSES else _registered.get(pass_class.name, pass_class)
    if pass_class.name in PASSES or where(before) != where(pass_class):
        raise PipelineError(f'two passes are called "{pass_class.name}": {where(before)} and {where(pass_class)}')
    _registered[pass_class.name] = pass_class
    return pass_class


def check_name(pass_class: type[ModulePass]) -> None:
    """PipelineError for what is no class of a pass, and for one without a name, or with a malformed one or that of an upstream pass."""
    if not (isinstance(pass_class, type) and issubclass(pass_class, ModulePass)):
        raise PipelineError(f"a pass is a subclass of legato.ModulePass; found {pass_class!r}")
    name = getattr(pass_class, "name", None)
    if not isinstance(name, str):
        raise PipelineError(f'{where(pass_class)} has no name: a pass has a class attribute name = "my-pass"')
    if not PASS_NAME.fullmatch(name):
        raise PipelineError(f'{where(pass_class)} is called "{name}": names of passes are kebab-case, as in "my-pass"')
    if name in upstream.places():
        raise PipelineError(f'{where(pass_class)} is called "{name}", which is the name of a pass of upstream MLIR')
    check_run(pass_class)


def check_run(pass_class: type[ModulePass]) -> None:
    """PipelineError if the method ``run`` of a pass cannot be called with a module and a context."""
    if pass_class.__module__.startswith("legato."):
        return
    try:
        inspect.signature(pass_class.run).bind(None, None, None)
    except TypeError as error:
        raise PipelineError(f"{where(pass_class)}: its method is run(self, module, context), and not "
                            f"run{inspect.signature(pass_class.run)}") from error


def where(pass_class: type[ModulePass]) -> str:
    """The module and name of a class, for messages."""
    return f"{pass_class.__module__}.{pass_class.__qualname__}"
