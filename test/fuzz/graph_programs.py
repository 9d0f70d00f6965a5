"""Random ONNX graphs, compiled, against ONNX's reference in 64 bits and onnxruntime."""
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from random import Random

import numpy as np
import onnx
from fuzzing import Arrays, Function, InvalidProgramError, typed
from graph_builder import BF16, BOOL, F16, F32, F64, I32, I64, INTS, OPSET, Graph, Value, is_float
from graph_contractions import CONTRACTING
from graph_control import CONTROL
from graph_elementwise import ELEMENTWISE
from graph_movement import MOVEMENT
from graph_oracle import by_onnxruntime, differing, quick_room, room_of, spreads
from graph_reductions import REDUCING
from onnx import helper, numpy_helper

import legato

Change = Callable[[onnx.ModelProto, Random, int], Sequence[Arrays]]
FAMILIES = (ELEMENTWISE, ELEMENTWISE, MOVEMENT, MOVEMENT, REDUCING, REDUCING, CONTRACTING, CONTRACTING, CONTROL)
FLOATS = ((F32,),) * 6 + ((F32, F16), (F32, F64), (F16,), (F64,), (F32, BF16), (BF16,))


def random_graph(seed: int) -> Graph:
    """A graph by its number, with at least one node."""
    rng = Random(seed)
    symbols: dict[str, tuple[int, ...]] = {}
    calls = 1
    if rng.random() < 0.45:
        calls = 3
        for number in range(rng.randint(1, 3)):
            sizes = rng.sample((1, 2, 3, 5, 6, 7, 9, 13, 16, 19), 3)
            if rng.random() < 0.12:
                sizes = [*sizes[:2], 0]
            symbols[f"n{number}"] = (*sizes,)
    g = Graph(rng, calls, symbols, rng.choice(FLOATS))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        dtype = rng.choice(g.floats) if rng.random() < 0.85 else rng.choice((I64, I32, BOOL, *INTS))
        g.input(dtype, [g.size() for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 4)))])
    wanted = rng.choice((1, 2, 3, 4, 5, 6, 8, 10))
    families = [rng.choice(FAMILIES) for _ in range(rng.randint(1, 4))]
    for _ in range(8 * wanted + 30):
        if len(g.nodes) >= wanted:
            break
        rng.choice(rng.choice(families))(g)
    while not g.nodes:
        rng.choice(ELEMENTWISE)(g)
    return g


def outputs_of(g: Graph) -> list[Value]:
    """All values that nothing reads, and perhaps some others."""
    read = {value.name for node in g.nodes for value in node.reads}
    made = [value for node in g.nodes for value in node.outputs]
    chosen = [value for value in made if value.name not in read]
    others = [value for value in made if value.name in read]
    chosen += g.rng.sample(others, min(len(others), g.rng.choice((0, 0, 0, 1, 2))))
    g.rng.shuffle(chosen)
    return chosen


def model_of(g: Graph, outputs: list[Value], prefix: str) -> onnx.ModelProto:
    """The graph as a model. ``prefix``: of the names of its sizes."""
    names: dict[tuple[int, ...], str] = {sizes: f"{prefix}{name}" for name, sizes in g.symbols.items()}
    read = {value.name for node in g.nodes for value in node.reads}

    def info(value: Value) -> onnx.ValueInfoProto:
        shape = [sizes[0] if len(set(sizes)) == 1 else names.setdefault(sizes, f"{prefix}d{len(names)}") for sizes in value.sizes]
        return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.dtype), shape)

    inputs = [info(value) for value in g.inputs if value.name in read]
    results = [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(v.dtype), [None] * v.rank) for v in outputs]
    constants = [numpy_helper.from_array(v.arrays[0].astype(v.dtype), v.name) for v in g.constants if v.name in read]
    graph = helper.make_graph([node.proto for node in g.nodes], "fuzzed", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def valid(model: onnx.ModelProto) -> bool:
    """Whether ONNX's checker takes the model: where the reference gives other shapes than its rules, it does not."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:   # of the checker, of shape inference, ...
        return False
    return True


def _graphs(seed: int, change: Change | None) -> Iterator[tuple[Graph, list[Value], onnx.ModelProto, Sequence[Arrays]]]:
    for number in count(seed, 1_000_003):
        g = random_graph(number)
        outputs = outputs_of(g)
        model = model_of(g, outputs, f"s{seed}_")
        yield g, outputs, model, change(model, Random(seed), g.calls) if change else [{}] * g.calls


def graph(seed: int, change: Change | None = None) -> Function:
    """A graph by its number. ``change``: changes the model, but not what it computes; returns its further inputs at each of so many
    calls."""
    g, outputs, model, more = next(one for one in _graphs(seed, change) if valid(one[2]))
    proto = model.SerializeToString()
    table = {value.name: value for value in outputs}
    calls = [{value.name: value.arrays[call].astype(value.dtype) for value in g.inputs} | more[call] for call in range(g.calls)]

    def verify(call: int, given: Arrays, found: Arrays) -> str:
        wanted = {name: value.arrays[call] for name, value in table.items()}
        types = [typed(name, array, wanted[name].astype(table[name].dtype)) for name, array in found.items()]
        theirs = None if _ends_onnxruntime(g, call) else by_onnxruntime(proto, given)
        if any(types):
            text = next(filter(None, types))
            if theirs is not None and all(theirs[name].shape == array.shape for name, array in found.items()):
                raise InvalidProgramError("shape: the reference differs from onnxruntime and us")
            return text
        rooms = {name: quick_room(table[name], want) if is_float(table[name].dtype) else 0.0 for name, want in wanted.items()}

        def wrong(arrays: Arrays) -> str:
            return next(filter(None, (differing(table[n], a, wanted[n], rooms[n]) for n, a in arrays.items())), "")

        if not wrong(found) and (theirs is None or not wrong(theirs)):
            return ""
        far = spreads(g, call, outputs)
        rooms = {name: np.maximum(rooms[name], room_of(table[name], want, far[name])) for name, want in wanted.items()}
        ours, others = wrong(found), theirs is not None and wrong(theirs)
        if not ours:
            if others:
                raise InvalidProgramError(f"onnxruntime differs from the reference and us: {operators(g)}")
            return ""
        if theirs is not None and not any(differing(table[n], a, theirs[n], rooms[n]) for n, a in found.items()):
            raise InvalidProgramError(f"the reference differs from onnxruntime and us: {operators(g)}")
        return f"{ours}\nonnxruntime: {'none' if theirs is None else others or 'as expected'}\n{operators(g)}"

    counted = any(node.proto.op_type == "Compress" for node in g.nodes)   # its size has a name of its own
    return Function(lambda context: legato.from_onnx(model, context=context), calls, verify, _files(proto, calls), _features(g), counted)


def _ends_onnxruntime(g: Graph, call: int) -> bool:
    """Whether onnxruntime (1.31) divides by 0, a signal: in an Einsum of an operand without elements."""
    return any(node.proto.op_type == "Einsum" and any(not value.arrays[call].size for value in node.reads) for node in g.nodes)


def operators(g: Graph) -> str:
    """The nodes in words."""
    return " ".join(node.proto.op_type for node in g.nodes)


def _files(proto: bytes, calls: list[Arrays]) -> dict[str, bytes]:
    files = {"model.onnx": proto}
    for number, arrays in enumerate(calls):
        file = io.BytesIO()
        np.savez(file, **{name: a.astype(np.float32) if a.dtype == BF16 else a for name, a in arrays.items()})  # pyright: ignore[reportArgumentType]
        files[f"call{number}.npz"] = file.getvalue()
    return files


def _features(g: Graph) -> Counter[str]:
    found = Counter(f"op {node.proto.op_type}" for node in g.nodes)
    found.update(f"dtype {value.dtype}" for node in g.nodes for value in node.outputs)
    found.update(f"rank {value.rank}" for node in g.nodes for value in node.outputs)
    found["sizes symbolic" if g.symbols else "sizes static"] += 1
    found["sizes empty"] += any(value.empty() for node in g.nodes for value in node.outputs)
    found[f"nodes {len(g.nodes)}"] += 1
    return found
