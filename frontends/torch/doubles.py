"""Numbers that torch's ONNX exporter and ONNX's attributes round to floats of 32 bits: those of models of doubles, and those of Python that
are computed from sizes (``n * 0.57``), which are doubles until a tensor takes them for its type."""
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from legato.frontends.onnx.node import AS_DOUBLE
from legato.frontends.torch.failures import naming

if TYPE_CHECKING:
    import onnx_ir  # pyright: ignore[reportMissingImports]

_state = threading.local()


@contextmanager
def double_constants() -> Iterator[None]:
    """Makes the exporter write Python's numbers beside doubles as doubles where it knows no type for them, and compute with sizes in
    doubles. It has no option for this: an exporter that is made otherwise does without."""
    try:
        from torch.onnx._internal.exporter import _building, _core  # pyright: ignore[reportMissingImports]
        translate, dtype_of = _core._handle_call_function_node_with_lowering, _building._determine_input_dtype
    except (ImportError, AttributeError):
        yield
        return
    _core._handle_call_function_node_with_lowering = _noting_doubles(translate)
    _building._determine_input_dtype = _widened(dtype_of)
    try:
        yield
    finally:
        _core._handle_call_function_node_with_lowering, _building._determine_input_dtype = translate, dtype_of


def _noting_doubles(translate: Callable[..., None]) -> Callable[..., None]:
    import torch  # pyright: ignore[reportMissingImports]
    from onnx_ir import DataType  # pyright: ignore[reportMissingImports]

    made = (torch.sym_float, operator.truediv, torch.sym_sqrt)    # doubles of sizes, by size_operators
    exact: dict[Any, Any] = {}   # the doubles of numbers that are computed from sizes, by fx node

    def noting(model: Any, node: Any, values: dict[str, Any], *arguments: Any, graph_like: Any, **options: Any) -> None:
        is_number = isinstance(node.meta.get("val"), (torch.SymFloat, torch.SymInt, torch.SymBool))
        _state.doubles, _state.number = _has_doubles(node), is_number
        numbers = [one for one in node.all_input_nodes if isinstance(one.meta.get("val"), torch.SymFloat)]
        floats = {one.name: values[one.name] for one in numbers if is_number or (_state.doubles and one in exact)}
        for one in numbers:
            if one.name in floats:
                exact[one] = values[one.name] = exact[one] if one in exact else _cast(floats[one.name], "f64", DataType.DOUBLE, graph_like)
        try:
            with naming(node):
                translate(model, node, values, *arguments, graph_like=graph_like, **options)
        finally:
            _state.doubles = _state.number = False
            values.update(floats)
        if isinstance(node.meta.get("val"), torch.SymFloat) and (numbers or node.target in made):
            exact[node], found = values[node.name], values[node.name]
            found.dtype, found.name = DataType.DOUBLE, f"{found.name}_f64"
            values[node.name] = _cast(found, "f32", DataType.FLOAT, graph_like)
            values[node.name].name = node.name

    return noting


def _cast(number: "onnx_ir.Value", name: str, dtype: "onnx_ir.DataType", graph: Any) -> "onnx_ir.Value":
    """A number of Python in another type."""
    import onnx_ir  # pyright: ignore[reportMissingImports]

    cast = onnx_ir.node("Cast", [number], {"to": dtype})
    graph.append(cast)
    cast.outputs[0].name, cast.outputs[0].dtype, cast.outputs[0].shape = f"{number.name}_{name}", dtype, number.shape
    return cast.outputs[0]


def _widened(dtype_of: Callable[..., Any]) -> Callable[..., Any]:
    def widened(parameter: Any, argument: Any, bound: Any) -> Any:
        import onnx_ir  # pyright: ignore[reportMissingImports]

        dtype, double = dtype_of(parameter, argument, bound), onnx_ir.DataType.DOUBLE
        if getattr(_state, "number", False) and dtype == onnx_ir.DataType.FLOAT:
            return double
        inferred = dtype == onnx_ir.DataType.FLOAT and parameter.type_constraint not in bound
        may = inferred and getattr(_state, "doubles", False) and onnx_ir.TensorType(double) in parameter.type_constraint.allowed_types
        return double if may and _rounds(argument) else dtype

    return widened


def keep_doubles(model: "onnx_ir.Model") -> None:
    """Notes the exact numbers of nodes of doubles: constants become doubles, and attributes say them beside the rounded ones."""
    import onnx_ir  # pyright: ignore[reportMissingImports]

    for node in model.graph.all_nodes():
        for attribute in list(node.attributes.values()):
            if attribute.type != onnx_ir.AttributeType.FLOAT or attribute.is_ref() or not _rounds(attribute.value):
                continue
            if node.op_type == "Constant" and _is_cast(node.outputs[0]):
                del node.attributes[attribute.name]
                node.attributes.add(onnx_ir.AttrTensor("value", onnx_ir.tensor(np.float64(attribute.value))))
            elif _has_doubles(node.meta.get("node")):
                attribute.doc_string = f"{AS_DOUBLE}{attribute.value!r}"


def _is_cast(value: "onnx_ir.Value") -> bool:
    """Whether all that reads a value converts it to a type of its own."""
    return not value.is_graph_output() and all(use.node.op_type in ("Cast", "CastLike") and use.idx == 0 for use in value.uses())


def _rounds(value: Any) -> bool:
    """Whether a number, or one of a list, is none of 32 bits."""
    with np.errstate(over="ignore"):
        return any(isinstance(one, float) and one == one and float(np.float32(one)) != one
                   for one in (value if isinstance(value, (list, tuple)) else (value,)))


def _has_doubles(node: Any) -> bool:
    """Whether an fx node has doubles as operands or results."""
    import torch  # pyright: ignore[reportMissingImports]

    values = [] if node is None else [one.meta.get("val") for one in (node, *node.all_input_nodes)]
    return any(isinstance(value, torch.Tensor) and value.dtype in (torch.float64, torch.complex128)
               for value in torch.utils._pytree.tree_leaves(values))
