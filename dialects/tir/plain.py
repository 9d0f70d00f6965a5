"""Plain types: tensor types as kernels have them and as main has them after legalization.

A plain type has no encoding, signless integers, and booleans and narrow elements (8-bit floats, 4-bit integers) as bytes.
"""
from collections.abc import Iterable

import numpy as np

from legato.core.dtypes import array_of, kind, numpy_dtype
from legato.core.ir_helpers import find, walk
from legato.core.mlir import func, ir, tensor
from legato.core.weights import WeightStore
from legato.dialects.relax.markers import SIGNATURE

UNREALIZED = "builtin.unrealized_conversion_cast"
CASTS = {"tensor.cast", "tensor.bitcast", UNREALIZED}


def memory_element(type_: ir.Type) -> ir.Type:
    """An element type as stored in memory: integers are signless, what has at most 8 bits is a byte (MLIR would store a vector of ``i1``
    as bits, and has no 8-bit floats on CPUs)."""
    if isinstance(type_, ir.IntegerType) and (type_.width < 8 or not type_.is_signless):
        return ir.IntegerType.get_signless(max(type_.width, 8))
    if isinstance(type_, ir.FloatType) and type_.width <= 8:
        return ir.IntegerType.get_signless(8)
    return type_


def plain_type(type_: ir.Type) -> ir.Type:
    """A tensor type without encoding and with plain elements; other types unchanged."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    element = memory_element(type_.element_type)
    if type_.encoding is None and element == type_.element_type:
        return type_
    return ir.RankedTensorType.get(type_.shape, element)


def plain_types(function: func.FuncOp) -> None:
    """Gives every tensor in ``function`` its plain type; the original function type is kept as ``relax.signature``."""
    if SIGNATURE not in function.attributes:
        function.attributes[SIGNATURE] = ir.TypeAttr.get(function.type)
    casts: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    set_plain(argument)
        if op.name == "relax.constant" and "value" in op.attributes:
            op.attributes["value"] = plain_attribute(op.attributes["value"])
        for result in op.results:
            set_plain(result)
        if op.name in CASTS:
            casts.append(op)
        return ir.WalkResult.ADVANCE

    walk(function, visit, ir.WalkOrder.PRE_ORDER)
    for op in casts:
        if op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        elif op.name == UNREALIZED:     # a size that a script claims, and a requirement checks
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(tensor.CastOp(op.results[0].type, op.operands[0]).result)
            op.erase()
    types = function.type
    plain = ir.FunctionType.get([plain_type(t) for t in types.inputs], [plain_type(t) for t in types.results])
    function.attributes["function_type"] = ir.TypeAttr.get(plain)


def graph_types(function: func.FuncOp) -> None:
    """Gives the arguments and results of a function of plain types those of its ``relax.signature`` again, by casts inside, so that
    functions of graph ops can call it."""
    if SIGNATURE not in function.attributes:
        return
    block, type_ = function.body.blocks[0], function.attributes[SIGNATURE].value
    first, last = block.operations[0], block.operations[len(block.operations) - 1]
    with first.location:
        for argument, wanted in zip(block.arguments, type_.inputs, strict=True):
            plain = argument.type
            if plain != wanted:
                argument.set_type(wanted)
                with ir.InsertionPoint(first):
                    cast = ir.Operation.create(UNREALIZED, [plain], [argument])
                argument.replace_all_uses_except(cast.results[0], cast)
        for number, wanted in enumerate(type_.results):
            if last.operands[number].type != wanted:
                with ir.InsertionPoint(last):
                    last.operands[number] = ir.Operation.create(UNREALIZED, [wanted], [last.operands[number]]).results[0]
    function.attributes["function_type"] = ir.TypeAttr.get(type_)
    del function.attributes[SIGNATURE]


def set_plain(value: ir.Value) -> None:
    """Gives a value its plain type."""
    type_ = value.type
    plain = plain_type(type_)
    if plain != type_:
        value.set_type(plain)


def plain_weights(functions: Iterable[func.FuncOp], weights: WeightStore) -> None:
    """Gives the weights used by functions of plain types plain element types: the same bytes, uncopied, under the same key.

    A weight that the store must keep with its old type (``WeightStore.keeping``) is added under a new key instead.
    """
    renamed: dict[str, str] = {}
    for op in [op for function in functions for op in weight_constants(function)]:
        old, wanted = op.attributes["weight"].value, numpy_dtype(op.results[0].type.element_type)
        if old not in renamed:
            if old not in weights or weights.type_of(old)[0] == wanted:
                continue
            array = weights[old].view(wanted)
            weights.drop(old)
            renamed[old] = weights.add(old, array)
        op.attributes["weight"] = ir.StringAttr.get(renamed[old])


def weight_constants(function: func.FuncOp) -> list[ir.Operation]:
    """The ``relax.constant`` ops of a function whose bytes are in the weight store."""
    return [op for op in find(function, "relax.constant", inner_first=True) if "weight" in op.attributes]


def plain_attribute(attribute: ir.Attribute) -> ir.Attribute:
    """A dense constant with its plain type; other attributes unchanged."""
    if not isinstance(attribute, ir.DenseElementsAttr):
        return attribute
    plain = plain_type(attribute.type)
    if plain == attribute.type:
        return attribute
    element, width = attribute.type.element_type, plain.element_type.width
    values = np.ascontiguousarray(array_of(attribute)) if kind(element) == "narrow" else np.array(attribute)
    return ir.DenseElementsAttr.get(values.astype(f"i{width // 8}") if values.dtype == bool else values.view(f"i{width // 8}"), type=plain)
