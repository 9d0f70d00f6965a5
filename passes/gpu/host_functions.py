"""The host's functions of a module whose kernels are launches: main and what it calls, and more arguments for them."""
from collections.abc import Mapping, Sequence

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.dialects.relax.markers import OPS
from legato.dialects.tir.markers import LATE

MAIN = "main"


def host_functions(module: ir.Module) -> dict[str, func.FuncOp]:
    """Main and the functions that it calls, directly or not, by name; a function comes after those that it calls. PassFailed for a call of
    a function without a body, other than a request of main's for memory, of a function that calls itself, and for a module without main."""
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    found: dict[str, func.FuncOp] = {}
    entered: set[str] = set()

    def visit(function: func.FuncOp) -> None:
        entered.add(function.name.value)
        for call in calls_of(function):
            callee = functions[callee_of(call)]
            if LATE in callee.attributes:
                continue
            if callee.is_external:
                raise PassFailed(f"the function @{callee.name.value} runs on the host, and its data are on the device", call)
            if callee.name.value not in found:
                if callee.name.value in entered:
                    raise PassFailed(f"@{callee.name.value} calls itself", call)
                visit(callee)
        found[function.name.value] = function

    if MAIN not in functions:
        raise PassFailed("what is lowered for a device is the function @main, and the module has none", module.operation)
    visit(functions[MAIN])
    return found


def calls_of(function: func.FuncOp) -> list[ir.Operation]:
    """The calls in a function."""
    return find(function.operation, "func.call")


def callee_of(call: ir.Operation) -> str:
    """The name of the called function."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def ops_of(call: ir.Operation) -> str:
    """The graph ops that a call in main computes, by the model's names."""
    listed = [ir.StringAttr(one).value for one in ir.ArrayAttr(call.attributes[OPS])] if OPS in call.attributes else []
    return ", ".join(listed) or f"@{callee_of(call)}"


def add_arguments(function: func.FuncOp, types: Sequence[ir.Type], marks: Mapping[str, ir.Attribute] | None = None) -> list[ir.Value]:
    """Appends arguments to a function, each with these attributes. Returns them."""
    block = function.body.blocks[0]
    given = list(function.arg_attrs) if "arg_attrs" in function.attributes else [ir.DictAttr.get({}) for _ in function.type.inputs]
    added: list[ir.Value] = [block.add_argument(type_, function.location) for type_ in types]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], function.type.results))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([*given, *[ir.DictAttr.get(dict(marks or {}))] * len(types)])
    return added


def extend_call(call: ir.Operation, operands: Sequence[ir.Value]) -> None:
    """Puts a call with more operands in the place of one."""
    if not operands:
        return
    attributes = {name: call.attributes[name] for name in call.attributes}
    with ir.InsertionPoint(call), call.location:
        new = ir.Operation.create("func.call", [r.type for r in call.results], [*call.operands, *operands], attributes)
    for old, result in zip(call.results, new.results):
        old.replace_all_uses_with(result)
    call.erase()
