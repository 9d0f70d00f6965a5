"""Calls of functions without a body: packed functions of the run time and functions of external modules.

In destination-passing style a declaration is ``(inputs..., outputs...) -> outputs``, and the caller allocates. With the attribute
``relax.returns`` it is ``(inputs...) -> results``: the callee allocates the results, they are checked when the call returns, and their
types may introduce symbols: sizes that depend on data.

Arguments other than tensors are stored in the declaration's attribute ``relax.arguments``, a list of all arguments in order: ``unit`` for
a tensor (the next operand), a string, a float, an integer, a boolean, ``#relax.dims<["n", 4]>`` for a shape, and ``[#relax.dims<["n"]>]``
for a single size as an integer.
"""
from collections.abc import Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.ir_helpers import declares, walk
from legato.core.mlir import func, ir, tensor
from legato.dialects.relax import dims
from legato.dialects.relax.markers import ARGUMENTS, PACKED, PURE, RETURNS
from legato.dialects.relax.type_index import type_index
from legato.dialects.tir.markers import OUT


def declare(name: str, inputs: Sequence[ir.Type], outputs: Sequence[ir.Type], mark: str, value: ir.Attribute) -> func.FuncOp:
    """A private declaration ``(inputs..., outputs...) -> outputs`` at the insertion point, with the attribute ``mark = value``."""
    function = func.FuncOp(name, ir.FunctionType.get([*inputs, *outputs], list(outputs)), visibility="private")
    out, empty = ir.DictAttr.get({OUT: ir.UnitAttr.get()}), ir.DictAttr.get({})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([empty] * len(inputs) + [out] * len(outputs))
    function.attributes[mark] = value
    return function


def call_dps(declaration: func.FuncOp, operands: Sequence[ir.Value], function: func.FuncOp) -> list[ir.Value]:
    """A call of a declaration at the insertion point, on fresh outputs. ``function`` contains the call; symbols are read from its
    arguments. LegatoError for an output with a size that has no name."""
    empties = []
    for type_ in declaration.type.results:
        sizes = [_known(size, declaration, type_) for size in dims.dims(type_)]
        sizes = [size if isinstance(size, int) else dims.materialize(size, function) for size in sizes]
        empties.append(tensor.EmptyOp(sizes, type_.element_type, encoding=type_.encoding).result)
    call = func.CallOp(list(declaration.type.results), ir.FlatSymbolRefAttr.get(declaration.name.value), [*operands, *empties])
    return list(call.results)


def _known(size: dims.Size, declaration: func.FuncOp, type_: ir.Type) -> dims.Size:
    if size is dims.UNKNOWN:
        raise LegatoError(f"the output {type_} of @{declaration.name.value} has a size without a name: who calls it could not allocate it; "
                          "run relax-infer-shapes first, or name the size (#relax.dims)")
    return size


def call_dps_packed(name: str, operands: Sequence[Any], *outputs: ir.Type, symbol: str | None = None) -> "ir.Value | tuple[ir.Value, ...]":
    """A call of the packed function ``name`` of the run time at the insertion point: ``name(operands..., outputs...)``.

    ``operands``: tensors, and Python ints, floats, bools, strings; a ``Dim`` is passed as an int, a list of sizes as a shape.
    ``outputs``: the types of the outputs, which the caller allocates. ``symbol``: the declaration's name in the module (default: made
    from ``name``). Returns the outputs. LegatoError if the module has another function called ``symbol``.
    """
    module, function = _around()
    tensors, arguments = _split(operands)
    declaration = _declared(module, name, symbol, [v.type for v in tensors], outputs, arguments, {})
    results = call_dps(declaration, tensors, function)
    return results[0] if len(results) == 1 else tuple(results)


def call_packed(name: str, operands: Sequence[Any], *results: ir.Type, pure: bool = False,
                symbol: str | None = None) -> "ir.Value | tuple[ir.Value, ...]":
    """A call of the packed function ``name`` of the run time at the insertion point; the function allocates its results.

    ``operands`` as in ``call_dps_packed``. ``results``: their types, checked at run time. A symbol that no argument or earlier result
    defines gets its value from the result; a size without a name gets a new symbol. ``pure``: the function has no side effects.
    LegatoError as in ``call_dps_packed``.
    """
    module, function = _around()
    tensors, arguments = _split(operands)
    named = name_unknown(function, results, symbol or _symbol_of(name))
    marks = {RETURNS: ir.UnitAttr.get(), **({PURE: ir.UnitAttr.get()} if pure else {})}
    declaration = _declared(module, name, symbol, [v.type for v in tensors], named, arguments, marks)
    call = func.CallOp(list(declaration.type.results), ir.FlatSymbolRefAttr.get(declaration.name.value), tensors)
    return call.results[0] if len(call.results) == 1 else tuple(call.results)


def _around() -> tuple[ir.Operation, func.FuncOp]:
    """The module and the function around the insertion point."""
    function = ir.InsertionPoint.current.block.owner
    while function.operation.name != "func.func":
        function = function.operation.parent
    return function.operation.parent, function.opview


def _split(operands: Sequence[Any]) -> tuple[list[ir.Value], ir.ArrayAttr | None]:
    """The tensors, and the list of all arguments if there are others than tensors."""
    tensors = [v for v in operands if isinstance(v, ir.Value)]
    if len(tensors) == len(operands):
        return tensors, None
    return tensors, ir.ArrayAttr.get([_argument(v) for v in operands])


def _argument(value: Any) -> ir.Attribute:
    if isinstance(value, ir.Value):
        return ir.UnitAttr.get()
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, float):
        return ir.FloatAttr.get_f64(value)
    if isinstance(value, str):
        if "\0" in value:
            raise LegatoError(f"a packed function is given the text {value!r}, which has a zero in it: texts end there")
        return ir.StringAttr.get(value)
    if isinstance(value, dims.Dim):
        return ir.ArrayAttr.get([dims.to_attribute([value])])
    if isinstance(value, (list, tuple)):
        return dims.to_attribute([dims.as_size(v) for v in value])
    try:
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value.__index__()))
    except (AttributeError, TypeError):
        raise LegatoError(f"a packed function takes tensors, ints, floats, bools, texts and shapes, not {value!r}") from None


def _symbol_of(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _declared(module: ir.Operation, name: str, symbol: str | None, inputs: Sequence[ir.Type], results: Sequence[ir.Type],
              arguments: ir.Attribute | None, marks: dict[str, ir.Attribute]) -> func.FuncOp:
    """The declaration of a packed function for these types and constants: an existing one, or a new one under an unused name."""
    marks = {PACKED: ir.StringAttr.get(name), **({ARGUMENTS: arguments} if arguments is not None else {}), **marks}
    dps = RETURNS not in marks
    type_ = ir.FunctionType.get([*inputs, *(results if dps else [])], list(results))
    there = {op.name.value: op for op in module.regions[0].blocks[0].operations if isinstance(op, func.FuncOp)}
    base, count = symbol or _symbol_of(name), 0
    wanted = base
    while wanted in there:
        if declares(there[wanted], type_, marks, (PACKED, ARGUMENTS, RETURNS, PURE)):
            return there[wanted]
        if symbol is not None:
            raise LegatoError(f"cannot declare the packed function '{name}': the module has another function @{symbol}, of type "
                              f"{there[wanted].type}; give another symbol=")
        count += 1
        wanted = f"{base}_{count}"
    with ir.InsertionPoint(module.regions[0].blocks[0]):
        if dps:
            made = declare(wanted, inputs, results, PACKED, marks[PACKED])
        else:
            made = func.FuncOp(wanted, type_, visibility="private")
    for mark, value in marks.items():
        made.attributes[mark] = value
    return made


def name_unknown(function: func.FuncOp, results: Sequence[ir.Type], base: str) -> list[ir.Type]:
    """The types, with each size without a name given a symbol that the function does not use yet."""
    if not any(dims.UNKNOWN in dims.dims(t) for t in results):
        return list(results)
    taken, made = symbols_of(function), []
    for number, type_ in enumerate(results):
        sizes = list(dims.dims(type_))
        for axis, size in enumerate(sizes):
            if size is dims.UNKNOWN:
                sizes[axis] = dims.symbol(fresh_name(f"{base}_{number}_{axis}" if len(results) > 1 else f"{base}_{axis}", taken))
        made.append(dims.tensor_type(sizes, type_.element_type))
    return made


def fresh_name(name: str, taken: set[str]) -> str:
    """A symbol name made from ``name`` that is not in ``taken``, to which it is added."""
    base = name = dims.symbol_name(name)
    number = 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name


def symbols_of(function: func.FuncOp) -> set[str]:
    """All symbols in the types of the values in a function, those in the regions of its ops included; where types are indexed, of all types
    that were made."""
    index = type_index()
    if index is not None:
        return index.names
    found: set[ir.Type] = {argument.type for argument in function.body.blocks[0].arguments}

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.update(result.type for result in op.results)
        return ir.WalkResult.ADVANCE

    walk(function, visit)
    return {name for type_ in found if isinstance(type_, ir.RankedTensorType) for size in dims.dims(type_) for name in dims.symbols(size)}
