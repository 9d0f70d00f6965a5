"""What ONNX's own type inference has against a node: whether a model is invalid, or asks for what Legato does not support."""
from collections.abc import Sequence

import numpy as np
import onnx

from legato.frontends.onnx import functions
from legato.frontends.onnx.scope import Scope
from legato.frontends.onnx.values import ConstantValue, Value


def objection_to(node: onnx.NodeProto, schema: onnx.defs.OpSchema, inputs: Sequence[Value | None], scope: Scope) -> str | None:
    """What ONNX's type inference says of the node with these inputs. None: the model is valid."""
    node = functions.with_attributes(node, functions.bound_attributes(node, scope.attributes))
    types = {name: functions.type_proto(value) for name, value in zip(node.input, inputs) if value is not None}
    data = {name: onnx.numpy_helper.from_array(np.array(value.array), name) for name, value in zip(node.input, inputs)
            if isinstance(value, ConstantValue) and value.known() is not None}  # fmt: skip
    imports = [onnx.helper.make_opsetid(key, version) for key, version in scope.opsets.items()]
    try:
        onnx.shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=imports)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
        return str(error).strip().partition("\n")[0]
    return None
