"""All passes of ours, as an explicit list: one import and one entry each, in the order of the pipeline."""
from .base import ModulePass

PASSES: tuple[type[ModulePass], ...] = ()
