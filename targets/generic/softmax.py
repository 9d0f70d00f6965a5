"""softmax and log_softmax over one axis: maximum, exponentials, their sum, quotient."""
from legato.core.ir_helpers import marked
from legato.core.mlir import arith, ir, math
from legato.dialects.tir.markers import WEIGHS
from legato.targets.builders.pointwise import element, read, stored
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import elementwise, empty, reduce
from legato.targets.rule import kernel


def _rows(x: ir.Value, axis: int) -> tuple[list[int], list]:
    """The axes except ``axis``, and their sizes."""
    rest = [i for i in range(x.type.rank) if i != axis]
    sizes = dims(x)
    return rest, [sizes[i] for i in rest]


def _greatest(e, x: ir.Value, rows: ir.Value, axis: int) -> ir.Value:
    # maxnumf ignores NaN, which makes the sum NaN anyway, and takes half the instructions of maximumf
    return reduce(rows, [x], [axis], e.wide.const(float("-inf")), lambda x, acc: arith.maxnumf(read(x, e), acc))


@kernel("relax.softmax")
def softmax(k, x, out):
    """exp(x - max), times the inverse of its sum. Exponentials that are denormal may be 0: a product by such numbers, as masks of -100 make
    them, takes 25 times as long on many CPUs."""
    e, axis = element(k.input_types[0]), k.attrs["axis"] % x.type.rank
    wide, memory = e.wide, out.type.element_type
    rest, sizes = _rows(x, axis)
    top = _greatest(e, x, empty(sizes, wide.type), axis)

    def power(x: ir.Value, top: ir.Value) -> ir.Value:
        return marked(math.exp(arith.subf(read(x, e), top)), WEIGHS)

    powers = elementwise(empty(dims(x), wide.type), [x, (top, rest)], power)
    total = reduce(empty(sizes, wide.type), [powers], [axis], wide.const(0), lambda p, acc: arith.addf(p, acc))
    scale = elementwise(empty(sizes, wide.type), [total], lambda t: arith.divf(wide.const(1), t))
    return elementwise(out, [powers, (scale, rest)], lambda p, scale: stored(arith.mulf(p, scale), e, memory))


@kernel("relax.log_softmax")
def log_softmax(k, x, out):
    """x - max - log(sum(exp(x - max)))."""
    e, axis = element(k.input_types[0]), k.attrs["axis"] % x.type.rank
    wide, memory = e.wide, out.type.element_type
    rest, sizes = _rows(x, axis)
    top = _greatest(e, x, empty(sizes, wide.type), axis)
    total = reduce(empty(sizes, wide.type), [x, (top, rest)], [axis], wide.const(0),
                   lambda x, top, acc: arith.addf(math.exp(arith.subf(read(x, e), top)), acc))
    logarithm = elementwise(empty(sizes, wide.type), [total], math.log)
    return elementwise(out, [x, (top, rest), (logarithm, rest)],
                       lambda x, top, logarithm: stored(arith.subf(arith.subf(read(x, e), top), logarithm), e, memory))


RULES = (softmax, log_softmax)
