"""relax-lift-weights: turns constants in the weight store into arguments of main."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.dtypes import mlir_type
from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects.relax.markers import DEFAULT, SIGNATURE, WEIGHT
from legato.dialects.tir.plain import plain_type, weight_constants
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

if TYPE_CHECKING:
    from legato.dialects.module import Module



@dataclass(frozen=True)
class LiftWeights(ModulePass):
    """Turns constants with a key in the weight store into arguments of their function, marked relax.weight, one per key. The defaults of
    main's arguments (relax.default) become such arguments, too, which nothing reads: a compiled model has them beside its weights."""

    name: ClassVar[str] = "relax-lift-weights"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for op in module.module.body.operations:
                if isinstance(op, func.FuncOp) and not op.is_external:
                    lift_weights(op)
                    lift_defaults(op, module)


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
    _extend_signature(function, [a.type for a in arguments.values()])


def lift_defaults(function: func.FuncOp, module: Module) -> None:
    """Adds an argument for the default of each argument that has one, unless it is a weight of the function already. LegatoError for a
    default that is not in the weight store."""
    attributes = argument_attributes(function)
    known = {of[WEIGHT].value for of in attributes if WEIGHT in of}
    keys = [key for key in dict.fromkeys(of[DEFAULT].value for of in attributes if DEFAULT in of) if key not in known]
    if not keys:
        return
    types = [default_type(module, key) for key in keys]
    block = function.body.blocks[0]
    for key, type_ in zip(keys, types):
        block.add_argument(plain_type(type_) if SIGNATURE in function.attributes else type_, ir.Location.name(key))
        attributes.append({WEIGHT: ir.StringAttr.get(key)})
    set_arguments(function, attributes)
    _extend_signature(function, types)


def default_type(module: Module, key: str) -> ir.Type:
    """The type of a weight. LegatoError if the store has none of this key."""
    if key not in module.weights:
        raise LegatoError(f"the weight '{key}', the default of an argument, is missing")
    dtype, shape = module.weights.type_of(key)
    return ir.RankedTensorType.get(shape, mlir_type(dtype))


def _extend_signature(function: func.FuncOp, types: Sequence[ir.Type]) -> None:
    """Adds inputs to the original type that a legalized function keeps."""
    if SIGNATURE in function.attributes:
        declared = function.attributes[SIGNATURE].value
        function.attributes[SIGNATURE] = ir.TypeAttr.get(ir.FunctionType.get([*declared.inputs, *types], declared.results))


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
