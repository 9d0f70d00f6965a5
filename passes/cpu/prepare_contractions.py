"""tir-prepare-contractions: contractions of dynamic size, and what reads them, in the form that can be tiled with static tiles."""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import ContractionForm, StructuredKernel
from legato.core.ir_helpers import defining_op
from legato.core.mlir import arith, ir, linalg, tensor
from legato.core.slices import dim
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class PrepareContractions(ModulePass):
    """Gives contractions of dynamic size a reader, and has readers take them as their first operand, which tiling reads its sizes from."""

    name: ClassVar[str] = "tir-prepare-contractions"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            if prepare_contractions(context.kernels.of(kernel)):
                context.kernels.drop(kernel)


def prepare_contractions(kernel: StructuredKernel) -> bool:
    """Prepares the contraction of one kernel. True where there is one of dynamic size."""
    form = kernel.contraction
    if form is None or not any(form.extents[loop] is None for loop in form.dims):
        return False
    if not form.epilogue:
        add_reader(form)
    result = form.op.results[0]
    for reader in form.epilogue:
        read_first(reader.op, next(i for i, operand in enumerate(reader.op.operands) if operand == result))
        result = reader.op.results[0]
    return True


def read_first(reader: ir.Operation, place: int) -> None:
    """Makes operand number ``place`` the reader's first: tiling takes the tile sizes from the first operand that has them.

    The sizes of a slice of an argument could not be told apart from the contraction's own, and remainders would not be vectorized.
    """
    if not place:
        return
    operands, maps = list(reader.operands), list(reader.attributes["indexing_maps"])
    maps[0], maps[place] = maps[place], maps[0]
    reader.operands[0], reader.operands[place] = operands[place], operands[0]
    reader.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    block = reader.regions[0].blocks[0]
    first, other = block.arguments[0], block.arguments[place]
    spare = block.add_argument(first.type, reader.location)
    first.replace_all_uses_with(spare)
    types = first.type, other.type
    first.set_type(types[1])
    other.replace_all_uses_with(first)
    other.set_type(types[0])
    spare.replace_all_uses_with(other)
    block.erase_argument(len(block.arguments) - 1)


def add_reader(form: ContractionForm) -> None:
    """Gives a contraction of dynamic size a reader: it writes a tensor of its own, which is copied to its old destination.

    Tiling takes a reader's tile sizes from the result of another op as they are, and a contraction's own from slices, whose remainders it
    could not tile again. Vectorization removes the copy. The copy has an operand that it does not read: upstream erases one that is
    plainly the identity.
    """
    op, start = form.op, defining_op(form.op.operands[2])
    if start is None or not overwrites(start):
        start = copied_start(op)
    place = len(start.operands) - 1
    out = start.operands[place]
    rank = out.type.rank
    with ir.InsertionPoint(start), op.location:
        start.operands[place] = empty_like(out)
    with ir.InsertionPoint.after(op), op.location:
        element = out.type.element_type
        zero = "0" if isinstance(element, ir.IntegerType) else "0.0"
        unread = arith.ConstantOp(element, ir.Attribute.parse(f"{zero} : {element}")).result
        copy = copied([op.results[0], unread], [ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, [])], out)
    result = copy.results[0]
    for use in list(op.results[0].uses):
        if use.owner.operation != copy:
            use.owner.operands[use.operand_number] = result


def overwrites(op: ir.Operation) -> bool:
    """Whether an op writes all of its destination, without reading it, for one other op: its destination can be another tensor then."""
    if op.name == "linalg.fill":
        return True
    if op.name != "linalg.generic" or len(op.results) != 1 or len(list(op.results[0].uses)) != 1:
        return False
    return not list(op.regions[0].blocks[0].arguments[len(op.operands) - 1].uses)


def copied_start(op: ir.Operation) -> ir.Operation:
    """Has a contraction that adds to given values begin with a copy of them, and returns the copy."""
    given = op.operands[2]
    with ir.InsertionPoint(op), op.location:
        start = copied([given], [ir.AffineMap.get_identity(given.type.rank)], given)
    op.operands[2] = start.results[0]
    return start


def copied(inputs: list[ir.Value], maps: list[ir.AffineMap], out: ir.Value) -> ir.Operation:
    """A loop nest over ``out`` that writes the first input to it; the others are not read."""
    rank, element = out.type.rank, out.type.element_type
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    attribute = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in (*maps, ir.AffineMap.get_identity(rank))])
    copy = linalg.GenericOp([out.type], inputs, [out], attribute, ir.ArrayAttr.get([parallel] * rank))
    block = copy.regions[0].blocks.append(*[element] * (len(inputs) + 1))
    with ir.InsertionPoint(block):
        linalg.YieldOp([block.arguments[0]])
    return copy.operation


def empty_like(value: ir.Value) -> ir.Value:
    """A tensor of the sizes and the element type of another."""
    return tensor.EmptyOp([dim(value, axis) for axis in range(value.type.rank)], value.type.element_type).result
