"""tir-winograd-convolutions: convolutions of 3 x 3 and stride 1 by Winograd's algorithm, with fewer multiplications."""
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from legato.analysis.structured import ConvolutionForm
from legato.core.interfaces import WinogradTilesLike
from legato.core.ir_helpers import body, present, terminator
from legato.core.mlir import bufferization, ir
from legato.dialects import relax, tir
from legato.dialects.module import Module
from legato.dialects.tir.state import SCHEDULED, set_state
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.winograd.blocks import WinogradBlocks
from legato.passes.cpu.winograd.transforms import TAPS, transform_weights
from legato.passes.graph.functions import CONSTANT, Constants, defining_op
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.pack_weights import calls_by_callee


@dataclass(frozen=True)
class WinogradConvolutions(ModulePass):
    """Turns convolutions with constant filters into loops over blocks of tiles, of sizes that the target chooses.

    The filters are transformed at compile time, which makes them 16/9 (tiles of 2 x 2) or 4 (of 4 x 4) times as large. Sums are rounded
    otherwise than by the definition: errors relative to the greatest output are up to 1e-5 with tiles of 4 x 4. Where an input is infinite
    or NaN, other outputs of its tile are NaN too. Kernels that the target chooses no sizes for are left as they are. An executable of a
    target with the option winograd=false, as in llvm{winograd=false}, is made without this pass.
    """

    name: ClassVar[str] = "tir-winograd-convolutions"
    rounding: ClassVar[Rounding] = Rounding(relative=2e-5, specials=False)   # relative to the greatest of 6 x 6 inputs
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "whose sizes of blocks are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        calls = calls_by_callee(module)
        constants = Constants(module)
        made: dict[Any, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = context.kernels.of(kernel)
                tiles, sites = target.winograd(found), calls.get(kernel.name.value, [])
                if found.convolution is None or tiles is None or not sites:
                    continue
                weights = [defining_op(call.operands[found.convolution.filter.arg_number]) for call in sites]
                if any(op is None or op.name != CONSTANT for op in weights):
                    continue
                place = found.convolution.filter.arg_number
                rewrite_kernel(found.convolution, tiles)
                context.kernels.drop(kernel)
                for call in sites:
                    rewrite_call(call, place, tiles, constants, made)


def rewrite_kernel(form: ConvolutionForm, tiles: WinogradTilesLike) -> None:
    """Replaces the structured ops of one kernel by loops, and its filter by the transformed one."""
    function, weights = form.kernel.function, form.filter
    block = function.body.blocks[0]
    end = terminator(block)
    shape = matrices(weights, tiles)
    with ir.InsertionPoint(end), form.op.location:
        out = list(function.arguments)[-1]
        buffers = Buffers([form.source, *(value for value, _ in form.reads)], out)
        packed = bufferization.ToBufferOp(ir.MemRefType.get(shape, ir.F32Type.get()), weights, read_only=True).result
        WinogradBlocks(form, tiles, buffers, packed).build()
        end.operands[0] = bufferization.ToTensorOp(out.type, buffers.of(out), restrict=True, writable=True).result
    for op in reversed(body(block)):
        if all(next(iter(value.uses), None) is None for value in op.results) and op.name.startswith(("linalg.", "tensor.")):
            op.operation.erase()
    weights.set_type(ir.RankedTensorType.get(shape, ir.F32Type.get()))
    tir.set_signature(function, len(block.arguments) - tir.out_count(function))
    set_state(function, SCHEDULED)


def matrices(weights: ir.Value, tiles: WinogradTilesLike) -> list[int]:
    """The shape of the transformed weights."""
    _, _, channels, features = weights.type.shape
    panel = tiles.vectors * tiles.lanes
    return [-(-features // panel) * (tiles.outputs + TAPS - 1) ** 2, channels * panel]


def rewrite_call(call: ir.Operation, place: int, tiles: WinogradTilesLike, constants: Constants, made: dict[Any, str]) -> None:
    """Gives a call the transformed weights as operand ``place``. ``made``: the keys of those that are there already."""
    value = call.operands[place]
    constant = present(defining_op(value))
    source = constant.attributes["weight"].value if "weight" in constant.attributes else None
    key = source, tuple(value.type.shape), tiles.outputs, tiles.vectors * tiles.lanes
    with ir.InsertionPoint(constant), constant.location:
        if key in made:
            new = relax.weight(made[key], np.dtype(np.float32), matrices(value, tiles))
        else:
            array = present(constants.array(value)).reshape(value.type.shape)
            work = partial(transform_weights, array, tiles.outputs, tiles.vectors * tiles.lanes)
            new = constants.build_later(work, matrices(value, tiles), np.dtype(np.float32), f"{constants.name_of(value)}.winograd")
            op = present(defining_op(new))
            if source is not None and "weight" in op.attributes:
                made[key] = op.attributes["weight"].value
    call.operands[place] = new
    constants.erase_unused([value])
