"""tir-gather-rows: gathers become a loop over the row indices around copies of rows, in place of index computations for each element."""
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from legato.analysis.structured import PARALLEL, StructuredKernel, StructuredOp
from legato.analysis.structured.maps import is_identity
from legato.core.ir_helpers import index
from legato.core.mlir import ir, scf, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

DYNAMIC = ir.ShapedType.get_dynamic_size()
WORTH_IT = 1 << 17      # elements of known sizes from which on threads share the rows


@dataclass(frozen=True)
class GatherRows(ModulePass):
    """Nests that read rows at computed indices become loops that copy rows."""

    name: ClassVar[str] = "tir-gather-rows"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            if gather_rows(context.kernels.of(kernel)):
                context.kernels.drop(kernel)


def gather_rows(kernel: StructuredKernel) -> bool:
    """Rewrites the nests of ``kernel`` that only read elements at computed indices, where these are contiguous.

    A nest of n loops that yields ``x[computed..., its k innermost loops]`` becomes n - k loops that compute the index once, around a copy
    of a slice of x. Returns whether there is one.
    """
    changed = False
    for nest in kernel.structured:
        op = nest.op
        if op.name == "linalg.generic" and (gather := Gather.of(nest)) is not None:
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(gather.in_parallel() if gather.is_large else gather.loop(gather.out, []))
            op.erase()
            changed = True
    return changed


class Gather:
    """A nest that gathers rows; ``outer``: the number of loops outside of a row."""

    def __init__(self, nest: StructuredOp, extract: ir.Operation, outer: int):
        self.nest, self.extract, self.outer = nest, extract, outer
        self.out = nest.outputs[0]

    @classmethod
    def of(cls, nest: StructuredOp) -> "Gather | None":
        """The nest as a gather of rows; None for other nests."""
        extracts = [o for o in nest.body if o.name == "tensor.extract"]
        known = all(o.name.startswith("arith.") or o.name in ("linalg.index", "linalg.yield", "tensor.extract") for o in nest.body)
        if len(extracts) != 1 or not known or len(nest.op.results) != 1 or not nest.plain or set(nest.iterator_types) != {PARALLEL}:
            return None
        extract, loops = extracts[0], len(nest.iterator_types)
        if nest.body[-1].operands[0] != extract.results[0] or not is_identity(nest.maps[-1]):
            return None
        outer = loops - row_loops(extract, loops)
        steps = {o.attributes["dim"].value for o in nest.body if o.name == "linalg.index" and not only_places(o, extract, loops - outer)}
        steps |= {l for i in range(len(nest.inputs)) for l in nest.loops_of(i) if l is not None}
        return None if outer == loops or any(l >= outer for l in steps) else cls(nest, extract, outer)

    def size(self, loop: int) -> int | ir.Value:
        """The extent of a loop."""
        if self.out.type.is_dynamic_dim(loop):
            return tensor.DimOp(self.out, index(loop)).result
        return self.out.type.get_dim_size(loop)

    @property
    def is_large(self) -> bool:
        """Whether threads may share the rows: of known sizes, and many."""
        type_ = self.out.type
        return type_.has_static_shape and prod(type_.shape) >= WORTH_IT and prod(type_.shape[:self.outer]) > 1

    def in_parallel(self) -> ir.Value:
        """Builds one loop over all rows, whose steps threads share. Returns the output."""
        sizes = list(self.out.type.shape[:self.outer])
        around = scf.ForallOp([0] * self.outer, sizes, [1] * self.outer, [self.out])
        with ir.InsertionPoint(around.body):
            piece, window = self.row(list(around.induction_variables))
            ending = scf.InParallelOp()
            with ir.InsertionPoint(ending.regions[0].blocks[0]):
                tensor.ParallelInsertSliceOp(piece, around.inner_iter_args[0], *window)
        return around.results[0]

    def loop(self, out: ir.Value, places: list[ir.Value]) -> ir.Value:
        """Builds the loops from number ``len(places)`` on. Returns the output."""
        if len(places) == self.outer:
            piece, window = self.row(places)
            return tensor.InsertSliceOp(piece, out, *window).result
        size = self.size(len(places))
        around = scf.ForOp(index(0), index(size) if isinstance(size, int) else size, index(1), [out])
        with ir.InsertionPoint(around.body):
            scf.YieldOp([self.loop(around.inner_iter_args[0], [*places, around.induction_variable])])
        return around.results[0]

    def row(self, places: list[ir.Value]) -> tuple[ir.Value, tuple[Sequence[Any], ...]]:
        """A row at the index that is computed for it, and where it goes in the output: the operands of an insertion."""
        nest, values = self.nest, {}
        for i, (value, argument) in enumerate(zip(nest.inputs, self.nest.op.regions[0].blocks[0].arguments)):
            if isinstance(value.type, ir.RankedTensorType):
                at = [places[e.position] if isinstance(e, ir.AffineDimExpr) else index(e.value) for e in nest.maps[i].results]
                value = tensor.ExtractOp(value, at).result
            values[argument] = value
        for op in nest.body:
            if op.name == "linalg.index":
                loop = op.attributes["dim"].value
                values[op.results[0]] = places[loop] if loop < self.outer else None
            elif op != self.extract and op.name != "linalg.yield":
                operands = [values.get(v, v) for v in op.operands]
                attributes = {name: op.attributes[name] for name in op.attributes}
                new = ir.Operation.create(op.name, [r.type for r in op.results], operands, attributes)
                values[op.results[0]] = new.results[0]
        row = [self.size(loop) for loop in range(self.outer, len(nest.iterator_types))]
        source, *at = self.extract.operands
        start = [values.get(v, v) for v in at[: len(at) - len(row)]]
        shape = [s if isinstance(s, int) else DYNAMIC for s in row]
        dynamic = [s for s in row if not isinstance(s, int)]
        type_ = ir.RankedTensorType.get(shape, self.out.type.element_type)
        ones = [1] * len(start)
        piece = tensor.ExtractSliceOp(type_, source, start, dynamic, [], [DYNAMIC] * len(start) + [0] * len(row), ones + shape,
                                      [1] * len(at)).result
        offsets = [DYNAMIC] * len(places) + [0] * len(row)
        return piece, (places, dynamic, [], offsets, [1] * len(places) + shape, [1] * len(nest.iterator_types))


def row_loops(extract: ir.Operation, loops: int) -> int:
    """The number of trailing dimensions that are indexed by the innermost loops themselves, in order."""
    count, at = 0, list(extract.operands)[1:]
    while count < len(at):
        owner = at[-1 - count].owner
        if isinstance(owner, ir.Block) or owner.name != "linalg.index" or owner.attributes["dim"].value != loops - 1 - count:
            break
        count += 1
    return count


def only_places(op: ir.Operation, extract: ir.Operation, row: int) -> bool:
    """Whether an op is only an index of ``extract`` along one of its last ``row`` dimensions."""
    first = len(extract.operands) - row
    return all(use.owner.operation == extract and use.operand_number >= first for use in op.results[0].uses)
