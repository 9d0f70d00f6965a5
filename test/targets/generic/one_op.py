"""Many one-op relax functions, legalized for ``generic``, lowered by nothing but upstream passes, compiled together and run."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from legato.core.dtypes import as_dtype, mlir_type
from legato.core.mlir import execution_engine, func, ir, linalg, passmanager
from legato.dialects import relax
from legato.dialects.loading import make_context
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.passes.legalize.legalize import Legalize
from legato.passes.pipeline.base import PassContext
from legato.targets import generic
from legato.targets.target import Target

BUFFERS = "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},canonicalize,cse"
LLVM = (
    "convert-linalg-to-loops,canonicalize,lower-affine,expand-strided-metadata,lower-affine,arith-expand{include-bf16=1},"
    "convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,convert-to-llvm,reconcile-unrealized-casts,canonicalize"
)


def copies_as_loops(module: ir.Operation) -> None:
    """Upstream lowers a strided copy of buffers to a call of a library that is not there."""
    found = []
    module.walk(lambda op: (found.append(op) if op.name == "memref.copy" else None, ir.WalkResult.ADVANCE)[1])
    for op in found:
        with ir.InsertionPoint(op), op.location:
            linalg.copy(op.operands[0], outs=[op.operands[1]])
        op.erase()


@dataclass
class Case:
    """One op on given inputs. ``shapes`` may hold symbols, whose values ``symbols`` gives; an input may be a constant of the program."""

    op: str
    inputs: Sequence[np.ndarray]
    attrs: Mapping = field(default_factory=dict)
    shapes: Sequence[Sequence] | None = None
    symbols: Mapping[str, int] = field(default_factory=dict)
    constants: Sequence[int] = ()

    def __str__(self) -> str:
        shapes = self.shapes or [a.shape for a in self.inputs]
        inputs = ", ".join(f"{as_dtype(a.dtype)}{list(s)}" for a, s in zip(self.inputs, shapes))
        return f"{self.op}({inputs}){dict(self.attrs) or ''}{dict(self.symbols) or ''}{self.constants or ''}"

    def expected(self) -> np.ndarray:
        attrs = {k: [self._number(v) for v in value] if isinstance(value, (list, tuple)) else value for k, value in self.attrs.items()}
        return relax.OPS[self.op].semantics(*self.inputs, **attrs)

    def _number(self, value):
        return dims.substitute(dims.as_size(value), self.symbols) if isinstance(value, (str, dims.Dim)) else value

    def build(self, name: str) -> None:
        """Adds the function to the module at the insertion point."""
        shapes = self.shapes or [a.shape for a in self.inputs]
        types = [dims.tensor_type(s, mlir_type(a.dtype)) for i, (a, s) in enumerate(zip(self.inputs, shapes)) if i not in self.constants]
        given = [s for i, s in enumerate(shapes) if i not in self.constants]
        bare = {str(d) for s in given for d in s}
        extra = [s for s in self.symbols if s not in bare]  # symbols that no input shows come as tensors of that size
        types += [dims.tensor_type([s], mlir_type("i8")) for s in extra]
        function = func.FuncOp(name, (types, []))
        with ir.InsertionPoint(function.add_entry_block()):
            arguments = iter(function.arguments)
            values = [relax.constant(a) if i in self.constants else next(arguments) for i, a in enumerate(self.inputs)]
            op = relax.OPS[self.op]
            result = op.build(values, **self.attrs) if self.op == "concat" else op.build(*values, **self.attrs)
            func.ReturnOp([result])
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [result.type]))
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()

    def arguments(self) -> list[np.ndarray]:
        bare = {str(d) for i, s in enumerate(self.shapes or []) if i not in self.constants for d in s}
        extra = [np.zeros(n, np.int8) for s, n in self.symbols.items() if s not in bare]
        return [a for i, a in enumerate(self.inputs) if i not in self.constants] + extra


def legalized(cases: Sequence[Case]) -> Module:
    """One module with a function for each case, legalized by the generic rules alone."""
    context = make_context()
    with context, ir.Location.unknown():
        module = Module(ir.Module.create())
        with ir.InsertionPoint(module.body):
            for number, case in enumerate(cases):
                with ir.Location.name(f"case{number}: {case}"):
                    case.build(f"case{number}")
        target = Target("generic", rules=generic.RULES)
        Legalize(target="generic").run(module, PassContext(resolve_target=lambda _: target))
        assert module.operation.verify()
    return module


class Compiled:
    """The functions of some cases, ready to be called."""

    def __init__(self, cases: Sequence[Case]):
        self.cases = cases
        self.module = legalized(cases)
        with self.module.context, ir.Location.unknown():
            for op in self.module.body.operations:
                if "relax.signature" in op.operation.attributes:
                    del op.operation.attributes["relax.signature"]
            self.run(BUFFERS)
            copies_as_loops(self.module.operation)
            self.run(LLVM)
            self.engine = execution_engine.ExecutionEngine(self.module.module, opt_level=0)

    def run(self, passes: str) -> None:
        manager = passmanager.PassManager.parse(f"builtin.module({passes})")
        manager.enable_verifier(False)
        manager.run(self.module.operation)

    def __call__(self, number: int, dtype: np.dtype, rank: int) -> np.ndarray:
        result = np.zeros(3 + 2 * rank, np.int64)
        arguments = [np.ascontiguousarray(a) for a in self.cases[number].arguments()]
        tables = [result, *map(_descriptor, arguments)]
        pointers = [ctypes.c_void_p(t.ctypes.data) for t in tables]
        packed = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(p) for p in pointers])
        self.engine.lookup(f"case{number}")(packed)
        _, aligned, offset, *rest = result.tolist()
        shape, count = rest[:rank], int(np.prod(rest[:rank]))
        if count == 0:
            return np.empty(shape, dtype)
        raw = ctypes.string_at(aligned + offset * dtype.itemsize, count * dtype.itemsize)
        return np.frombuffer(raw, dtype).reshape(shape)


def _descriptor(array: np.ndarray) -> np.ndarray:
    """A memref descriptor is a row of 64-bit words: two pointers, offset, sizes, strides."""
    return np.array([array.ctypes.data, array.ctypes.data, 0, *array.shape, *(s // array.itemsize for s in array.strides)], np.int64)


_TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "float64": 1e-11}


def difference(found: np.ndarray, expected: np.ndarray) -> str | None:
    """What is wrong with a result, or None."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    tolerance = _TOLERANCE.get(str(expected.dtype))
    if tolerance is None:
        same = np.array_equal(found, expected)
    else:
        same = np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance, equal_nan=True)
    return None if same else f"{found.tolist()}, expected {expected.tolist()}"


def failures(cases: Sequence[Case]) -> list[str]:
    """Compiles and runs the cases; what is wrong with each that differs from the op's numpy semantics."""
    compiled, found = Compiled(cases), []
    for number, case in enumerate(cases):
        expected = np.asarray(case.expected())
        wrong = difference(compiled(number, expected.dtype, expected.ndim), expected)
        if wrong:
            found.append(f"{case}: {wrong[:400]}")
    return found
