"""Ops defined by other ops: functions of ONNX's schemas and of the model."""
from collections.abc import Iterator, Sequence

import onnx
from onnx import AttributeProto, TypeProto

from legato.dialects.relax.dims import UNKNOWN
from legato.frontends.onnx.graph import initializers, reads
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.sequences import DecidedOptional, GrowingSequence, PackedSequence, SequenceValue
from legato.frontends.onnx.tensors import code_of
from legato.frontends.onnx.values import Value


def schema_of(domain: str, op_type: str, opset: int) -> onnx.defs.OpSchema | None:
    """The op's schema in an operator set, or None if there is no such op."""
    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None


def schema_function(
    schema: onnx.defs.OpSchema, opset: int, node: onnx.NodeProto, inputs: Sequence[Value | None]
) -> onnx.FunctionProto | None:
    """The function body that the schema defines for the node, or None if it has none."""
    text = b""
    if schema.has_function:
        text = schema.get_function_with_opset_version(_nearest(schema.function_opset_versions, opset))
    elif schema.has_context_dependent_function:
        version = _nearest(schema.context_dependent_function_opset_versions, opset)
        types = [_type_of(value) for value in inputs]
        try:
            text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
        except ValueError as error:     # a node without an attribute that the body is made of
            raise Malformed(f"ONNX cannot define it: {error}") from None
    if not text:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(text)
    return function


def captured(node: onnx.NodeProto, function: onnx.FunctionProto) -> set[str]:
    """The names around a node that its graphs read, which are part of the node's body. Refused where the body has another value of such
    a name."""
    names = set(reads(node)).difference(node.input)
    hidden = names.intersection([*function.input, *_defined(function.node)])
    if hidden:
        raise Refused(f"its graph reads '{min(hidden)}', and its definition by ONNX has a value of that name: name it otherwise")
    return names


def _defined(nodes: Sequence[onnx.NodeProto]) -> Iterator[str]:
    """The names that nodes define, in their graphs, too."""
    for node in nodes:
        yield from node.output
        for attribute in node.attribute:
            yield from (value.name for value in attribute.g.input)
            yield from initializers(attribute.g)
            yield from _defined(attribute.g.node)


def _nearest(versions: Sequence[int], opset: int) -> int:
    """The newest body that is no newer than the model's opset; else the oldest, which uses newer ops but means the same."""
    return max((version for version in versions if version <= opset), default=min(versions))


def bound_attributes(
    node: onnx.NodeProto, scope: dict[str, AttributeProto], defaults: Sequence[AttributeProto] = ()
) -> dict[str, AttributeProto]:
    """The node's attributes by name, with references to the enclosing function's attributes resolved and ``defaults`` for those
    missing. Malformed for a name that is given twice."""
    result = {attribute.name: attribute for attribute in defaults}
    given: set[str] = set()
    for attribute in node.attribute:
        if attribute.name in given:
            raise Malformed(f"attribute '{attribute.name}' is given twice")
        given.add(attribute.name)
        if not attribute.ref_attr_name:
            result[attribute.name] = attribute
        elif attribute.ref_attr_name in scope:
            result[attribute.name] = scope[attribute.ref_attr_name]
    return result


def schema_defaults(schema: onnx.defs.OpSchema) -> list[AttributeProto]:
    """The attributes that have a default in the schema, with that default."""
    return [attribute.default_value for attribute in schema.attributes.values() if attribute.default_value.name]


def with_attributes(node: onnx.NodeProto, attributes: dict[str, AttributeProto]) -> onnx.NodeProto:
    """The node with references to attributes resolved, as schemas require."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    result = onnx.NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for name, attribute in attributes.items():
        result.attribute.add().CopyFrom(attribute)
        result.attribute[-1].name = name
    return result


def type_proto(value: Value) -> TypeProto:
    """The ONNX type of a value; symbolic sizes as dim_param."""
    shape = [str(size) if not isinstance(size, int) else size for size in (None if size is UNKNOWN else size for size in value.dims)]
    if isinstance(value, DecidedOptional):
        return onnx.helper.make_optional_type_proto(type_proto(value.value))
    if isinstance(value, (SequenceValue, PackedSequence, GrowingSequence)):
        return onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(code_of(value.dtype), None))
    return onnx.helper.make_tensor_type_proto(code_of(value.dtype), shape)


def _type_of(value: Value | None) -> bytes:
    return b"" if value is None else type_proto(value).SerializeToString()
