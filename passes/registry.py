"""All passes of ours, as an explicit list: one import and one entry each, in the order of the pipeline."""
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
from .intrinsics import LegalizeIntrinsics, LowerIntrinsics
from .legalize import Legalize
from .lift_weights import LiftWeights
from .lower import Lower
from .lower_loops import LowerLoops
from .merge_composites import MergeComposites
from .outline_external import OutlineExternal
from .pack_weights import PackWeights
from .plan_memory import PlanMemory
from .prepare import Prepare
from .run_codegen import RunCodegen
from .schedule import Schedule
from .split_windows import SplitWindows

PASSES: tuple[type[ModulePass], ...] = (
    InferShapes,
    FoldConstants,
    Canonicalize,
    ConvertLayout,
    CollapseBatch,
    FuseByPattern,
    MergeComposites,
    OutlineExternal,
    RunCodegen,
    InlineExternal,
    Legalize,
    Fuse,
    CollapseDims,
    PackWeights,
    SplitWindows,
    ExpandPads,
    Prepare,
    Schedule,
    LowerLoops,
    LiftWeights,
    Bufferize,
    PlanMemory,
    LegalizeIntrinsics,
    LowerIntrinsics,
    Lower,
    EmitEntry,
)
