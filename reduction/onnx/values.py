"""What is known of the values in a model: their types, by ONNX's shape inference, and small ones themselves, by running the model once."""
from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx

from legato.reduction.onnx.model import OnnxModel, graphs

SMALL = 1 << 10      # elements of a value that is kept
PATIENCE = 60.0      # seconds for the run
DEFAULT_SIZE = 8     # of a symbol


def types_of(model: OnnxModel) -> dict[str, onnx.TypeProto]:
    """The types of the values by name, of graphs in nodes, too: declared, or inferred."""
    proto = model.proto
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        inferred = onnx.ModelProto()   # invalid models are reduced, too
    found: dict[str, onnx.TypeProto] = {}
    for one in (inferred, proto):
        for graph in graphs(one):
            for value in (*graph.input, *graph.output, *graph.value_info):
                if value.type.WhichOneof("value") and value.name not in found:
                    found[value.name] = value.type
            for tensor in graph.initializer:
                found.setdefault(tensor.name, onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims)))
    return found


def has_rank(type_: onnx.TypeProto) -> bool:
    """Whether a type says all that an input needs: an element type and a rank."""
    kind = type_.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return has_rank(getattr(type_, kind).elem_type)
    return kind == "tensor_type" and bool(type_.tensor_type.elem_type) and type_.tensor_type.HasField("shape")


@lru_cache(maxsize=1)
def small_values(model: OnnxModel) -> Mapping[str, np.ndarray]:
    """Small values of the main graph by name, for random inputs, by onnxruntime, or onnx's reference where it is missing; none if they
    cannot run the model. In a process of its own: what is reduced may be a crash or a hang."""
    with tempfile.TemporaryDirectory(prefix="legato-reduce-") as folder:
        source, to = Path(folder) / "model.onnx", Path(folder) / "values.npz"
        model.write(source)
        command = [sys.executable, "-m", "legato.reduction.onnx.values", str(source), str(to)]
        try:
            done = subprocess.run(command, timeout=PATIENCE, capture_output=True)
        except subprocess.TimeoutExpired:
            return {}
        if done.returncode or not to.exists():
            return {}
        with np.load(to) as held:
            return {str(name): held[f"v{number}"] for number, name in enumerate(held["names"])}


def _observe(source: str, to: str) -> None:
    proto = onnx.load(source)
    proto = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    declared = {value.name for value in proto.graph.output}
    known = {value.name: value for value in proto.graph.value_info}
    names = [name for node in proto.graph.node for name in node.output if name in known and name not in declared]
    proto.graph.output.extend(known[name] for name in names)
    stored = {tensor.name for tensor in proto.graph.initializer}
    random = np.random.default_rng(0)
    inputs = {value.name: _random(value, random) for value in proto.graph.input if value.name not in stored}
    outputs = _run(proto, inputs)
    found = {value.name: array for value, array in zip(proto.graph.output, outputs)
             if isinstance(array, np.ndarray) and array.size <= SMALL and array.dtype.kind in "biuf"}
    np.savez(to, names=np.array(list(found)), **{f"v{number}": array for number, array in enumerate(found.values())})


def _run(proto: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list:
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return list(ReferenceEvaluator(proto).run(None, dict(inputs)))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(inputs)))


def _random(value: onnx.ValueInfoProto, random: np.random.Generator) -> np.ndarray:
    tensor = value.type.tensor_type
    shape = [dim.dim_value if dim.HasField("dim_value") else DEFAULT_SIZE for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype.kind in "biu":
        return random.integers(0, 2, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


if __name__ == "__main__":
    _observe(*sys.argv[1:])
