"""Runs a graph function: graph ops by their numpy semantics, kernels as native code, the ops between them one by one.

It follows main from the graph to the last state before it becomes LLVM's: tensors are arrays, memrefs are views of buffers. Each result
of a graph op, a kernel and a packed function is written down, under the model's name for it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Protocol

import numpy as np

from legato.checking import scalars
from legato.checking.buffers import Memory
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.checking.memory_ops import OPS, global_value
from legato.core.errors import LegatoError
from legato.core.locations import describe, model_name
from legato.core.mlir import func, ir
from legato.dialects import relax, tir
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.markers import EXTERNAL, PACKED, SYMBOL
from legato.dialects.relax.markers import OPS as CALL_OPS
from legato.dialects.tir.markers import OUT, STAND_IN

TERMINATORS = {"func.return", "scf.yield", "scf.condition", "scf.reduce", "scf.forall.in_parallel", "cf.br", "cf.cond_br"}
MOST_STEPS = 100_000   # ops of main that a run goes through, against loops that do not end


@dataclass(frozen=True, eq=False)
class SeenValue:
    """A value of a run. ``key``: the graph op that computes it, with the model's name; ``ops``: all that its kernel computes; ``kernel``:
    its name, or None for a graph op."""

    key: str
    ops: tuple[str, ...]
    kernel: str | None
    array: np.ndarray


class KernelCalls(Protocol):
    """What runs kernels: ``NativeKernels``."""

    def call(self, name: str, operands: Sequence[Any]) -> list[Any]: ...


class PackedCalls(Protocol):
    """What runs packed functions: ``PackedFunctions``."""

    def call(self, declaration: func.FuncOp, operands: Sequence[Any], symbols: dict[str, int]) -> list[Any]: ...


ValueMove = Callable[[np.ndarray], np.ndarray]


@dataclass
class Interpreter:
    """Runs functions of one module. ``moved``: applied to each value that is computed (to see what a change of rounding does)."""

    module: Module
    kernels: KernelCalls
    packed: PackedCalls
    moved: ValueMove | None = None
    seen: list[SeenValue] = field(default_factory=list)
    _steps: int = 0

    def __post_init__(self) -> None:
        self.functions = {f.name.value: f for f in self.module.functions()}

    def run(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """The results of a function. NotEvaluated for an op that cannot be run; LegatoError for inputs that a graph op refuses."""
        return self._function(self.functions[name], arguments, {})

    def _function(self, function: func.FuncOp, arguments: Sequence[Any], symbols: dict[str, int]) -> list[Any]:
        env: dict[ir.Value, Any] = {}
        block = function.body.blocks[0]
        types = [argument.type for argument in block.arguments]
        for type_, value in zip(types, arguments, strict=True):
            give_symbols(type_, value, symbols)
        return self._region(function.body, list(arguments), env, symbols)[0]

    def _region(self, region: ir.Region, arguments: list[Any], env: dict[ir.Value, Any], symbols: dict[str, int]) -> tuple[list[Any], str]:
        """The operands of the terminator that leaves the region, and its name."""
        block = region.blocks[0]
        while True:
            env.update(zip(block.arguments, arguments, strict=True))
            last = self._block(block, env, symbols)
            operands = [env[value] for value in last.operands]
            if last.name not in ("cf.br", "cf.cond_br"):
                return operands, last.name
            if last.name == "cf.br":
                block, arguments = last.successors[0], operands
                continue
            _, yes, no = [int(n) for n in last.attributes["operandSegmentSizes"]]
            taken = bool(operands[0])
            block = last.successors[0 if taken else 1]
            arguments = operands[1:1 + yes] if taken else operands[1 + yes:1 + yes + no]

    def _block(self, block: ir.Block, env: dict[ir.Value, Any], symbols: dict[str, int]) -> ir.Operation:
        for view in block.operations:
            op = view.operation
            if op.name in TERMINATORS:
                return op
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise Misbehaved(f"{describe(op)} is reached after {MOST_STEPS} ops: a loop of main is too long to be checked")
            try:
                results = self._op(op, env, symbols)
            except Misbehaved as problem:
                raise problem if op.name == "func.call" else Misbehaved(f"{describe(op)}: {problem}") from problem
            for result, value in zip(op.results, results, strict=True):
                env[result] = value
                give_symbols(result.type, value, symbols)
            if SYMBOL in op.attributes and results:
                symbols[ir.StringAttr(op.attributes[SYMBOL]).value] = int(results[0])
        raise NotEvaluated("a block of main has no terminator that is known here")

    def _op(self, op: ir.Operation, env: dict[ir.Value, Any], symbols: dict[str, int]) -> Sequence[Any]:
        name, operands = op.name, [env[value] for value in op.operands]
        if name == "func.call":
            return self._call(op, operands, symbols)
        if name == "relax.constant":
            return [self._constant(op)]
        if relax.op_class(op) is not None:
            return self._graph_op(op, operands, symbols)
        if name in OPS:
            made = OPS[name](op, *operands)
            return made if isinstance(made, tuple) else [made] if len(op.results) else []
        if name == "memref.get_global":
            return [global_value(self.module.operation, op.attributes["name"].value)]
        if name.startswith("scf."):
            return self._control(op, operands, env, symbols)
        value = scalars.evaluate(op, operands) if len(op.results) == 1 else None
        if value is None:
            raise NotEvaluated(f"{describe(op)} stands in a graph function, and only its compiled code says what it does")
        return [value]

    def _constant(self, op: ir.Operation) -> np.ndarray:
        return self._moved(np.asarray(self.module.array(op)))

    def _graph_op(self, op: ir.Operation, operands: list[Any], symbols: dict[str, int]) -> Sequence[Any]:
        results = [self._moved(np.asarray(array)) for array in relax.evaluate(op.opview, operands, symbols)]
        name = model_name(op)
        key = f"{op.name} {name}" if name else op.name
        self.seen += [SeenValue(numbered(key, n), (key,), None, array) for n, array in enumerate(results)]
        return results

    def _moved(self, array: np.ndarray) -> np.ndarray:
        return array if self.moved is None else self.moved(array)

    def _call(self, op: ir.Operation, operands: list[Any], symbols: dict[str, int]) -> Sequence[Any]:
        name = op.attributes["callee"].value
        callee = self.functions.get(name)
        if callee is None:
            raise NotEvaluated(f"main calls @{name}, which is not there")
        declared = callee.is_external or STAND_IN in callee.attributes
        if not declared and not tir.is_prim_func(callee):
            return self._function(callee, operands, {})
        if declared:
            results = self._declared(callee, operands, symbols)
        else:
            results = self.kernels.call(name, operands)
        outputs = results if results else [operands[n] for n in out_numbers(callee)]
        ops = tuple(text.value for text in op.attributes[CALL_OPS]) if CALL_OPS in op.attributes else ()
        key = ops[-1] if ops else f"{name} {model_name(op) or ''}".strip()
        for number, value in enumerate(outputs):
            array = value.array() if isinstance(value, Memory) else value
            if self.moved is not None:
                moved = self.moved(array)
                if isinstance(value, Memory):
                    array[...] = moved
                else:
                    results[number] = array = moved
            self.seen.append(SeenValue(numbered(key, number), ops or (key,), name, array.copy() if isinstance(value, Memory) else array))
        return results

    def _declared(self, callee: func.FuncOp, operands: list[Any], symbols: dict[str, int]) -> list[Any]:
        if EXTERNAL in callee.attributes and PACKED not in callee.attributes:
            home, name = [part.strip('@"') for part in str(callee.attributes[EXTERNAL]).split("::")]
            inside = Interpreter(external_module(self.module, home), self.kernels, self.packed, self.moved)
            function = inside.functions[name]
            results = inside._function(function, operands[:len(function.type.inputs)], {})
            self.seen += inside.seen
            return results
        return self.packed.call(callee, operands, symbols)

    def _control(self, op: ir.Operation, operands: list[Any], env: dict[ir.Value, Any], symbols: dict[str, int]) -> Sequence[Any]:
        if op.name == "scf.if":
            region = op.regions[0 if operands[0] else 1]
            return self._region(region, [], env, symbols)[0] if len(region.blocks) else []
        if op.name == "scf.index_switch":
            cases = [*op.attributes["cases"], int(operands[0])]     # the default's region is the first one
            number = cases.index(int(operands[0])) + 1
            return self._region(op.regions[number if number < len(cases) else 0], [], env, symbols)[0]
        if op.name in ("scf.forall", "scf.parallel") and not len(op.results):
            for at in product(*parallel_steps(op, operands)):
                self._region(op.regions[0], list(at), env, symbols)
            return []
        if op.name == "scf.for":
            lower, upper, step, *carried = operands
            for at in range(int(lower), int(upper), int(step)):
                at = scalars.typed(at, op.regions[0].blocks[0].arguments[0].type)
                carried = self._region(op.regions[0], [at, *carried], env, symbols)[0]
            return carried
        if op.name == "scf.while":
            carried = operands
            while True:
                (goes_on, *values), _ = self._region(op.regions[0], carried, env, symbols)
                if not goes_on:
                    return values
                carried = self._region(op.regions[1], values, env, symbols)[0]
        raise NotEvaluated(f"{describe(op)} stands in a graph function")


def parallel_steps(op: ir.Operation, operands: Sequence[Any]) -> list[range]:
    """The steps of each axis of an scf.forall or an scf.parallel."""
    if op.name == "scf.parallel":
        axes = len(operands) // 3
        return [range(*map(int, operands[axis::axes])) for axis in range(axes)]
    dynamic, unknown = iter(operands), ir.ShapedType.get_dynamic_size()
    bounds = [[int(next(dynamic)) if number == unknown else number for number in op.attributes[name]]
              for name in ("staticLowerBound", "staticUpperBound", "staticStep")]
    return [range(*axis) for axis in zip(*bounds)]


def numbered(key: str, number: int) -> str:
    """The key of one of several results."""
    return key if number == 0 else f"{key} (result {number})"


def give_symbols(type_: ir.Type, value: Any, symbols: dict[str, int]) -> None:
    """Adds the symbols that an array's shape gives values to, by its type."""
    if not isinstance(value, np.ndarray) or not isinstance(type_, ir.RankedTensorType) or type_.encoding is None:
        return
    for name, axis, scale, offset in dims.given_symbols(type_):
        symbols.setdefault(name, (value.shape[axis] - offset) // scale)
    for axis, size in enumerate(dims.dims(type_)):
        if isinstance(size, dims.Dim) and size.is_symbol:
            symbols.setdefault(str(size), value.shape[axis])


def out_numbers(function: func.FuncOp) -> list[int]:
    """The numbers of the arguments that are outputs."""
    given = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else []
    return [n for n, of in enumerate(given) if any(one.name == OUT for one in ir.DictAttr(of))]


def external_module(module: Module, home: str) -> Module:
    """The external module of that name as one of its own, with the same weights. LegatoError if it is not there."""
    for op in _nested(module.operation):
        if op.attributes["sym_name"].value == home:
            with op.location:
                made = ir.Module.create()
            for inside in op.regions[0].blocks[0].operations:
                made.body.append(inside.operation.clone(ip=False))
            return Module(made, module.weights)
    raise LegatoError(f"there is no external module @{home}")


def _nested(root: ir.Operation) -> Iterator[ir.Operation]:
    for op in root.regions[0].blocks[0].operations:
        if op.operation.name == "builtin.module" and "sym_name" in op.attributes:
            yield op.operation
