"""Random graphs, parts of which random backends compute by patterns of theirs, against the oracles of the whole graphs."""
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import partition_backends as pb
from fuzzing import Function
from graph_programs import graph
from partition_patterns import PatternWriter

import legato
from legato.analysis.data_sizes import symbols_of_type
from legato.artifacts import Artifact, Blob, Closure, Lowered
from legato.core.mlir import ir
from legato.patterns import Composite
from legato.targets.backends.onnx import op_patterns
from legato.targets.backends.onnxruntime import OnnxRuntime

Codegen = Callable[[legato.Module], Any]


def _closures(module: legato.Module) -> list[Closure]:
    """Numpy, in this process."""
    return [Closure(pb.runner(module, name), (name,)) for name in _names(module)]


def _bytes(module: legato.Module) -> Blob:
    """Numpy, from bytes that a saved model carries."""
    return Blob(pb.serialize(module), "partition_backends:load")


def _lowered(module: legato.Module) -> Lowered:
    """Kernels that the host compiles with its own."""
    legato.Pipeline("relax-legalize{target=generic}").run(module, pb.generic_context())
    return Lowered(module)


def _compiled(module: legato.Module) -> list[Closure]:
    """Models that Legato compiles for the CPU, each for itself."""
    return [Closure(_executable(module, name), (name,)) for name in _names(module)]


def _executable(module: legato.Module, name: str) -> Callable[..., None]:
    """One function of a module, compiled, in destination-passing style."""
    alone = module.clone()
    for function in alone.functions():
        if function.name.value != name:
            function.operation.erase()
    alone.function(name).operation.attributes["sym_name"] = ir.StringAttr.get("main", alone.context)
    executable = legato.compile(alone)
    count = len(executable.outputs)

    def run(*arrays: np.ndarray) -> None:
        found = executable(*arrays[: len(arrays) - count])
        for out, value in zip(arrays[len(arrays) - count :], found if count > 1 else [found], strict=True):
            out[...] = value if isinstance(value, np.ndarray) else np.from_dlpack(value)

    return run


def _names(module: legato.Module) -> list[str]:
    return [function.name.value for function in module.functions()]


def _sizes_are_given(module: legato.Module) -> bool:
    """Whether inputs of each function have all symbols that its results have, as code that allocates for itself wants it."""
    def symbols(types: Sequence[ir.Type]) -> set[str]:
        return set().union(*(symbols_of_type(type_) for type_ in types))

    return all(symbols(function.type.results) <= symbols(function.type.inputs) for function in module.functions())


CODE: dict[str, Codegen] = {"closures": _closures, "bytes": _bytes, "lowered": _lowered, "compiled": _compiled}
PIPELINES = ("", "relax-inline", "relax-inline,relax-canonicalize", "relax-inline,relax-infer-shapes,relax-canonicalize")


class RandomBackend(legato.Backend):
    """Code of one kind for random patterns. ``taken``: counts what it was given."""

    def __init__(self, name: str, patterns: Sequence[Composite], random: Random, taken: Counter[str]):
        self.name, self.patterns, self.taken = name, patterns, taken
        self.pipeline, self.min_ops = random.choice(PIPELINES), random.choice((1, 1, 1, 2, 3))
        self.kind = random.choice([*CODE])

    def codegen(self, module: legato.Module, options: Mapping[str, str]) -> Artifact | Sequence[Artifact]:
        legato.Pipeline("relax-inline").run(module)
        kind = self.kind if _sizes_are_given(module) else "bytes"
        self.taken[f"code {kind}"] += len(_names(module))
        return CODE[kind](module)


class Engine(OnnxRuntime):
    """onnxruntime for random ops. ``taken``: counts what it was given."""

    def __init__(self, ops: Sequence[str], taken: Counter[str]):
        super().__init__(ops)
        self.taken = taken

    def codegen(self, module: legato.Module, options: Mapping[str, str]) -> Sequence[Blob]:
        self.taken["code onnxruntime"] += len(_names(module))
        return super().codegen(module, options)


def random_backends(module: legato.Module, random: Random, taken: Counter[str]) -> list[legato.Backend]:
    """One to three, in the order in which they may choose."""
    writer = PatternWriter(module, random)
    found: list[legato.Backend] = []
    for number in range(random.randint(1, 3)):
        ops = {op.name.removeprefix("relax.") for op in writer.ops} & {one.name for one in op_patterns()}
        if ops and random.random() < 0.2 and not any(isinstance(one, Engine) for one in found):
            found.append(Engine(random.sample(sorted(ops), random.randint(1, len(ops))), taken))
        elif writer.ops:
            found.append(RandomBackend(f"b{number}", writer.patterns(), random, taken))
    return found


@dataclass
class Partitioned(Function):
    """A graph whose backends are random, by ``seed``."""

    seed: int = 0

    def backends(self, module: legato.Module) -> Sequence[legato.Backend]:
        return random_backends(module, Random(f"backends {self.seed}"), self.features)


def partition(seed: int) -> Partitioned:
    """A graph and its backends by number."""
    whole = graph(seed)
    return Partitioned(whole.build, whole.calls, whole.verify, whole.shown, whole.features, alone=True, seed=seed)
