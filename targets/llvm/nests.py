"""What a schedule wants to know of a kernel of ``linalg.generic`` and ``linalg.fill``: its loop nests, and who reads whom."""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ...mlir import func, ir

PARALLEL, REDUCTION = "parallel", "reduction"
# ops of a body that the vectorizer knows; math and arith besides
VECTORIZABLE = ("linalg.index", "linalg.yield")
COMBINERS = {"arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.addi", "arith.muli",
             "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui", "arith.andi", "arith.ori", "arith.xori"}


@dataclass(eq=False)
class Nest:
    """One structured op. Loops are counted from the outermost; extents are negative where they are dynamic."""

    op: ir.Operation
    position: int                       # among the kernel's ops of the same name
    maps: list[ir.AffineMap] = field(init=False)
    kinds: list[str] = field(init=False)
    extents: list[int] = field(init=False)

    def __post_init__(self) -> None:
        out = self.op.operands[len(self.op.operands) - 1]
        if self.is_fill:
            rank = out.type.rank
            self.maps = [ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)]
            self.kinds = [PARALLEL] * rank
        else:
            self.maps = [a.value for a in self.op.attributes["indexing_maps"]]
            self.kinds = [str(a).removeprefix("#linalg.iterator_type<").rstrip(">") for a in self.op.attributes["iterator_types"]]
        self.extents = [-1] * len(self.kinds)
        for value, map_ in zip(self.op.operands, self.maps):
            if isinstance(value.type, ir.RankedTensorType):
                for size, expression in zip(value.type.shape, map_.results):
                    if isinstance(expression, ir.AffineDimExpr) and size >= 0:
                        self.extents[expression.position] = size

    @property
    def is_fill(self) -> bool:
        return self.op.name == "linalg.fill"

    @cached_property
    def parallel(self) -> bool:
        return REDUCTION not in self.kinds

    @property
    def inputs(self) -> list[ir.Value]:
        return list(self.op.operands)[: len(self.op.operands) - len(self.op.results)]

    @property
    def outputs(self) -> list[ir.Value]:
        return list(self.op.operands)[len(self.op.operands) - len(self.op.results):]

    def loops_of(self, operand: int) -> list[int | None]:
        """For each dimension of an operand its loop; None for a constant index or an expression."""
        return [e.position if isinstance(e, ir.AffineDimExpr) else None for e in self.maps[operand].results]

    @cached_property
    def out_loops(self) -> list[int | None]:
        return self.loops_of(len(self.maps) - 1)

    @cached_property
    def plain(self) -> bool:
        """Whether every operand is indexed by loops and constants alone, the output by loops that differ."""
        for map_ in self.maps:
            if any(not isinstance(e, (ir.AffineDimExpr, ir.AffineConstantExpr)) for e in map_.results):
                return False
        return None not in self.out_loops and len(set(self.out_loops)) == len(self.out_loops)

    @cached_property
    def body(self) -> list[ir.Operation]:
        return [o.operation for o in self.op.regions[0].blocks[0].operations]

    @cached_property
    def vectorizable(self) -> bool:
        """Whether the body is straight arithmetic on numbers that vectors can hold."""
        for op in self.body:
            if not op.name.startswith(("arith.", "math.")) and op.name not in VECTORIZABLE:
                return False
        return all(isinstance(t, (ir.IntegerType, ir.FloatType, ir.IndexType)) for t in self.scalar_types)

    @cached_property
    def scalar_types(self) -> list[ir.Type]:
        types = [a.type for a in self.op.regions[0].blocks[0].arguments]
        return types + [r.type for op in self.body for r in op.results]

    @cached_property
    def bits(self) -> int:
        """The widest number the body handles; i1 does not count."""
        return max([width(t) for t in self.scalar_types if width(t) > 1], default=8)

    @cached_property
    def memory_bits(self) -> int:
        """The narrowest element in memory."""
        return min([width(v.type.element_type) for v in self.op.operands if isinstance(v.type, ir.RankedTensorType)], default=8)

    @cached_property
    def is_copy(self) -> bool:
        """Whether the result is an operand as it stands: upstream folds such a nest away."""
        value = self.body[-1].operands[0]
        if self.is_fill or len(self.body) != 1 or len(self.op.results) != 1 or not isinstance(value.owner, ir.Block):
            return False
        return self.maps[value.arg_number] == self.maps[-1] and self.op.operands[value.arg_number].type == self.outputs[0].type

    @cached_property
    def combiner(self) -> str | None:
        """The op that joins a reduction's accumulator and the next element, where there is just one that upstream knows."""
        if self.parallel or len(self.op.results) != 1:
            return None
        accumulator = self.op.regions[0].blocks[0].arguments[len(self.maps) - 1]
        uses = list(accumulator.uses)
        joined = self.body[-1].operands[0].owner
        if len(uses) != 1 or isinstance(joined, ir.Block) or joined.name not in COMBINERS or uses[0].owner.operation != joined:
            return None
        return joined.name


def width(type_: ir.Type) -> int:
    """Bits of a number; 64 for an index."""
    return 64 if isinstance(type_, ir.IndexType) else type_.width


class Graph:
    """The nests of a kernel in order. ``root`` is the last one, whose result the kernel returns (behind reshapes), or None."""

    def __init__(self, kernel: func.FuncOp):
        self.kernel = kernel
        self.nests: list[Nest] = []
        counts: dict[str, int] = {}
        self.strange = False
        for view in kernel.body.blocks[0].operations:
            op = view.operation
            if op.name in ("linalg.generic", "linalg.fill"):
                self.nests.append(Nest(op, counts.get(op.name, 0)))
                counts[op.name] = counts.get(op.name, 0) + 1
            elif op.name.startswith(("linalg.", "scf.")) or op.name in ("tensor.pad", "tensor.insert_slice"):
                self.strange = True
        self.counts = counts

    def made_by(self, value: ir.Value) -> Nest | None:
        """The nest whose result ``value`` is."""
        return next((n for n in self.nests if value in list(n.op.results)), None)

    def producers(self, nest: Nest) -> list[Nest]:
        return [p for v in nest.op.operands if (p := self.made_by(v)) is not None]

    def readers(self, nest: Nest) -> list[Nest]:
        return [n for n in self.nests if any(v in list(n.op.operands) for v in nest.op.results)]

    @property
    def root(self) -> Nest | None:
        last = [n for n in self.nests if not self.readers(n)]
        return last[0] if len(last) == 1 and last[0] is self.nests[-1] and len(last[0].op.results) == 1 else None
