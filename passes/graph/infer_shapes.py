"""relax-infer-shapes: names unnamed dimensions of arguments, and infers the most precise types from the arguments' types."""
from dataclasses import dataclass

from legato.core.ir_helpers import find
from legato.core.mlir import func, ir, tensor
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.relax.calls import name_unknown
from legato.dialects.relax.markers import NAME, RETURNS
from legato.passes.graph.functions import CONSTANT, is_graph_op, relax_functions, top_ops
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class InferShapes(ModulePass):
    """Names the unnamed dynamic dimensions of arguments, infers all types again, and updates the functions' result types.

    A new name consists of the argument's and the dimension's number: `x_0`. Functions that others call keep their signatures. Results of
    packed functions get such names, too.
    """

    name = "relax-infer-shapes"

    def run(self, module: Module, context: PassContext) -> None:
        called = _callees(module)
        for function in relax_functions(module):
            is_called = function.name.value in called
            if not is_called:
                _name_dimensions(function)
            _name_returned(function)
            for op in top_ops(function):
                if is_graph_op(op) and op.name != CONSTANT:
                    _refine(op)
            if not is_called:
                _refine_signature(function)


def _callees(module: Module) -> set[str]:
    return {call.attributes["callee"].value for call in find(module.module, "func.call")}


def _name_dimensions(function: func.FuncOp) -> None:
    arguments = list(function.arguments)
    sizes = [dims.dims(a.type) if isinstance(a.type, ir.RankedTensorType) else () for a in arguments]
    taken = set().union(*(dims.symbols(size) for row in sizes for size in row))
    attributes = function.arg_attrs if "arg_attrs" in function.operation.attributes else [{}] * len(arguments)
    for number, (argument, row, attribute) in enumerate(zip(arguments, sizes, attributes)):
        if dims.UNKNOWN not in row:
            continue
        prefix = dims.symbol_name(attribute[NAME].value if NAME in attribute else f"arg{number}")
        named = [_fresh(f"{prefix}_{axis}", taken) if size is dims.UNKNOWN else size for axis, size in enumerate(row)]
        _retype(argument, dims.tensor_type(named, argument.type.element_type))


def _name_returned(function: func.FuncOp) -> None:
    """Names the unnamed sizes of packed functions' results. Each call gets a declaration of its own, since its sizes are."""
    module = function.operation.parent
    declarations = {op.name.value: op for op in module.regions[0].blocks[0].operations
                    if isinstance(op, func.FuncOp) and RETURNS in op.attributes}
    for call in top_ops(function):
        declaration = declarations.get(call.attributes["callee"].value) if call.name == "func.call" else None
        if declaration is None or not any(dims.UNKNOWN in dims.dims(r.type) for r in call.results):
            continue
        types = name_unknown(function, [r.type for r in call.results], declaration.name.value)
        table = ir.SymbolTable(module)
        with ir.InsertionPoint(declaration):
            own = declaration.operation.clone()
        table.insert(own)
        own.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(declaration.type.inputs), types))
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(own.attributes["sym_name"].value)
        for result, type_ in zip(call.results, types):
            _retype(result, type_)


def _fresh(name: str, taken: set[str]) -> dims.Size:
    while name in taken:
        name += "_"
    taken.add(name)
    return dims.symbol(name)


def _retype(value: ir.Value, type_: ir.RankedTensorType) -> None:
    """Changes a value's type; users other than graph ops (calls) get it cast to the old type."""
    old = value.type
    if type_ == old:
        return
    value.set_type(type_)
    for use in list(value.uses):
        user = use.owner.operation
        if not is_graph_op(user) and user.name != "func.return":
            user.operands[use.operand_number] = tensor.CastOp(old, value, loc=user.location, ip=ir.InsertionPoint(user)).result


def _refine(op: ir.Operation) -> None:
    """Gives the op's results the types inferred from its operands; sizes known only in the old type are kept."""
    for result, type_ in zip(op.results, relax.infer_op(op)):
        if type_ != result.type:
            sizes = [old if new is dims.UNKNOWN else new for new, old in zip(dims.dims(type_), dims.dims(result.type))]
            _retype(result, dims.tensor_type(sizes, type_.element_type))


def _refine_signature(function: func.FuncOp) -> None:
    block = function.body.blocks[0]
    returned = block.operations[len(block.operations) - 1].operation
    type_ = ir.FunctionType.get([a.type for a in block.arguments], [value.type for value in returned.operands])
    function.operation.attributes["function_type"] = ir.TypeAttr.get(type_)
