"""Conditionals."""
from legato.core.mlir import ir
from legato.frontends.onnx import branches, carried
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import Body
from legato.frontends.onnx.values import SizeEquality, Value


@op("If", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def if_(node):
    """If. Of a condition known at import, the branch taken is imported in place; else both become branches of main, or, where the sizes of
    a call decide between ranks, calls require those of the first."""
    test, graphs = node.value(0), (node.graph("else_branch"), node.graph("then_branch"))
    condition = test.known()
    if condition is not None and condition.size == 1:
        return tuple(node.body(graphs[bool(condition.item())])(()))
    other, then = map(node.body, graphs)
    try:
        return _decided(node, then, other)
    except branches.OtherRanks:
        if not isinstance(test, SizeEquality):
            raise
    return _required(node, test, then)


def _required(node, test: SizeEquality, then: Body) -> tuple[Value, ...]:
    """If, of branches whose ranks differ, by whether two sizes are equal, as PyTorch's exporter writes ``squeeze`` of an axis of symbolic
    size: the branch for equal sizes, which calls require, since what follows is for one rank."""
    a, b = test.sizes
    node.require_equal(a, b, f"{a} to be {b}, since its branches give tensors of different ranks")
    return tuple(then(()))


def _decided(node, then: Body, other: Body) -> tuple[Value, ...]:
    """If, of a condition that is computed at run time."""
    forms: list[list[carried.Form]] = []
    common: list[carried.Form] = []

    def built(body: Body) -> list[Value]:
        values = body(())
        forms.append(carried.known_outside(node, values))
        return values

    def tensors(values: list[Value], number: int) -> list[ir.Value]:
        if not number:
            common.extend(carried.common_form(a, b) for a, b in zip(*forms, strict=True))
        return carried.tensors_of(node, values, common)

    results = branches.branch(node.emitter, node.x(0), (lambda: built(then), lambda: built(other)), tensors, node.label)
    return tuple(carried.values_of(common, results))


ENTRIES = (if_,)
