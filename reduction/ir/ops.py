"""Drops ops and functions: what other ops need of them becomes an operand of theirs, an argument of the function, or zeros."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from legato.core.mlir import func, ir
from legato.core.weights import WeightStore
from legato.dialects.module import Module
from legato.reduction.ir.program import IrProgram, functions_of, numbers_of, ops_of, printed
from legato.reduction.search import Search

SYMBOLS = ("func.func", "llvm.func", "gpu.func", "gpu.module", "builtin.module", "transform.named_sequence", "llvm.mlir.global",
           "memref.global")
FUNCTIONS = ("func.func", "llvm.func")
Substitute = Callable[[ir.Value, ir.Operation, Mapping[str, int]], ir.Value | None]


def drop_functions(search: Search[IrProgram]) -> None:
    """Drops functions, modules and globals."""
    base = search.best
    places = [n for n, _ in numbers_of(base, lambda op: [op.name] if op.name in SYMBOLS else [])]

    def build(kept: Iterable[int]) -> IrProgram | None:
        module, chosen = base.module(), set(kept)
        for op in [op for n, op in reversed(list(enumerate(ops_of(module)))) if n in places and n not in chosen]:
            op.erase()
        return printed(base, module)

    search.minimize(places, build)


def drop_bodies(search: Search[IrProgram]) -> None:
    """Makes declarations of functions, which leaves few ops to look at."""
    base = search.best
    places = [n for n, _ in numbers_of(base, lambda op: [True] if op.name in FUNCTIONS and op.regions[0].blocks else [])]

    def build(kept: list[int]) -> IrProgram | None:
        module, chosen = base.module(), set(places) - set(kept)
        with module.context, ir.Location.unknown():
            for op in [op for n, op in enumerate(ops_of(module)) if n in chosen]:
                attributes = {name: op.attributes[name] for name in op.attributes}
                if op.name == "func.func":
                    attributes["sym_visibility"] = ir.StringAttr.get("private")
                else:
                    attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>")
                ir.Operation.create(op.name, attributes=attributes, regions=1, ip=ir.InsertionPoint(op), loc=op.location)
                op.erase()
        return printed(base, module)

    search.minimize(places, build)


def drop_ops(search: Search[IrProgram]) -> None:
    """Drops ops: first so that their results become arguments of the function, then so that an operand takes the place of each."""
    for order in ((argument, zero, operand), (operand, zero, argument)):
        base = search.best
        places = [n for n, _ in numbers_of(base, lambda op: [] if op.name in SYMBOLS or _is_terminator(op) else [op.name])]
        search.minimize(places, _dropping(base, places, order))


def _dropping(base: IrProgram, places: Sequence[int], order: Sequence[Substitute]) -> Callable[[list[int]], IrProgram | None]:
    return lambda kept: without_ops(base, set(places) - set(kept), order)


def without_ops(base: IrProgram, gone: set[int], order: Sequence[Substitute]) -> IrProgram | None:
    """The program without these ops; None where something needs a result and ``order`` has no substitute."""
    module, names = base.module(), named(base.text)
    with module.context, ir.Location.unknown():
        chosen = [op for n, op in enumerate(ops_of(module)) if n in gone]
        for op in reversed(chosen):   # users first, and what is inside before what encloses it
            for result in op.results:
                if not list(result.uses):
                    continue
                value = next((v for make in order if (v := make(result, op, names)) is not None), None)
                if value is None:
                    return None
                result.replace_all_uses_with(value)
            op.erase()
    return printed(base, module)


def _is_terminator(op: ir.Operation) -> bool:
    block = op.block
    return block is not None and block.operations[len(block.operations) - 1].operation == op and bool(block.owner.regions) \
        and block.owner.name not in ("builtin.module", "gpu.module")


def operand(result: ir.Value, op: ir.Operation, names: Mapping[str, int]) -> ir.Value | None:
    """The first operand of the result's type."""
    return next((value for value in op.operands if value.type == result.type), None)


def argument(result: ir.Value, op: ir.Operation, names: Mapping[str, int]) -> ir.Value | None:
    """A new argument of the function around the op; None if something calls it (``names``: how often each symbol is named)."""
    function = op.parent
    while function is not None and function.name not in SYMBOLS:
        function = function.parent
    view = None if function is None else function.opview
    if not isinstance(view, func.FuncOp):
        return None
    if names[view.name.value] > 1:
        return None
    new = view.entry_block.add_argument(result.type, loc=op.location)
    inputs = [*view.type.inputs, result.type]
    view.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, view.type.results))
    if "arg_attrs" in view.attributes:
        view.attributes["arg_attrs"] = ir.ArrayAttr.get([*view.attributes["arg_attrs"], ir.DictAttr.get({})])
    return new


def named(text: str) -> Mapping[str, int]:
    """How often each symbol stands in a text, its definition included."""
    return Counter(re.findall(r"@([\w.$-]+)", text))


def zero(result: ir.Value, op: ir.Operation, names: Mapping[str, int]) -> ir.Value | None:
    """Zeros of the result's type, before the op; None for a type without."""
    type_ = result.type
    with ir.InsertionPoint(op):
        if op.name.startswith("llvm."):
            return ir.Operation.create("llvm.mlir.zero", [type_]).result
        if isinstance(type_, ir.RankedTensorType | ir.VectorType):
            if any(type_.is_dynamic_dim(n) for n in range(type_.rank)) or (isinstance(type_, ir.VectorType) and type_.scalable):
                return None
            scalar = _scalar(type_.element_type)
            if scalar is None:
                return None
            dense = ir.DenseElementsAttr.get_splat(type_, scalar)
            name = "relax.constant" if op.name.startswith("relax.") else "arith.constant"
            return ir.Operation.create(name, [type_], attributes={"value": dense}).result
        scalar = _scalar(type_)
        return None if scalar is None else ir.Operation.create("arith.constant", [type_], attributes={"value": scalar}).result


def _scalar(type_: ir.Type) -> ir.Attribute | None:
    if isinstance(type_, ir.IntegerType | ir.IndexType):
        return ir.IntegerAttr.get(type_, 0) if not isinstance(type_, ir.IntegerType) or type_.is_signless else None
    return ir.FloatAttr.get(type_, 0.0) if isinstance(type_, ir.FloatType) else None


def drop_results(search: Search[IrProgram]) -> None:
    """Drops results of functions that nothing calls, and arguments that nothing reads."""
    def results(base: IrProgram, place: tuple[str, int]) -> Iterable[IrProgram | None]:
        yield _without_result(base, *place)

    def arguments(base: IrProgram, place: tuple[str, int]) -> Iterable[IrProgram | None]:
        yield _without_argument(base, *place)

    search.greedy([(name, n) for name, _, count in functions_of(search.best) for n in reversed(range(count))], results)
    search.greedy([(name, n) for name, count, _ in functions_of(search.best) for n in reversed(range(count))], arguments)


def _function(base: IrProgram, module: Module, name: str) -> func.FuncOp | None:
    return next((f for f in module.functions() if f.name.value == name and named(base.text)[name] == 1), None)


def _without_result(base: IrProgram, name: str, number: int) -> IrProgram | None:
    module = base.module()
    function = _function(base, module, name)
    if function is None or number >= len(function.type.results) or len(function.body.blocks) != 1:
        return None
    with module.context, ir.Location.unknown():
        last = function.entry_block.operations[len(function.entry_block.operations) - 1].operation
        if last.name != "func.return":
            return None
        left = [v for n, v in enumerate(last.operands) if n != number]
        with ir.InsertionPoint(last):
            func.ReturnOp(left)
        last.erase()
        _set_type(function, list(function.type.inputs), [t for n, t in enumerate(function.type.results) if n != number])
        _drop_entry(function, "res_attrs", number)
    return printed(base, module)


def _without_argument(base: IrProgram, name: str, number: int) -> IrProgram | None:
    module = base.module()
    function = _function(base, module, name)
    if function is None or number >= len(function.arguments) or list(function.arguments[number].uses):
        return None
    with module.context, ir.Location.unknown():
        function.entry_block.erase_argument(number)
        _set_type(function, [t for n, t in enumerate(function.type.inputs) if n != number], list(function.type.results))
        _drop_entry(function, "arg_attrs", number)
    return printed(base, module)


def _set_type(function: func.FuncOp, inputs: list[ir.Type], results: list[ir.Type]) -> None:
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _drop_entry(function: func.FuncOp, name: str, number: int) -> None:
    if name in function.attributes:
        left = [entry for n, entry in enumerate(function.attributes[name]) if n != number]
        if left:
            function.attributes[name] = ir.ArrayAttr.get(left)
        else:
            del function.attributes[name]


def simplify_constants(search: Search[IrProgram]) -> None:
    """Sets the elements of constants to 0, or else 1."""
    def variants(base: IrProgram, place: int) -> Iterable[IrProgram | None]:
        for value in (0, 1):
            yield _with_constant(base, place, value)

    def is_constant(op: ir.Operation) -> list[bool]:
        dense = isinstance(op.results[0].type, ir.RankedTensorType | ir.VectorType) if len(op.results) else False
        return [True] if dense and op.name in ("relax.constant", "arith.constant") else []

    search.greedy([n for n, _ in numbers_of(search.best, is_constant)], variants)


def _with_constant(base: IrProgram, place: int, value: int) -> IrProgram | None:
    module = base.module()
    op = ops_of(module)[place]
    type_ = op.results[0].type
    with module.context, ir.Location.unknown():
        scalar = _scalar(type_.element_type)
        if scalar is None:
            return None
        if value:
            scalar = ir.FloatAttr.get(type_.element_type, 1.0) if isinstance(type_.element_type, ir.FloatType) \
                else ir.IntegerAttr.get(type_.element_type, 1)
        op.attributes["value"] = ir.DenseElementsAttr.get_splat(type_, scalar)
        if "weight" in op.attributes:
            del op.attributes["weight"]
    return printed(base, module)


def cut_weights(given: WeightStore, module: Module) -> WeightStore:
    """The weights, those of constants cut to their shapes."""
    shapes = {one.weight: tuple(one.operation.results[0].type.shape) for one in module.constants() if one.weight is not None}
    weights = WeightStore()
    for key in given:
        array, shape = given[key], shapes.get(key)
        if shape is not None and shape != array.shape and len(shape) == array.ndim:
            array = np.ascontiguousarray(array[tuple(slice(0, size) for size in shape)])
        weights.adopt(key, array)
    return weights
