"""Random nodes, one a program, compiled, against onnxruntime: of its own domain, and those of ONNX that random graphs do not hold."""
import io
from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
from contrib import DOMAIN, code_of, oracle, tensor
from contrib_attention import ATTENTIONS
from contrib_nodes import CONTRIB_NODES
from contrib_weights import WEIGHTS
from drawn_nodes import Draw, DrawnNode, Make
from fuzzing import Arrays, Function, InvalidProgramError, typed
from image_nodes import IMAGE_NODES
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from signal_nodes import SIGNAL_NODES
from tensor_nodes import TENSOR_NODES

import legato

CALLS = 3
# their results' sizes have names that two programs may both give
NAME_SIZES = ("EyeLike", "NonMaxSuppression", "NonZero", "TensorScatter", "Unique")


def contrib(seed: int) -> Function:
    """A node of com.microsoft by its number."""
    return program(seed, (*CONTRIB_NODES, *ATTENTIONS, *ATTENTIONS, *WEIGHTS))


def rare(seed: int) -> Function:
    """A node of ONNX by its number, of the ops that need inputs of their own kind."""
    return program(seed, (*IMAGE_NODES, *SIGNAL_NODES, *TENSOR_NODES))


def program(seed: int, makers: Sequence[Make]) -> Function:
    """A node by its number: static, or with named sizes that differ between calls."""
    symbolic = Random(f"symbolic {seed}").random() < 0.5
    make = Random(f"maker {seed}").choice(makers)
    nodes = [make(Draw(seed, call, symbolic)) for call in range(CALLS if symbolic else 1)]
    model = model_of(nodes, f"s{seed}_")
    calls = [{f"i{seed}_{n}": node.measured.get(n, array) for n, array in enumerate(node.inputs)
              if array is not None and n not in node.constants} for node in nodes]
    features = Counter([f"op {nodes[0].op}", f"sizes {'symbolic' if symbolic else 'static'}", *types_of(nodes[0])])

    def differs(call: int, found: Arrays, results: Sequence[np.ndarray]) -> str:
        wanted = dict(zip((one.name for one in model.graph.output), map(np.asarray, results)))
        return next(filter(None, (differing(nodes[call], n, name, found[name], wanted[name]) for n, name in enumerate(found))), "")

    def verify(call: int, given: Arrays, found: Arrays) -> str:
        """A result that onnxruntime does not give may still be that of ONNX's reference: then it is onnxruntime that is wrong."""
        if nodes[0].by_reference:
            return differs(call, found, ReferenceEvaluator(model).run(None, given))
        try:
            text = differs(call, found, oracle(model, given))
        except Exception as error:   # its exceptions have no common class
            raise InvalidProgramError(f"{nodes[0].op}: {str(error).splitlines()[0]}") from error
        return text and differs_from_reference(call, given, found, text)

    def differs_from_reference(call: int, given: Arrays, found: Arrays, text: str) -> str:
        try:
            with np.errstate(all="ignore"):
                return text if differs(call, found, ReferenceEvaluator(model).run(None, given)) else ""
        except Exception:   # it lacks the op, or refuses the node
            return text

    buffer = io.BytesIO()
    np.savez(buffer, **{f"{call}.{name}": array for call, arrays in enumerate(calls) for name, array in arrays.items()})
    return Function(lambda context: legato.from_onnx(model, context=context), calls, verify,
                    {"model.onnx": model.SerializeToString(), "inputs.npz": buffer.getvalue()}, features, nodes[0].op in NAME_SIZES)


def types_of(node: DrawnNode) -> list[str]:
    return [f"dtype {node.inputs[0].dtype}"] if node.inputs[0] is not None else []


def model_of(nodes: Sequence[DrawnNode], prefix: str) -> ModelProto:
    """A model of a node. ``nodes``: it at each call: sizes that differ have names, equal ones the same."""
    first, names = nodes[0], dict[tuple[int, ...], str]()
    given, weights, inputs, before = [], [], [], []
    for number, array in enumerate(first.inputs):
        inputs.append("" if array is None else f"i{prefix[1:]}{number}")
        if array is None:
            continue
        if number in first.constants:
            weights.append(tensor(inputs[-1], array))
            continue
        if number in first.measured:
            before += measured(inputs[-1])
        arrays = [node.measured.get(number, node.inputs[number]) for node in nodes]
        sizes = list(zip(*(one.shape for one in arrays if one is not None), strict=True))
        shape = [each[0] if len(set(each)) == 1 else names.setdefault(each, f"{prefix}{len(names)}") for each in sizes]
        given.append(helper.make_tensor_value_info(inputs[-1], code_of(next(a for a in arrays if a is not None)), shape))
        inputs[-1] += "_size" if number in first.measured else ""
    outputs = [f"{prefix}{name}" if name else "" for name in first.outputs]
    node = helper.make_node(first.op, inputs, outputs, f"{prefix}node", domain=first.domain, **first.attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    graph = helper.make_graph([*before, node], "g", given, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", first.opset), helper.make_opsetid(DOMAIN, 1)], ir_version=10)


def measured(name: str) -> list[NodeProto]:
    """The nodes that make the last size of a tensor a number in 32 bits."""
    last = helper.make_node("Constant", [], [f"{name}_last"], value=numpy_helper.from_array(np.array(-1)))
    return [last, helper.make_node("Shape", [name], [f"{name}_shape"]),
            helper.make_node("Gather", [f"{name}_shape", f"{name}_last"], [f"{name}_number"], axis=0),
            helper.make_node("Cast", [f"{name}_number"], [f"{name}_size"], to=TensorProto.INT32)]


def differing(node: DrawnNode, place: int, name: str, found: np.ndarray, want: np.ndarray) -> str:
    """How an output differs from onnxruntime's, or nothing."""
    if text := typed(name, found, want):
        return text
    a, b = found.astype(np.float64), want.astype(np.float64)
    if place and node.written is not None:
        a, b = np.where(node.written, a, 0), np.where(node.written, b, 0)
    finite = np.isfinite(b)
    room = (node.unit or node.tolerance * max(np.abs(b[finite]).max(initial=0), 1)) if want.dtype.kind == "f" or node.unit else 0
    with np.errstate(invalid="ignore"):
        bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= room))
    if not bad.any():
        return ""
    at = tuple(int(n) for n in np.argwhere(bad)[0])
    return f"output {name} of {node.op} {node.attributes}: {bad.sum()} of {bad.size} differ, at {at}: {a[at]!r}, expected {b[at]!r}"
