"""topk along one axis."""
from collections.abc import Callable, Sequence

from ...mlir import arith, ir, scf, tensor
from ..rule import kernel
from .element import Element, boolean, index
from .pointwise import element, read
from .sizes import Size, dims
from .sizes import index as index_value
from .structured import empty, extract, filled, is_empty


@kernel("relax.topk")
def topk(k, x, out):
    """One pass over each row. The best elements so far are kept in order; one that is better than the last of them moves up from there.

    Of n elements in random order k * log(n / k) do, and all others cost one comparison.
    """
    axis, count, e = k.attrs["axis"] % x.type.rank, k.attrs["k"], element(k.input_types[0]).wide
    kind, place = element(k.input_types[0]), element(k.output_types[0])
    if is_empty(out):
        return out
    order = _Order(e, place, largest=k.attrs["largest"])
    sizes = dims(x)
    last = index_value(count - 1)

    def row(at: list[ir.Value], places: ir.Value) -> ir.Value:
        """``places`` with those of one row, whose index is ``at``; a place without an element yet is -1."""
        def slot(number: ir.Value) -> list[ir.Value]:
            return [*at[:axis], number, *at[axis:]]

        def step(number: ir.Value, values: ir.Value, places: ir.Value) -> Sequence[ir.Value]:
            new, new_at = read(extract(x, slot(number)), kind), index().cast(number, place)
            enters = order.first(new, new_at, extract(values, [last]), extract(places, slot(last)))
            test = scf.IfOp(enters, [values.type, places.type], has_else=True)
            with ir.InsertionPoint(test.then_block):
                scf.YieldOp(_loop(count, [new, new_at, values, places], move)[2:])
            with ir.InsertionPoint(test.else_block):
                scf.YieldOp([values, places])
            return test.results

        def move(number: ir.Value, new: ir.Value, new_at: ir.Value, values: ir.Value, places: ir.Value) -> Sequence[ir.Value]:
            """The new element, or the one that it has taken the place of, against the next."""
            old, old_at = extract(values, [number]), extract(places, slot(number))
            wins = order.first(new, new_at, old, old_at)
            stays, goes = [arith.select(wins, a, b) for a, b in ((new, old), (new_at, old_at))], (old, old_at)
            values = tensor.InsertOp(stays[0], values, [number]).result
            places = tensor.InsertOp(stays[1], places, slot(number)).result
            return [*(arith.select(wins, b, a) for a, b in zip((new, new_at), goes)), values, places]

        return _loop(sizes[axis], [empty([count], e.type), places], step)[1]

    return _rows([size for i, size in enumerate(sizes) if i != axis], [], filled(out, place.const(-1)), row)


def _loop(count: Size, carried: Sequence[ir.Value], body: Callable[..., Sequence[ir.Value]]) -> list[ir.Value]:
    """A loop from 0; ``body(number, *carried)`` gives what the next step is given."""
    loop = scf.ForOp(index_value(0), index_value(count), index_value(1), list(carried))
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, *loop.inner_iter_args)))
    return list(loop.results)


def _rows(sizes: Sequence[Size], at: list[ir.Value], places: ir.Value, row: Callable[[list[ir.Value], ir.Value], ir.Value]) -> ir.Value:
    """A loop nest over these sizes around ``row``."""
    if not sizes:
        return row(at, places)
    return _loop(sizes[0], [places], lambda number, inner: [_rows(sizes[1:], [*at, number], inner, row)])[0]


class _Order:
    """Which of two elements comes first: by value, of equal ones the nearer to the front. A NaN is greater than every number."""

    def __init__(self, e: Element, place: Element, largest: bool) -> None:
        self.e, self.place, self.largest = e, place, largest

    def _beats(self, a: ir.Value, b: ir.Value) -> ir.Value:
        beats = self.e.compare("gt" if self.largest else "lt", a, b)
        if not self.e.is_float:
            return beats
        nan, number = (a, b) if self.largest else (b, a)
        return arith.ori(beats, arith.andi(self.e.is_nan(nan), _not(self.e.is_nan(number))))

    def first(self, a: ir.Value, a_at: ir.Value, b: ir.Value, b_at: ir.Value) -> ir.Value:
        """Whether a, at its place, comes in front of b; whatever is there does in front of what has no place."""
        equal = arith.andi(_not(self._beats(b, a)), self.place.compare("lt", a_at, b_at))
        return arith.ori(self.place.compare("lt", b_at, self.place.const(0)), arith.ori(self._beats(a, b), equal))


def _not(condition: ir.Value) -> ir.Value:
    return arith.xori(condition, boolean().const(True))


RULES = (topk,)
