"""relax-collapse-batch: turns a matmul of a batch of rows by one matrix into one matmul of all rows, and convolutions of three dimensions
into those of two where windows do not reach along the others.

``matmul(x[b, s, k], w[k, n])`` becomes ``reshape(matmul(reshape(x, [b*s, k]), w), [b, s, n])``, and the last reshape is sunk below ops on
rows (elementwise ops, normalizations of the last axis), so that these stay next to the matmul and are fused with it. Reshapes are views.
A convolution with channels last and a window of 1 x h x w takes each slice for an image, ``[n*d, h, w, c]``; that of d x 1 x 1 takes each
slice for a row, ``[n, d, h*w, c]``. Where windows take k slices and do not share them, these are channels of one: ``[n, d/k, h, w, k*c]``.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from legato.core.ir_helpers import defining_op
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.graph.functions import Constants, erase_dead, graph_ops, relax_functions
from legato.passes.pipeline.base import ModulePass, PassContext

ROW_OPS = {"relax.softmax": "axis", "relax.log_softmax": "axis", "relax.layer_norm": "axes", "relax.rms_norm": "axes"}
RESHAPE = "relax.reshape"


def on_last_axis(op: ir.Operation) -> bool:
    """Whether a softmax or a normalization works on the last axis only."""
    axes = relax.attributes_of(op.opview)[ROW_OPS[op.name]]
    rank = op.operands[0].type.rank
    return [a % rank for a in ([axes] if isinstance(axes, int) else axes)] == [rank - 1]


def rows_of(value: ir.Value) -> ir.Value | None:
    """The matrix that ``value`` is a view of, with more leading dimensions, or the images in place of volumes; or None."""
    op = defining_op(value)
    if op is None or op.name != RESHAPE:
        return None
    source = op.operands[0]
    ranks = source.type.rank, value.type.rank
    if (ranks != (4, 5) and (ranks[0] != 2 or ranks[1] < 3)) or dims.dims(source.type)[-1] != dims.dims(value.type)[-1]:
        return None
    return source


def reshaped(value: ir.Value, shape: Sequence[Any]) -> ir.Value:
    """A view of ``value``, or of its source if it is a view itself."""
    op = defining_op(value)
    source = op.operands[0] if op is not None and op.name == RESHAPE else value
    return source if list(dims.dims(source.type)) == list(shape) else relax.reshape(source, list(shape))


def collapse(op: ir.Operation) -> None:
    """Turns a batched matmul whose right operand is a matrix into one matmul."""
    left, right = op.operands
    shape = list(dims.dims(left.type))
    if left.type.rank < 3 or right.type.rank != 2 or dims.UNKNOWN in shape:
        return
    with ir.InsertionPoint(op), op.location:
        rows = reshaped(left, [dims.product(shape[:-1]), shape[-1]])
        result = relax.matmul(rows, right)
        result = relax.reshape(result, [*shape[:-1], dims.dims(right.type)[-1]])
    op.results[0].replace_all_uses_with(result)


def join_slices(op: ir.Operation) -> ir.Operation:
    """A convolution of three dimensions whose windows take neighbouring slices, each of which one window takes, as one with windows of one
    slice; another one as it is."""
    (x, w), a = op.operands, relax.attributes_of(op.opview)
    sizes, (taps, *area, inputs, features) = dims.dims(x.type), w.type.shape
    depth = sizes[1]
    apart = 1 < taps == a["strides"][0] and a["dilations"][0] == a["groups"] == 1 and a["padding"][0] == a["padding"][3] == 0
    if not apart or not _is_channels_last(op) or dims.UNKNOWN in sizes or not isinstance(depth, int) or depth % taps:
        return op
    with ir.InsertionPoint(op), op.location:
        split = relax.reshape(x, [sizes[0], depth // taps, taps, *sizes[2:]])
        joined = relax.reshape(relax.permute_dims(split, axes=[0, 1, 3, 4, 2, 5]), [sizes[0], depth // taps, *sizes[2:4], taps * inputs])
        kernel = relax.reshape(relax.permute_dims(w, axes=[1, 2, 0, 3, 4]), [1, *area, taps * inputs, features])
        made = relax.conv3d(joined, kernel, **(a | {"strides": [1, *a["strides"][1:]]}))
    op.results[0].replace_all_uses_with(made)
    return made.owner


def _is_channels_last(convolution: ir.Operation) -> bool:
    attributes = relax.attributes_of(convolution.opview)
    return (attributes["data_layout"], attributes["kernel_layout"]) == ("NDHWC", "DHWIO")


def flatten(op: ir.Operation) -> None:
    """Turns a convolution of three dimensions into one of two."""
    (x, w), a = op.operands, relax.attributes_of(op.opview)
    sizes, taps, result = dims.dims(x.type), w.type.shape, dims.dims(op.results[0].type)
    if not _is_channels_last(op) or dims.UNKNOWN in [*sizes, *result]:
        return
    reaches = [(taps[i], a["strides"][i], a["padding"][i], a["padding"][3 + i]) != (1, 1, 0, 0) for i in range(3)]
    (batch, depth, *area, channels), kernel = sizes, list(taps)
    if not reaches[0]:
        kept, image, kernel = [1, 2], [dims.product([batch, depth]), *area, channels], kernel[1:]
    elif not reaches[1] and not reaches[2]:
        kept, image, kernel = [0], [batch, depth, dims.product(area), channels], [kernel[0], *kernel[2:]]
    else:
        return
    missing = 2 - len(kept)
    strides, dilations = ([a[name][i] for i in kept] + [1] * missing for name in ("strides", "dilations"))
    padding = [p for side in (0, 3) for p in [a["padding"][side + i] for i in kept] + [0] * missing]
    with ir.InsertionPoint(op), op.location:
        made = relax.conv2d(reshaped(x, image), relax.reshape(w, kernel), strides=strides, padding=padding, dilations=dilations,
                            groups=a["groups"], data_layout="NHWC", kernel_layout="HWIO")
        op.results[0].replace_all_uses_with(relax.reshape(made, list(result)))


def sink(op: ir.Operation) -> None:
    """Sinks the reshape before an op on rows below it."""
    operands = list(op.operands)
    rows_only = op.name in ROW_OPS
    leader = next((v for v in (operands[:1] if rows_only else operands) if rows_of(v) is not None), None)
    if leader is None or (rows_only and not on_last_axis(op)):
        return
    rows = rows_of(leader)
    assert rows is not None
    full, flat = list(dims.dims(leader.type)), list(dims.dims(rows.type))
    if len(op.results) != 1 or list(dims.dims(op.results[0].type)) != full:
        return
    for value in operands:
        shape = list(dims.dims(value.type))
        if shape != full and any(d != 1 for d in shape[:-1]):
            return  # it varies along the leading dimensions, which the rows do not have
    with ir.InsertionPoint(op), op.location:
        new = []
        for value in operands:
            shape = list(dims.dims(value.type))
            new.append(reshaped(value, flat) if shape == full else value if len(shape) <= 2 else relax.reshape(value, shape[-1:]))
        attrs = relax.attributes_of(op.opview)
        if rows_only:
            attrs[ROW_OPS[op.name]] = -1 if isinstance(attrs[ROW_OPS[op.name]], int) else [-1]
        result = type(op.opview).build(*new, **attrs)
        op.results[0].replace_all_uses_with(relax.reshape(result, full))


def run_on(function: func.FuncOp) -> None:
    """Collapses matmuls and convolutions, and sinks reshapes, in one function."""
    for op in graph_ops(function):
        if op.name == "relax.matmul":
            collapse(op)
        elif op.name == "relax.conv3d":
            flatten(join_slices(op))
        elif op.name in ROW_OPS or getattr(relax.op_class(op), "ELEMENTWISE", False):
            sink(op)


@dataclass(frozen=True)
class CollapseBatch(ModulePass):
    """Turns a matmul of a batch of rows by a matrix into one matmul, and convolutions of three dimensions whose windows reach along one or
    two of them into those of images; and sinks the reshape below ops on rows."""

    name: ClassVar[str] = "relax-collapse-batch"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for function in relax_functions(module):
                run_on(function)
                erase_dead(function, Constants(module))
