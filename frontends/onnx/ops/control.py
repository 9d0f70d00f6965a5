"""Conditionals known at import, and ops that do nothing at inference."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx import branches, carried, run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.node import Body
from legato.frontends.onnx.problems import Refused
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


@op("Dropout", 7, 10, 12, 13, 22)
def dropout(node):
    """Dropout: the input; the mask is true everywhere."""
    node.ignore("seed")
    if node.version < 12:
        node.ignore("ratio")
    elif node.by_data(2):
        trains = relax.reshape(node.x(2), shape=[1])
        if node.given(1):
            trains = relax.logical_and(trains, relax.not_equal(node.x(1), node.literal(0, node.dtype(1))))
        run_time.symbols(node, relax.negative(relax.astype(trains, dtype=run_time.I64)), "training_mode")   # a call that trains is an error
    elif node.given(2) and node.scalar(2, "the training_mode") and (not node.given(1) or node.scalar(1, "the ratio") != 0):
        raise Refused("training_mode = 1 is not supported")
    node.ignore_input(1)
    if not any(node.used[1:]):
        return node.value(0)
    dtype = np.dtype(np.bool_) if node.version >= 10 else node.dtype()
    sizes = node.dims()
    if all(isinstance(size, int) for size in sizes):
        return node.value(0), np.broadcast_to(np.ones((), dtype), sizes)
    return node.value(0), relax.broadcast_to(node.literal(1, dtype), shape=sizes)


ENTRIES = (if_, dropout)
