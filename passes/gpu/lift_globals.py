"""tir-lift-globals: constants that kernels read become weights, which are on the device."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from legato.core.dtypes import array_of
from legato.core.ir_helpers import copy, find
from legato.core.mlir import func, ir
from legato.dialects.relax.markers import SIGNATURE, WEIGHT
from legato.passes.gpu.host_functions import MAIN, add_arguments, callee_of, calls_of, extend_call, host_functions
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

if TYPE_CHECKING:
    from legato.dialects.module import Module


@dataclass(frozen=True)
class LiftGlobals(ModulePass):
    """Makes arguments of the memref.globals that main and the functions it calls use, and weights of main's: launches pass memory of the
    device on."""

    name: ClassVar[str] = "tir-lift-globals"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            lift_globals(module)


def lift_globals(module: Module) -> None:
    """Works on one module. Its globals go, and their values into the weight store."""
    functions = host_functions(module.module)
    needed: dict[str, list[str]] = {}
    for name, function in functions.items():
        found = [ir.FlatSymbolRefAttr(op.attributes["name"]).value for op in find(function.operation, "memref.get_global")]
        needed[name] = list(dict.fromkeys([*found, *(one for call in calls_of(function) for one in needed.get(callee_of(call), ()))]))
    if not needed[MAIN]:
        return
    globals_ = {op.attributes["sym_name"].value: op for op in module.module.body.operations if op.operation.name == "memref.global"}
    types = {name: ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value) for name, op in globals_.items()}
    keys = {name: add_weight(module, name, globals_[name]) for name in needed[MAIN]}
    for name, function in functions.items():
        wanted = needed[name]
        if name == MAIN:
            function, arguments = with_weights(function, [(keys[one], types[one]) for one in wanted])
        else:
            arguments = add_arguments(function, [types[one] for one in wanted])
        given = dict(zip(wanted, arguments))
        for op in find(function.operation, "memref.get_global"):
            op.results[0].replace_all_uses_with(given[ir.FlatSymbolRefAttr(op.attributes["name"]).value])
            op.erase()
        for call in calls_of(function):
            extend_call(call, [given[one] for one in needed.get(callee_of(call), ())])
    for name in needed[MAIN]:
        globals_[name].operation.erase()


def add_weight(module: Module, name: str, op: ir.OpView) -> str:
    """Puts a global's value into the weight store. Returns its key there."""
    array = array_of(ir.DenseElementsAttr(op.attributes["initial_value"]))
    return module.weights.add(f"constant.{name}", np.ascontiguousarray(array).reshape(array.shape))


def with_weights(main: func.FuncOp, weights: list[tuple[str, ir.MemRefType]]) -> tuple[func.FuncOp, list[ir.Value]]:
    """Main with more weights, which stand before its outputs. Returns it, in the place of ``main``, and the new arguments."""
    old = main.body.blocks[0]
    marks = list(main.arg_attrs)
    declared = main.attributes[SIGNATURE].value
    place = len(declared.inputs)
    types = [a.type for a in old.arguments]
    attributes = {name: main.attributes[name] for name in main.attributes}
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*types[:place], *(t for _, t in weights), *types[place:]],
                                                                      main.type.results))
    attributes["arg_attrs"] = ir.ArrayAttr.get([*marks[:place], *(ir.DictAttr.get({WEIGHT: ir.StringAttr.get(k)}) for k, _ in weights),
                                                *marks[place:]])
    tensors = [ir.RankedTensorType.get(t.shape, t.element_type) for _, t in weights]
    attributes[SIGNATURE] = ir.TypeAttr.get(ir.FunctionType.get([*declared.inputs, *tensors], declared.results))
    with ir.InsertionPoint(main), main.location:
        new = ir.Operation.create("func.func", [], [], attributes, regions=1)
    block = new.regions[0].blocks.append(*[*types[:place], *(t for _, t in weights), *types[place:]])
    arguments = list(block.arguments)
    added = arguments[place:place + len(weights)]
    with ir.InsertionPoint(block):
        copy([op.operation for op in old.operations], dict(zip(old.arguments, [*arguments[:place], *arguments[place + len(weights):]])))
    main.operation.erase()
    made = new.opview
    assert isinstance(made, func.FuncOp)
    return made, added
