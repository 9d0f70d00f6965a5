"""The standard pipelines: the stages of a compile, each with its passes."""

GRAPH = ("relax-infer-shapes,relax-fold-constants,relax-canonicalize,relax-convert-layout{data-layout=NHWC kernel-layout=HWIO},"
         "relax-fold-constants,relax-canonicalize,relax-collapse-batch,relax-fold-constants,cse,relax-require-sizes")

# (stage, passes that lead to it): ``legato-compile --emit`` stops behind a stage
CPU_STAGES: tuple[tuple[str, str], ...] = (
    ("relax", GRAPH),
    ("legalized", "relax-legalize{target=%s},tir-raise-loops,func.func(canonicalize,cse)"),
    ("fused", "tir-fuse,tir-collapse-dims,tir-prepare{target=%s},tir-pack-weights{target=%s}"),
    ("scheduled", "tir-split-windows,tir-expand-pads,tir-schedule{target=%s},tir-apply-schedules,tir-lower-loops"),
    ("bufferized", "relax-lift-weights,tir-bufferize,tir-plan-memory,tir-lower-packed"),
    ("llvm", "tir-lower{target=%s},tir-emit-entry"),
)

NVVM_STAGES: tuple[tuple[str, str], ...] = (
    ("relax", GRAPH),
    ("legalized", "relax-legalize{target=%s},tir-raise-loops,func.func(canonicalize,cse)"),
    ("fused", "tir-fuse,tir-collapse-dims"),
    ("loops", "tir-apply-schedules,tir-lower-threads{target=%s},tir-lower-loops"),
    ("bufferized", "relax-lift-weights,tir-bufferize{stack-bytes=0},tir-plan-memory"),
    ("scheduled", "tir-map-threads{target=%s}"),
    ("nvvm", "tir-lower-nvvm{target=%s}"),
)
