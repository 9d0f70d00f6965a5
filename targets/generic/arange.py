"""arange."""
from legato.core.mlir import ir
from legato.targets.builders.element import Element, index
from legato.targets.builders.pointwise import element, stored
from legato.targets.builders.structured import elementwise, loop_index
from legato.targets.rule import kernel


@kernel("relax.arange")
def arange(k, start, step, out):
    """Each element from its own index, so that what reads them needs no memory for them."""
    kind = element(k.input_types[0])
    e = kind.wide
    number = Element(ir.IntegerType.get_signless(64))

    def body(start: ir.Value, step: ir.Value) -> ir.Value:
        steps = e.mul(number.cast(index().cast(loop_index(0), number), e), kind.cast(step, e))
        return stored(e.add(kind.cast(start, e), steps), kind, out.type.element_type)

    return elementwise(out, [start, step], body)


RULES = (arange,)
