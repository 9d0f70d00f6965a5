"""The standard pipelines: the stages that a model passes through, each with its passes.

A stage is a name and the passes that lead to it, as text for ``legato-opt``, whether its passes run one by one or at once. ``%s`` is
replaced by the target's own text. A stage's name means the same on every target that has it:

- relax: the graph, optimized;
- legalized: calls of prim_funcs, one for each graph op, structured on tensors;
- fused: fewer prim_funcs, in the form that schedules take;
- schedules (GPUs): kernels carry their schedules, as transform scripts: the target's, where they have none;
- scheduled: kernels tiled, vectorized, mapped to threads where a schedule says so; no tir loops are left; still tensors at the boundary;
- bufferized: memrefs; memory is planned, packed functions are called through the entry's table;
- outlined (GPUs): every kernel's loops are launches of functions of a gpu.module;
- nvvm: the dialect that PTX is made of;
- llvm: the dialect that the host's machine code is made of.
"""
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from legato.targets.target import Target

Stages = Sequence[tuple[str, str]]

INFER = "tir-apply-schedules{packing=true},relax-infer-shapes,relax-require-sizes{unused=true}"
INTEGERS = "relax-quantize-before-moves,relax-integer-contractions{target=%s},"
TRANSPOSED = "relax-transposed-convolutions,relax-split-pools"
# in the form that schedules of CPUs are fastest for
CONVOLUTIONS = ("relax-unit-axes-first,relax-fold-constants,relax-patch-convolutions{target=%s},relax-plane-convolutions{target=%s},"
                "relax-widen-convolutions{target=%s},relax-depthwise-groups")
GRAPH = ("relax-fold-constants,relax-canonicalize,relax-hoist-invariants,"
         "relax-convert-layout{data-layout=NHWC kernel-layout=HWIO%s in-place=true},relax-fold-constants,relax-canonicalize,"
         "relax-collapse-batch,relax-fold-constants,cse,relax-require-sizes")
LEGALIZE = "relax-legalize{target=%s},relax-inline-callers,tir-raise-loops,tir-init-outputs,func.func(canonicalize,cse)"
# for kernels that hold more than a schedule takes
PLAIN = "tir-materialize-factors,tir-convert-kernel-layout{target=%s}"
SPLIT = "tir-group-factors{target=%s},tir-widen-factors{target=%s},tir-split-kernels,tir-merge-calls,tir-repeat-widenings"
JOIN = "tir-fuse%s,symbol-dce,func.func(canonicalize,linalg-fuse-elementwise-ops),tir-simplify-conversions,func.func(canonicalize,cse)"
FUSE = f"{JOIN},tir-tie-outputs"
COLLAPSE = "tir-collapse-dims,func.func(canonicalize,cse)"

PREFETCHES = "tir-prefetch-weights,tir-prefetch-rows{target=%s},tir-prefetch-epilogues"
# of groups of narrow elements, by instructions
PRODUCTS = "tir-lower-matrix-products{target=%s},tir-overlap-outputs,tir-lower-dot-products"
# half floats: rules for them first, then arithmetic in f32, then casts that the CPU lacks as integer arithmetic
HALVES = ("tir-legalize-intrinsics{target=%s only-with-halves=true},tir-lower-intrinsics{target=%s only-with-halves=true},"
          "tir-widen-masked-halves,func.func(convert-linalg-to-loops,"
          "arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},math-extend-to-supported-types),"
          "tir-bound-integers,tir-halves-as-integers{target=%s}")
# rules on whole vectors, then again after vectors are lowered to rank 1
VECTORS = ("tir-carry-nans{target=%s},tir-legalize-intrinsics{target=%s},tir-share-kernels,tir-flatten-transposes,tir-slice-transfers,"
           "tir-lower-vectors,tir-split-masks{target=%s},tir-legalize-intrinsics{target=%s},tir-lower-intrinsics{target=%s}")
# replaced by tir-prepare for a user's target with a prepare_function
PREPARE = "tir-expand-readers,tir-hoist-row-math,tir-gather-rows,tir-prepare-contractions"
# prim_funcs become (inputs..., outputs..., workspaces...) -> (); main allocates, calls, and returns buffers of its own
BUFFERIZE = ("relax-lift-weights,tir-prepare-main,tir-tie-results,tir-unchain-inserts,tir-nest-slices,tir-eliminate-empty-tensors,"
             "tir-drop-ties,tir-keep-partial-writes,"
             "one-shot-bufferize{allow-return-allocs-from-loops=1 bufferize-function-boundaries=1 "
             "function-boundary-type-conversion=identity-layout-map},"
             "func.func(canonicalize{top-down=false},cse,canonicalize{top-down=false}),tir-drop-results,tir-drop-loop-copies")
LOOPS = "func.func(convert-linalg-to-loops,canonicalize,cse,loop-invariant-code-motion)"
BRANCHES = "func.func(convert-vector-to-scf{full-unroll=1},convert-scf-to-cf)"
# what is for each function alone is done by as many threads as there are processors
LLVM = ("tir-expand-metadata,func.func(canonicalize{region-simplify=disabled top-down=false},convert-math-to-llvm),convert-math-to-libm,"
        "func.func(convert-vector-to-llvm{reassociate-fp-reductions=1}),convert-to-llvm")
# LLVM simplifies control flow itself; from the bottom up, and without common subexpressions, upstream's patterns take a third of the time
CLEAN = "reconcile-unrealized-casts,llvm.func(cse,canonicalize{region-simplify=disabled top-down=false})"

# by matmul-precision, of f32 that AMX multiplies in parts of bf16
SPLIT_PRODUCTS = {"bf16x3": "target=%s parts=2", "bf16x6": "target=%s", None: "target=%s surely=true"}


def cpu_stages(target: "Target") -> Stages:
    """The stages of a CPU; with several threads, the steps of parallel loops are functions that the model's pool of threads calls."""
    threads = target.cpu.threads if target.cpu is not None else 1
    branches = f"{BRANCHES},tir-check-bounds" if target.options.get("check-bounds") else BRANCHES
    if threads > 1:  # the canonicalization removes scopes without allocations
        parallel = (f"func.func(scf-forall-to-parallel),convert-scf-to-openmp{{num-threads={threads}}},func.func(canonicalize),"
                    "tir-inline-alloca-scopes")
        down = f"{parallel},{branches},{LLVM},convert-openmp-to-llvm,{CLEAN},tir-outline-parallel"
    else:
        down = f"func.func(scf-forall-to-for),{branches},{LLVM}"
    attention = "tir-fuse-attention{target=%s}," if target.options.get("fuse-attention", True) else ""
    integers = INTEGERS if target.options.get("integer-contractions", True) else ""
    tables = "relax-tabulate-bytes{target=%s}," if integers else ""
    winograd = "tir-winograd-convolutions{target=%s}," if target.options.get("winograd", True) else ""
    rounded = "tir-round-factors{target=%s}," if target.options.get("matmul-precision") == "bf16" else ""
    parts = SPLIT_PRODUCTS.get(target.options.get("matmul-precision"))
    split = f"tir-split-products{{{parts}}}," if parts else ""
    strassen = "tir-strassen-products{target=%s}," if target.options.get("strassen", True) and not rounded else ""
    many_rows = f"tir-split-many-rows{{{parts}}}," if parts else ""
    layouts = " norms=true" if rounded else " norms=true columns=true products=true"    # of which only convolutions round both factors
    copies = "tir-share-copies{target=%s}," if threads > 1 else ""
    loops = "relax-split-loops{target=%s}," if threads > 1 else ""
    entry = "tir-emit-entry{flush-denormals=true}" if target.options.get("flush-denormals") else "tir-emit-entry"
    fill = "tir-fill-memory," if target.options.get("fill-memory") else ""
    together = "tir-parallel-loops," if threads > 1 else ""
    return (
        ("relax", f"{INFER},{integers}relax-quantized-weights,{TRANSPOSED},{CONVOLUTIONS},{GRAPH % layouts},{tables}"
                  f"{loops}relax-split-pool-axes,relax-repeat-elements,relax-slice-parts,"
                  "relax-weigh-rows{target=%s},relax-turn-short-rows{target=%s},relax-turn-few-columns{target=%s},"
                  "relax-fold-turned-factors{target=%s},"
                  "relax-pad-depth{target=%s},relax-pad-columns{target=%s},relax-expand-constants{target=%s}"),
        ("legalized", f"{LEGALIZE},tir-expand-float8"),
        ("fused", f"{PLAIN},{rounded}{SPLIT},{attention}tir-fuse-slices,{FUSE % ''},{COLLAPSE},"
                  f"{'tir-prepare{target=%s}' if target.prepares else PREPARE},tir-count-work,"
                  f"tir-matrix-convolutions{{target=%s}},tir-fuse-pointwise-depthwise{{target=%s}},"
                  f"tir-pair-products{{target=%s}},"
                  f"{winograd}{split}"
                  f"tir-direct-convolutions{{target=%s}},tir-column-convolutions{{target=%s}},tir-pointwise-matmuls{{target=%s}},"
                  f"tir-turned-products{{target=%s}},tir-copy-panels{{target=%s}},tir-sum-rows{{target=%s}},{many_rows}{strassen}tir-pack-weights{{target=%s}}"),
        ("scheduled", "tir-depthwise-convolutions{target=%s},tir-plane-pools{target=%s},"
                      "tir-channel-pools{target=%s},tir-split-windows,tir-expand-pads,tir-tile-attention{target=%s},"
                      "tir-schedule{target=%s},tir-drop-unchanged,tir-select-masked-writes,tir-apply-schedules,tir-serialize-threads,"
                      "tir-lower-loops"),
        ("bufferized", f"{BUFFERIZE},tir-choose-by-rows,tir-extract-workspaces,func.func(cse),"
                       f"tir-results-in-place,{together}{fill}tir-plan-memory,"
                       "tir-lower-packed,tir-profile-main"),
        ("llvm", f"tir-hoist-accumulators{{vectors=true}},tir-integer-maxima,tir-fill-vectors,{PREFETCHES},{PRODUCTS},{HALVES},{copies}"
                 f"tir-lower-copies{{target=%s}},{VECTORS},{LOOPS},tir-keep-vector-loops,tir-pass-pointers,"
                 f"{down},{CLEAN},tir-check-lowered,tir-split-blocks,tir-mark-functions{{target=%s}},{entry}"),
    )


OLD_NAMES = {"loops": "scheduled"}  # of the stages of nvvm, whose stage outlined was called scheduled


def gpu_stages(target: "Target", promote: str = "", writes: str = "") -> Stages:
    """The stages that the targets of GPUs share. Schedules fuse loops themselves, so that all ops of a kernel have theirs. ``promote``:
    passes on launches, when accumulators are in registers; ``writes``: those on what main itself writes."""
    attention = "tir-fuse-attention{target=%s unit-axes=true}," if target.options.get("schedules") else ""
    integers = INTEGERS if target.options.get("schedules") else ""
    weights = "relax-quantized-weights{one-panel=true keep-halves=true}," if target.options.get("schedules") else ""
    lanes = "" if target.gpu is None else f"{{lanes={target.gpu.vector_lanes}}}"
    combine = "relax-combine-parallel-matmuls,relax-rotate-halves,relax-share-heads," if target.options.get("schedules") else ""
    return (
        ("relax", f"{INFER},relax-float8-products{{target=%s}},{integers}{weights}{TRANSPOSED},"
                  f"{GRAPH % ' integer-kernel-layout=OHWI mixes=true'},{combine}relax-pad-products{{target=%s}},"
                  "relax-pad-channels{target=%s},relax-turn-weights{target=%s},relax-narrow-indices"),
        ("legalized", LEGALIZE),
        ("fused", f"tir-merge-calls,{attention}{JOIN % '{gathers=true},tir-merge-calls'},"
                  "tir-fold-empty-views,tir-tie-outputs,tir-mark-pieces,tir-count-work"
                  if target.options.get("schedules") else f"{FUSE % ''},{COLLAPSE},tir-count-work"),
        ("schedules", "tir-copy-for-rows{target=%s},tir-default-schedules{target=%s}"),
        ("scheduled", "tir-apply-schedules,tir-expand-float8,tir-lower-threads{target=%s},"
                      f"tir-lower-loops{lanes},tir-choose-by-rows"),
        ("bufferized", f"{BUFFERIZE},tir-extract-workspaces{{stack-bytes=0}},cse,tir-plan-memory"),
        ("outlined", f"{writes}func.func(linalg-generalize-named-ops),tir-prepare-parallel,"
                     "func.func(convert-linalg-to-parallel-loops,scf-forall-to-parallel,canonicalize,cse,scf-parallel-loop-fusion),tir-launch-loops{target=%s},"
                     f"tir-hoist-accumulators,{promote}tir-fold-grids{{target=%s}},tir-sink-scalars,"
                     "func.func(gpu-launch-sink-index-computations),"
                     "gpu-kernel-outlining,canonicalize,cse,tir-name-kernels,tir-stage-copies{target=%s},tir-specialize-warps{target=%s},tir-exchange-results,tir-align-shared,"
                     "tir-swizzle-tiles"),
    )


def nvvm_stages(target: "Target") -> Stages:
    """The stages of NVIDIA's GPUs."""
    return (
        *gpu_stages(target, writes="tir-launch-writes,"),
        ("nvvm", "tir-ask-registers,tir-dynamic-shared{target=%s},"
                 "tir-legalize-intrinsics{target=%s},tir-lower-intrinsics{target=%s},tir-bound-integers,tir-device-functions,tir-lower-integer-matrices,"
                 "tir-guard-short-indices,tir-short-indices,gpu.module(expand-strided-metadata,lower-affine,convert-vector-to-scf{full-unroll=1},convert-scf-to-cf,"
                 "convert-nvgpu-to-nvvm,convert-gpu-to-nvvm,convert-vector-to-llvm,convert-nvvm-to-llvm),tir-widen-indices,"
                 "gpu.module(reconcile-unrealized-casts,canonicalize,cse),"
                 "tir-constant-distances,tir-keep-loops,tir-drop-parameters,tir-pass-tensor-maps,tir-check-lowered{to=nvvm}"),
        ("llvm", f"tir-lift-globals,tir-call-driver{{target=%s}},tir-lower-packed,tir-profile-main,func.func(canonicalize,cse),"
                 f"tir-pass-pointers,func.func(convert-scf-to-cf),expand-strided-metadata,lower-affine,{LLVM},{CLEAN},tir-check-lowered,tir-emit-entry"),
    )


def vulkan_stages(target: "Target") -> Stages:
    """The stages of GPUs by Vulkan."""
    words = "tir-emulate-long-integers,canonicalize,cse," if target.gpu is not None and not target.gpu.long_integers else ""
    return (
        *gpu_stages(target, promote="tir-promote-matrices,"),
        ("spirv", "tir-legalize-intrinsics{target=%s only-with-halves=true},tir-lower-intrinsics{target=%s only-with-halves=true},"
                  "gpu.module(arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},math-extend-to-supported-types),"
                  "tir-halves-as-integers{target=%s},tir-legalize-intrinsics{target=%s},tir-lower-intrinsics{target=%s},"
                  "gpu.module(scf-parallel-for-to-nested-fors,expand-strided-metadata,lower-affine,fold-memref-alias-ops,"
                  "convert-vector-to-scf{full-unroll=1},arith-expand,canonicalize,cse),func.func(expand-strided-metadata,lower-affine),"
                  f"tir-lower-matrices,tir-short-conversions,tir-flatten-kernels,canonicalize,cse,{words}gpu.module(convert-math-to-spirv),convert-gpu-to-spirv,"
                  "tir-forbid-contraction,tir-keep-loops,tir-vulkan-memory-model"),
    )
