"""tir-fuse-slices: merges kernels that take slices, pads, and concatenations, into the concatenation or pad that reads them.

A kernel that only takes a slice is a copy, and so is what a concatenation does with it. In one kernel the slice is a view: what is
concatenated is read from where it stands, and an inner concatenation writes to its place in the outer one.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernels
from legato.core.ir_helpers import body, defining_op
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.graph.functions import has_one_use, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding
from legato.passes.structured.fuse import SIZES, SLICE, Fuser
from legato.passes.structured.fusion_groups import MAX_CALLS, Call, FusionGroup

TAKE, INSERT, FILL = SLICE, "tensor.insert_slice", "linalg.fill"
SOURCE = 0      # operand of an insert


@dataclass(frozen=True)
class FuseSlices(ModulePass):
    """Merges calls of kernels that only take slices, concatenate or pad into those that concatenate or pad their results.

    A result that another op reads, too, stays a tensor of its own. Sizes that are not static must be those of the result.

    Runs inline and symbol-dce inside, on a module of its own with the kernels that are merged.
    """

    name: ClassVar[str] = "tir-fuse-slices"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            SliceFuser(module.module, relax_functions(module), context.kernels).run()


class SliceFuser(Fuser):
    """One run of the pass over one module."""

    def __init__(self, module: ir.Module, functions: list[func.FuncOp], kernels: StructuredKernels):
        super().__init__(module, functions, kernels)
        self.inserts: dict[str, list[ir.Operation]] = {}     # of kernels that concatenate
        self.moves: set[str] = set()    # the kernels that take slices, concatenate or pad
        self.pads: set[str] = set()
        for kernel in tir.prim_funcs(module):
            ops = [] if kernel.is_external else body(kernel.body.blocks[0])
            if tir.out_count(kernel) == 1 and all(op.name in (TAKE, INSERT, FILL, *SIZES) for op in ops) and any(
                    op.name in (TAKE, INSERT) for op in ops):
                self.moves.add(kernel.name.value)
                if any(op.name == FILL for op in ops):
                    self.pads.add(kernel.name.value)
                inserts = [op for op in ops if op.name == INSERT]
                if inserts and all(isinstance(op.operands[SOURCE].owner, ir.Block) for op in inserts):
                    self.inserts[kernel.name.value] = inserts

    def groups(self, block: ir.Block) -> list[FusionGroup]:
        """A group for each concatenation that is not part of another one."""
        calls = {op.operation: self.call(op) for op in block.operations
                 if isinstance(op, func.CallOp) and op.attributes["callee"].value in self.moves}
        places = {op: place for place, op in enumerate(calls)}
        groups, taken = [], set[ir.Operation]()
        for call in reversed(calls.values()):
            if call.op.operation in taken or call.callee not in self.inserts:
                continue
            members = self.read_by(call, calls, MAX_CALLS - 1)
            taken |= {member.op.operation for member in members}
            groups.append(FusionGroup(sorted([*members, call], key=lambda one: places[one.op.operation])))
        return groups[::-1]

    def read_by(self, call: Call, calls: dict[ir.Operation, Call], most: int) -> list[Call]:
        """The calls, at most so many, whose results a concatenation alone reads, and those that only these read."""
        found: list[Call] = []
        for value in call.inputs if call.callee in self.inserts else ():
            owner = defining_op(value)
            part = calls.get(owner) if owner is not None else None
            if part is None or not part.fresh or not has_one_use(value) or len(found) == most or not self.has_sizes_of(part, call):
                continue
            found += [part, *self.read_by(part, calls, most - len(found) - 1)]
        return found

    def has_sizes_of(self, part: Call, whole: Call) -> bool:
        """Whether the dynamic sizes of a part are those of the concatenation: of the axes that it is not along. Those of what is padded are
        static."""
        dynamic = [dim for dim in range(part.result.type.rank) if part.result.type.is_dynamic_dim(dim)]
        if whole.callee in self.pads and dynamic:
            return False
        return all(whole.result.type.is_dynamic_dim(dim) and insert.attributes["static_offsets"][dim] == 0
                   for dim in dynamic for insert in self.inserts[whole.callee])
