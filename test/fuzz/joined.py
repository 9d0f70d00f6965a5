"""Several modules as one, so that one compile serves many programs: the costs of a compile are mostly those of its entry."""
import re
from collections.abc import Sequence

from legato.core.mlir import func, ir
from legato.dialects import Module
from legato.dialects.relax.markers import NAME
from legato.frontends.onnx.regions import symbols_in

SIZES = re.compile(r'#relax\.dims<\[.*?\]>|\bsize = "\w+"')    # where names of sizes are written
KNOWN = "legato."    # what names of functions begin with that passes know, of which one module has one


def joined(modules: Sequence[Module]) -> Module:
    """A module whose main has the inputs and outputs of all the mains, in order, and computes what each of them does.

    The modules are of one context, and are consumed.
    """
    context = modules[0].context
    with context, ir.Location.unknown():
        whole = Module(ir.Module.create())
        modules = [_with_own_sizes(one, number) for number, one in enumerate(modules)]
        mains = [one.function("main") for one in modules]
        types = ir.FunctionType.get([t for m in mains for t in m.type.inputs], [t for m in mains for t in m.type.results])
        with ir.InsertionPoint(whole.module.body):
            main = func.FuncOp("main", types)
        main.attributes["arg_attrs"] = ir.ArrayAttr.get([_renamed(a, n) for n, m in enumerate(mains) for a in m.arg_attrs])
        main.attributes["res_attrs"] = ir.ArrayAttr.get([_renamed(a, n) for n, m in enumerate(mains) for a in m.result_attrs])
        block = main.add_entry_block()
        results: list[ir.Value] = []
        first = 0
        for number, (module, old) in enumerate(zip(modules, mains)):
            _rename(module, number)
            for constant in module.constants():
                if constant.weight is not None:
                    key = whole.weights.add(f"{number}_{constant.weight}", module.weights[constant.weight])
                    constant.operation.attributes["weight"] = ir.StringAttr.get(key)
            for place, argument in enumerate(old.arguments):
                argument.replace_all_uses_with(block.arguments[first + place])
            first += len(old.arguments)
            for op in [*old.entry_block.operations]:
                if op.operation.name == "func.return":
                    results += [*op.operands]
                    op.operation.erase()   # a use that outlived the values would dangle
                    continue
                op.operation.detach_from_parent()
                block.append(op)
            there = {f.name.value for f in whole.functions()}
            for function in [f for f in module.functions() if f.name.value not in there]:
                function.operation.detach_from_parent()
                whole.module.body.append(function)
        with ir.InsertionPoint(block):
            func.ReturnOp(results)
    return whole


def _with_own_sizes(module: Module, number: int) -> Module:
    """The module, in which sizes that ops compute (``relax.nonzero``, ``relax.size_of``) have names of their own. Those of main's inputs
    stay: whoever builds the modules names them."""
    names = symbols_in(module.operation)
    if not names:
        return module
    name = re.compile(rf"\b({'|'.join(names)})\b")
    text = SIZES.sub(lambda sizes: name.sub(rf"\1_{number}", sizes[0]), module.operation.get_asm(enable_debug_info=True))
    return Module.parse(text, module.weights, module.context)


def _rename(module: Module, number: int) -> None:
    """Gives the functions but main, and those that Legato's passes know by name, names of their own."""
    for function in module.functions():
        name = function.name.value
        if name == "main" or name.startswith(KNOWN):
            continue
        ir.SymbolTable.replace_all_symbol_uses(name, f"{name}_{number}", module.module.operation)
        function.attributes["sym_name"] = ir.StringAttr.get(f"{name}_{number}")


def _renamed(attributes: ir.Attribute, number: int) -> ir.DictAttr:
    """The attributes of an input or output, whose name gets the program's number in front."""
    table = {one.name: one.attr for one in ir.DictAttr(attributes)}
    if NAME in table:
        table[NAME] = ir.StringAttr.get(f"{number}_{ir.StringAttr(table[NAME]).value}")
    return ir.DictAttr.get(table)


def names_of(module: Module) -> tuple[list[str], list[str]]:
    """The names of main's inputs and outputs."""
    main = module.function("main")
    sides = []
    for attributes in (main.arg_attrs, main.result_attrs):
        sides.append([ir.StringAttr(ir.DictAttr(one)[NAME]).value for one in attributes])
    return sides[0], sides[1]
