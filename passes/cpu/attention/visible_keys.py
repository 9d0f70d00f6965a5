"""The keys that a mask leaves visible: those outside of them, whose scores are -inf for all rows of a block, are not read.

A score is -inf for every finite product of a query and a key where it is -inf for the product 0, if it is made from the product by sums,
scalings and choices. So the mask is evaluated before keys and values are read: from the first and from the last key on, up to one that is
visible.
"""
from math import inf, isfinite

from legato.analysis.structured import AttentionForm
from legato.analysis.structured.elements import BodyScalar, Index, elementwise, yielded
from legato.analysis.structured.kernel_ops import KernelOps
from legato.core.ir_helpers import constant_number, index
from legato.core.mlir import arith, ir, scf
from legato.core.vector_loops import Size, least, loop, minus, plus, rounded_up, times, value_of
from legato.passes.cpu.attention.operands import AttentionOperands

KEPT = ("arith.addf", "arith.extf", "arith.truncf", "arith.negf", "math.tanh")   # finite for finite operands


def may_hide(form: AttentionForm) -> bool:
    """Whether a mask may make scores -inf, whatever the products of queries and keys are."""
    product = form.products[0].op.results[0]
    hidden = any("n" in at for _, at in form.reads["scores"]) or _counts_keys(form.kernel, *form.scores, product)
    return hidden and _tensor(form.kernel, *form.scores, product) is True


def _counts_keys(kernel: KernelOps, tensor: ir.Value, at: Index, product: ir.Value) -> bool:
    """Whether the position of the key takes part in a score."""
    op = elementwise(kernel, tensor) if tensor != product else None
    if op is None:
        return False
    loops = yielded(op, at).loops
    positions = (inner for inner in op.body if inner.name == "linalg.index")
    return (any(loops[inner.attributes["dim"].value] == "n" for inner in positions)
            or any(_counts_keys(kernel, *found, product) for value in op.scalars
                   if (found := BodyScalar(op, value, loops).operand) is not None))


def _tensor(kernel: KernelOps, tensor: ir.Value, at: Index, product: ir.Value) -> bool | None:
    """Whether an element is infinite or finite whatever the finite product is (True), or may depend on it (False). None: it is not made
    from the product."""
    if tensor == product:
        return True
    op = elementwise(kernel, tensor)
    return None if op is None else _scalar(kernel, yielded(op, at), product)


def _scalar(kernel: KernelOps, scalar: BodyScalar, product: ir.Value) -> bool | None:
    if scalar.operand is not None:
        return _tensor(kernel, *scalar.operand, product)
    op = scalar.inner
    if op is None:
        return None
    made = [_scalar(kernel, scalar.other(operand), product) for operand in op.operands]
    if all(one is None for one in made):
        return None
    if False in made:
        return False
    if op.name in ("arith.mulf", "arith.divf"):
        others = [constant_number(operand) for operand, one in zip(op.operands, made) if one is None]
        return made[0] is True and len(others) == 1 and others[0] is not None and isfinite(others[0]) and others[0] != 0
    return (op.name in KEPT or (op.name == "arith.subf" and made[1] is None)
            or (op.name == "arith.select" and made[0] is None))


class VisibleKeys:
    """Builds the search for the first and the last visible key of a block of queries, that at ``operands.at``."""

    def __init__(self, form: AttentionForm, operands: AttentionOperands, keys: Size):
        self.form, self.operands, self.keys = form, operands, keys
        self.lanes, self.vectors = operands.lanes, operands.vectors

    def bounds(self) -> tuple[Size, Size]:
        """The first key that a row of the block sees, rounded down to whole vectors, and the end of the last vector in which one is seen,
        at most the number of keys. Both are 0 where none is seen."""
        groups = value_of(rounded_up(self.keys, self.lanes))

        def backward(i: ir.Value, at: ir.Value) -> list[ir.Value]:
            return [self._step(at, plus(at, i), groups, minus(at, 1), minus(at, 1))]

        (end,) = loop(0, groups, 1, backward, [groups])

        def forward(i: ir.Value, at: ir.Value) -> list[ir.Value]:
            return [self._step(at, at, i, at, plus(at, 1))]

        (first,) = loop(0, end, 1, forward, [index(0)])
        return times(first, self.lanes), least(times(end, self.lanes), self.keys)

    def _step(self, at: ir.Value, reached: Size, wanted: Size, group: Size, beyond: Size) -> ir.Value:
        """``beyond`` if the search is still under way, at ``reached``, and the group is hidden; else ``at``."""
        searching = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, value_of(reached), value_of(wanted)), [at.type], has_else=True)
        with ir.InsertionPoint(searching.then_block):
            scf.YieldOp([arith.select(self._is_hidden(group), value_of(beyond), at)])
        with ir.InsertionPoint(searching.else_block):
            scf.YieldOp([at])
        return searching.results[0]

    def _is_hidden(self, group: Size) -> ir.Value:
        """Whether the scores of a vector of keys are -inf for all rows of the block."""
        v, first = self.vectors, self.form.products[0].op.results[0]
        key = times(group, self.lanes)
        count = minus(self.keys, key)
        type_ = v.of(first.type.element_type)
        zeros = arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, 0))).result

        def row(i: ir.Value, seen: ir.Value) -> list[ir.Value]:
            places = {"m": plus(i, self.operands.at.first_row), "n": key}
            score = self.operands.wide(self.operands.elements("n", count, {first: zeros}, **places).tensor(*self.form.scores))
            visible = arith.cmpf(arith.CmpFPredicate.UNE, score, v.splat(-inf))
            return [arith.addf(seen, arith.select(arith.andi(visible, v.mask(count)), v.splat(1), v.splat(0)))]

        (seen,) = loop(0, self.operands.at.rows, 1, row, [v.splat(0)])
        return arith.cmpf(arith.CmpFPredicate.OEQ, v.reduce("add", seen), v.number(0))
