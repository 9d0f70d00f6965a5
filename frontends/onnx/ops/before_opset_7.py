"""Opsets 1 to 6: their ops told as those of later ones.

Operands were broadcast from an axis that is an attribute, what is an input today was an attribute, and the first versions said which inputs
they overwrite.
"""
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from legato.dialects import relax
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import ConstantValue

_Retell = Callable[[OnnxNode], OnnxNode]


def _same(node: OnnxNode) -> OnnxNode:
    return node


def _in_place(node: OnnxNode) -> OnnxNode:
    """An op that says which inputs it may overwrite."""
    node.ignore("consumed_inputs")
    return node


def _broadcast(node: OnnxNode) -> OnnxNode:
    """An op whose second operand, where ``broadcast`` is 1, has the axes of the first one from ``axis`` on; without that, its last ones."""
    node.ignore("consumed_inputs")
    axis = node.integer("axis", None)
    if not node.flag("broadcast") or axis is None:
        return node
    axis = node.axis(axis, node.rank(0))
    after = node.rank(0) - axis - node.rank(1)
    if after < 0:
        raise Malformed(f"its second operand of {node.rank(1)} axes has more than the first one, {list(node.dims(0))}, has from {axis} on")
    if not after:
        return node
    last = list(range(node.rank(1), node.rank(1) + after))
    return node.with_inputs(node.value(0), relax.expand_dims(node.x(1), axis=last))


def _test_mode(node: OnnxNode) -> OnnxNode:
    """BatchNormalization and Dropout, which say whether they are not for training. Else, as later, outputs after the first are."""
    node.ignore("consumed_inputs")
    return node.giving(1) if node.flag("is_test") else node


def _cast(node: OnnxNode) -> OnnxNode:
    """Cast to a type by its name."""
    name = node.string("to")
    if name not in TensorProto.DataType.keys():
        raise Malformed(f"there is no element type '{name}'")
    return node.with_attributes(to=TensorProto.DataType.Value(name))


def _concat(node: OnnxNode) -> OnnxNode:
    return node.with_attributes(axis=node.integer("axis", 1))


def _gemm(node: OnnxNode) -> OnnxNode:
    node.ignore("broadcast")
    return node


def _power(node: OnnxNode) -> OnnxNode:
    """A norm whose exponent is a float."""
    p = node.number("p", 2.0)
    if p != int(p):
        raise Refused(f"p = {p} is not supported, only whole numbers")
    return node.with_attributes(p=int(p))


def _recurrent(node: OnnxNode) -> OnnxNode:
    """A recurrent layer that says whether its first output is there."""
    node.ignore("output_sequence")
    return node


def _prelu(node: OnnxNode) -> OnnxNode:
    """PRelu with a slope for each channel, the axis 1."""
    node.ignore("consumed_inputs")
    if node.rank(1) != 1 or node.rank(0) < 3 or node.dims(1) == (1,):
        return node
    return node.with_inputs(node.value(0), relax.expand_dims(node.x(1), axis=list(range(1, node.rank(0) - 1))))


def _pad(node: OnnxNode) -> OnnxNode:
    return node.with_attributes(pads=node.integers("paddings"))


def _reshape(node: OnnxNode) -> OnnxNode:
    node.ignore("consumed_inputs")
    return node.with_inputs(node.value(0), ConstantValue(f"{node.name}_shape", np.array(node.integers("shape"), np.int64)))


def _selu(node: OnnxNode) -> OnnxNode:
    node.ignore("consumed_inputs")
    return node.with_attributes(alpha=node.number("alpha", 1.6732), gamma=node.number("gamma", 1.0507))


def _split(node: OnnxNode) -> OnnxNode:
    """Split whose sizes are an attribute or an input, of the type of what it splits."""
    axis = node.integer("axis", 0)
    if not node.given(1):
        return node.with_attributes(axis=axis)
    sizes = [int(size) for size in node.floats(1, "its sizes") if node.dtype(1).kind == "f"] or node.ints(1, "its sizes")
    return node.with_inputs(node.value(0)).with_attributes(axis=axis, split=sizes)


def _tile(node: OnnxNode) -> OnnxNode:
    """Tile along one axis; both numbers have the type of what it repeats."""
    tiles, axis = (int(node.scalar(index, what)) for index, what in ((1, "its number of tiles"), (2, "its axis")))
    repeats = np.ones(node.rank(), np.int64)
    repeats[node.axis(axis, node.rank())] = tiles
    return node.with_inputs(node.value(0), ConstantValue(f"{node.name}_repeats", repeats))


def _upsample(node: OnnxNode) -> OnnxNode:
    """Upsample of the last two axes."""
    node.dims(0, rank=4)
    return node.with_attributes(scales=[1.0, 1.0, node.number("height_scale"), node.number("width_scale")])


def _mean_variance(node: OnnxNode) -> OnnxNode:
    """MeanVarianceNormalization of onnxruntime, by whether it is over all channels."""
    node.only("normalize_variance", 1)
    every = range(0 if node.rank() == 1 else 2, node.rank())
    return node.with_attributes(axes=[*([1] if node.flag("across_channels") else []), *every])


_FIRST = ("Abs", "Ceil", "Clip", "Elu", "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min",
          "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sum", "Tanh")
_RETELLERS: Mapping[str, dict[int, _Retell]] = {
    **{name: {1: _in_place} for name in _FIRST},
    **{name: {1: _broadcast, 6: _broadcast} for name in ("Add", "Div", "Mul", "Sub")},
    **{name: {1: _broadcast} for name in ("And", "Equal", "Greater", "Less", "Or", "Pow", "Xor")},
    **{name: {1: _test_mode, 6: _test_mode} for name in ("BatchNormalization", "Dropout")},
    **{name: {1: _power} for name in ("GlobalLpPool", "LpPool")},
    **{name: {1: _recurrent} for name in ("LSTM", "RNN")},
    "AveragePool": {1: _same}, "Cast": {1: _cast}, "Concat": {1: _concat}, "GRU": {1: _recurrent, 3: _recurrent},
    "Gemm": {1: _gemm, 6: _gemm}, "MeanVarianceNormalization": {1: _mean_variance}, "PRelu": {1: _prelu, 6: _prelu}, "Pad": {1: _pad},
    "Reshape": {1: _reshape}, "Selu": {1: _selu}, "Split": {1: _split}, "ThresholdedRelu": {1: _same}, "Tile": {1: _tile},
    "Upsample": {1: _upsample},
}  # fmt: skip


def with_older(entries: Mapping[tuple[str, str], Entry]) -> dict[tuple[str, str], Entry]:
    """The entries, which also take the versions of ops that opsets before 7 have."""
    return {(domain, name): _with_older(entry, _RETELLERS[name]) if domain == "" and name in _RETELLERS else entry
            for (domain, name), entry in entries.items()}


def _with_older(entry: Entry, older: Mapping[int, _Retell]) -> Entry:
    oldest = min(entry.versions)

    def retold(node: OnnxNode) -> OnnxNode:
        return older[node.version](node).of_version(oldest) if node.version in older else node

    def fold(node: OnnxNode, *arrays):
        if node.version not in older:
            return entry.fold(node, *arrays) if entry.fold else None
        node = retold(node)
        known = node.known_inputs()
        return entry.fold(node, *known) if entry.fold and known is not None else None

    return replace(entry, versions=(*older, *entry.versions), build=lambda node: entry.build(retold(node)), fold=entry.fold and fold)
