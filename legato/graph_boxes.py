"""The graph of a module's main as boxes with text, for pictures: inputs, ops, calls of kernels, parts of backends, outputs."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from legato.core.locations import model_name
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.dims import dims
from legato.dialects.relax.markers import CODEGEN, EXTERNAL, NAME, OPS, PACKED, WEIGHT
from legato.dialects.tir.markers import OUT, PRIM_FUNC
from legato.passes.pipeline.scope import backend_of, external_modules, symbol
from legato.runtime.profile import Profile

INPUT, OUTPUT, OP, KERNEL, BACKEND = "input", "output", "op", "kernel", "backend"
LEFT_OUT = {"relax.constant", "tensor.empty", "arith.constant", "tensor.dim", "memref.dim", "memref.view", "func.return"}
MOST_OPS = 8   # of a kernel or a part that are listed


@dataclass(eq=False)
class GraphBox:
    """An input, an output, an op of main, or a call. ``lines``: its text; ``reads``: the boxes of its operands; ``backend``: of a part;
    ``seconds``, ``share``: of a profiled run, None without one."""

    kind: str
    lines: list[str]
    reads: list[GraphBox] = field(default_factory=list)
    backend: str = ""
    seconds: float | None = None
    share: float = 0.0


def graph_boxes(module: Module, profile: Profile | None = None) -> list[GraphBox]:
    """The boxes of main, each after those it reads. Constants and weights are left out. LegatoError if there is no main."""
    main, parts, times = module.function("main"), _parts(module), _Times(profile)
    made: dict[ir.Value, GraphBox] = {}
    found: list[GraphBox] = []
    written: dict[ir.Value, GraphBox] = {}  # results that are arguments, as after bufferization
    for argument in main.arguments:
        about = _about(main, "arg_attrs", argument.arg_number)
        if WEIGHT in about or any(str(name).startswith("tir.") and name != OUT for name in about):
            continue
        name = about[NAME].value if NAME in about else f"arg{argument.arg_number}"
        box = GraphBox(OUTPUT if OUT in about else INPUT, [name, _shape(argument.type)])
        (written if OUT in about else made)[argument] = box
        if OUT not in about:
            found.append(box)
    for view in main.body.blocks[0].operations:
        op = view.operation
        if op.name == "func.return":
            found += _returned(main, op, made)
        if op.name in LEFT_OUT:
            continue
        box = _box(op, parts, times)
        box.reads = _boxes_of(op.operands, made)
        made.update(dict.fromkeys(op.results, box))
        for output in dict.fromkeys(value for value in op.operands if value in written):
            written[output].reads = [box]
        found.append(box)
    return [*found, *(box for box in written.values() if box.reads)]


def _box(op: ir.Operation, parts: dict[str, tuple[str, str, list[str]]], times: _Times) -> GraphBox:
    results = [_shape(result.type) for result in op.results]
    named = model_name(op)
    if op.name != "func.call":
        box = GraphBox(OP, [op.name.removeprefix("relax."), *([named] if named else []), *results])
        box.seconds, box.share = times.of_op(f"{op.name} {named}" if named else op.name)
        return box
    callee = op.attributes["callee"].value
    kind, backend, inside = parts.get(callee, (KERNEL, "", []))
    ops = [one.value.removeprefix("relax.") for one in op.attributes[OPS]] if OPS in op.attributes else inside
    box = GraphBox(kind, [callee, *_summary(ops or ([named] if named else [])), *results], backend=backend)
    box.seconds, box.share = times.of_call(callee, tuple(one.value for one in op.attributes[OPS]) if OPS in op.attributes else ())
    return box


def _returned(main: func.FuncOp, op: ir.Operation, made: dict[ir.Value, GraphBox]) -> list[GraphBox]:
    found = []
    for number, value in enumerate(op.operands):
        if value not in made and not isinstance(value.type, ir.ShapedType):
            continue  # main's own result after bufferization, an error code
        about = _about(main, "res_attrs", number)
        name = about[NAME].value if NAME in about else f"result {number}"
        found.append(GraphBox(OUTPUT, [name, _shape(value.type)], _boxes_of([value], made)))
    return found


def _boxes_of(values: Iterable[ir.Value], made: dict[ir.Value, GraphBox]) -> list[GraphBox]:
    return list(dict.fromkeys(made[value] for value in values if value in made))


class _Times:
    """The times of a profile, by kernel and graph ops; each call is taken once, in order."""

    def __init__(self, profile: Profile | None) -> None:
        self.calls = list(profile.calls) if profile is not None else []

    def of_call(self, kernel: str, ops: tuple[str, ...]) -> tuple[float | None, float]:
        call = next((one for one in self.calls if one.kernel == kernel and (not ops or tuple(one.ops) == ops)), None)
        if call is None:
            return None, 0.0
        self.calls.remove(call)
        return call.seconds, call.share

    def of_op(self, op: str) -> tuple[float | None, float]:
        """The time of the kernel that computes a graph op, at the last op of those that it computes."""
        call = next((one for one in self.calls if one.ops and one.ops[-1] == op), None)
        if call is None:
            return None, 0.0
        self.calls.remove(call)
        return call.seconds, call.share


def _parts(module: Module) -> dict[str, tuple[str, str, list[str]]]:
    """Kind, backend and ops of each function that main calls: kernels, composites, and functions of external modules."""
    inside: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for external in external_modules(module.module):
        table = {f.name.value: f for f in external.regions[0].blocks[0].operations if isinstance(f, func.FuncOp)}
        for name, function in table.items():
            inside[symbol(external) or "", name] = str(backend_of(external)), _ops(function, table)
    host = {f.name.value: f for f in module.functions()}
    found = {}
    for name, function in host.items():
        attributes = function.operation.attributes
        if EXTERNAL in attributes:
            home, inner = ir.SymbolRefAttr(attributes[EXTERNAL]).value
            found[name] = (BACKEND, *inside.get((home, inner), (home, [])))
        elif PACKED in attributes:
            packed = attributes[PACKED].value
            home, _, inner = packed.rpartition(".")
            found[name] = (BACKEND, *inside.get((home, inner), (home or packed, [])))
        elif CODEGEN in attributes:
            found[name] = BACKEND, attributes[CODEGEN].value, _ops(function, host)
        elif PRIM_FUNC not in attributes:
            found[name] = OP, "", _ops(function, host)
    return found


def _ops(function: func.FuncOp, table: dict[str, func.FuncOp]) -> list[str]:
    found = []
    for view in function.body.blocks[0].operations if not function.is_external else ():
        op = view.operation
        if op.name == "func.call" and op.attributes["callee"].value in table:
            found += _ops(table[op.attributes["callee"].value], table)
        elif op.name not in LEFT_OUT:
            found.append(" ".join(filter(None, (op.name.removeprefix("relax."), model_name(op)))))
    return found


def _summary(ops: list[str]) -> list[str]:
    return [f"  {op}" for op in ops[:MOST_OPS]] + ([f"  ... {len(ops) - MOST_OPS} more"] if len(ops) > MOST_OPS else [])


def _about(main: func.FuncOp, lists: str, number: int) -> ir.DictAttr | dict[str, ir.Attribute]:
    """The attributes of an argument or a result."""
    if lists not in main.attributes or number >= len(main.attributes[lists]):
        return {}
    return {named.name: named.attr for named in ir.DictAttr(main.attributes[lists][number])}


def _shape(type_: ir.Type) -> str:
    if not isinstance(type_, ir.RankedTensorType):
        return str(type_)
    return f"{type_.element_type}[{', '.join(map(str, dims(type_)))}]"
