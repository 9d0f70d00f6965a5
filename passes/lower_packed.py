"""tir-lower-packed: calls of packed functions become calls through tvm-ffi.

Main gets one more argument, ``memref<Fxi64> {tir.functions}``: the functions that it calls, in the order of its attribute
``relax.packed_functions``. Each declaration becomes a function that describes its arguments in a table and hands them to
``@legato.call_packed`` (passes/entry/packed.mlir), which makes Tensors of them. A call that fails ends main with its code.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..dialects.dtypes import numpy_dtype
from ..mlir import arith, cf, func, ir
from .base import ModulePass, PassContext, PassFailed
from .boundary import FUNCTIONS, PACKED_NAMES, SIGNATURE
from .entry.tables import dlpack_dtype
from .lift_weights import argument_attributes, set_arguments
from .partition.marks import EXTERNAL, PACKED, text_of
from .upstream import run_on

if TYPE_CHECKING:
    from ..dialects.module import Module

DYNAMIC = ir.ShapedType.get_dynamic_size()
CALL = "llvm.func @legato.call_packed(!llvm.ptr, !llvm.ptr, i64) -> i32"


@dataclass(frozen=True)
class LowerPacked(ModulePass):
    """Calls of functions marked relax.packed go through tvm-ffi: main is given the functions, and makes Tensors of what it passes."""

    name: ClassVar[str] = "tir-lower-packed"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            lower_packed(module.module)


def lower_packed(module: ir.Module) -> None:
    """Works on main, behind tir-plan-memory. Raises PassFailed for a call of an external module's function that has no code."""
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    main = functions.get("main")
    calls = [op for op in _calls(main) if functions[op.attributes["callee"].value].is_external] if main is not None else []
    for call in calls:
        declaration = functions[call.attributes["callee"].value]
        if PACKED not in declaration.operation.attributes:
            raise PassFailed(_no_code(declaration), call)
    if not calls:
        return
    names = list(dict.fromkeys(str(text_of(functions[c.attributes["callee"].value], PACKED)) for c in calls))
    if any(call.operation.parent.operation != main.operation for call in calls):
        run_on(main.operation, "convert-scf-to-cf")
        calls = [c for c in _calls(main) if functions[c.attributes["callee"].value].is_external]
    table = _add_table(main, names)
    _adopt(module, CALL)
    for callee in dict.fromkeys(c.attributes["callee"].value for c in calls):
        _define(module, functions[callee], names)
    leave = _leaving_block(main)
    for call in reversed(calls):
        _checked(call.operation, table, leave)


def _adopt(module: ir.Module, text: str) -> None:
    """Adds the first function of a text."""
    parsed = ir.Module.parse(text)  # a name of its own: the ops die with it
    module.body.append(parsed.body.operations[0].operation.clone(ip=False))


def _no_code(declaration: func.FuncOp) -> str:
    name = declaration.name.value
    if EXTERNAL in declaration.operation.attributes:
        home, function = ir.SymbolRefAttr(declaration.operation.attributes[EXTERNAL]).value
        return (f"@{function} of the external module @{home} has no code yet: run relax-run-codegen for its backend, or "
                "relax-inline-external to compile it with the rest")
    return f"@{name} is declared and not defined, and is no packed function either (relax.packed)"


def _calls(function: func.FuncOp) -> list[func.CallOp]:
    found: list[func.CallOp] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found


def _add_table(main: func.FuncOp, names: list[str]) -> ir.Value:
    """Main's argument that holds the functions."""
    type_ = ir.MemRefType.get([len(names)], ir.IntegerType.get_signless(64))
    attributes = [*argument_attributes(main), {FUNCTIONS: ir.UnitAttr.get()}]
    argument = main.body.blocks[0].add_argument(type_, ir.Location.unknown())
    set_arguments(main, attributes)
    main.operation.attributes[PACKED_NAMES] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in names])
    return argument


def _define(module: ir.Module, declaration: func.FuncOp, names: list[str]) -> None:
    """Puts a function in the place of a declaration: the table's functions, then the declaration's arguments; returns a code."""
    types = list(declaration.type.inputs)
    declared = list(declaration.operation.attributes[SIGNATURE].value.inputs) if SIGNATURE in declaration.operation.attributes else types
    number = names.index(str(text_of(declaration, PACKED)))
    rows = [3 + type_.rank for type_ in types]
    arguments = "".join(f", %a{i}: {type_}" for i, type_ in enumerate(types))
    lines = [
        f"func.func private @{declaration.name.value}(%functions: memref<{len(names)}xi64>{arguments}) -> i32 {{",
        f"  %number = arith.constant {number} : index",
        f"  %address = memref.load %functions[%number] : memref<{len(names)}xi64>",
        "  %function = llvm.inttoptr %address : i64 to !llvm.ptr",
        f"  %words = llvm.mlir.constant({sum(rows)} : i64) : i64",
        "  %table = llvm.alloca %words x i64 : (i64) -> !llvm.ptr",
    ]
    at = 0
    for i, (type_, given) in enumerate(zip(types, declared)):
        lines += [f"  %p{i} = memref.extract_aligned_pointer_as_index %a{i} : {type_} -> index",
                  f"  %d{i} = arith.index_cast %p{i} : index to i64"]
        values = [f"%d{i}", dlpack_dtype(str(numpy_dtype(given.element_type))), type_.rank]
        for axis, size in enumerate(type_.shape):
            if size != DYNAMIC:
                values.append(size)
                continue
            lines += [f"  %x{i}_{axis} = arith.constant {axis} : index", f"  %n{i}_{axis} = memref.dim %a{i}, %x{i}_{axis} : {type_}",
                      f"  %s{i}_{axis} = arith.index_cast %n{i}_{axis} : index to i64"]
            values.append(f"%s{i}_{axis}")
        for offset, value in enumerate(values):
            name = f"%w{at + offset}"
            if isinstance(value, int):
                lines.append(f"  {name} = llvm.mlir.constant({value} : i64) : i64")
                value = name
            lines += [f"  {name}_at = llvm.getelementptr %table[{at + offset}] : (!llvm.ptr) -> !llvm.ptr, i64",
                      f"  llvm.store {value}, {name}_at : i64, !llvm.ptr"]
        at += len(values)
    lines += [f"  %count = llvm.mlir.constant({len(types)} : i64) : i64",
              "  %code = llvm.call @legato.call_packed(%function, %table, %count) : (!llvm.ptr, !llvm.ptr, i64) -> i32",
              "  return %code : i32", "}", CALL]
    _adopt(module, "\n".join(lines))
    declaration.operation.erase()


def _leaving_block(main: func.FuncOp) -> ir.Block:
    """A block that returns the code it is given."""
    i32 = ir.IntegerType.get_signless(32)
    block = main.body.blocks.append(i32)
    with ir.InsertionPoint(block):
        func.ReturnOp([block.arguments[0]])
    return block


def _checked(call: ir.Operation, table: ir.Value, leave: ir.Block) -> None:
    """Replaces a call by one that gives a code, and leaves main where that is not 0."""
    block = call.block
    rest = block.create_after()
    operations = list(block.operations)
    place = next(i for i, op in enumerate(operations) if op.operation == call)
    for op in operations[place + 1:]:
        op.operation.detach_from_parent()
        rest.append(op.operation)
    with ir.InsertionPoint(block), call.location:
        i32 = ir.IntegerType.get_signless(32)
        code = func.CallOp([i32], call.attributes["callee"], [table, *call.operands]).results[0]
        good = arith.CmpIOp(arith.CmpIPredicate.eq, code, arith.ConstantOp(i32, 0).result).result
        cf.CondBranchOp(good, [], [code], rest, leave)
    call.erase()
