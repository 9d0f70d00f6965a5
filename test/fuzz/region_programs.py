"""Random graphs whose last nodes stand in branches, or in a loop, that a call decides, against the oracles of the graphs."""
from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import onnx
from fuzzing import Arrays, Function
from graph_programs import graph
from onnx import TensorProto, helper, numpy_helper


def region(seed: int) -> Function:
    """A program by its number."""
    return graph(seed, moved)


def moved(model: onnx.ModelProto, rng: Random, calls: int) -> list[Arrays]:
    """Moves the last nodes of a model into a region. Returns what the inputs are that it adds, at each call."""
    nodes = list(model.graph.node)
    first = rng.randrange(len(nodes))
    inside = nodes[first:]
    made = {name for node in inside for name in node.output if name}
    outputs = [value for value in model.graph.output if value.name in made]
    del model.graph.node[first:]
    into, given = (_loop, rng.choices((1, 2, 3), k=calls)) if rng.random() < 0.6 else (_branches, rng.choices((False, True), k=calls))
    name = f"decides{rng.getrandbits(40)}"    # sizes are named after it, in one module with those of other programs
    model.graph.node.extend(into(name, inside, outputs, made))
    model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64 if into is _loop else TensorProto.BOOL, []))
    return [{name: np.array(one)} for one in given]


def guarded(model: onnx.ModelProto, rng: Random) -> str:
    """Moves the last nodes of a model into a branch, beside one that gives ones. Returns the name of the input that decides."""
    nodes, name = list(model.graph.node), "decides"
    inside = nodes[rng.randrange(len(nodes)):]
    made = {name for node in inside for name in node.output if name}
    outputs = [value for value in model.graph.output if value.name in made]
    del model.graph.node[len(nodes) - len(inside):]
    (chosen,) = _branches(name, inside, outputs, made)
    ones = next(attribute.g for attribute in chosen.attribute if attribute.name == "else_branch")
    del ones.node[:]
    for value, one in zip(outputs, ones.output, strict=True):
        kind = value.type.tensor_type
        array = np.ones([1] * len(kind.shape.dim), helper.tensor_dtype_to_np_dtype(kind.elem_type))
        ones.node.append(helper.make_node("Constant", [], [one.name], value=numpy_helper.from_array(array)))
    model.graph.node.append(chosen)
    model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.BOOL, []))
    return name


def _branches(test: str, inside: Sequence[onnx.NodeProto], outputs: Sequence[onnx.ValueInfoProto], made: set[str]) -> list[onnx.NodeProto]:
    """An If, each branch of which has the nodes."""
    bodies = {}
    for branch in ("then_branch", "else_branch"):
        names = {name: f"{name}_{branch[0]}" for name in made}
        bodies[branch] = helper.make_graph([_renamed(node, names) for node in inside], branch, [], [_named(one, names) for one in outputs])
    return [helper.make_node("If", [test], [one.name for one in outputs], **bodies)]


def _loop(steps: str, inside: Sequence[onnx.NodeProto], outputs: Sequence[onnx.ValueInfoProto], made: set[str]) -> list[onnx.NodeProto]:
    """A Loop whose steps compute all again, of which the last one's outputs are taken."""
    names = {name: f"{name}_l" for name in made}
    scalar = (helper.make_tensor_value_info(name, kind, []) for name, kind in (
        ("step_", TensorProto.INT64), ("go_", TensorProto.BOOL), ("seen_", TensorProto.INT64)))
    results = [helper.make_tensor_value_info("again_", TensorProto.BOOL, []),
               helper.make_tensor_value_info("after_", TensorProto.INT64, [])]
    nodes = [helper.make_node("Identity", ["go_"], ["again_"]), *(_renamed(node, names) for node in inside),
             helper.make_node("Add", ["seen_", "step_"], ["after_"])]
    body = helper.make_graph(nodes, "body", list(scalar), [*results, *(_named(one, names) for one in outputs)])
    last = helper.make_node("Constant", [], ["last_"], value=numpy_helper.from_array(np.array(-1)))
    loop = helper.make_node("Loop", [steps, "", "last_"], [f"{steps}_seen", *(f"{one.name}_all" for one in outputs)], body=body)
    return [last, loop, *(helper.make_node("Gather", [f"{one.name}_all", "last_"], [one.name], axis=0) for one in outputs)]


def _named(value: onnx.ValueInfoProto, names: Mapping[str, str]) -> onnx.ValueInfoProto:
    """The output of a region; its rank is left to the region."""
    return helper.make_tensor_value_info(names[value.name], value.type.tensor_type.elem_type, None)


def _renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """A copy of a node, and of its bodies, that reads and makes values of other names."""
    new = onnx.NodeProto.FromString(node.SerializeToString())
    for field in (new.input, new.output):
        field[:] = [names.get(name, name) for name in field]
    for attribute in new.attribute:
        if attribute.HasField("g"):
            bodies = [_renamed(one, names) for one in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(bodies)
            for value in attribute.g.output:
                value.name = names.get(value.name, value.name)
    return new
