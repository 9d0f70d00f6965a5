"""Op classes made from one row of a table, for families whose members differ only in a formula."""

import types
from collections.abc import Callable

from legato.dialects.relax.attributes import Attribute
from legato.dialects.relax.op import Operand, RelaxOp


def define(
    name: str,
    summary: str,
    operands: dict[str, Operand],
    compute: Callable,
    result_type: Callable,
    example: str,
    elementwise: bool = False,
    promotes: bool = True,
    **attributes: Attribute,
) -> type:
    """Defines an op class ``name`` in the relax dialect. ``example``: the op as MLIR text, with its operands as values."""
    body = {
        "__doc__": f"{summary}\n\n```mlir\n{example}\n```\n",
        "__module__": result_type.__module__,
        "result_type": staticmethod(result_type),
        "compute": staticmethod(compute),
        "ELEMENTWISE": elementwise,
        "PROMOTES": promotes,
        **operands,
        **attributes,
    }
    class_name = "".join(word.capitalize() for word in name.split("_"))
    return types.new_class(class_name, (RelaxOp,), {"name": name}, lambda namespace: namespace.update(body))


def example(name: str, operands: str, attributes: str, operand_types: str, result_type: str) -> str:
    """The generic form of an op: ``%y = "relax.name"(operands) {attributes} : (types) -> type``."""
    braces = f" {{{attributes}}}" if attributes else ""
    return f'%y = "relax.{name}"({operands}){braces} : ({operand_types}) -> {result_type}'
