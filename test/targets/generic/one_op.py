"""One-op cases: many of them in one ``main``, which is what a model looks like to the compiler; compiled, run, and compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import legato
from legato.core.dtypes import as_dtype, mlir_type
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.loading import make_context
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.targets.catalog import Catalog

AT_ONCE = 40
# a target, and the stage that compiling begins after: with the passes on graphs, or with the rules for the ops as they are written
WAYS = (("llvm", None), ("llvm{cpu=x86-64-v3}", "relax"))


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
        return np.asarray(relax.OPS[self.op].semantics(*self.inputs, **attrs))

    def _number(self, value):
        return dims.substitute(dims.as_size(value), self.symbols) if isinstance(value, (str, dims.Dim)) else value


class Side:
    """One case with symbols of its own: ``n`` of case 3 is ``n_3``. ``types``: of its arguments; ``arrays``: what to give for them."""

    def __init__(self, case: Case, number: int):
        self.case, self.number = case, number
        self.table = {s: dims.symbol(f"{s}_{number}") for s in case.symbols}
        shapes = [[self.renamed(d) for d in s] for s in (case.shapes or [a.shape for a in case.inputs])]
        passed = [i for i in range(len(case.inputs)) if i not in case.constants]
        bare = {str(d) for i in passed for d in shapes[i]}
        hidden = [s for s in case.symbols if f"{s}_{number}" not in bare]
        self.types = [dims.tensor_type(shapes[i], mlir_type(case.inputs[i].dtype)) for i in passed]
        self.types += [dims.tensor_type([f"{s}_{number}"], mlir_type("i8")) for s in hidden]
        self.arrays = [case.inputs[i] for i in passed] + [np.zeros(case.symbols[s], np.int8) for s in hidden]

    def renamed(self, value):
        return dims.substitute(dims.as_size(value), self.table) if isinstance(value, (str, dims.Dim)) else value

    def build(self, arguments: Sequence[ir.Value]) -> ir.Value:
        """Adds the op at the insertion point."""
        case, given = self.case, iter(arguments)
        attrs = {k: [self.renamed(v) for v in value] if isinstance(value, (list, tuple)) else value for k, value in case.attrs.items()}
        with ir.Location.name(str(case)):
            values = [relax.constant(a) if i in case.constants else next(given) for i, a in enumerate(case.inputs)]
            op = relax.OPS[case.op]
            return op.build(values, **attrs) if case.op == "concat" else op.build(*values, **attrs)


def together(cases: Sequence[Case]) -> tuple[Module, list[np.ndarray]]:
    """A module whose ``main`` returns the result of each case, and its inputs."""
    context = make_context()
    with context, ir.Location.unknown():
        module = Module(ir.Module.create())
        sides = [Side(case, number) for number, case in enumerate(cases)]
        types = [t for side in sides for t in side.types]
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", (types, []))
            with ir.InsertionPoint(main.add_entry_block()):
                arguments = iter(main.arguments)
                results = [side.build([next(arguments) for _ in side.types]) for side in sides]
                func.ReturnOp(results)
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [r.type for r in results]))
        main.attributes["arg_attrs"] = _names("x", len(types))
        main.attributes["res_attrs"] = _names("y", len(results))
    return module, [a for side in sides for a in side.arrays]


def _names(prefix: str, count: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.DictAttr.get({"relax.name": ir.StringAttr.get(f"{prefix}{i}")}) for i in range(count)])


def legalized(cases: Sequence[Case]) -> Module:
    """The cases, legalized by the generic rules alone."""
    module, _ = together(cases)
    legato.Pipeline("relax-legalize{target=generic}").run(module, legato.PassContext(resolve_target=Catalog().resolve))
    assert module.operation.verify()
    return module


def computed(cases: Sequence[Case], target: str = "llvm", from_stage: str | None = None) -> list[np.ndarray]:
    """What the compiled cases give."""
    found = []
    for start in range(0, len(cases), AT_ONCE):
        part = cases[start : start + AT_ONCE]
        module, inputs = together(part)
        results = legato.compile(module, target, from_stage=from_stage)(*inputs)
        found += [np.asarray(r) for r in (results if len(part) > 1 else [results])]
    return found


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
    """Compiles and runs the cases, each in one of ``WAYS``; what is wrong with each that differs from the op's numpy semantics."""
    found = []
    for number, (target, first) in enumerate(WAYS):
        chosen = cases[number :: len(WAYS)]
        for case, result in zip(chosen, computed(chosen, target, first) if chosen else [], strict=True):
            wrong = difference(result, np.asarray(case.expected()))
            if wrong:
                found.append(f"{case} on {target}: {wrong[:400]}")
    return found
