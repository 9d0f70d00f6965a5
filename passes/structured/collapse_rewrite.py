"""Rewrites a kernel by a ``CollapsePlan``."""
from __future__ import annotations

from typing import TYPE_CHECKING

from legato.analysis.structured import StructuredOp
from legato.core.ir_helpers import find
from legato.core.mlir import arith, func, ir, linalg, tensor

if TYPE_CHECKING:
    from legato.passes.structured.collapse_dims import CollapsePlan


class CollapseRewriter:
    """Rebuilds each loop nest of a kernel on collapsed tensors; other ops keep tensors of the original types."""

    def __init__(self, kernel: func.FuncOp, plan: CollapsePlan):
        self.kernel, self.plan = kernel, plan
        self.small: dict[ir.Value, ir.Value] = {}  # original tensor -> collapsed
        self.old: list[ir.Operation] = []  # erased at the end, so that no new value reuses the address of an old key

    def run(self) -> None:
        """Rewrites the fills and nests in order and erases the old ones."""
        nests = iter(enumerate(self.plan.nests))
        for view in list(self.kernel.body.blocks[0].operations):
            op = view.operation
            if op.name not in ("linalg.generic", "linalg.fill"):
                continue
            with ir.InsertionPoint(op), op.location:
                if op.name == "linalg.fill":
                    self.fill(op)
                else:
                    self.nest(*next(nests))
        for op in reversed(self.old):
            op.erase()

    def collapsed(self, value: ir.Value) -> ir.Value:
        """``value`` with merged dimensions and without sizes of 1."""
        if value in self.small:
            return self.small[value]
        groups = self.plan.groups(value)
        if len(groups) == value.type.rank:
            return value
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name == "tensor.empty":
            sizes = [self.product(value, group) for group in groups]
            result = tensor.EmptyOp(sizes, value.type.element_type).result
        else:
            result = tensor.CollapseShapeOp(self.collapsed_type(value, groups), value, groups).result
        self.small[value] = result
        return result

    def product(self, value: ir.Value, group: list[int]) -> int | ir.Value:
        """The size of a group of merged dimensions."""
        result: int | ir.Value = 1
        for axis in group:
            size = tensor.dim(value, constant(axis)) if value.type.is_dynamic_dim(axis) else value.type.get_dim_size(axis)
            if isinstance(result, int) and isinstance(size, int):
                result *= size
            else:
                result = size if result == 1 else arith.muli(value_of(result), value_of(size))
        return result

    @staticmethod
    def collapsed_type(value: ir.Value, groups: list[list[int]]) -> ir.RankedTensorType:
        """The type of ``value`` with each group of dimensions merged."""
        shape = []
        for group in groups:
            size = 1
            for axis in group:
                if value.type.is_dynamic_dim(axis):
                    size = ir.ShapedType.get_dynamic_size()
                    break
                size *= value.type.get_dim_size(axis)
            shape.append(size)
        return ir.RankedTensorType.get(shape, value.type.element_type)

    def finish(self, op: ir.Operation, results: list[ir.Value]) -> None:
        """Replaces the op's results by the collapsed ones, expanded to the old types for other readers."""
        inputs = len(op.operands) - len(op.results)
        for old, new, out in zip(op.results, results, list(op.operands)[inputs:]):
            self.small[old] = new
            if old.type == new.type:
                old.replace_all_uses_with(new)
                continue
            groups = self.plan.groups(old)
            type_ = old.type
            sizes = [self.size(out, axis) for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]
            shape = [type_.shape[axis] for axis in range(type_.rank)]
            view = tensor.ExpandShapeOp(type_, new, groups, sizes, shape).result
            old.replace_all_uses_with(view)
            self.small[view] = new
            self.plan.tensors[view] = self.plan.tensors.get(old, set())
        self.old.append(op)

    def size(self, value: ir.Value, axis: int) -> ir.Value:
        """A dimension's size, from the tensor that the chain of nests was first given as output."""
        owner = value.owner
        while not isinstance(owner, ir.Block) and owner.name in ("linalg.fill", "linalg.generic"):
            value = owner.operands[len(owner.operands) - len(owner.results) + value.result_number]
            owner = value.owner
        return tensor.dim(value, constant(axis))

    def fill(self, op: ir.Operation) -> None:
        """Rebuilds a fill on the collapsed tensor."""
        out = op.operands[1]
        if out not in self.plan.tensors and op.results[0] not in self.plan.tensors:
            return
        self.plan.tensors.setdefault(out, self.plan.tensors.get(op.results[0], set()))
        new = linalg.FillOp([self.collapsed(out).type], [op.operands[0]], [self.collapsed(out)])
        linalg.fill_builtin_region(new.operation)
        self.finish(op, list(new.results))

    def nest(self, index: int, nest: StructuredOp) -> None:
        """Rebuilds nest number ``index`` on collapsed tensors, with merged loops."""
        op, groups = nest.op, self.plan.loop_groups(index)
        place = {loop: i for i, group in enumerate(groups) for loop in group}
        operands = [self.collapsed(v) if isinstance(v.type, ir.RankedTensorType) else v for v in op.operands]
        maps = [self.map(nest, i, place, len(groups)) for i in range(len(operands))]
        kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{nest.iterator_types[group[0]]}>") for group in groups]
        inputs = len(operands) - len(op.results)
        new = linalg.GenericOp([v.type for v in operands[inputs:]], operands[:inputs], operands[inputs:],
                               ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]), ir.ArrayAttr.get(kinds))
        op.regions[0].blocks[0].append_to(new.regions[0])
        for inner in find(new.operation, "linalg.index"):
            loop = inner.attributes["dim"].value
            if loop in place:
                inner.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), place[loop])
            else:
                with ir.InsertionPoint(inner):
                    inner.results[0].replace_all_uses_with(constant(0))
                inner.erase()
        self.finish(op, list(new.results))

    def map(self, nest: StructuredOp, operand: int, place: dict[int, int], loops: int) -> ir.AffineMap:
        """The operand's indexing map on merged loops: one result for each group of its dimensions."""
        value = nest.op.operands[operand]
        if not isinstance(value.type, ir.RankedTensorType):
            return ir.AffineMap.get(loops, 0, [])
        results = []
        for group in self.plan.groups(value):
            axis = next((a for a in group if value.type.shape[a] != 1), group[0])
            results.append(renamed(nest.maps[operand].results[axis], place))
        return ir.AffineMap.get(loops, 0, results)


def renamed(expression: ir.AffineExpr, place: dict[int, int]) -> ir.AffineExpr:
    """An index expression on the new loops; dropped loops are 0."""
    if isinstance(expression, ir.AffineDimExpr):
        loop = expression.position
        return ir.AffineDimExpr.get(place[loop]) if loop in place else ir.AffineConstantExpr.get(0)
    if isinstance(expression, ir.AffineBinaryExpr):
        left, right = renamed(expression.lhs, place), renamed(expression.rhs, place)
        return type(expression).get(left, right)
    return expression


def constant(value: int) -> ir.Value:
    """An index constant at the insertion point."""
    return arith.ConstantOp(ir.IndexType.get(), value).result


def value_of(size: int | ir.Value) -> ir.Value:
    """A size as an index value."""
    return constant(size) if isinstance(size, int) else size
