"""What a graph should compute, and how exactly: the reference in 64 bits, and what rounding errors of each node do to the outputs."""
from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np
import onnxruntime
from graph_builder import BF16, F32, F64, Graph, Node, Value, is_float

onnxruntime.set_default_logger_severity(4)
SAMPLES = 24
EXACT = frozenset("""
Abs ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor And Or Xor Not Ceil Clip Compress Concat ConstantOfShape DepthToSpace
Equal Expand Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual Hardmax Identity IsInf IsNaN Less LessOrEqual Max MaxPool
Min Neg OneHot Pad Range ReduceMax ReduceMin Relu Reshape ReverseSequence Round Shape Sign Size Slice SpaceToDepth Split Squeeze Tile TopK
Transpose Trilu Unsqueeze Where GlobalMaxPool MatMulInteger ThresholdedRelu
""".split())
# with a factor of 32 bits
STASHES = ("LayerNormalization", "GroupNormalization", "RMSNormalization", "HardSigmoid", "HardSwish", "LeakyRelu", "Gelu")

# what they add up is between -1 and 1, also where the sum is much smaller: (1 - z) n + z h
RECURRENT = ("GRU", "LSTM", "RNN")


def epsilon(dtype: np.dtype) -> float:
    return float(ml_dtypes.finfo(dtype).eps)


def spacing(dtype: np.dtype) -> float:
    """Of the numbers next to 0."""
    return float(ml_dtypes.finfo(dtype).smallest_subnormal)


def _noisy(array: np.ndarray, dtype: np.dtype, numpy: np.random.Generator, least: float = 0) -> np.ndarray:
    """With rounding errors of a type, of elements and of numbers that are ``least``."""
    noise = numpy.standard_normal(array.shape)
    return array + noise * ((np.abs(array) + least) * epsilon(dtype) + spacing(dtype))


def _rounds(node: Node) -> bool:
    return node.proto.op_type not in EXACT


def perturbed(graph: Graph, call: int, seed: int) -> dict[str, np.ndarray]:
    """All values at a call, where each node that rounds has errors in what it reads and what it gives.

    Every other seed also rounds to the declared type, in which results of different nodes may be equal; seed 1 does nothing else.
    """
    numpy = np.random.default_rng(seed)
    known = {value.name: value.arrays[call] for value in (*graph.inputs, *graph.constants)}
    for node in graph.nodes:
        arrays = [known[value.name] for value in node.reads]
        types = [value.dtype for value in (*node.outputs, *node.reads) if is_float(value.dtype)]
        types += [F32] if node.proto.op_type in STASHES else []
        coarsest = max(types, key=epsilon) if types else None
        noisy = _rounds(node) and seed != 1
        if noisy and coarsest is not None:
            arrays = [_noisy(a, coarsest, numpy) if is_float(value.dtype) else a for a, value in zip(arrays, node.reads)]
        for value, array in zip(node.outputs, node.evaluate(arrays), strict=True):
            wide = array.astype(np.float64) if is_float(value.dtype) else array
            least = float(node.proto.op_type in RECURRENT)
            known[value.name] = _noisy(wide, coarsest or F64, numpy, least) if is_float(value.dtype) and noisy else wide
            if seed % 2 and is_float(value.dtype):
                known[value.name] = known[value.name].astype(value.dtype).astype(np.float64)
    return known


def spreads(graph: Graph, call: int, outputs: Sequence[Value]) -> dict[str, np.ndarray]:
    """How far rounding moves each element; infinite where it may change the shape, also if then the graph is none."""
    far = {value.name: np.zeros(value.arrays[call].shape) for value in outputs}
    for seed in range(SAMPLES):
        try:
            known = perturbed(graph, call, seed)
        except (TypeError, ValueError, RuntimeError):   # of the reference, for shapes that do not fit
            return {name: np.full(array.shape, np.inf) for name, array in far.items()}
        for value in outputs:
            found, base = known[value.name], value.arrays[call]
            if found.shape != base.shape:
                far[value.name][...] = np.inf
                continue
            with np.errstate(all="ignore"):
                move = np.abs(found.astype(np.float64) - base.astype(np.float64))
            far[value.name] = np.maximum(far[value.name], np.where(np.isfinite(move), move, np.inf))
    return far


def quick_room(value: Value, want: np.ndarray) -> np.ndarray:
    """An error that needs no explanation: a few units in the last place of the greatest element."""
    units = 64 if epsilon(value.dtype) < 1e-5 else 4
    return units * epsilon(value.dtype) * (np.abs(want) + np.abs(want).max(initial=0)) + 4 * spacing(value.dtype)


def room_of(value: Value, want: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """An error that rounding explains."""
    if not is_float(value.dtype):
        return 16 * spread
    middle = float(np.median(spread)) if spread.size else 0.0
    return 12 * spread + 8 * (middle if np.isfinite(middle) else 0.0) + 16 * epsilon(value.dtype) * np.abs(want) + 4 * spacing(value.dtype)


def differing(value: Value, found: np.ndarray, want: np.ndarray, room: np.ndarray | float) -> str:
    """Where they differ by more, or nothing."""
    a, b = found.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= room))
    if not bad.any():
        return ""
    at = tuple(int(n) for n in np.argwhere(bad)[0])
    allowed = np.broadcast_to(room, a.shape)[at]
    return f"output {value.name}: {bad.sum()} of {bad.size} elements differ, at {at}: {a[at]!r}, expected {b[at]!r}, rounding {allowed:.2g}"


def by_onnxruntime(model: bytes, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """The outputs by name; None if it does not take the model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if any(array.dtype == BF16 for array in given.values()):
        return None
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return dict(zip((one.name for one in session.get_outputs()), map(np.asarray, session.run(None, dict(given)))))
    except Exception:   # its exceptions have no common class
        return None


