"""tir-lower-packed: turns calls of packed functions into calls through tvm-ffi.

Main gets another argument, ``memref<Fxi64> {tir.functions}``: the functions that it calls, in the order of its attribute
``relax.packed_functions``. Each declaration becomes a function that describes its arguments in a table and passes them to
``@legato.call_packed`` (codegen/entry/packed.py), which creates Tensors for them. A call that fails ends main with its code. Kernels that
call packed functions (``tir.packed``) get the functions, and return a code, in the same way.

If functions return tensors that they allocated (``relax.returns``), main also gets the frame of the call, ``!llvm.ptr {tir.frame}``, which
owns these, and memory requested late (codegen/entry/frame.py), until main has ended. Main's attributes tell the entry about them:
``relax.packed_results`` (function, type and number of each result), ``relax.late_symbols`` (symbols that results define, and expressions
that are sizes of results), ``tir.held_results``.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import text_of, walk
from legato.core.locations import model_name
from legato.core.mlir import arith, func, ir
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.relax.dims import dims, symbols
from legato.dialects.relax.markers import CALLERS, EXTERNAL, LATE_SYMBOLS, PACKED, PACKED_NAMES, PACKED_RESULTS, RETURNS
from legato.dialects.tir.markers import ENTRY, FRAME, FUNCTIONS, HELD, LATE, PRIM_FUNC, TIR_PACKED
from legato.dialects.tir.packed import is_packed
from legato.passes.calls.lower_packed_kernels import CheckedCalls, kernels_that_call, leaving_block, lower_kernels, packed_calls
from legato.passes.calls.packed_stubs import derived_sizes, kernel_stub, late_stub, packed_stub
from legato.passes.memory.lift_weights import argument_attributes, set_arguments
from legato.passes.memory.plan_memory.stages import result_types
from legato.passes.memory.signature import Boundary
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

if TYPE_CHECKING:
    from legato.dialects.module import Module


@dataclass(frozen=True)
class LowerPacked(ModulePass):
    """Turns calls of functions marked relax.packed into calls through tvm-ffi: main gets the functions, and creates Tensors for its
    arguments to them.

    Runs convert-scf-to-cf inside, on those functions whose loops or branches hold such a call: a call that fails leaves the function, and
    there is no way out of an scf region. The others' loops stay, for vectors and threads.
    """

    name: ClassVar[str] = "tir-lower-packed"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            lower_packed(module.module, context.warnings)


def lower_packed(module: ir.Module, warnings: list[str]) -> None:
    """Works on main, after tir-plan-memory, and on kernels that call packed functions. PassFailed for a call of an external module's
    function without code, and for one in a parallel loop of a kernel."""
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    main = functions.get("main")
    calling = kernels_that_call(functions)
    if main is None:
        return
    calls = _calls(main, functions, calling)
    called = {name: functions[name] for name in dict.fromkeys(c.attributes["callee"].value for c in calls)}
    for call in calls:
        declaration = called[call.attributes["callee"].value]
        if not any(mark in declaration.attributes for mark in (PACKED, LATE, PRIM_FUNC)):
            raise PassFailed(_no_code(declaration), call)
    if not calls:
        return
    packed = [d for d in called.values() if PACKED in d.attributes]
    inner = [d for d in functions.values() if is_packed(d)]
    names = list(dict.fromkeys([*(str(text_of(d, PACKED)) for d in packed), *(d.attributes[TIR_PACKED].value for d in inner)]))
    table_type = ir.MemRefType.get([len(names)], ir.IntegerType.get_signless(64))
    callers = _callers(names, calls, called, calling, functions)
    lower_kernels(calling, functions, table_type, warnings)
    if any(call.parent != main.operation for call in calls):
        run_on(main.operation, "convert-scf-to-cf")
        calls = _calls(main, functions, calling)
    table = None
    if names:
        table = _add_argument(main, table_type, FUNCTIONS)
        main.operation.attributes[PACKED_NAMES] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in names])
        main.operation.attributes[CALLERS] = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in callers])
    returning = [d for d in packed if RETURNS in d.attributes]
    frame = None
    if returning or any(LATE in d.attributes for d in called.values()):
        frame = _add_argument(main, ir.Type.parse("!llvm.ptr"), FRAME)
        _describe_results(main, returning)
    known = [*Boundary.of(main).symbols, *(t.value for t in main.attributes[LATE_SYMBOLS])] if frame is not None else []
    first_row = len(Boundary.of(main).inputs)
    rewriter = _Calls(main, table, frame)
    for call in reversed(calls):
        rewriter.replace(call, called[call.attributes["callee"].value])
    if frame is not None:
        main.attributes[HELD] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), rewriter.held)
    for declaration in inner:
        kernel_stub(module, declaration, names)
    for declaration in called.values():
        if LATE in declaration.attributes:
            late_stub(module, declaration, declaration.attributes[LATE].value, main)
        elif RETURNS in declaration.attributes:
            packed_stub(module, declaration, names, first_row, known)
            first_row += len(declaration.type.results)
        elif PACKED in declaration.attributes:
            packed_stub(module, declaration, names, None, known)
    for declaration in dict.fromkeys([*inner, *called.values()]):
        if declaration.is_external:
            declaration.operation.erase()


def _calls(main: func.FuncOp, functions: dict[str, func.FuncOp], calling: Sequence[str]) -> list[ir.Operation]:
    """The calls of functions without a body, other than the entry's, and of kernels that call packed functions, in order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            callee = functions[op.attributes["callee"].value]
            if (callee.is_external and ENTRY not in callee.attributes) or callee.name.value in calling:
                found.append(op)
        return ir.WalkResult.ADVANCE

    walk(main, visit)
    return found


def _callers(names: Sequence[str], calls: Sequence[ir.Operation], called: Mapping[str, func.FuncOp], calling: Sequence[str],
             functions: Mapping[str, func.FuncOp]) -> list[str]:
    """For each packed function a description of its callers for messages: the model's names of values, and kernels."""
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    for call in calls:
        declaration, of = called[call.attributes["callee"].value], model_name(call)
        if PACKED in declaration.attributes and of is not None:
            found[str(text_of(declaration, PACKED))][f"for '{of}'"] = None
    for kernel in calling:
        for call in packed_calls(functions[kernel], functions):
            found[functions[call.attributes["callee"].value].attributes[TIR_PACKED].value][f"in the kernel @{kernel}"] = None
    return [", ".join(list(texts)[:4]) for texts in found.values()]


def _no_code(declaration: func.FuncOp) -> str:
    name = declaration.name.value
    if EXTERNAL in declaration.operation.attributes:
        home, function = ir.SymbolRefAttr(declaration.operation.attributes[EXTERNAL]).value
        return (f"@{function} of the external module @{home} has no code yet: run relax-run-codegen for its backend, or "
                "relax-inline-external to compile it with the rest")
    return f"@{name} is declared and not defined, and is no packed function either (relax.packed)"


def _add_argument(main: func.FuncOp, type_: ir.Type, mark: str) -> ir.Value:
    attributes = [*argument_attributes(main), {mark: ir.UnitAttr.get()}]
    argument = main.body.blocks[0].add_argument(type_, ir.Location.unknown())
    set_arguments(main, attributes)
    return argument


def _describe_results(main: func.FuncOp, declarations: list[func.FuncOp]) -> None:
    """Records on main what the entry checks results by, in the order of the declarations."""
    given = set(Boundary.of(main).symbols)
    late: dict[str, None] = {}
    rows = []
    for declaration in declarations:
        types = result_types(declaration)
        for number, type_ in enumerate(types):
            which = f" as result {number}" if len(types) > 1 else ""
            rows.append(ir.ArrayAttr.get([declaration.attributes[PACKED], ir.TypeAttr.get(type_), ir.StringAttr.get(which)]))
        derived = derived_sizes(declaration)
        sizes = [size for type_ in types for size in dims(type_)]
        late |= dict.fromkeys(sorted(name for size in sizes if size not in derived for name in symbols(size) if name not in given))
        late |= {str(size): None for size in derived}
    main.attributes[PACKED_RESULTS] = ir.ArrayAttr.get(rows)
    main.attributes[LATE_SYMBOLS] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in late])


class _Calls:
    """Replaces main's calls, the last one first, by calls that return a code, and leaves main if that is not 0."""

    def __init__(self, main: func.FuncOp, table: ir.Value | None, frame: ir.Value | None):
        self.main, self.table, self.frame, self.held = main, table, frame, 0
        self.leave, self._checked = leaving_block(main), CheckedCalls()

    def replace(self, call: ir.Operation, declaration: func.FuncOp) -> None:
        first, last = self._others(declaration)
        self._checked.replace(call, [*first, *call.operands, *last], self.leave)

    def _others(self, declaration: func.FuncOp) -> tuple[list[ir.Value], list[ir.Value]]:
        """The arguments that the function takes before its own, and after them."""
        if tir.is_prim_func(declaration):
            return [], [self.table]
        if LATE in declaration.attributes:
            return [self.frame], []
        if RETURNS not in declaration.attributes:
            return [self.table], []
        with ir.InsertionPoint.at_block_begin(self.main.body.blocks[0]):
            slot = arith.ConstantOp(ir.IndexType.get(), self.held).result
        self.held += max(1, len(declaration.type.results))
        return [self.table, self.frame, slot], []
