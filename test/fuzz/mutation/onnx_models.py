"""Mutated ONNX models: imported, and what is imported is compiled, run and compared.

A wrong result is one that onnxruntime and ONNX's reference agree on, and we do not: on damaged models each of them has errors of its own.
"""
import random
import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx.backend.test.loader

import legato
from legato.comparison import Peer, random_inputs, relative_error
from legato.core.errors import LegatoError
from mutation.bytes import mutated_bytes
from mutation.case import Finding, shared, stranger
from mutation.protobuf import mutated_message

ELEMENTS = 1 << 20   # of an input, at most
COMPUTED = 0.25      # the share of importable models that is compiled
TOLERANCE = 1e-3
HALVES = 4e-3         # four units in the last place: an attention is up to 2.6e-3 from the result in f64, by whoever computes it


@cache
def sources() -> list[tuple[str, onnx.ModelProto]]:
    """Small models: ONNX's own tests of single nodes, whose further inputs are constants at times, by name."""
    return [(name, onnx.load_from_string(data)) for name, data in shared("models", _sources)]


def _sources() -> list[tuple[str, bytes]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = onnx.backend.test.loader.load_model_tests(kind="node")
    found = []
    for test in sorted(tests, key=lambda test: test.name):
        if test.model is None:
            continue
        found.append((test.name, test.model))
        inputs = (test.data_sets or [([], [])])[0][0]
        if len(inputs) == len(test.model.graph.input) > 1 and all(isinstance(value, np.ndarray) and value.nbytes < 1 << 16
                                                                  for value in inputs[1:]):
            found.append((f"{test.name}/constants", _with_constants(test.model, inputs)))
    return [(name, model.SerializeToString()) for name, model in found]


def _with_constants(model: onnx.ModelProto, inputs: list[np.ndarray]) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    names = [value.name for value in result.graph.input]
    del result.graph.input[1:]
    result.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in zip(names[1:], inputs[1:]))
    return result


def mutant(seed: int) -> tuple[str, bytes]:
    """The name of a model and its damaged bytes."""
    chance = random.Random(seed)
    name, model = chance.choice(sources())
    if chance.random() < 0.35:
        return name, mutated_bytes(model.SerializeToString(), chance, chance.choice(sources())[1].SerializeToString())
    if chance.random() < 0.2:
        model = swapped_names(model, chance)
    return name, mutated_message(model, chance).SerializeToString()


def swapped_names(model: onnx.ModelProto, chance: random.Random) -> onnx.ModelProto:
    """The model with a node that reads another value, which makes cycles, or that is of another type."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    if not result.graph.node:
        return result
    node = chance.choice(result.graph.node)
    names = [name for one in result.graph.node for name in (*one.input, *one.output)]
    if chance.random() < 0.5 and node.input:
        node.input[chance.randrange(len(node.input))] = chance.choice((*names, ""))
    else:
        node.op_type = chance.choice(chance.choice(sources())[1].graph.node).op_type
    return result


class OnnxModels:
    """The subject."""

    def describe(self, seed: int) -> str:
        return mutant(seed)[0]

    def content(self, seed: int) -> tuple[str, bytes]:
        return "model.onnx", mutant(seed)[1]

    def run(self, seed: int, mark: Any) -> Finding | None:
        """What goes wrong with the case. ``mark(text)``: says that others run now."""
        return checked(mutant(seed)[1], seed, mark)


def checked(data: bytes, seed: int, mark: Any) -> Finding | None:
    """What goes wrong with a model: None for one that is refused, or computes what others do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = legato.from_onnx(data)
        except LegatoError as error:
            return stranger(error)
        if random.Random(seed).random() > COMPUTED:
            return None
        try:
            exe = legato.compile(module, cache=False)
        except LegatoError as error:
            return stranger(error)
        inputs = values(exe, seed)
        if inputs is None:
            return None
        try:
            outputs = exe(**inputs)
        except (LegatoError, ValueError, TypeError, MemoryError):
            return None
        return compared(data, inputs, outputs if isinstance(outputs, tuple) else (outputs,), mark)


def values(exe: Any, seed: int) -> dict[str, np.ndarray] | None:
    """Values for the inputs; None if they are large."""
    sizes = [[d if isinstance(d, int) else 8 for d in spec.shape] for spec in exe.inputs]
    if any(np.prod(np.array(s, dtype=np.float64)) > ELEMENTS for s in sizes):
        return None
    try:
        return random_inputs(exe.inputs, {}, seed & 0xFFFF)
    except (TypeError, ValueError, OverflowError):
        return None   # sizes below 0, or types that the random values are not made for


def compared(data: bytes, inputs: dict[str, np.ndarray], ours: tuple, mark: Any) -> Finding | None:
    """A wrong result, if the others agree on what is right."""
    mark("onnxruntime")
    try:
        theirs = Peer(data)(inputs)
    except Exception:
        return None
    if not _differ(ours, theirs):
        return None
    mark("onnx.reference")
    try:
        wanted = onnx.reference.ReferenceEvaluator(onnx.load_from_string(data)).run(None, inputs)
    except Exception:
        return None
    if _differ(wanted, theirs) or not _differ(ours, wanted):
        return None
    return Finding("wrong result", f"{[np.asarray(a).reshape(-1)[:4].tolist() for a in ours]} is not "
                                   f"{[np.asarray(a).reshape(-1)[:4].tolist() for a in theirs]}")


def _differ(ours: Any, theirs: Any) -> bool:
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            continue
        if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
            continue
        tolerance = HALVES if a.dtype == np.float16 else TOLERANCE
        a, b = (v.astype(np.float64) if v.dtype.kind == "f" else v for v in (a, b))
        if relative_error(a, b) > tolerance:
            return True
    return False
