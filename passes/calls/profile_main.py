"""tir-profile-main: a copy of main that notes when each of its calls began and ended."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find, text_of
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import OPS, PACKED, WORK
from legato.dialects.tir import is_prim_func
from legato.dialects.tir.markers import EVENTS, MAIN_PROFILED, PROFILED
from legato.passes.calls.packed_stubs import entry_function
from legato.passes.memory.lift_weights import argument_attributes, set_arguments
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

BEGIN, RECORD = "begin", "record"     # codegen/entry/profile.py defines them, or codegen/entry/cuda/profile.py


@dataclass(frozen=True)
class ProfileMain(ModulePass):
    """Adds @main_profiled, which does what @main does and records each call of a kernel or packed function.

    Its last argument is the memory for the records. Only ``legato.profile`` runs it: @main stays as it is, so that a profile that nobody
    asks for costs nothing. A row of ``tir.profiled`` describes each call: the function, its graph ops, and its work.
    """

    name: ClassVar[str] = "tir-profile-main"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            functions = {op.name.value: op for op in module.module.body.operations if isinstance(op, func.FuncOp)}
            if "main" in functions and MAIN_PROFILED not in functions:
                profile_main(module.module, functions)


def profile_main(module: ir.Module, functions: dict[str, func.FuncOp]) -> None:
    """Adds the function to a module after tir-lower-packed."""
    main = functions["main"]
    with ir.InsertionPoint(module.body):
        copy = main.operation.clone().opview
    copy.attributes["sym_name"] = ir.StringAttr.get(MAIN_PROFILED)
    copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
    pointer, i64 = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    marks = [*argument_attributes(copy), {EVENTS: ir.UnitAttr.get()}]
    events = copy.body.blocks[0].add_argument(pointer, ir.Location.unknown())
    set_arguments(copy, marks)
    begins, records = (entry_function(main, name) for name in (BEGIN, RECORD))
    rows = []
    for call in find(copy.operation, "func.call"):
        callee = call.attributes["callee"].value
        if OPS not in call.attributes and not is_prim_func(functions[callee]) and PACKED not in functions[callee].attributes:
            continue
        number = len(rows)
        rows.append(_row(functions[callee], call))
        with ir.InsertionPoint(call), call.location:
            begin = func.CallOp([i64], ir.FlatSymbolRefAttr.get(begins), [events]).result
            which = ir.Operation.create("arith.constant", [i64], attributes={"value": ir.IntegerAttr.get(i64, number)}).result
            end = func.CallOp([], ir.FlatSymbolRefAttr.get(records), [events, which, begin])
        end.operation.move_after(call)
    copy.attributes[PROFILED] = ir.ArrayAttr.get(rows)
    with ir.InsertionPoint(module.body):
        func.FuncOp(begins, ir.FunctionType.get([pointer], [i64]), visibility="private")
        func.FuncOp(records, ir.FunctionType.get([pointer, i64, i64], []), visibility="private")


def _row(function: func.FuncOp, call: ir.Operation) -> ir.DictAttr:
    empty = ir.ArrayAttr.get([])
    packed = [ir.StringAttr.get(f"call_packed {text_of(function.operation, PACKED)}")] if PACKED in function.attributes else []
    return ir.DictAttr.get({
        "function": function.name,
        "ops": call.attributes[OPS] if OPS in call.attributes else ir.ArrayAttr.get(packed),
        "work": call.attributes[WORK] if WORK in call.attributes else empty,
    })
