"""relax-canonicalize: simplifies graphs by patterns, until none applies."""
from dataclasses import dataclass

from legato.dialects.module import Module
from legato.passes.graph.canonicalize import (
    affine,
    algebra,
    attention,
    boxes,
    branches,
    convolutions,
    dequantized,
    division,
    fusions,
    indices,
    integers,
    shapes,
)
from legato.passes.graph.canonicalize.calls import merge_pure_calls
from legato.passes.graph.functions import Constants, erase_dead, relax_functions
from legato.passes.graph.require_sizes import ErasedRequirements
from legato.passes.graph.rewriter import GraphRewriter, table
from legato.passes.pipeline.base import ModulePass, PassContext

FAMILIES = (algebra, division, shapes, convolutions, affine, branches, fusions, attention, integers, dequantized, indices, boxes)
MAX_SWEEPS = 64


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Simplifies graphs: algebra, shapes, batch norm and per-channel factors into weights, parallel convolutions into one, known ops from
    their decompositions, products of bytes in groups of four.

    Results may differ in the last bits: constants are reassociated, and a division by a constant becomes a product with its reciprocal, but
    where an exact number is divided and the quotient is rounded or compared.
    """

    name = "relax-canonicalize"

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        patterns = table(family.PATTERNS for family in FAMILIES)
        rewriter = GraphRewriter(constants)
        for function in relax_functions(module):
            erased = ErasedRequirements(function)
            for _ in range(MAX_SWEEPS):
                erase_dead(function, constants, erased.keep)
                merged = merge_pure_calls(function)
                if not rewriter.sweep(function, patterns) and not merged:
                    break
            else:
                context.warnings.append(f"{self.name}: @{function.name.value} still changes after {MAX_SWEEPS} rounds of patterns")
            erase_dead(function, constants, erased.keep)
