"""Calls of functions without a body, in destination-passing style: packed functions of the run time, functions of external modules."""
from collections.abc import Sequence

from ...mlir import func, ir, tensor
from ..errors import LegatoError
from ..tir.kernel import OUT
from . import dims

PACKED = "relax.packed"


def declare(name: str, inputs: Sequence[ir.Type], outputs: Sequence[ir.Type], mark: str, value: ir.Attribute) -> func.FuncOp:
    """A private declaration ``(inputs..., outputs...) -> outputs`` at the insertion point; its attribute ``mark`` says what it is of."""
    function = func.FuncOp(name, ir.FunctionType.get([*inputs, *outputs], list(outputs)), visibility="private")
    out, empty = ir.DictAttr.get({OUT: ir.UnitAttr.get()}), ir.DictAttr.get({})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([empty] * len(inputs) + [out] * len(outputs))
    function.attributes[mark] = value
    return function


def call_dps(declaration: func.FuncOp, operands: Sequence[ir.Value], function: func.FuncOp) -> list[ir.Value]:
    """A call of a declaration at the insertion point, on fresh outputs. ``function``: the one that holds the call; its arguments give the
    sizes that are symbols. LegatoError for an output with a size that has no name."""
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


def call_dps_packed(name: str, operands: Sequence[ir.Value], *outputs: ir.Type,
                    symbol: str | None = None) -> "ir.Value | tuple[ir.Value, ...]":
    """A call of the packed function ``name`` of the run time, at the insertion point inside a function: ``name(operands..., outputs...)``.

    ``outputs``: the types of what it writes, which the caller allocates. ``symbol``: the declaration's name in the module (default: made
    from ``name``). Returns the outputs. LegatoError where there is another function of that symbol.
    """
    block = ir.InsertionPoint.current.block
    function = block.owner
    while function.operation.name != "func.func":
        function = function.operation.parent
    function = function.opview
    module = function.operation.parent
    symbol = symbol or "".join(c if c.isalnum() else "_" for c in name)
    found = next((op for op in module.regions[0].blocks[0].operations
                  if isinstance(op, func.FuncOp) and op.name.value == symbol), None)
    inputs = [v.type for v in operands]
    if found is None:
        with ir.InsertionPoint(module.regions[0].blocks[0]):
            found = declare(symbol, inputs, outputs, PACKED, ir.StringAttr.get(name))
    elif PACKED not in found.attributes or list(found.type.inputs) != [*inputs, *outputs]:
        raise LegatoError(f"cannot declare the packed function '{name}': the module has another function @{symbol}, of type {found.type}; "
                          "give symbol=")
    results = call_dps(found, operands, function)
    return results[0] if len(results) == 1 else tuple(results)
