"""tir-pack-weights: packs constant operands of kernels at compile time into the layout that the target's schedules read.

The kernel's argument becomes the packed weight, with a ``linalg.unpack`` in the body that scheduling folds away. The bytes are repacked in
the weight store.
"""
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.interfaces import PackingLike
from legato.core.ir_helpers import defining_op, find, present
from legato.core.mlir import func, ir, tensor
from legato.core.weights import release_pages
from legato.dialects import relax, tir
from legato.dialects.module import Module
from legato.passes.graph.functions import CONSTANT, Constants, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class PackWeights(ModulePass):
    """Packs weights as the target asks for each kernel; a kernel that any call gives a non-constant weight is left as it is."""

    name: ClassVar[str] = "tir-pack-weights"
    rounding: ClassVar[Rounding] = EXACT
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target that says how weights are packed")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        calls = calls_by_callee(module)
        constants = Constants(module)
        packed: dict[Any, str] = {}
        for kernel in tir.schedulable(module.module):
            packing = target.packing(context.kernels.of(kernel))
            sites = calls.get(kernel.name.value, [])
            if packing is None or not sites:
                continue
            weights = [defining_op(call.operands[packing.argument]) for call in sites]
            if any(op is None or op.name != CONSTANT for op in weights):
                continue
            rewrite_kernel(kernel, packing)
            context.kernels.drop(kernel)
            for call in sites:
                rewrite_call(call, packing, constants, packed)


def calls_by_callee(module: Module) -> dict[str, list[ir.Operation]]:
    """All calls in the graph functions, those in branches and loops too, by callee."""
    calls: dict[str, list[ir.Operation]] = {}
    for function in relax_functions(module):
        for op in find(function.operation, "func.call"):
            calls.setdefault(op.attributes["callee"].value, []).append(op)
    return calls


def inner_tiles(packing: PackingLike) -> list[int]:
    """The sizes of one block, in the packing's order: ``depth`` steps, ``tile`` columns, and all of the dimensions after them."""
    place = len(packing.order) - 1 - packing.trailing
    return [1] * (place - 1) + [packing.depth] * (place > 0) + [packing.tile] + [packing.shape[d] for d in packing.order[place + 1:]]


def packed_shape(packing: PackingLike) -> list[int]:
    """The shape of the packed weight."""
    tiles = inner_tiles(packing)
    blocks = [-(-packing.shape[d] // tile) for d, tile in zip(packing.order, tiles, strict=True)]
    return [blocks[d] for d in packing.outer] + tiles


def rewrite_kernel(kernel: func.FuncOp, packing: PackingLike) -> None:
    """Makes the argument the packed weight, which the op reads through a linalg.unpack, its dimensions in the packing's order."""
    block = kernel.body.blocks[0]
    argument = block.arguments[packing.argument]
    shape, element = packing.shape, argument.type.element_type
    rank = len(shape)
    old = packing.op.operands[packing.operand]
    with ir.InsertionPoint.at_block_begin(block), kernel.location:
        argument.set_type(ir.RankedTensorType.get(packed_shape(packing), element))
        empty = tensor.EmptyOp([shape[d] for d in packing.order], element).result
        unpacked = ir.Operation.create("linalg.unpack", [empty.type], [argument, empty], {
            "outer_dims_perm": ir.DenseI64ArrayAttr.get(packing.outer),
            "inner_dims_pos": ir.DenseI64ArrayAttr.get(range(rank)),
            "static_inner_tiles": ir.DenseI64ArrayAttr.get(inner_tiles(packing)),
        })
    packing.op.operands[packing.operand] = unpacked.results[0]
    while (view := defining_op(old)) is not None:  # reshapes of the argument that are unused now
        old = view.operands[0]
        view.erase()
    if packing.order != tuple(range(rank)):
        maps = list(packing.op.attributes["indexing_maps"])
        map_ = maps[packing.operand].value
        results = [map_.results[d] for d in packing.order]
        maps[packing.operand] = ir.AffineMapAttr.get(ir.AffineMap.get(map_.n_dims, 0, results))
        packing.op.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], kernel.type.results))


def rewrite_call(call: ir.Operation, packing: PackingLike, constants: Constants, packed: dict[Any, str]) -> None:
    """Gives a call the packed weight. Calls with one weight and layout share the packed one through ``packed``, which maps the
    weight's key and layout to the packed weight's key.
    """
    constant = present(defining_op(call.operands[packing.argument]))
    source = constant.attributes["weight"].value if "weight" in constant.attributes else None
    layout = (source, packing.shape, packing.order, packing.outer, packing.tile, packing.trailing, packing.depth)
    with ir.InsertionPoint(constant), constant.location:
        if layout in packed:
            dtype = numpy_dtype(constant.results[0].type.element_type)
            value = relax.weight(packed[layout], dtype, packed_shape(packing))
        else:
            array, name = present(constants.array(constant.results[0])), constants.name_of(constant.results[0])
            value = constants.build_later(partial(pack, array, packing), packed_shape(packing), array.dtype, f"{name}.packed")
            made = present(defining_op(value))
            if source is not None and "weight" in made.attributes:
                packed[layout] = made.attributes["weight"].value
    call.operands[packing.argument] = value
    constants.erase_unused([constant.results[0]])


def pack(array: np.ndarray, packing: PackingLike, result: np.ndarray) -> None:
    """Copies a weight to an array of the packed shape, in packed order, padded with zeros to whole tiles."""
    array = array.reshape(packing.shape)
    place = array.ndim - 1 - packing.trailing
    outer = [d for d in packing.outer if d <= place]  # a dimension after the columns is one block
    source = array.transpose([*(packing.order[d] for d in outer if d != place), *packing.order[place:]])
    columns, tile = packing.shape[packing.order[place]], packing.tile
    shape = [-(-columns // tile) if d == place else packing.shape[packing.order[d]] for d in outer]
    blocks = np.moveaxis(result.reshape(*shape, tile, *source.shape[place + 1:]), outer.index(place), place)
    whole, rest = divmod(columns, tile)
    before = (slice(None),) * place
    blocks[*before, :whole] = source[*before, : whole * tile].reshape(*source.shape[:place], whole, tile, *source.shape[place + 1:])
    if rest:
        blocks[*before, whole, :rest] = source[*before, whole * tile:]
        blocks[*before, whole, rest:] = 0
    release_pages(array)
