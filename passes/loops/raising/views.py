"""Views of tensors for accesses: padded, sliced and reshaped so that each dimension is indexed by one axis, or by windows of several."""
from dataclasses import dataclass, replace
from typing import Any

from legato.analysis.indices.conditions import constraints
from legato.analysis.indices.forms import at_most
from legato.analysis.indices.linear import Linear, digits, quotients
from legato.analysis.kernel_sizes import Size, static
from legato.core.mlir import ir, tensor
from legato.dialects.relax import dims
from legato.dialects.tir.loops import REDUCE
from legato.passes.loops.raising.axes import AxisForms
from legato.passes.loops.raising.nests import Load


@dataclass
class TensorView:
    """A tensor, its sizes, and the index form of each dimension."""

    value: ir.Value
    shape: list[Size]
    forms: list[Linear]
    indices: AxisForms

    @property
    def element(self) -> ir.Type:
        """The element type."""
        return self.value.type.element_type

    def expressions(self, axes: list[ir.Value]) -> list[ir.AffineExpr]:
        """The indices as affine expressions of the axes by number."""
        found = []
        for form in self.forms:
            total: Any = None
            for key, factor in form.terms.items():
                axis = ir.AffineExpr.get_dim(axes.index(key))
                term = axis if factor == 1 else axis * factor
                total = term if total is None else total + term
            if total is None or form.constant:
                number = ir.AffineExpr.get_constant(form.constant)
                total = number if total is None else total + number
            found.append(total)
        return found


# --- reshapes ---


def collapsed(view: TensorView) -> TensorView:
    """Merges neighbouring dimensions indexed by ``i // n`` and ``i % n`` into one indexed by ``i``."""
    forms, shape = list(view.forms), list(view.shape)
    groups = [[n] for n in range(len(forms))]
    at = 0
    while at + 1 < len(forms):
        size = shape[at + 1]
        whole = forms[at].times(size) + forms[at + 1] if isinstance(size, int) else None
        if whole is None or quotients(whole) >= quotients(forms[at]) + quotients(forms[at + 1]):
            at += 1
            continue
        forms[at:at + 2], shape[at:at + 2] = [whole], [shape[at] * size]
        groups[at:at + 2] = [groups[at] + groups[at + 1]]
        at = 0
    if len(groups) == len(view.forms):
        return view
    type_ = ir.RankedTensorType.get(static(shape), view.element)
    return replace(view, value=tensor.CollapseShapeOp(type_, view.value, groups).result, shape=shape, forms=forms)


def expanded(view: TensorView, kinds: dict[ir.Value, str]) -> TensorView:
    """Splits a dimension indexed by several axes as digits of a number into one for each axis."""
    forms: list[Linear] = []
    shape: list[Size] = []
    groups: list[list[int]] = []
    for form, size in zip(view.forms, view.shape):
        found = digits(form, view.indices.extents, size)
        if found is None or len({kinds[key] == REDUCE for key in found}) > 1:  # else adjacent windows, which have named pooling ops
            groups.append([len(forms)])
            forms.append(form)
            shape.append(size)
            continue
        groups.append(list(range(len(forms), len(forms) + len(found))))
        forms += [Linear({key: 1}) for key in found]
        shape += [view.indices.extents[key] for key in found]
    if len(forms) == len(view.forms):
        return view
    type_ = ir.RankedTensorType.get(static(shape), view.element)
    sizes = view.indices.sizes.values(shape)
    return replace(view, value=tensor.ExpandShapeOp(type_, view.value, groups, sizes, static(shape)).result, shape=shape, forms=forms)


# --- padding ---


def padded(view: TensorView, load: Load) -> TensorView | None:
    """The view of a guarded load on the padded tensor. None where the guard is not just that the index is inside."""
    filler = filler_of(load)
    if filler is None:
        return None
    select, holds, value = filler
    required = []
    for guard in (*load.guards, *([] if load.guards else [Implied(select.operands[0], holds)])):
        found = constraints(guard.condition, view.indices, guard.holds)
        if found is None:
            return None
        required += [c for c in found if not view.indices.is_natural(c)]
    low, high = [], []
    for form, size in zip(view.forms, view.shape):
        bounds = view.indices.bounds(form)
        if bounds is None or not isinstance(bounds[0], int):
            return None
        below, above = form, Linear({}, size - 1) - form
        if (bounds[0] < 0 and below not in required) or (at_most(bounds[1], size - 1) is not True and above not in required):
            return None
        low.append(max(0, -bounds[0]))
        high.append(dims.maximum(bounds[1] - (size - 1), 0) if above in required else 0)
        required = [c for c in required if c not in (below, above)]
    if required:
        return None
    shape = [a + s + b for a, s, b in zip(low, view.shape, high)]
    forms = [form + Linear({}, a) for form, a in zip(view.forms, low)]
    type_ = ir.RankedTensorType.get(static(shape), view.element)
    sizes = view.indices.sizes.values(high)
    made = tensor.PadOp(type_, view.value, [], sizes, low, static(high))
    inside = made.regions[0].blocks.append(*[ir.IndexType.get()] * len(low))
    with ir.InsertionPoint(inside):
        tensor.YieldOp(value.owner.operation.clone().results[0])
    return replace(view, value=made.result, shape=shape, forms=forms)


@dataclass
class Implied:
    """The condition of a selection between a loaded value and another."""

    condition: ir.Value
    holds: bool


def filler_of(load: Load) -> tuple[ir.Operation, bool, ir.Value] | None:
    """The selection between a load and a constant, where that is the load's only use; else None."""
    users = [use.owner.operation for use in load.op.results[0].uses]
    if not users or any(user != users[0] for user in users) or users[0].name != "arith.select" or len(load.guards) > 1:
        return None
    select = users[0]
    condition, then, other = select.operands
    value = load.op.results[0]
    holds = then == value
    filler = other if holds else then
    if then == other or isinstance(filler.owner, ir.Block) or filler.owner.name != "arith.constant" or condition == value:
        return None
    if load.guards and (load.guards[0].condition, load.guards[0].holds) != (condition, holds):
        return None
    return select, holds, filler


# --- slices ---


@dataclass
class TensorSlice:
    """A slice: begin, size and step of each dimension; ``dropped``: dimensions of size 1 that the slice drops."""

    begins: list[Size]
    sizes: list[Size]
    steps: list[int]
    dropped: list[bool]

    @property
    def strides(self) -> list[int]:
        """The steps; 1 along a dimension of one element, from whose steps upstream takes the wrong one where it drops others."""
        return [1 if size == 1 else step for size, step in zip(self.sizes, self.steps)]


def part(view: TensorView) -> TensorSlice | None:
    """The slice that an access touches; None where it is the whole tensor."""
    found = TensorSlice([], [], [], [])
    whole = True
    for form, size in zip(view.forms, view.shape):
        bounds = view.indices.bounds(form)
        begin, length, step, drop = 0, size, 1, False
        if form.is_constant:
            begin, length, drop = form.constant, 1, size != 1 or form.constant != 0
            whole = whole and not drop
        elif len(form.terms) == 1 and view.indices.is_linear(form) and next(iter(form.terms.values())) > 0:
            axis, step = next(iter(form.terms.items()))
            begin, length = form.constant, view.indices.extents[axis]
            whole = whole and (step, begin) == (1, 0) and length == size
        elif bounds is not None and bounds[0] != 0:
            begin, length = bounds[0], bounds[1] - bounds[0] + 1
            whole = False
        for values, value in zip((found.begins, found.sizes, found.steps, found.dropped), (begin, length, step, drop)):
            values.append(value)
    return None if whole else found


def cut(view: TensorView, found: TensorSlice) -> TensorView:
    """The view on a slice."""
    sizes = view.indices.sizes
    shape = [s for s, drop in zip(found.sizes, found.dropped) if not drop]
    type_ = ir.RankedTensorType.get(static(shape), view.element)
    made = tensor.ExtractSliceOp(type_, view.value, sizes.values(found.begins), sizes.values(found.sizes), [], static(found.begins),
                                 static(found.sizes), found.strides).result
    forms = []
    for form, begin, step, drop in zip(view.forms, found.begins, found.steps, found.dropped):
        if not drop:
            moved = form - Linear({}, begin)
            forms.append(Linear({k: f // step for k, f in moved.terms.items()}, moved.constant) if step != 1 else moved)
    return replace(view, value=made, shape=shape, forms=forms)


def put(value: ir.Value, into: ir.Value, found: TensorSlice, view: TensorView) -> ir.Value:
    """The tensor with a slice replaced."""
    sizes = view.indices.sizes
    return tensor.InsertSliceOp(value, into, sizes.values(found.begins), sizes.values(found.sizes), [], static(found.begins),
                                static(found.sizes), found.strides).result


def is_static(view: TensorView) -> bool:
    """Whether indices are axes and int constants, with positive factors: tiling takes the first index as the least."""
    return all(isinstance(form.constant, int) and view.indices.is_linear(form) and all(f > 0 for f in form.terms.values())
               for form in view.forms)
