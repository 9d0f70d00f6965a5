"""Calls in a kernel: C functions, packed functions, and ops of a user's dialect."""

from legato.core.mlir import ir
from legato.frontends.script.kernel.own_ops import HANDLE, own_op
from legato.frontends.script.kernel.pointers import POINTER
from legato.frontends.script.printer.packed import packed_call, packed_declaration
from legato.frontends.script.printer.text import PrintedText, dtype_of
from legato.frontends.script.printer.writer import KernelWriter


def call(writer: KernelWriter, op: ir.Operation) -> None:
    """``T.call_packed("name", ...)``, ``T.call_extern("float32", "f", ...)``: both may write any buffer."""
    name, packed = op.attributes["callee"].value, packed_declaration(op)
    dtype = result_dtype(op)
    if packed is not None:
        text = packed_call(writer, op, packed)
    else:
        arguments = "".join(f", {writer.read(v).source}" for v in op.operands)
        text = f'T.call_extern("{dtype}", "{name}"{arguments})'
    effect(writer, op, text, dtype, text if packed is not None else f"T.evaluate({text})")


def own(writer: KernelWriter, op: ir.Operation) -> None:
    """``T.vta.coproc_dep_pop(3, 2)``, of an op of a user's dialect. NotPrintable for one that a script cannot have."""
    if own_op(op.name) is None or len(op.results) > 1 or len(op.regions):
        raise writer.refuse(f"it has {op.name}")
    dtype = result_dtype(op)
    words = [writer.read(v).source for v in op.operands]
    words += [f"{name}={literal(writer, op.attributes[name])}" for name in op.attributes]
    text = f"T.{op.name}({', '.join([*words, *([f'dtype={dtype!r}'] if op.results else [])])})".replace("'", '"')
    effect(writer, op, text, dtype, text)


def literal(writer: KernelWriter, attribute: ir.Attribute) -> str:
    """An attribute of an op as a Python value."""
    if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr, ir.StringAttr)):
        return repr(attribute.value)
    if isinstance(attribute, ir.ArrayAttr):
        return f"({''.join(f'{literal(writer, one)}, ' for one in attribute)})"
    raise writer.refuse(f"it has the attribute {attribute}")


def result_dtype(op: ir.Operation) -> str:
    """The type of an op's result in a script, "void" where it has none."""
    if not op.results:
        return "void"
    return HANDLE if str(op.results[0].type) == POINTER else dtype_of(op.results[0].type)


def effect(writer: KernelWriter, op: ir.Operation, text: str, dtype: str, statement: str) -> None:
    """Writes a call that may write any buffer, in its place in the order of statements."""
    writer.disturb(None)
    if not op.results or not list(op.results[0].uses):
        writer.line(statement)
    elif len(list(op.results[0].uses)) == 1:
        writer.remember(op.results[0], PrintedText(text, dtype, reads=frozenset(writer.buffers.values())))
    else:
        writer.let(op.results[0], PrintedText(text, dtype))


OPS = {"func.call": call}
