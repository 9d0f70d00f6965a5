"""tir-expand-metadata: upstream's expand-strided-metadata and lower-affine, which have to be one step.

The first makes affine maps of sums, which the second adds up as they associate. Text does not keep that: between two processes the order
of the additions would change.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.upstream import run_on
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

UNIT = "func.func(expand-strided-metadata,lower-affine)"


@dataclass(frozen=True)
class ExpandMetadata(ModulePass):
    """Views of buffers become arithmetic on offsets and strides: expand-strided-metadata,lower-affine as one unit, because text between
    them would change the order in which terms are added."""

    name: ClassVar[str] = "tir-expand-metadata"

    def run(self, module: Module, context: PassContext) -> None:
        run_on(module.operation, UNIT)
