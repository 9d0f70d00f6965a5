"""Calls of packed functions from kernels."""

from legato.core.mlir import func, ir
from legato.dialects.relax.markers import ARGUMENTS
from legato.dialects.tir.markers import TIR_PACKED
from legato.frontends.script.printer.text import dtype_of, repr_text
from legato.frontends.script.printer.writer import KernelWriter

DYNAMIC = ir.ShapedType.get_dynamic_size()


def packed_declaration(call: ir.Operation) -> func.FuncOp | None:
    """The declaration of the packed function that a call calls; None for other calls."""
    top = call
    while top.parent is not None:
        top = top.parent.operation
    name = call.attributes["callee"].value
    found = next((op for op in top.regions[0].blocks[0].operations if isinstance(op, func.FuncOp) and op.name.value == name), None)
    return found if found is not None and TIR_PACKED in found.attributes else None


def packed_call(writer: KernelWriter, call: ir.Operation, declaration: func.FuncOp) -> str:
    """``T.call_packed("name", A, A[0:4, j], 3, "text")``."""
    arguments = [operand(writer, v) for v in call.operands]
    if ARGUMENTS in declaration.attributes:
        given = iter(arguments)
        arguments = [next(given) if isinstance(a, ir.UnitAttr) else literal(a) for a in declaration.attributes[ARGUMENTS]]
    dtype = [f'dtype="{dtype_of(r.type)}"' for r in call.results]
    return f"T.call_packed({', '.join([repr_text(declaration.attributes[TIR_PACKED].value), *arguments, *dtype])})"


def operand(writer: KernelWriter, value: ir.Value) -> str:
    """A buffer, a slice of one, or a value. NotPrintable for a buffer in another shape."""
    if not isinstance(value.type, ir.MemRefType):
        return writer.read(value).source
    if value in writer.buffers:
        return writer.buffers[value]
    if isinstance(value.owner, ir.Block) or value.owner.name != "memref.subview" or value.owner.operands[0] not in writer.buffers:
        raise writer.refuse("a packed function is given a buffer in another shape")
    return part(writer, value.owner.operation)


def part(writer: KernelWriter, view: ir.Operation) -> str:
    """``A[i:i + 4, j]``: dimensions that the slice drops are indices."""
    base, *values = view.operands
    rank, given = base.type.rank, iter(values)
    offsets, sizes = ([number if number != DYNAMIC else writer.index(next(given)) for number in view.attributes[name]]
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
    return f"{writer.buffers[base]}[{', '.join(indices)}]"


def literal(attribute: ir.Attribute) -> str:
    """A constant argument."""
    return repr_text(attribute.value) if isinstance(attribute, ir.StringAttr) else repr(attribute.value)
