"""The graph of a module's main as boxes with text, for pictures: inputs, ops, calls of kernels, parts of backends, outputs."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from legato.core.locations import model_name
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.dims import dims
from legato.dialects.relax.markers import CODEGEN, EXTERNAL, NAME, OPS, PACKED, SIGNATURE, WEIGHT
from legato.dialects.tir.markers import OUT, PRIM_FUNC
from legato.passes.pipeline.scope import backend_of, external_modules, symbol
from legato.runtime.profile import CallProfile, Profile

INPUT, OUTPUT, OP, KERNEL, BACKEND = "input", "output", "op", "kernel", "backend"
LEFT_OUT = {"relax.constant", "tensor.empty", "arith.constant", "tensor.dim", "memref.dim", "memref.view", "func.return", "scf.yield",
            "scf.condition"}
PASSED = {"builtin.unrealized_conversion_cast", "tensor.cast", "tensor.extract", "tensor.from_elements", "memref.load"}  # not drawn:
PASSED_DIALECTS = ("arith.", "index.")                                # their readers are drawn as readers of their operands
WORDS = {"scf.if": ("if", "end if"), "scf.for": ("loop", "end loop"), "scf.while": ("while", "end while")}
REGIONS = {"scf.if": ("then", "else")}
MOST_OPS = 8   # of a kernel or a part that are listed


@dataclass(eq=False)
class GraphBox:
    """An input, an output, an op of main, or a call. ``lines``: its text; ``reads``: the boxes of its operands; ``backend``: of a part;
    ``inside``: the branch or the loop that it is in; ``seconds``, ``share``: of a profiled run, None without one; ``count``: how often
    the run made the call."""

    kind: str
    lines: list[str]
    reads: list[GraphBox] = field(default_factory=list)
    backend: str = ""
    inside: str = ""
    seconds: float | None = None
    share: float = 0.0
    count: int = 1


def graph_boxes(module: Module, profile: Profile | None = None) -> list[GraphBox]:
    """The boxes of main, each after those it reads. Constants and weights are left out. LegatoError if there is no main."""
    main = module.function("main")
    return _BoxMaker(main, _parts(module), _Times(profile)).boxes()


class _BoxMaker:
    """The boxes of main while they are made. ``made``: by value, the boxes that it comes from; ``written``: by argument that is a result,
    as after bufferization."""

    def __init__(self, main: func.FuncOp, parts: dict[str, tuple[str, str, list[str]]], times: _Times) -> None:
        self.main, self.parts, self.times = main, parts, times
        self.made: dict[ir.Value, tuple[GraphBox, ...]] = {}
        self.written: dict[ir.Value, GraphBox] = {}
        self.found: list[GraphBox] = []

    def boxes(self) -> list[GraphBox]:
        """All boxes."""
        takes, gives = _declared(self.main)
        for argument in self.main.arguments:
            about = _about(self.main, "arg_attrs", argument.arg_number)
            if WEIGHT in about or any(str(name).startswith("tir.") and name != OUT for name in about):
                continue
            if isinstance(argument.type, ir.IndexType):   # the value of a symbolic size
                continue
            name = about[NAME].value if NAME in about else f"arg{argument.arg_number}"
            if OUT in about:
                self.written[argument] = GraphBox(OUTPUT, [name, next(gives, None) or _shape(argument.type)])
                continue
            self._add(GraphBox(INPUT, [name, next(takes, None) or _shape(argument.type)]), [argument])
        block = self.main.body.blocks[0]
        self._block(block, "", [])
        for number, value in enumerate(block.operations[len(block.operations) - 1].operands):
            if value not in self.made and not isinstance(value.type, ir.ShapedType):
                continue  # main's own result after bufferization, an error code
            about = _about(self.main, "res_attrs", number)
            name = about[NAME].value if NAME in about else f"result {number}"
            self._add(GraphBox(OUTPUT, [name, next(gives, None) or _shape(value.type)], self._sources([value])))
        return [*self.found, *(box for box in self.written.values() if box.reads)]

    def _block(self, block: ir.Block, inside: str, entry: list[GraphBox]) -> None:
        """The boxes of a block's ops. ``entry``: what a box reads, in a branch or a loop, that reads no other box in it."""
        begin = len(self.found)
        for view in block.operations:
            op = view.operation
            if op.name in LEFT_OUT:
                continue
            reads = self._sources(op.operands)
            if op.name in PASSED or op.name.startswith(PASSED_DIALECTS):
                self.made.update(dict.fromkeys(op.results, tuple(reads)))
                continue
            if entry and not {*reads} & {*self.found[begin:], *entry}:
                reads = [*entry, *reads]
            if op.name in WORDS:
                self._regions(op, reads, inside)
                continue
            box = _box(op, self.parts, self.times)
            box.reads, box.inside = reads, inside
            for output in dict.fromkeys(value for value in op.operands if value in self.written):
                self.written[output].reads.append(box)
            self._add(box, op.results)

    def _regions(self, op: ir.Operation, reads: list[GraphBox], inside: str) -> None:
        """A branch or a loop: a box where it begins, those of its regions, and one where it ends."""
        name, (first, last) = model_name(op), WORDS[op.name]
        about = [name] if name else []
        begin = GraphBox(OP, [first, *about], reads, inside=inside)
        self._add(begin, ())
        ends: list[GraphBox] = []
        for number, region in enumerate(op.regions):
            for block in region.blocks:
                self.made.update(dict.fromkeys(block.arguments, (begin,)))
                where = REGIONS[op.name][number] if op.name in REGIONS else "step"
                before = len(self.found)
                self._block(block, f"{where} of {name}" if name else where, [begin])
                made = self.found[before:]
                read = {one for box in made for one in box.reads}
                ends += [*self._sources(block.operations[len(block.operations) - 1].operands), *(box for box in made if box not in read)]
        shapes = [_shape(result.type) for result in op.results]
        self._add(GraphBox(OP, [last, *about, *shapes], list(dict.fromkeys(ends or [begin])), inside=inside), op.results)

    def _add(self, box: GraphBox, values: Iterable[ir.Value] = ()) -> None:
        self.found.append(box)
        self.made.update(dict.fromkeys(values, (box,)))

    def _sources(self, values: Iterable[ir.Value]) -> list[GraphBox]:
        return list(dict.fromkeys(box for value in values for box in self.made.get(value, ())))


def _declared(main: func.FuncOp) -> tuple[Iterator[str], Iterator[str]]:
    """The shapes of inputs and results with the names of their sizes, which the types of a lowered main do not have; none if it is no
    lowered one."""
    if SIGNATURE not in main.attributes:
        return iter(()), iter(())
    declared = ir.FunctionType(main.attributes[SIGNATURE].value)
    return map(_shape, declared.inputs), map(_shape, declared.results)


def _box(op: ir.Operation, parts: dict[str, tuple[str, str, list[str]]], times: _Times) -> GraphBox:
    results = [_shape(result.type) for result in op.results]
    named = model_name(op)
    if op.name != "func.call":
        box = GraphBox(OP, [op.name.removeprefix("relax."), *([named] if named else []), *results])
        times.of_op(box, f"{op.name} {named}" if named else op.name)
        return box
    callee = op.attributes["callee"].value
    kind, backend, inside = parts.get(callee, (KERNEL, "", []))
    ops = [one.value.removeprefix("relax.") for one in op.attributes[OPS]] if OPS in op.attributes else inside
    box = GraphBox(kind, [callee, *_summary(ops or ([named] if named else [])), *results], backend=backend)
    times.of_call(box, callee, tuple(one.value for one in op.attributes[OPS]) if OPS in op.attributes else ())
    return box


class _Times:
    """The times of a profile, by kernel and graph ops; each call is taken once, in order."""

    def __init__(self, profile: Profile | None) -> None:
        self.calls = list(profile.calls) if profile is not None else []

    def of_call(self, box: GraphBox, kernel: str, ops: tuple[str, ...]) -> None:
        """Gives the box of a call its time."""
        self._take(box, next((one for one in self.calls if one.kernel == kernel and (not ops or tuple(one.ops) == ops)), None))

    def of_op(self, box: GraphBox, op: str) -> None:
        """Gives the box of a graph op the time of the kernel that computes it, if the op is the last of those that the kernel computes."""
        self._take(box, next((one for one in self.calls if one.ops and one.ops[-1] == op), None))

    def _take(self, box: GraphBox, call: CallProfile | None) -> None:
        if call is not None:
            self.calls.remove(call)
            box.seconds, box.share, box.count = call.seconds, call.share, call.count


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
