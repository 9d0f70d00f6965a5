"""Exports a function of relax ops as an ONNX model."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from legato.core.errors import LegatoError, Refusal, UnsupportedError
from legato.core.locations import describe, model_name
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import TensorType
from legato.dialects.relax.markers import NAME
from legato.targets.backends.onnx.ops import TABLE

OPSET, IR_VERSION = 20, 10
CONSTANT = "relax.constant"


class Writer:
    """The nodes, constants and names of an ONNX graph being written; translations of ops add to it."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.names: dict[ir.Value, str] = {}
        self._taken: set[str] = set()
        self._constants: dict[Any, str] = {}

    def fresh(self, name: str) -> str:
        """``name``, with a number appended if it is taken."""
        found, count = name, 0
        while found in self._taken:
            count += 1
            found = f"{name}_{count}"
        self._taken.add(found)
        return found

    def node(self, op_type: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """Adds a node with one output; attributes that are None are omitted. Returns the output's name."""
        output = self.fresh(name or op_type.lower())
        given = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], name=output, **given))
        return output

    def constant(self, array: Any, name: str = "constant") -> str:
        """Adds an initializer and returns its name; equal small ones are shared."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.nbytes <= 64 else None
        if key in self._constants:
            return self._constants[key]
        found = self.fresh(name)
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), found))
        if key is not None:
            self._constants[key] = found
        return found

    def ints(self, values: Sequence[int], name: str = "ints") -> str:
        """Adds a vector of int64 and returns its name."""
        return self.constant(np.array(values, np.int64), name)

    def shape(self, sizes: Sequence[Any], given: TensorType, x: str) -> str:
        """A vector of sizes; a symbol is read from the axis of ``x``, of type ``given``, that has this size."""
        if all(isinstance(s, int) for s in sizes):
            return self.ints(list(sizes), "shape")
        parts = []
        for size in sizes:
            if isinstance(size, int):
                parts.append(self.ints([size]))
                continue
            axis = next(i for i, d in enumerate(given.dims) if d == size)
            parts.append(self.node("Gather", [self.node("Shape", [x]), self.ints([axis])], axis=0))
        return self.node("Concat", parts, "shape", axis=0)


class ExportedOp:
    """An op for its translation: attributes, types, and the names of its operands."""

    def __init__(self, op: ir.Operation, writer: Writer | None, label: str = ""):
        self.name = op.name
        self.attrs = relax.attributes_of(op)
        self.types = [TensorType.of(v.type) for v in op.operands]
        self.result = TensorType.of(op.results[0].type)
        self.label = label or model_name(op) or op.name.split(".")[1]
        self.inputs = [writer.names[v] for v in op.operands] if writer is not None else []


def exportable(op: ir.Operation) -> bool | str:
    """True if the op can be exported to ONNX, else the reason."""
    entry = TABLE.get(op.name)
    if entry is None:
        return f"there is no translation of {op.name} to ONNX"
    refusal = entry.refuse(ExportedOp(op, None)) if entry.refuse else None
    return True if refusal is None else str(refusal)


def export(module: Module, function: str = "main") -> onnx.ModelProto:
    """A function of relax ops, with its constants, as a checked ONNX model (opset 20). UnsupportedError for an op without translation."""
    main = module.function(function)
    writer = Writer()
    inputs = []
    for number, argument in enumerate(main.arguments):
        name = writer.fresh(_given_name(main, "arg_attrs", number) or f"arg{number}")
        writer.names[argument] = name
        inputs.append(_value(name, argument.type))
    results: list[ir.Value] = []
    for view in main.body.blocks[0].operations:
        op = view.operation
        if op.name == "func.return":
            results = list(op.operands)
        elif op.name == CONSTANT:
            key = op.attributes["weight"].value if "weight" in op.attributes else None
            writer.names[op.results[0]] = writer.constant(module.weights[key] if key is not None else op.opview.value, key or "constant")
        else:
            _translate(op, writer)
    outputs = []
    for number, value in enumerate(results):
        name = writer.fresh(_given_name(main, "res_attrs", number) or f"out{number}")
        writer.nodes.append(helper.make_node("Identity", [writer.names[value]], [name], name=name))
        outputs.append(_value(name, value.type))
    graph = helper.make_graph(writer.nodes, function, inputs, outputs, writer.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="legato")
    if model.ByteSize() < 1 << 31:
        onnx.checker.check_model(model)
    return model


def export_op(op: ir.Operation) -> onnx.ModelProto:
    """A model of one graph op whose operands are inputs: what an engine is asked about. Equal ops give equal models, whatever their names.
    UnsupportedError as in ``export``."""
    writer = Writer()
    inputs = []
    for number, value in enumerate(dict.fromkeys(op.operands)):
        writer.names[value] = writer.fresh(f"arg{number}")
        inputs.append(_value(writer.names[value], value.type))
    _translate(op, writer, "op")
    graph = helper.make_graph(writer.nodes, "op", inputs, [_value(writer.names[op.results[0]], op.results[0].type)], writer.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _translate(op: ir.Operation, writer: Writer, label: str = "") -> None:
    """Adds an op to the graph. ``label``: of its nodes, in place of its name in the model."""
    if relax.op_class(op) is None:
        raise UnsupportedError(f"{describe(op)} is no graph op: an ONNX model is made of a function of graph ops (before relax-legalize)")
    answer = exportable(op)
    if answer is not True:
        raise UnsupportedError(f"{describe(op)} cannot be exported to ONNX: {answer}")
    found = TABLE[op.name].write(writer, ExportedOp(op, writer, label))
    if isinstance(found, Refusal):
        raise UnsupportedError(f"{describe(op)} cannot be exported to ONNX: {found}")
    writer.names[op.results[0]] = found


def _given_name(function: func.FuncOp, which: str, number: int) -> str | None:
    if which not in function.attributes:
        return None
    attributes = ir.DictAttr(function.attributes[which][number])
    return attributes[NAME].value if NAME in attributes else None


def _value(name: str, type_: ir.Type) -> onnx.ValueInfoProto:
    found = TensorType.of(type_)
    try:
        element = helper.np_dtype_to_tensor_dtype(found.dtype)
    except (ValueError, KeyError) as error:
        raise LegatoError(f"'{name}' has elements that ONNX does not have: {found.dtype}") from error
    return helper.make_tensor_value_info(name, element, [d if isinstance(d, int) else str(d) for d in found.dims])
