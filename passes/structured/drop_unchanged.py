"""tir-drop-unchanged: loops of kernels no longer carry tensors that no iteration changes.

Hoisting an accumulator out of a reduction loop leaves its tensor as a loop-carried value that never changes. Bufferization assumes that
carried tensors are written, and copies those that are read elsewhere: here the initial value, for each tile. What is left of that tensor
is a write of its initial elements, which the accumulator is written over after the loop.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find, terminator
from legato.core.mlir import ir, scf
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

WRITE = "vector.transfer_write"
FIRST = 3  # number of scf.for's operands before the carried values
PURE = (WRITE, "tensor.empty", "tensor.extract_slice", "tensor.insert_slice")


@dataclass(frozen=True)
class DropUnchanged(ModulePass):
    """Removes loop-carried tensors that a loop yields unchanged, and what was written to them first where it is written over."""

    name: ClassVar[str] = "tir-drop-unchanged"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                for loop in find(kernel.operation, "scf.for", inner_first=True):
                    drop_unchanged(loop)


def drop_unchanged(loop: ir.Operation) -> None:
    """Rebuilds one loop without the tensors that it does not change."""
    block = loop.regions[0].blocks[0]
    last = terminator(block)
    carried = list(block.arguments)[1:]
    yielded = list(last.operands)
    unchanged = [i for i, (got, given) in enumerate(zip(carried, yielded)) if got == given and isinstance(got.type, ir.RankedTensorType)]
    if not unchanged:
        return
    operands, results = list(loop.operands), list(loop.results)
    inits = operands[FIRST:]
    for i in unchanged:
        carried[i].replace_all_uses_with(inits[i])
        results[i].replace_all_uses_with(inits[i])
    kept = [i for i in range(len(carried)) if i not in unchanged]
    with ir.InsertionPoint(last), last.location:
        scf.YieldOp([yielded[i] for i in kept])
    last.erase()
    for i in reversed(unchanged):
        block.erase_argument(i + 1)
    attributes = {name: loop.attributes[name] for name in loop.attributes}
    with ir.InsertionPoint(loop), loop.location:
        new = ir.Operation.create("scf.for", [results[i].type for i in kept], [*operands[:FIRST], *(inits[i] for i in kept)], attributes,
                                  regions=1)
    block.append_to(new.regions[0])
    for i, result in zip(kept, new.results):
        results[i].replace_all_uses_with(result)
    loop.erase()
    for i in unchanged:
        skip_covered(inits[i])
        erase_unused(inits[i])


def skip_covered(value: ir.Value) -> None:
    """Lets a write to a tensor that has only been written at the same place go to the tensor before that."""
    first, uses = value.owner, list(value.uses)
    if isinstance(first, ir.Block) or first.name != WRITE or len(uses) != 1:
        return
    over = uses[0].owner.operation
    if over.name == WRITE and uses[0].operand_number == 1 and place_of(over) == place_of(first.operation):
        over.operands[1] = first.operands[1]


def place_of(write: ir.Operation) -> list[object]:
    """What says which elements of a tensor a vector is written to: its type, the indices and a mask, the attributes."""
    vector, _, *where = write.operands
    return [vector.type, *where, *(write.attributes[name] for name in ("permutation_map", "in_bounds"))]


def erase_unused(value: ir.Value) -> None:
    """Erases the op that defines a tensor, and its operands' ops, as far as they are unused."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name not in PURE or any(True for result in owner.results for _ in result.uses):
        return
    operands = [v for v in owner.operands if isinstance(v.type, ir.RankedTensorType)]
    owner.erase()
    for operand in operands:
        erase_unused(operand)
