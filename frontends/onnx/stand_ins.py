"""Values that stand for the outputs of nodes that cannot be imported, so that a report says what is behind them, too."""
from collections.abc import Iterable

import onnx

from legato.core.mlir import builtin, func
from legato.dialects.relax.dims import Size, is_defined, symbol
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.tensors import dtype_of
from legato.frontends.onnx.values import POISON, ComputedValue, Value


class StandIns:
    """``behind``: the names of nodes that read what has none: nothing but their op was checked."""

    def __init__(self, model: onnx.ModelProto, has_other_shapes: bool = False) -> None:
        """The types are those that the model declares, and that ONNX infers; none if its inputs have other shapes than it declares."""
        self.behind: dict[str, None] = {}
        known = () if has_other_shapes else _inferred(model)
        self._types = {value.name: value.type.tensor_type for value in known if value.type.HasField("tensor_type")}

    def value(self, name: str, function: func.FuncOp) -> Value:
        """A value of the main graph by its name; POISON for one whose type is not known, or has sizes that no argument gives: what reads
        it might be refused only for that."""
        type_ = self._types.get(name)
        if type_ is None or not type_.HasField("shape"):
            return POISON
        try:
            wanted = TensorType(tuple(_size(dim, function) for dim in type_.shape.dim), dtype_of(type_.elem_type)).ir()
        except (Refused, Malformed):
            return POISON
        return ComputedValue(builtin.UnrealizedConversionCastOp([wanted], []).results[0])


def _size(dim: onnx.TensorShapeProto.Dimension, function: func.FuncOp) -> Size:
    if dim.HasField("dim_value"):
        return dim.dim_value
    if not dim.dim_param.isidentifier() or not is_defined(dim.dim_param, function):
        raise Refused("no argument gives the size")
    return symbol(dim.dim_param)


def _inferred(model: onnx.ModelProto) -> Iterable[onnx.ValueInfoProto]:
    """What is known of the values of the main graph."""
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:   # of ONNX, of several classes; ValueError for models of over 2 GB
        graph = model.graph
    return [*graph.value_info, *graph.output]
