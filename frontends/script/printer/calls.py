"""Calls in a kernel: C functions and packed functions."""

from legato.core.mlir import ir
from legato.frontends.script.printer.packed import packed_call, packed_declaration
from legato.frontends.script.printer.text import PrintedText, dtype_of
from legato.frontends.script.printer.writer import KernelWriter


def call(writer: KernelWriter, op: ir.Operation) -> None:
    """``T.call_packed("name", ...)``, ``T.call_extern("float32", "f", ...)``: both may write any buffer."""
    name, packed = op.attributes["callee"].value, packed_declaration(op)
    dtype = dtype_of(op.results[0].type) if op.results else "void"
    if packed is not None:
        text = packed_call(writer, op, packed)
    else:
        arguments = "".join(f", {writer.read(v).source}" for v in op.operands)
        text = f'T.call_extern("{dtype}", "{name}"{arguments})'
    writer.disturb(None)
    if not op.results:
        writer.line(text if packed is not None else f"T.evaluate({text})")
    elif len(list(op.results[0].uses)) == 1:
        writer.remember(op.results[0], PrintedText(text, dtype, reads=frozenset(writer.buffers.values())))
    else:
        writer.let(op.results[0], PrintedText(text, dtype))


OPS = {"func.call": call}
