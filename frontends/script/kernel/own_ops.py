"""``T.vta.coproc_dep_pop(3, 2)``: ops of a user's dialect in kernels, which a target's rules lower (``@legato.lower_intrinsic``)."""

import ast
from typing import Any

from legato.core.mlir import ext, ir
from legato.dialects.loading import load_dialects
from legato.frontends.script.kernel.arguments import arguments
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.intrinsics import check_dtype
from legato.frontends.script.kernel.lanes import LaneValues, lifted
from legato.frontends.script.kernel.notes import attribute
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.pointers import POINTER, PointerValue, extern_value
from legato.frontends.script.kernel.values import Scalar
from legato.frontends.script.language.own_dialects import own_dialect
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import value_type

HANDLE = "handle"  # the type of an address in a script


def own_op(word: str) -> type[ext.Operation] | None:
    """The op of a user's dialect that a word of ``T`` names; else None. Misuse for an op that the dialect does not have."""
    dialect = own_dialect(word)
    if dialect is None:
        return None
    names = {op.OPERATION_NAME: op for op in dialect.operations}
    if word not in names:
        raise Misuse(f"the dialect '{dialect.DIALECT_NAMESPACE}' has no op '{word}'; it has {', '.join(names) or 'none'}")
    return names[word]


def call_own_op(parser: KernelParser, node: ast.Call, op: type[ext.Operation]) -> Any:
    """The op at the insertion point, of a call's arguments: operands by position, attributes by name."""
    return build_own_op(op, arguments(parser, node), {str(k.arg): parser.expression(k.value) for k in node.keywords})


def build_own_op(op: type[ext.Operation], operands: list[Any], keywords: dict[str, Any]) -> Any:
    """The result of an op, None where it has none; on several lanes it is built for each.

    Numbers without a type are int32 or float32, buffers are the addresses of their first elements. ``keywords``: attributes, and
    ``dtype``: the type of the result (if not given: that of the first operand).
    """
    wanted = [f for f in op._fields if isinstance(f, ext.OperandDef)]
    results = [f for f in op._fields if isinstance(f, ext.ResultDef)]
    named = {f.name for f in op._fields if isinstance(f, ext.AttributeDef)}
    word = f"T.{op.OPERATION_NAME}"
    several = [f.name for f in (*wanted, *results) if f.variadicity != ext.Variadicity.single]
    if several or len(results) > 1:
        raise Misuse(f"{word}: a kernel can have ops with operands of a fixed number and at most one result, unlike "
                     f"{', '.join(several or [f.name for f in results])}")
    if len(operands) != len(wanted):
        raise Misuse(f"{word} takes {len(wanted)} operands ({', '.join(f.name for f in wanted) or 'none'}), and {len(operands)} are given")
    dtype = keywords.pop("dtype", None) if "dtype" not in named else None
    unknown = [key for key in keywords if key not in named]
    missing = [key for key in sorted(named) if key not in keywords]
    if unknown or missing:
        raise Misuse(f"{word} " + (f"has no attribute '{unknown[0]}'" if unknown else f"wants {missing[0]}=...") +
                     f"; its attributes: {', '.join(sorted(named)) or 'none'}")
    attributes = {key: known_attribute(word, key, value) for key, value in keywords.items()}
    load_dialects(dialects=[op._dialect_obj])

    def build(*given: Any) -> Any:
        values = [extern_value(x) for x in given]
        if not results:
            ir.Operation.create(op.OPERATION_NAME, [], values, attributes)
            return None
        type_ = result_type(word, dtype, values)
        made = ir.Operation.create(op.OPERATION_NAME, [type_], values, attributes).results[0]
        return PointerValue(made) if dtype == HANDLE else Scalar(made, dtype or scalar_dtype(word, given))

    return lifted(build, *operands) if any(isinstance(x, LaneValues) for x in operands) else build(*operands)


def result_type(word: str, dtype: Any, values: list[ir.Value]) -> ir.Type:
    """The MLIR type of an op's result."""
    if dtype == HANDLE:
        return ir.Type.parse(POINTER)
    if dtype is not None:
        return value_type(check_dtype(dtype))
    if not values:
        raise Misuse(f'{word} has a result: say its type, dtype="float32"')
    return values[0].type


def scalar_dtype(word: str, operands: tuple[Any, ...]) -> str:
    """The type, in the script, of an op's result that is that of its first operand. Misuse where that is an address."""
    first = operands[0]
    if isinstance(first, (Buffer, PointerValue)):
        raise Misuse(f'{word} has a result: say its type, dtype="float32"')
    if isinstance(first, Scalar):
        return "int32" if first.dtype == "index" else first.dtype
    return "bool" if isinstance(first, bool) else "int32" if isinstance(first, int) else "float32"


def known_attribute(word: str, name: str, value: Any) -> ir.Attribute:
    """A value that is known when the kernel is parsed, as an attribute: integers of 64 bits, floats of 64 bits, booleans, texts."""
    made = attribute(value)
    if made is None:
        raise Misuse(f"{word}: the attribute '{name}' is a number, a text, or a tuple of them that is known when the kernel is parsed")
    return made
