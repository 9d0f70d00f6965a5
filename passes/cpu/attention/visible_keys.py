"""The keys that a mask leaves visible: those outside of them, which no row of a block sees, are not read.

A score is -inf for every finite product of a query and a key where it is -inf for the product 0, if it is made from the product by sums,
scalings and choices. So the mask is evaluated before keys and values are read: from the first and from the last key on, up to one that is
visible. The least number of f32 or bf16 (``finfo.min``) hides as well, since exp(score - maximum) is exactly 0 beside a key that is
visible. In a row without one it does not: all keys have the same score then. So a block with such a row reads all keys.
"""
from collections.abc import Callable
from math import isfinite

from legato.analysis.structured import AttentionForm
from legato.analysis.structured.elements import BodyScalar, Index, elementwise, yielded
from legato.analysis.structured.kernel_ops import KernelOps
from legato.core.ir_helpers import constant_number, index
from legato.core.mlir import arith, ir, scf
from legato.core.vector_loops import Size, loop, minus, plus, rounded_up, times, value_of
from legato.passes.cpu.attention.operands import AttentionOperands

# A score of a product 0 that is at most this hides its key. finfo.min of f32 and bf16 is; that of f16, -65504, is not, since products of
# queries and keys may be as large.
HIDDEN = -1e38
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
        """The first key that a row of the block sees, rounded down to whole vectors, and the end of the last one. All keys where a row sees
        none."""
        groups = value_of(rounded_up(self.keys, self.lanes))

        def backward(i: ir.Value, at: ir.Value) -> list[ir.Value]:
            return [self._step(at, plus(at, i), groups, minus(at, 1), minus(at, 1))]

        (end,) = loop(0, groups, 1, backward, [groups])

        def forward(i: ir.Value, at: ir.Value) -> list[ir.Value]:
            return [self._step(at, at, i, at, plus(at, 1))]

        (first,) = loop(0, end, 1, forward, [index(0)])
        every = self._every_row_sees(first, end)
        last = _if(arith.xori(every, _flag(True)), value_of(self.keys), lambda: self._end_in(minus(end, 1)))
        return arith.select(every, value_of(times(first, self.lanes)), index(0)), last

    def _end_in(self, group: Size) -> ir.Value:
        """The end of the keys of a vector that rows see: what is behind them may be NaN, in values too."""
        v = self.vectors
        type_ = v.type.element_type
        numbers = ir.DenseElementsAttr.get([ir.FloatAttr.get(type_, lane + 1) for lane in range(self.lanes)], v.type)
        behind = arith.select(arith.cmpf(arith.CmpFPredicate.ONE, self._seen_by_any(group), v.splat(0)),
                              arith.ConstantOp(v.type, numbers).result, v.splat(0))
        count = arith.fptoui(ir.IntegerType.get_signless(32), v.reduce("maxnumf", behind))
        return value_of(plus(times(group, self.lanes), arith.index_castui(ir.IndexType.get(), count)))

    def _every_row_sees(self, first: ir.Value, end: ir.Value) -> ir.Value:
        """Whether each row of the block sees a key of these groups: rows are looked at one after the other, each up to its first."""
        def row(i: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            def search(group: ir.Value, seen: ir.Value) -> list[ir.Value]:
                return [_if(seen, seen, lambda: self._is_seen(i, group))]

            (seen,) = loop(first, end, 1, search, [arith.xori(so_far, _flag(True))])
            return [arith.andi(so_far, seen)]

        (every,) = loop(0, self.operands.at.rows, 1, row, [_flag(True)])
        return every

    def _step(self, at: ir.Value, reached: Size, wanted: Size, group: Size, beyond: Size) -> ir.Value:
        """``beyond`` if the search is still under way, at ``reached``, and the group is hidden; else ``at``."""
        over = arith.cmpi(arith.CmpIPredicate.ne, value_of(reached), value_of(wanted))
        return _if(over, at, lambda: arith.select(self._is_hidden(group), value_of(beyond), at))

    def _is_hidden(self, group: Size) -> ir.Value:
        """Whether no row of the block sees a key of a vector of them."""
        v = self.vectors
        return arith.cmpf(arith.CmpFPredicate.OEQ, v.reduce("add", self._seen_by_any(group)), v.number(0))

    def _seen_by_any(self, group: Size) -> ir.Value:
        """For each key of a vector how many rows of the block see it."""
        (seen,) = loop(0, self.operands.at.rows, 1, lambda i, seen: [arith.addf(seen, self._seen(i, group))], [self.vectors.splat(0)])
        return seen

    def _is_seen(self, row: ir.Value, group: Size) -> ir.Value:
        """Whether a row sees a key of a vector of them."""
        v = self.vectors
        return arith.cmpf(arith.CmpFPredicate.ONE, v.reduce("add", self._seen(row, group)), v.number(0))

    def _seen(self, row: ir.Value, group: Size) -> ir.Value:
        """1 for the keys of a vector that a row sees, else 0. A score that is NaN counts as seen."""
        v, first = self.vectors, self.form.products[0].op.results[0]
        key = times(group, self.lanes)
        count = minus(self.keys, key)
        type_ = v.of(first.type.element_type)
        zeros = arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, 0))).result
        places = {"m": plus(row, self.operands.at.first_row), "n": key}
        score = self.operands.wide(self.operands.elements("n", count, {first: zeros}, **places).tensor(*self.form.scores))
        visible = arith.cmpf(arith.CmpFPredicate.UGT, score, v.splat(HIDDEN))
        return arith.select(arith.andi(visible, v.mask(count)), v.splat(1), v.splat(0))


def _flag(value: bool) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(1), int(value))


def _if(condition: ir.Value, value: ir.Value, otherwise: Callable[[], ir.Value]) -> ir.Value:
    """A value if a condition holds, else one that is only computed then."""
    chosen = scf.IfOp(condition, [value.type], has_else=True)
    with ir.InsertionPoint(chosen.then_block):
        scf.YieldOp([value])
    with ir.InsertionPoint(chosen.else_block):
        scf.YieldOp([otherwise()])
    return chosen.results[0]
