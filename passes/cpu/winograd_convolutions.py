"""tir-winograd-convolutions: convolutions of 3 x 3 and stride 1, in the slices of volumes too, by Winograd's algorithm, with fewer
multiplications.
"""
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from legato.analysis.structured import ConvolutionForm
from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import bufferization, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import give_transformed, into_loops, retype
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.cpu.winograd.blocks import WinogradBlocks
from legato.passes.cpu.winograd.transforms import TAPS, transform_weights
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class WinogradConvolutions(ModulePass):
    """Turns convolutions with constant filters into loops over blocks of tiles, of sizes that the target chooses.

    The filters are transformed at compile time, which makes them 16/9 (tiles of 2 x 2) or 4 (of 4 x 4) times as large. Sums are rounded
    otherwise than by the definition: errors relative to the greatest output are up to 1e-5 with tiles of 4 x 4. Where the target lets
    factors be rounded to bf16 and the CPU multiplies pairs of these in lanes, transformed inputs and weights are, in tiles of 2 x 2: the
    errors are about 1.6 times those of a convolution that rounds its factors (5e-3 at most in trials). Where an input is infinite
    or NaN, other outputs of its tile are NaN too. Kernels that the target chooses no sizes for are left as they are. An executable of a
    target with the option winograd=false, as in llvm{winograd=false}, is made without this pass.
    """

    name: ClassVar[str] = "tir-winograd-convolutions"
    rounding: ClassVar[Rounding] = Rounding(relative=2e-5, specials=False)   # relative to the greatest of 6 x 6 inputs
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "whose sizes of blocks are used")

    def entitlement(self) -> Rounding:
        return Rounding(relative=2.0**-7, specials=False) if "matmul-precision=bf16" in self.target else self.rounding

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        calls = calls_by_callee(module)
        constants = Constants(module)
        made: dict[Any, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = context.kernels.of(kernel)
                tiles, sites = target.winograd(found), calls.get(kernel.name.value, [])
                if found.convolution is None or tiles is None or not are_constant(found.convolution.filter, sites):
                    continue
                place, shape = found.convolution.filter.arg_number, matrices(found.convolution.filter, tiles)
                work = partial(transform_weights, outputs=tiles.outputs, panel=tiles.vectors * tiles.lanes,
                               by_points=not tiles.whole_blocks, pair=PAIR if tiles.in_pairs else 1)
                rewrite_kernel(found.convolution, tiles)
                context.kernels.drop(kernel)
                dtype, kind = (BF16, "winograd.bf16") if tiles.in_pairs else (np.dtype(np.float32), "winograd")
                suffix = kind if tiles.whole_blocks else f"points.{kind}"    # by their order
                for call in sites:
                    give_transformed(call, place, constants, made, suffix, shape, dtype, work)


def rewrite_kernel(form: ConvolutionForm, tiles: WinogradTilesLike) -> None:
    """Replaces the structured ops of one kernel by loops, and its filter by the transformed one."""
    shape, element = matrices(form.filter, tiles), ir.BF16Type.get() if tiles.in_pairs else ir.F32Type.get()

    def build(buffers: Buffers) -> None:
        packed = bufferization.ToBufferOp(ir.MemRefType.get(shape, element), form.filter, read_only=True).result
        WinogradBlocks(form, tiles, buffers, packed).build()

    into_loops(form.kernel.function, form.op.location, [form.source, *(value for value, _ in form.reads)], build)
    retype(form.kernel.function, form.filter, shape, element)


def matrices(weights: ir.Value, tiles: WinogradTilesLike) -> list[int]:
    """The shape of the transformed weights."""
    *depth, _, _, channels, features = weights.type.shape
    panel, pair = tiles.vectors * tiles.lanes, PAIR if tiles.in_pairs else 1
    return [-(-features // panel) * (tiles.outputs + TAPS - 1) ** 2, -(-prod(depth) * channels // pair) * panel * pair]
