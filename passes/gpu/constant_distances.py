"""tir-constant-distances: addresses at a constant distance from each other are one address and constants."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.gpu.short_indices import SPARE
from legato.passes.pipeline.base import ModulePass, PassContext

DYNAMIC = -(1 << 31)        # of the constant indices of llvm.getelementptr: one that is an operand
Parts = tuple[ir.Value | None, int]


@dataclass(frozen=True)
class ConstantDistances(ModulePass):
    """Takes constant terms out of the indices of 32 bits that lowered kernels reach elements by, to add them to the address. LLVM, which
    does so for indices of 64 bits, does not see through their extension, and would not make one access of those to neighbours.
    """

    name: ClassVar[str] = "tir-constant-distances"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for holder in find(module.operation, "gpu.module"):
                for kernel in find(holder, "llvm.func"):
                    split = IndexSplitter()
                    for op in find(kernel, "llvm.getelementptr"):
                        if list(ir.DenseI32ArrayAttr(op.attributes["rawConstantIndices"])) == [DYNAMIC] and is_short(op.operands[1]):
                            split.rewrite(op)


class IndexSplitter:
    """Splits indices into a value, None for 0, and a constant. An index fits 32 bits, with SPARE more on either side, so that the value
    of one with a smaller constant does, too."""

    def __init__(self) -> None:
        self.seen: dict[ir.Value, Parts] = {}

    def rewrite(self, op: ir.Operation) -> None:
        """Adds the constant part of an address's index behind the rest."""
        rest, constant = self.parts(op.operands[1])
        if rest is None or not 0 < abs(constant) < SPARE:
            return
        with ir.InsertionPoint(op), op.location:
            first = address(op, [op.operands[0], rest], [DYNAMIC])
            op.results[0].replace_all_uses_with(address(op, [first], [constant]))
        op.erase()

    def parts(self, value: ir.Value) -> Parts:
        """Those of an index."""
        if value not in self.seen:
            self.seen[value] = self.split(value)
        return self.seen[value]

    def split(self, value: ir.Value) -> Parts:
        """Those of an index that was not split before; the value itself where nothing is constant in it."""
        if isinstance(value.owner, ir.Block):
            return value, 0
        op = value.owner.operation
        if op.name == "llvm.mlir.constant":
            return None, ir.IntegerAttr(op.attributes["value"]).value
        if op.name not in ("llvm.add", "llvm.mul"):
            return value, 0
        (left, first), (right, second) = map(self.parts, op.operands)
        with ir.InsertionPoint(op), op.location:
            if op.name == "llvm.add":
                if not first + second and left is not None and right is not None:
                    return value, 0
                return (right if left is None else left if right is None else made("llvm.add", left, right)), first + second
            if right is None and left is not None and first and second:
                return made("llvm.mul", left, op.operands[1]), first * second
        return value, 0


def made(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """The result of an op on two values."""
    return ir.Operation.create(name, [left.type], [left, right]).results[0]


def address(like: ir.Operation, operands: list[ir.Value], indices: list[int]) -> ir.Value:
    """An address of the same kind of elements as another one."""
    attributes = {"elem_type": like.attributes["elem_type"], "rawConstantIndices": ir.DenseI32ArrayAttr.get(indices)}
    return ir.Operation.create("llvm.getelementptr", [like.results[0].type], operands, attributes).results[0]


def is_short(value: ir.Value) -> bool:
    """Whether a value has 32 bits."""
    return value.type == ir.IntegerType.get_signless(32)
