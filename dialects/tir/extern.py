"""Calls of C functions from inside kernels."""
from collections.abc import Sequence

from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects.tir.markers import EXTERN


def call_extern(symbol: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = (), pure: bool = False) -> list[ir.Value]:
    """A call of the C function ``symbol`` at the insertion point, on scalars (``!llvm.ptr`` too). Returns its results.

    ``pure``: the function does not access memory, so calls may be moved, merged and erased. The declaration is added to the module once.
    LegatoError if the module has a function of that name with another type: C has no overloads.
    """
    return list(call_of(symbol, operands, results, pure).results)


def call_of(symbol: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = (), pure: bool = False) -> func.CallOp:
    """The op of ``call_extern``."""
    type_ = ir.FunctionType.get([v.type for v in operands], list(results))
    top = ir.InsertionPoint.current.block.owner
    while top.operation.name not in ("builtin.module", "gpu.module"):
        top = top.operation.parent
    body = top.operation.regions[0].blocks[0]
    known = next((op for op in body.operations if op.operation.name == "func.func" and op.name.value == symbol), None)
    if known is None:
        with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
            known = func.FuncOp(symbol, type_, visibility="private")
            known.attributes[EXTERN] = ir.UnitAttr.get()
            if pure:
                known.attributes["llvm.readnone"] = ir.UnitAttr.get()
    elif known.type != type_:
        raise LegatoError(f"call_extern: @{symbol} is declared as {known.type} and called as {type_}")
    return func.CallOp(list(results), ir.FlatSymbolRefAttr.get(symbol), list(operands))
