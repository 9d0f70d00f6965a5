"""tir-expand-readers: moves ``collapse_shape`` of a contraction's result below its elementwise readers, so that tiling can fuse them.

Upstream does this where every operand is indexed by loops only; broadcast operands here also have constant indices.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import CONTRACTION, StructuredKernel, StructuredOp
from legato.analysis.structured.maps import dim_positions
from legato.core.mlir import ir, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class ExpandReaders(ModulePass):
    """Sinks reshapes of a contraction's result below its elementwise readers."""

    name: ClassVar[str] = "tir-expand-readers"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            if expand_readers(context.kernels.of(kernel)):
                context.kernels.drop(kernel)


def expand_readers(kernel: StructuredKernel) -> bool:
    """Moves reshapes of contractions' results below the chain of their elementwise readers. Returns whether there was one."""
    changed = False
    for contraction in [op for op in kernel.structured if op.kind == CONTRACTION]:
        result: ir.Value | None = contraction.op.results[0]
        while result is not None:
            if (reader := _collapsed_reader(result)) is not None:
                result, changed = _expand(*reader), True
            else:
                result = _read_plainly(result)
    return changed


def _read_plainly(value: ir.Value) -> ir.Value | None:
    """The result of the elementwise op that is a value's only user, which may be reshaped in turn; None where another op reads it."""
    user = _only_user(value)
    reader = None if user is None else StructuredOp(user)
    return reader.op.results[0] if reader is not None and reader.is_pointwise and len(reader.op.results) == 1 else None


def _collapsed_reader(value: ir.Value) -> tuple[ir.Operation, StructuredOp] | None:
    """The reshape that is a value's only user, and the elementwise op that is the reshape's only user."""
    view = _only_user(value)
    if view is None or view.name != "tensor.collapse_shape" or not value.type.has_static_shape:
        return None
    user = _only_user(view.results[0])
    reader = None if user is None else StructuredOp(user)
    if reader is None or not reader.is_pointwise or len(reader.op.results) != 1 or "linalg.index" in reader.body_names:
        return None
    read = [dim_positions(m) for v, m in zip(reader.op.operands, reader.maps) if v == view.results[0]]
    plain = all(None not in dims and dims == read[0] for dims in read) and sorted(read[0]) == list(range(len(reader.iterator_types)))
    return (view, reader) if plain else None


def _only_user(value: ir.Value) -> ir.Operation | None:
    users = {use.owner.operation for use in value.uses}
    return users.pop() if len(users) == 1 else None


def _expand(view: ir.Operation, structured: StructuredOp) -> ir.Value:
    """Rebuilds the reader on the view's source; a reshape of the result replaces the old one. Returns the result before the reshape."""
    source, collapsed, reader = view.operands[0], view.results[0], structured.op
    maps = structured.maps
    read = next(dim_positions(m) for v, m in zip(reader.operands, maps) if v == collapsed)
    sizes: dict[int, list[int]] = {}
    for loop, group in zip(read, view.attributes["reassociation"]):
        sizes[loop] = [source.type.get_dim_size(dim.value) for dim in group]
    first = [sum(len(sizes[d]) for d in range(loop)) for loop in range(len(read) + 1)]  # the first of the loops that a loop becomes

    with ir.InsertionPoint(reader), reader.location:
        operands, new_maps, groups = [], [], []
        for value, map_ in zip(reader.operands, maps):
            expressions, groups, shape = [], [], []
            for position, (loop, expression) in enumerate(zip(dim_positions(map_), map_.results)):
                parts = [value.type.get_dim_size(position)] if loop is None else sizes[loop]
                groups.append(list(range(len(shape), len(shape) + len(parts))))
                shape += parts
                expressions += [expression] if loop is None else [ir.AffineExpr.get_dim(first[loop] + i) for i in range(len(parts))]
            operands.append(source if value == collapsed else _expanded(value, groups, shape))
            new_maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(first[-1], 0, expressions)))
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        attributes = {name: reader.attributes[name] for name in reader.attributes}
        attributes |= {"indexing_maps": ir.ArrayAttr.get(new_maps), "iterator_types": ir.ArrayAttr.get([parallel] * first[-1])}
        made = ir.Operation.create("linalg.generic", [operands[-1].type], operands, attributes, regions=1)
        result = tensor.CollapseShapeOp(reader.results[0].type, made.results[0], groups).result
    reader.regions[0].blocks[0].append_to(made.regions[0])
    reader.results[0].replace_all_uses_with(result)
    reader.erase()
    view.erase()
    return made.results[0]


def _expanded(value: ir.Value, groups: list[list[int]], shape: list[int]) -> ir.Value:
    """The value in this shape; an empty tensor is made anew."""
    if not isinstance(value.type, ir.RankedTensorType) or all(len(group) == 1 for group in groups):
        return value
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    if not isinstance(value.owner, ir.Block) and value.owner.name == "tensor.empty":
        return tensor.EmptyOp(shape, value.type.element_type).result
    return tensor.ExpandShapeOp(type_, value, groups, [], shape).result
