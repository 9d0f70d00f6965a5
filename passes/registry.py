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
from .infer_shapes import InferShapes
from .intrinsics import LegalizeIntrinsics, LowerIntrinsics
from .legalize import Legalize
from .lift_weights import LiftWeights
from .lower import Lower
from .pack_weights import PackWeights
from .plan_memory import PlanMemory
from .prepare import Prepare
from .schedule import Schedule

PASSES: tuple[type[ModulePass], ...] = (
    InferShapes,
    FoldConstants,
    Canonicalize,
    ConvertLayout,
    CollapseBatch,
    Legalize,
    Fuse,
    CollapseDims,
    PackWeights,
    ExpandPads,
    Prepare,
    Schedule,
    LiftWeights,
    Bufferize,
    PlanMemory,
    LegalizeIntrinsics,
    LowerIntrinsics,
    Lower,
    EmitEntry,
)
