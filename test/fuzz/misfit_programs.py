"""Random ONNX graphs whose sizes are all free, called with sizes that mostly do not fit: a call is an error, or gives what others give.
The last nodes may stand in a branch, which requires nothing of calls that do not take it."""
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
import onnx
from fuzzing import OK, Arrays, Outcome
from graph_builder import BF16
from graph_oracle import by_onnxruntime
from graph_programs import model_of, outputs_of, random_graph, valid
from onnx.reference import ReferenceEvaluator
from region_programs import guarded

import legato

CALLS = 8
SKIPPED = frozenset({"Einsum", "GRU", "LSTM", "RNN", "ReverseSequence", "Dropout"})  # onnxruntime ends, or lengths are data
NEAR = 2e-2     # of the greatest element: this fuzzer is about sizes
NOTHING = "cannot be null"      # in those of its pools, of an image without elements
EMPTY = "what its window takes"     # in our errors: onnxruntime makes an empty image of one that a window does not fit
UNFIT = ("broadcast", "shape", "match", "divi")     # in errors of the reference: sizes that do not fit, not indices, or a lack of elements


@dataclass
class Misfit:
    """A model, and what it is called with."""

    model: onnx.ModelProto
    calls: list[Arrays]
    features: Counter[str]

    def files(self) -> Mapping[str, str | bytes]:
        return {"model.onnx": self.model.SerializeToString()}

    def run(self, target: str) -> Outcome:
        try:
            executable = legato.compile(legato.from_onnx(self.model), target)
        except legato.UnsupportedError as error:
            return Outcome("refused", str(error))
        names = [one.name for one in self.model.graph.output]
        for number, given in enumerate(self.calls):
            sizes = ", ".join(f"{name} {list(array.shape)}" for name, array in given.items())
            try:
                found = executable(**given)
            except ValueError as error:
                self.features["calls refused"] += 1
                if "main cannot run on" not in str(error) or (EMPTY not in str(error) and self._runs_elsewhere(given)):
                    return Outcome("wrong", f"{target}; call {number}: {sizes}\n{error}")
                continue
            self.features["calls run"] += 1
            arrays = dict(zip(names, map(np.asarray, found if isinstance(found, tuple) else (found,)), strict=True))
            if text := self._objection(given, arrays):
                return Outcome("wrong", f"{target}; call {number}: {sizes}\n{text}")
        return OK

    def _runs_elsewhere(self, given: Arrays) -> bool:
        """Whether onnxruntime and the reference take a call, and agree on what it gives. Not one with a size of 0, which symbols do not
        stand for."""
        theirs = by_onnxruntime(self.model.SerializeToString(), given) if all(array.size for array in given.values()) else None
        if theirs is None:
            return False
        try:
            return not _difference(self._reference(given), theirs)
        except Exception:   # of numpy, of any class
            return False

    def _reference(self, given: Arrays) -> Arrays:
        arrays = map(np.asarray, ReferenceEvaluator(self.model).run(None, given))
        return dict(zip((one.name for one in self.model.graph.output), arrays, strict=True))

    def _objection(self, given: Arrays, found: Arrays) -> str:
        """What onnxruntime and the reference have against the outputs; nothing where they do not agree."""
        theirs, refusal = by_onnxruntime(self.model.SerializeToString(), given), ""
        if theirs is None and not all(array.size for array in given.values()):
            return ""   # of no elements, for which each has rules of its own
        try:
            reference = self._reference(given)
        except Exception as error:  # of numpy, of any class
            reference, refusal = None, str(error)
        if theirs is None and reference is None:
            unfit = any(word in refusal for word in UNFIT) and NOTHING not in refusal
            return f"onnxruntime refuses the call; the reference: {refusal}" if unfit else ""
        if theirs is None or reference is None or _difference(reference, theirs):
            return ""
        return _difference(found, theirs)


def _difference(found: Arrays, wanted: Arrays) -> str:
    for name, array in wanted.items():
        ours = found[name]
        if ours.shape != array.shape:
            return f"{name} is {list(array.shape)}, not {list(ours.shape)}"
        with np.errstate(all="ignore"):
            a, b = ours.astype(np.float64), array.astype(np.float64)
            known = np.isfinite(a) & np.isfinite(b)
            if known.any() and np.abs(a - b)[known].max() > NEAR * max(np.abs(b[known]).max(), 1e-6):
                return f"{name} has other elements"
    return ""


def misfit(seed: int) -> Misfit:
    """A model by its number, and calls of which the first fits."""
    while True:
        rng, graph = Random(seed), random_graph(seed)
        seed += 1_000_003
        outputs = outputs_of(graph)
        model = model_of(graph, outputs, "")
        table = {value.name: value for value in graph.inputs}
        base = {one.name: table[one.name].arrays[0].astype(table[one.name].dtype) for one in model.graph.input}
        dtypes = {value.dtype for node in graph.nodes for value in (*node.outputs, *node.reads)}
        ops = {node.op_type for node in model.graph.node}
        decides = guarded(model, rng) if rng.random() < 0.4 else ""
        if any(array.ndim for array in base.values()) and BF16 not in dtypes and not SKIPPED & ops and valid(model):
            break
    for one in model.graph.input:
        for axis, size in enumerate(one.type.tensor_type.shape.dim):
            size.dim_param = f"{one.name}_{axis}"
    calls = [{name: _resized(array, rng, chance) for name, array in base.items()} for chance in [0.0, *[0.25] * (CALLS - 3), 0.6, 0.6]]
    for number, call in enumerate(calls):
        call |= {decides: np.array(number % 2 == 0)} if decides else {}
    features = Counter(f"op {node.op_type}" for node in model.graph.node)
    return Misfit(model, calls, features)


def _resized(array: np.ndarray, rng: Random, chance: float) -> np.ndarray:
    """The array with other sizes, each with that chance."""
    if not array.ndim:
        return array
    shape = [rng.choice((0, 1, 2, 3, size + 1, max(size - 1, 0), 2 * size)) if rng.random() < chance else size for size in array.shape]
    return np.ascontiguousarray(np.resize(array if array.size else np.ones(1, array.dtype), shape)).astype(array.dtype)
