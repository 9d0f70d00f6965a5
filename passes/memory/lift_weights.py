"""relax-lift-weights: turns constants in the weight store into arguments of main."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.mlir import func, ir
from legato.dialects.relax.markers import SIGNATURE, WEIGHT
from legato.dialects.tir.plain import weight_constants
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

if TYPE_CHECKING:
    from legato.dialects.module import Module



@dataclass(frozen=True)
class LiftWeights(ModulePass):
    """Turns constants with a key in the weight store into arguments of their function, marked relax.weight, one per key."""

    name: ClassVar[str] = "relax-lift-weights"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for op in module.module.body.operations:
                if isinstance(op, func.FuncOp) and not op.is_external:
                    lift_weights(op)


def lift_weights(function: func.FuncOp) -> None:
    """Replaces the weights in ``function`` by arguments after its own. PassFailed in a private function, which others call."""
    constants = weight_constants(function)
    if not constants:
        return
    visibility = function.operation.attributes["sym_visibility"].value if "sym_visibility" in function.operation.attributes else "public"
    if visibility != "public":
        raise PassFailed(f"@{function.name.value} is private and uses the weight {constants[0].attributes['weight']}: inline it into its "
                         "caller first (inline), for only the arguments of a public function can be weights", constants[0])
    block = function.body.blocks[0]
    attributes = argument_attributes(function)
    arguments: dict[str, ir.Value] = {}
    for op in constants:
        key = op.attributes["weight"].value
        result = op.results[0]
        if key not in arguments:
            arguments[key] = block.add_argument(result.type, op.location)
            attributes.append({WEIGHT: ir.StringAttr.get(key)})
        elif arguments[key].type != result.type:
            raise PassFailed(f"the weight '{key}' is used as {result.type} here and as {arguments[key].type} before", op)
        result.replace_all_uses_with(arguments[key])
        op.erase()
    set_arguments(function, attributes)
    if SIGNATURE in function.attributes:  # a legalized function keeps its original types there
        declared = function.attributes[SIGNATURE].value
        inputs = [*declared.inputs, *(a.type for a in arguments.values())]
        function.attributes[SIGNATURE] = ir.TypeAttr.get(ir.FunctionType.get(inputs, declared.results))


def argument_attributes(function: func.FuncOp) -> list[dict[str, ir.Attribute]]:
    """The attributes of each argument, as dicts that may be changed."""
    if "arg_attrs" not in function.attributes:
        return [{} for _ in function.type.inputs]
    return [{a.name: a.attr for a in ir.DictAttr(d)} for d in function.attributes["arg_attrs"]]


def set_arguments(function: func.FuncOp, attributes: list[dict[str, ir.Attribute]]) -> None:
    """Makes the function's type and argument attributes match its entry block."""
    types = [a.type for a in function.body.blocks[0].arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, function.type.results))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(d) for d in attributes])
