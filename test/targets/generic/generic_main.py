"""Many one-op cases side by side in one ``main``: what a user's model looks like to the whole pipeline."""

from collections.abc import Sequence

import numpy as np
from one_op import Case

from legato.core.dtypes import mlir_type
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.loading import make_context
from legato.dialects.module import Module
from legato.dialects.relax import dims


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
