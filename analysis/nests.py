"""What a schedule wants to know of a kernel of ``linalg.generic`` and ``linalg.fill``: its loop nests, and who reads whom."""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from legato.core.mlir import func, ir

PARALLEL, REDUCTION = "parallel", "reduction"
# named ops that schedules see as generics: what each operand is indexed by, s and d being strides and dilations
WINDOW = "(n, h * {s0} + y * {d0}, w * {s1} + x * {d1}, c)"
NAMED = {name: (WINDOW, "(y, x)", "(n, h, w, c)") for name in (
    "linalg.pooling_nhwc_max", "linalg.pooling_nhwc_min", "linalg.pooling_nhwc_sum", "linalg.pooling_nhwc_max_unsigned",
    "linalg.pooling_nhwc_min_unsigned")} | {"linalg.depthwise_conv_2d_nhwc_hwc": (WINDOW, "(y, x, c)", "(n, h, w, c)")}
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
        elif self.op.name in NAMED:
            steps = {f"{n[0]}{i}": v for n in ("strides", "dilations") for i, v in enumerate(self.op.attributes[n])}
            texts = [f"affine_map<(n, h, w, c, y, x) -> {text.format(**steps)}>" for text in NAMED[self.op.name]]
            self.maps = [ir.Attribute.parse(text).value for text in texts]
            self.kinds = [PARALLEL] * 4 + [REDUCTION] * 2
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
        simple = all(isinstance(e, (ir.AffineDimExpr, ir.AffineConstantExpr)) for map_ in self.maps for e in map_.results)
        return simple and self.writes_plainly

    @cached_property
    def writes_plainly(self) -> bool:
        """Whether the output is indexed by loops that differ."""
        return None not in self.out_loops and len(set(self.out_loops)) == len(self.out_loops)

    def steps_plainly(self, loop: int) -> bool:
        """Whether every operand that a loop steps through is stepped through one by one along one dimension."""
        for map_ in self.maps:
            places = [e for e in map_.results if reads(e, loop)]
            if len(places) > 1 or any(not isinstance(e, ir.AffineDimExpr) and not is_shifted(e, loop) for e in places):
                return False
        return True

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


def reads(expression: ir.AffineExpr, loop: int) -> bool:
    """Whether an index expression depends on a loop."""
    if isinstance(expression, ir.AffineDimExpr):
        return expression.position == loop
    return isinstance(expression, ir.AffineBinaryExpr) and (reads(expression.lhs, loop) or reads(expression.rhs, loop))


def is_shifted(expression: ir.AffineExpr, loop: int) -> bool:
    """Whether an index is a loop plus what does not depend on it."""
    if not isinstance(expression, ir.AffineAddExpr):
        return isinstance(expression, ir.AffineDimExpr) and expression.position == loop
    left, right = expression.lhs, expression.rhs
    return (is_shifted(left, loop) and not reads(right, loop)) or (is_shifted(right, loop) and not reads(left, loop))


def width(type_: ir.Type) -> int:
    """Bits of a number; 64 for an index."""
    return 64 if isinstance(type_, ir.IndexType) else type_.width


class Graph:
    """The nests of a kernel in order, those inside loops too."""

    def __init__(self, kernel: func.FuncOp):
        self.nests: list[Nest] = []
        self.counts: dict[str, int] = {}
        self.strange = False  # there are ops that nothing here knows
        self.flat = True      # all stand in the kernel itself
        self._kernel = kernel.operation
        kernel.operation.walk(self._see)

    def _see(self, op: ir.Operation) -> ir.WalkResult:
        name = op.name
        if name in ("linalg.generic", "linalg.fill") or name in NAMED:
            self.nests.append(Nest(op, self.counts.get(name, 0)))
            self.counts[name] = self.counts.get(name, 0) + 1
            self.flat = self.flat and op.parent.operation == self._kernel
        elif name == "tensor.pad" or (name.startswith("linalg.") and name not in VECTORIZABLE):
            self.strange = True
        return ir.WalkResult.ADVANCE

    def readers(self, nest: Nest) -> list[Nest]:
        """The nests that read a nest's results as they are."""
        return [n for n in self.nests if any(v in list(n.op.operands) for v in nest.op.results)]

    def leaves(self, nest: Nest) -> bool:
        """Whether somebody besides nests has a nest's results: the kernel returns them, or puts them into a larger tensor."""
        readers = [n.op for n in self.readers(nest)]
        return any(use.owner.operation not in readers for value in nest.op.results for use in value.uses)

    @property
    def roots(self) -> list[Nest]:
        """The nests that no other reads."""
        return [n for n in self.nests if not self.readers(n)]
