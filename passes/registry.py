"""All passes of ours, as an explicit list: one import and one entry each, in the order of the pipeline."""
from .apply_schedules import ApplySchedules
from .base import ModulePass
from .bufferize import Bufferize
from .canonicalize import Canonicalize
from .collapse import CollapseDims
from .collapse_batch import CollapseBatch
from .convert_layout import ConvertLayout
from .emit_entry import EmitEntry
from .expand_pads import ExpandPads
from .fold_constants import FoldConstants
from .fuse import Fuse
from .fuse_by_pattern import FuseByPattern
from .infer_shapes import InferShapes
from .inline_external import InlineExternal
from .inline_functions import InlineFunctions
from .intrinsics import LegalizeIntrinsics, LowerIntrinsics
from .legalize import Legalize
from .lift_weights import LiftWeights
from .lower import Lower
from .lower_loops import LowerLoops
from .lower_nvvm import LowerNvvm
from .lower_packed import LowerPacked
from .lower_threads import LowerThreads
from .map_threads import MapThreads
from .merge_composites import MergeComposites
from .outline_external import OutlineExternal
from .pack_weights import PackWeights
from .plan_memory import PlanMemory
from .prepare import Prepare
from .raise_loops import RaiseLoops
from .require_sizes import RequireSizes
from .run_codegen import RunCodegen
from .schedule import Schedule
from .split_windows import SplitWindows
from .to_loops import ToLoops

PASSES: tuple[type[ModulePass], ...] = (
    InferShapes,
    FoldConstants,
    Canonicalize,
    ConvertLayout,
    CollapseBatch,
    RequireSizes,
    FuseByPattern,
    MergeComposites,
    OutlineExternal,
    RunCodegen,
    InlineExternal,
    InlineFunctions,
    Legalize,
    RaiseLoops,
    ToLoops,
    Fuse,
    CollapseDims,
    PackWeights,
    SplitWindows,
    ExpandPads,
    Prepare,
    Schedule,
    ApplySchedules,
    LowerThreads,
    LowerLoops,
    LiftWeights,
    Bufferize,
    PlanMemory,
    LowerPacked,
    MapThreads,
    LegalizeIntrinsics,
    LowerIntrinsics,
    Lower,
    LowerNvvm,
    EmitEntry,
)
