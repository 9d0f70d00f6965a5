"""What ties a model's module to the functions outside it, which are the same for all models (library.py): the list of what the model has of
its own, which they take, and the functions that pass it on. Text in the LLVM dialect."""
from collections.abc import Collection
from functools import cache

from legato.codegen.entry.layouts import OF_MODEL
from legato.codegen.entry.library import UNITS, NativeFunction, create_on_device
from legato.codegen.native.body import public_symbol, signature, symbol_of
from legato.codegen.native.reach import needs_model
from legato.core.mlir import ir

MODEL = "legato.model"      # the symbol of a model's list


def is_defined(op: ir.OpView | ir.Operation) -> bool:
    """Whether a function has a body, or a global a value."""
    return len(op.operation.regions[0].blocks) > 0 or "value" in op.attributes


def list_text(there: Collection[str]) -> str:
    """``@legato.model``: the addresses of what is there, by symbol; null for the rest. With declarations of them."""
    places, functions = OF_MODEL.places, OF_MODEL.functions
    type_ = f"!llvm.array<{len(places)} x ptr>"
    declared, lines = [], [f"  %0 = llvm.mlir.zero : {type_}"]
    for number, symbol in enumerate(symbol for symbol in places if symbol in there):
        if symbol in functions:
            of = signature(functions[symbol])
            declared.append(f"llvm.func @{symbol}({of.types}){of.arrow}")
        else:
            declared.append(f"llvm.mlir.global external @{symbol}() : i64")
        lines += [f"  %of{number} = llvm.mlir.addressof @{symbol} : !llvm.ptr",
                  f"  %{number + 1} = llvm.insertvalue %of{number}, %{number}[{places[symbol]}] : {type_}"]
    return "\n".join([*declared, f"llvm.mlir.global internal constant @{MODEL}() : {type_} {{", *lines,
                      f"  llvm.return %{len(declared)} : {type_}", "}"])


@cache
def needs_wrapper(symbol: str) -> NativeFunction | None:
    """The function that a model's code calls by this symbol, if it takes the model's list besides."""
    roots = (root for unit in UNITS for root in unit.roots if root is not create_on_device)     # it has create's symbol
    return next((root for root in roots if public_symbol(root) == symbol and needs_model(root)), None)


def wrapper_text(root: NativeFunction, linkage: str = "internal ") -> str:
    """A function of the model's module that calls one of a unit with the model's list, and the declaration of that."""
    of, symbol = signature(root), symbol_of(root)
    operands = [f"%{name}" for name in of.parameters]
    types = [parameter.mlir for parameter in of.parameters.values()]
    shown = ", ".join(f"{operand}: {type_}" for operand, type_ in zip(operands, types))
    called = f"llvm.call @{symbol}({', '.join(['%model', *operands])}) : ({', '.join(['!llvm.ptr', *types])}) -> {of.returned}"
    result = f" : {of.result.mlir}" if of.result else ""
    return (f"llvm.func @{symbol}({', '.join(['!llvm.ptr', *types])}){of.arrow}\n"
            f"llvm.func {linkage}@{public_symbol(root)}({shown}){of.arrow} {{\n  %model = llvm.mlir.addressof @{MODEL} : !llvm.ptr\n"
            f"  {'%returned = ' if result else ''}{called}\n  llvm.return{' %returned' + result if result else ''}\n}}")
