"""Calls of packed functions from inside kernels, as they are written."""

from typing import TYPE_CHECKING

from legato.core.mlir import func, ir
from legato.dialects.relax.markers import ARGUMENTS
from legato.dialects.tir.markers import TIR_PACKED
from legato.frontends.script.printer.text import dtype_of

if TYPE_CHECKING:
    from legato.frontends.script.printer.calls import Calls

DYNAMIC = ir.ShapedType.get_dynamic_size()


def packed_declaration(call: ir.Operation) -> func.FuncOp | None:
    """The declaration of the packed function that a call calls; None for a call of something else."""
    top = call
    while top.parent is not None:
        top = top.parent.operation
    name = call.attributes["callee"].value
    found = next((op for op in top.regions[0].blocks[0].operations if isinstance(op, func.FuncOp) and op.name.value == name), None)
    return found if found is not None and TIR_PACKED in found.attributes else None


def packed_call(printer: "Calls", call: ir.Operation, declaration: func.FuncOp) -> str:
    """``T.call_packed("name", A, A[0:4, j], 3, "text")``."""
    arguments = [operand(printer, v) for v in call.operands]
    if ARGUMENTS in declaration.attributes:
        given = iter(arguments)
        arguments = [next(given) if isinstance(a, ir.UnitAttr) else literal(a) for a in declaration.attributes[ARGUMENTS]]
    dtype = [f'dtype="{dtype_of(r.type)}"' for r in call.results]
    return f"T.call_packed({', '.join([text(declaration.attributes[TIR_PACKED].value), *arguments, *dtype])})"


def operand(printer: "Calls", value: ir.Value) -> str:
    if not isinstance(value.type, ir.MemRefType):
        return printer.read(value).source
    if value in printer.buffers:
        return printer.buffers[value]
    if isinstance(value.owner, ir.Block) or value.owner.name != "memref.subview" or value.owner.operands[0] not in printer.buffers:
        raise printer.refuse("a packed function is given a buffer in another shape")
    return part(printer, value.owner.operation)


def part(printer: "Calls", view: ir.Operation) -> str:
    """``A[i:i + 4, j]``: a dimension that the part does not have is an index."""
    base, *values = view.operands
    rank, given = base.type.rank, iter(values)
    offsets, sizes = ([number if number != DYNAMIC else printer.index(next(given)) for number in view.attributes[name]]
                      for name in ("static_offsets", "static_sizes"))
    spare = rank - view.results[0].type.rank
    indices = []
    for begin, size in zip(offsets, sizes):
        if size == 1 and spare:
            spare -= 1
            indices.append(str(begin))
            continue
        end = begin + size if isinstance(begin, int) and isinstance(size, int) else str(size) if begin == 0 else f"{begin} + {size}"
        indices.append(f"{begin}:{end}")
    return f"{printer.buffers[base]}[{', '.join(indices)}]"


def literal(attribute: ir.Attribute) -> str:
    return text(attribute.value) if isinstance(attribute, ir.StringAttr) else repr(attribute.value)


def text(value: str) -> str:
    return '"' + repr(value)[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
