"""Sizes that depend on data: the symbols that are known at each point of main.

Results of a packed function (``relax.returns``) may define symbols that no input does, and so may a value counted by a kernel, or the size
of what a loop carries (``relax.symbol`` on the op that makes it an index). A stage begins after each such op: sizes with its symbols are
computed there, and buffers of these sizes are allocated there. A stage in a region of a loop or branch ends with it, and begins anew in
each step.
"""
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import present, walk
from legato.core.mlir import arith, func, ir, memref
from legato.dialects.relax.dialect import DimsAttr
from legato.dialects.relax.dims import Dim, Size, dims, from_attribute, given_symbols, parse, symbols
from legato.dialects.relax.markers import ARGUMENTS, PACKED, RETURNS, SIGNATURE, SIZES, SYMBOL
from legato.passes.memory.plan_memory.arguments import SizeValues
from legato.passes.memory.plan_memory.sizes import MemrefSizes


@dataclass(eq=False)
class Stage:
    """A part of main: from its beginning, or from after a call on.

    ``known``: all symbols with values there. ``before``: the stage around it. ``new``: the symbols that the call defines, each with result,
    dimension, scale and offset. ``values``, once the stage has begun: computes sizes there, before ``anchor``.
    """

    call: ir.Operation | None
    known: frozenset[str]
    before: "Stage | None" = None
    new: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    values: SizeValues = field(init=False)
    anchor: ir.Operation = field(init=False)
    table: dict[str, ir.Value] = field(default_factory=dict)
    block: ir.Block | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.block = None if self.call is None else self.call.block     # the call may be replaced

    def encloses(self, op: ir.Operation) -> bool:
        """Whether an op stands in the block of the stage, or in a region there."""
        if self.block is None:
            return True
        while op.name != "func.func":
            if op.block == self.block:
                return True
            op = op.parent.operation
        return False

    def begin(self) -> None:
        """Computes the new symbols after the call, beside those of the stage around it."""
        call, table = present(self.call), dict(present(self.before).table)
        index = ir.IndexType.get()
        with ir.InsertionPoint.after(call), call.location:
            for name, (result, axis, scale, offset) in self.new.items():
                if SYMBOL in call.attributes:
                    table[name] = call.results[0]
                    continue
                value = memref.DimOp(call.results[result], arith.ConstantOp(index, axis).result).result
                if offset:
                    value = arith.SubIOp(value, arith.ConstantOp(index, offset).result).result
                table[name] = arith.FloorDivSIOp(value, arith.ConstantOp(index, scale).result).result if scale != 1 else value
            self.anchor = arith.ConstantOp(index, 0).operation
        self.values, self.table = SizeValues(table, self.anchor), table


def find_stages(main: func.FuncOp, given: Sequence[str], sizes: MemrefSizes) -> list[Stage]:
    """The stages of main; the symbols ``given`` are known at its beginning. Records the shapes of packed functions' results in ``sizes``.

    PassFailed for a call in a loop or branch that defines a size, and for a size that cannot be derived from a result.
    """
    stages = [Stage(None, frozenset(given))]
    for call, declaration in packed_calls(main, counted=True):
        before = next(stage for stage in reversed(stages) if stage.encloses(call))
        known = before.known
        if declaration is None:
            name = call.attributes[SYMBOL].value
            size = parse(name)
            if call.name == "func.call":
                sizes.name(call.operands[0], size)
            if not symbols(size) <= known:
                stages.append(Stage(call, known | {name}, before, {name: (0, 0, 1, 0)}))
            continue
        new: dict[str, tuple[int, int, int, int]] = {}
        if RETURNS in declaration.attributes:
            types = result_types(declaration)
            for number, (result, type_) in enumerate(zip(call.results, types)):
                sizes.give(result, dims(type_))
                for name, *place in given_symbols(type_):
                    if name not in known:
                        new.setdefault(name, (number, *place))
            _check_results(call, declaration, types, known)
        for size in passed_sizes(declaration):
            if not symbols(size) <= known:
                raise PassFailed(f"'{declaration.attributes[PACKED].value}' is given the size '{size}', which is not known before it", call)
        if new:
            if call.block != main.body.blocks[0]:
                raise PassFailed(f"'{declaration.attributes[PACKED].value}' gives the size {', '.join(new)} inside of a loop or a branch: "
                                 "only what stands in main itself can", call)
            stages.append(Stage(call, known | set(new), before, new))
    return stages


def stage_of(stages: Sequence[Stage], sizes: Sequence[Size], op: ir.Operation) -> int:
    """The number of the first stage around an op at which some sizes can be computed. PassFailed if there is none."""
    needed = {name for size in sizes for name in symbols(size)}
    for number, stage in enumerate(stages):
        if needed <= stage.known and stage.encloses(op):
            return number
    unknown = ", ".join(sorted(needed.difference(*(stage.known for stage in stages if stage.encloses(op)))))
    raise PassFailed(f"a size depends on {unknown}, which neither an input's size nor what a packed function returns gives", op)


def _check_results(call: ir.Operation, declaration: func.FuncOp, types: Sequence[ir.Type], before: frozenset[str]) -> None:
    for type_ in types:
        linear = {axis for _, axis, *_ in given_symbols(type_)}
        for axis, size in enumerate(dims(type_)):
            if not isinstance(size, int) and (not isinstance(size, Dim) or (axis not in linear and not symbols(size) <= before)):
                raise PassFailed(f"'{declaration.attributes[PACKED].value}' returns {type_}, whose size '{size}' cannot be checked: "
                                 "it is an expression of sizes that the result gives itself; give it a name of its own, and match it", call)


def packed_calls(main: func.FuncOp, counted: bool = False) -> list[Any]:
    """The calls of packed functions in main, in order, each with its declaration. ``counted``: also the ops that define symbols, with
    None."""
    module = main.operation.parent
    declarations = {op.name.value: op for op in module.regions[0].blocks[0].operations if isinstance(op, func.FuncOp) and op.is_external}
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call" or SYMBOL in op.attributes:
            found.append(op)
        return ir.WalkResult.ADVANCE

    walk(main, visit, ir.WalkOrder.PRE_ORDER)
    calls = [(op, None if SYMBOL in op.attributes else declarations.get(op.attributes["callee"].value)) for op in found]
    return [(op, d) for op, d in calls if (counted if SYMBOL in op.attributes else d is not None and PACKED in d.attributes)]


def result_types(declaration: func.FuncOp) -> list[ir.Type]:
    """The tensors that a packed function returns, with their symbols and the element types that the caller sees."""
    return list(declaration.attributes[SIGNATURE].value.results if SIGNATURE in declaration.attributes else declaration.type.results)


def passed_sizes(declaration: func.FuncOp) -> list[Dim]:
    """The sizes that a call needs as values: those in its arguments, and those of its results that are no multiple of one symbol."""
    found: dict[Dim, None] = {}
    for argument in declaration.attributes[ARGUMENTS] if ARGUMENTS in declaration.attributes else ():
        for one in argument if isinstance(argument, ir.ArrayAttr) else [argument]:
            if isinstance(one, DimsAttr):
                found |= {size: None for size in from_attribute(one) if isinstance(size, Dim)}
    if RETURNS in declaration.attributes:
        for type_ in result_types(declaration):
            linear = {axis for _, axis, *_ in given_symbols(type_)}
            found |= {size: None for axis, size in enumerate(dims(type_)) if isinstance(size, Dim) and axis not in linear}
    return list(found)


def pass_sizes(main: func.FuncOp, stages: Sequence[Stage]) -> None:
    """Appends the values of the sizes that it needs to the operands of each call of a packed function."""
    needs: dict[str, list[Dim]] = {}
    begun = [stages[0]]
    for call, declaration in packed_calls(main, counted=True):
        begins = [s for s in stages if s.call is not None and s.call == call]
        if declaration is None:
            begun += begins
            continue
        name = declaration.name.value
        if name not in needs:
            needs[name] = passed_sizes(declaration)
            if needs[name]:
                _take_sizes(declaration, needs[name])
        if needs[name]:
            with ir.InsertionPoint(call), call.location:
                stage = next(s for s in reversed(begun) if s.encloses(call))
                operands = [*call.operands, *(stage.values(size) for size in needs[name])]
                new = func.CallOp([r.type for r in call.results], call.attributes["callee"], operands)
            for old, result in zip(call.results, new.results):
                old.replace_all_uses_with(result)
            call.erase()
        begun += begins


def _take_sizes(declaration: func.FuncOp, needed: Sequence[Dim]) -> None:
    """Appends arguments for sizes to a declaration."""
    inputs = [*declaration.type.inputs, *[ir.IndexType.get()] * len(needed)]
    declaration.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, list(declaration.type.results)))
    if "arg_attrs" in declaration.attributes:
        none = [ir.DictAttr.get({})] * len(needed)
        declaration.attributes["arg_attrs"] = ir.ArrayAttr.get([*declaration.attributes["arg_attrs"], *none])
    declaration.attributes[SIZES] = ir.ArrayAttr.get([ir.StringAttr.get(str(size)) for size in needed])
