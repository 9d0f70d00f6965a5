"""Calls of C functions, and the addresses that they are given."""


from legato.core.mlir import ir
from legato.frontends.script.printer.addresses import address_of
from legato.frontends.script.printer.expressions import Expressions
from legato.frontends.script.printer.packed import packed_call, packed_declaration
from legato.frontends.script.printer.text import Text, dtype_of


class Calls(Expressions):
    """Writes calls. ``buffers``: the names of buffers."""

    buffers: dict[ir.Value, str]

    def line(self, text: str) -> None:
        """Writes a line."""
        raise NotImplementedError

    def disturb(self, buffer: str | None) -> None:
        """Gives names to what reads a buffer (any, for None) that is about to change."""
        raise NotImplementedError

    def element(self, buffer: ir.Value, indices: list[ir.Value]) -> str:
        """An element of a buffer."""
        raise NotImplementedError

    def op_memref_extract_strided_metadata(self, op: ir.Operation) -> None:
        buffer = op.operands[0]
        rank = buffer.type.rank
        self.texts[op.results[1]] = Text("0", "index")
        for axis in range(rank):
            self.texts[op.results[2 + axis]] = Text(f"{self.buffers[buffer]}.shape[{axis}]", "index")
            self.texts[op.results[2 + rank + axis]] = Text(f"{self.buffers[buffer]}.strides[{axis}]", "index")

    def op_memref_extract_aligned_pointer_as_index(self, op: ir.Operation) -> None:
        """A part of an address."""

    def op_memref_subview(self, op: ir.Operation) -> None:
        """A part of a buffer, which stands where a packed function is given it."""
        if any(use.owner.operation.name != "func.call" for use in op.results[0].uses):
            raise self.refuse("it has memref.subview")

    def op_llvm_inttoptr(self, op: ir.Operation) -> None:
        address = address_of(op)
        if address is None:
            raise self.refuse("it computes an address")
        self.texts[op.results[0]] = Text(f"T.address_of({self.element(address.buffer, address.indices)})", "handle")

    def op_func_call(self, op: ir.Operation) -> None:
        name, packed = op.attributes["callee"].value, packed_declaration(op)
        dtype = dtype_of(op.results[0].type) if op.results else "void"
        if packed is not None:
            call = packed_call(self, op, packed)
        else:
            arguments = "".join(f", {self.read(v).source}" for v in op.operands)
            call = f'T.call_extern("{dtype}", "{name}"{arguments})'
        self.disturb(None)
        if not op.results:
            self.line(call if packed is not None else f"T.evaluate({call})")
        elif len(list(op.results[0].uses)) == 1:
            self.remember(op.results[0], Text(call, dtype, reads=frozenset(self.buffers.values())))
        else:
            self.let(op.results[0], Text(call, dtype))
