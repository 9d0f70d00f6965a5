"""Nodes against the schemas of their ops: inputs, outputs and attributes."""
from collections.abc import Mapping, Sequence

import onnx
from onnx import AttributeProto

from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import Value

FIELDS = {      # of an attribute, by its type: where its value is, and what it is called
    AttributeProto.FLOAT: ("f", "a float"),
    AttributeProto.INT: ("i", "an int"),
    AttributeProto.STRING: ("s", "a string"),
    AttributeProto.TENSOR: ("t", "a tensor"),
    AttributeProto.GRAPH: ("g", "a graph"),
    AttributeProto.FLOATS: ("floats", "a list of floats"),
    AttributeProto.INTS: ("ints", "a list of ints"),
    AttributeProto.STRINGS: ("strings", "a list of strings"),
    AttributeProto.SPARSE_TENSOR: ("sparse_tensor", "a sparse tensor"),
}
_REDUCTIONS = {"reduction": (b"none", b"mean", b"sum")}
_WORDS = {      # values of attributes, of ops whose bodies take any other for one of these
    "NegativeLogLikelihoodLoss": _REDUCTIONS,
    "SoftmaxCrossEntropyLoss": _REDUCTIONS,
}


def check_arity(schema: onnx.defs.OpSchema, node: onnx.NodeProto, inputs: Sequence[Value | None]) -> None:
    """Malformed if the node has too few or too many inputs or outputs, or a required input is omitted."""
    count, outputs = len(node.input), len(node.output)
    if not schema.min_input <= count <= schema.max_input:
        raise Malformed(f"it has {count} inputs; the op takes {schema.min_input} to {schema.max_input}")
    if not schema.min_output <= outputs <= schema.max_output:
        raise Malformed(f"it has {outputs} outputs; the op gives {schema.min_output} to {schema.max_output}")
    options = onnx.defs.OpSchema.FormalParameterOption
    for place, given in enumerate(inputs):
        parameter = schema.inputs[min(place, len(schema.inputs) - 1)]     # the last one may stand for several
        if parameter.option != options.Optional and given is None:
            which = f" ({place})" if parameter.option == options.Variadic else ""
            raise Malformed(f"its input '{parameter.name}'{which} is left out")


def check_attribute_types(schema: onnx.defs.OpSchema, attributes: Mapping[str, AttributeProto]) -> None:
    """Malformed if an attribute is of another type than the schema's, read or not."""
    for name, attribute in attributes.items():
        if name in schema.attributes:
            check_type(name, attribute, schema.attributes[name].type.value)


def check_references(node: onnx.NodeProto) -> None:
    """Malformed if a node outside of functions refers to a function's attribute."""
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            raise Malformed(f"attribute '{attribute.name}' is that of the function around the node, '{attribute.ref_attr_name}', and the "
                            "node is in none")


def check_type(name: str, attribute: AttributeProto, kind: int) -> None:
    """Malformed if an attribute is of another type."""
    if attribute.type != kind:
        wanted = FIELDS[kind][1] if kind in FIELDS else _name(kind)
        raise Malformed(f"attribute '{name}' must be {wanted}, found {_name(attribute.type)}")


def check_defined(schema: onnx.defs.OpSchema, attributes: Mapping[str, AttributeProto]) -> None:
    """Refused if the body that defines an op does not read an attribute: the op has none of this name. Malformed if its value is none
    that the op has."""
    unknown = sorted(attributes.keys() - schema.attributes.keys())
    if unknown:
        raise Refused(f"attribute{'s' * (len(unknown) > 1)} {', '.join(map(repr, unknown))} of {schema.name} is not supported")
    for name, words in _WORDS.get(schema.name, {}).items():
        if name in attributes and attributes[name].s not in words:
            allowed = " or ".join(repr(word.decode()) for word in words)
            raise Malformed(f"attribute '{name}' must be {allowed}, found '{attributes[name].s.decode('utf-8', 'replace')}'")


def _name(kind: int) -> str:
    return AttributeProto.AttributeType.Name(kind).lower()
