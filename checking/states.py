"""One state of a module between two passes, and its runs."""
from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from legato.checking.buffers import INDEX, Memory, memory_dtype
from legato.checking.entry import EntryRunner
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.checking.inputs import InputSample
from legato.checking.interpreter import Interpreter, SeenValue
from legato.checking.native import CompiledKernels, NativeKernels
from legato.checking.packed import PackedFunctions
from legato.core.ir_helpers import present
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import SYMBOL, WEIGHT
from legato.dialects.tir.markers import ARENA, FRAME, FUNCTIONS, HELD, LATE_ARENAS, OUT
from legato.passes.memory.signature import Boundary, donors
from legato.passes.pipeline.base import PassContext

Moved = Callable[[np.ndarray], np.ndarray]


@dataclass
class KeptResults:
    """What all states of a check share: compiled kernels and the results of kernels and packed functions."""

    kernels: CompiledKernels = field(default_factory=CompiledKernels)
    packed: dict[tuple[str, bytes], list[np.ndarray]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MainRun:
    """What a run of main gave: its results, and the values on the way."""

    results: list[np.ndarray]
    seen: list[SeenValue]


class CheckedState:
    """A copy of a module after a pass."""

    def __init__(self, module: Module, kept: KeptResults, context: PassContext, target: str, entry: str = "main"):
        self.module, self.kept, self.context, self.target, self.entry = module.clone(), kept, context, target, entry
        self.digest = hashlib.blake2b(self.module.operation.get_asm(use_local_scope=True, assume_verified=True).encode()).digest()
        self._runs: dict[tuple[int, int], MainRun] = {}

    @property
    def main(self) -> func.FuncOp | None:
        """The function that is run; None where it is the LLVM dialect's already."""
        return next((f for f in self.module.functions() if f.name.value == self.entry), None)

    @cached_property
    def _entry(self) -> EntryRunner:
        return EntryRunner(self.module, self.context)

    def run(self, sample: InputSample, moved: Moved | None = None, number: int = 0) -> MainRun:
        """Runs main. ``moved``, ``number``: a change of all values, and its number. NotEvaluated, Misbehaved, or LegatoError where a graph
        op refuses its input."""
        key = id(sample), number
        if key not in self._runs:
            with self.module.context, ir.Location.unknown():
                self._runs[key] = self._run(sample, moved)
        return self._runs[key]

    def _run(self, sample: InputSample, moved: Moved | None) -> MainRun:
        main = self.main
        if main is None:
            return MainRun(self._entry(sample.arrays), [])
        kernels = NativeKernels(self.module, self.kept.kernels, self.context, self.target)
        interpreter = Interpreter(self.module, kernels, PackedFunctions(self.module, self.kept.packed), moved)
        refuse_late(main)
        given = MainArguments(self, interpreter, main, sample, moved)
        results = interpreter.run(self.entry, given.values)
        given.check_inputs()
        found = given.outputs or [one for one in results]
        return MainRun([one.array().copy() if isinstance(one, Memory) else np.asarray(one) for one in found], interpreter.seen)


def refuse_late(main: func.FuncOp) -> None:
    """NotEvaluated for a main that asks for memory, or packed functions, as only its compiled code can."""
    attributes = main.attributes
    if LATE_ARENAS in attributes or HELD in attributes:
        raise NotEvaluated("main asks the run time for memory once it knows sizes that depend on data")
    for of in attributes["arg_attrs"] if "arg_attrs" in attributes else ():
        if any(one.name in (FUNCTIONS, FRAME) for one in ir.DictAttr(of)):
            raise NotEvaluated("main calls packed functions through the table of its entry")


class MainArguments:
    """The arguments of main in one state: a sample's arrays, weights, memory for results and the arena, sizes."""

    def __init__(self, state: CheckedState, interpreter: Interpreter, main: func.FuncOp, sample: InputSample, moved: Moved | None):
        self.values: list[Any] = []
        self.outputs: list[Memory] = []
        self._inputs: list[tuple[str, Memory, np.ndarray]] = []
        types = list(main.type.inputs)
        given = list(main.attributes["arg_attrs"]) if "arg_attrs" in main.attributes else []
        marks = [{one.name: one.attr for one in ir.DictAttr(of)} for of in given] + [{}] * (len(types) - len(given))
        sizes = self._sizes(state, interpreter, main, sample) if any(ARENA in of for of in marks) else []
        arena, shapes = (sizes[0], sizes[1:]) if sizes else (0, [])
        arrays = iter(zip(sample.names, sample.arrays))
        donor = donors(main, Boundary.of(main))
        self._donated = {sample.names[number] for number in donor if number >= 0}
        for type_, of in zip(types, marks, strict=True):
            if ARENA in of:
                self.values.append(Memory.fresh(np.dtype(np.int8), [arena]))
            elif OUT in of:
                number = donor[len(self.outputs)]
                shape = self._shape(state, main, len(self.outputs), shapes)
                self.outputs.append(self._inputs[number][1] if number >= 0 else Memory.fresh(memory_dtype(type_.element_type), shape))
                self.values.append(self.outputs[-1])
            elif SYMBOL in of:
                self.values.append(self._symbols[of[SYMBOL].value])
            elif isinstance(type_, ir.RankedTensorType | ir.MemRefType):
                name, array = (of[WEIGHT].value, state.module.weights[of[WEIGHT].value]) if WEIGHT in of else next(arrays)
                array = array if moved is None else moved(array)
                if isinstance(type_, ir.RankedTensorType):
                    self.values.append(array)
                else:
                    self.values.append(Memory.holding(array))
                    self._inputs.append((name, self.values[-1], array))
            else:
                raise NotEvaluated(f"main takes a value of type {type_}")

    def check_inputs(self) -> None:
        """Misbehaved if main has changed its inputs or weights, or has written outside of its results."""
        for name, memory, array in self._inputs:
            before = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if name not in self._donated and not np.array_equal(memory.array().reshape(-1).view(np.uint8), before):
                raise Misbehaved(f"main overwrites its input '{name}'")
            if not memory.root.is_intact():
                raise Misbehaved(f"main writes outside of its input '{name}'")
        if any(not one.root.is_intact() for one in self.outputs):
            raise Misbehaved("main writes outside of the memory of a result")

    def _sizes(self, state: CheckedState, interpreter: Interpreter, main: func.FuncOp, sample: InputSample) -> list[int]:
        """What @main_sizes computes: the arena's bytes, then the sizes of results."""
        boundary = Boundary.of(main)
        known: dict[str, int] = {}
        for value, array in zip(boundary.inputs, sample.arrays):
            for axis, size in zip(boundary.axes(value), array.shape):
                if axis.symbol is not None:
                    known.setdefault(axis.symbol, (size - axis.offset) // axis.scale)
        self._symbols = known
        function = next((f for f in state.module.functions() if f.name.value == "main_sizes"), None)
        if function is None:
            raise NotEvaluated("@main_sizes, which computes the size of main's arena, is not there or lowered")
        symbols = Memory.holding(np.array([known[name] for name in boundary.symbols], INDEX))
        sizes = Memory.fresh(INDEX, present(function.type.inputs[1]).shape)
        interpreter.run("main_sizes", [symbols, sizes])
        return [int(n) for n in sizes.array()]

    def _shape(self, state: CheckedState, main: func.FuncOp, number: int, sizes: list[int]) -> list[int]:
        shapes = [value.shape for value in Boundary.of(main).outputs]
        start = sum(len(shape) for shape in shapes[:number])
        return sizes[start:start + len(shapes[number])]
