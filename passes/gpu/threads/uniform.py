"""Finds values that are the same for all threads of a block."""
from legato.core.ir_helpers import ancestors, in_program_order
from legato.core.mlir import ir
from legato.core.views import root_of
from legato.passes.gpu.threads.launch import Launch

PURE = ("arith.", "math.", "memref.dim", "index.")


class Uniform:
    """``uniform(value)``: whether a value of a launch is the same for all threads of a block."""

    def __init__(self, launch: Launch):
        self.launch = launch
        self.written = {root_of(op.operands[1]) for op in in_program_order(launch.operation) if op.name == "memref.store"}
        self.known: dict[ir.Value, bool] = {a.id: False for a in launch.threads}

    def __call__(self, value: ir.Value) -> bool:
        if value not in self.known:
            self.known[value] = self._is_uniform(value)
        return self.known[value]

    def sources(self, value: ir.Value) -> list[ir.Value] | None:
        """The indices that a value depends on through arithmetic and loads from memory that the launch does not write.

        None where it depends on anything else.
        """
        found: dict[ir.Value, None] = {}
        seen, todo = {value}, [value]
        while todo:
            one = todo.pop()
            if isinstance(one.owner, ir.Block):
                if not isinstance(one.type, ir.IndexType):
                    return None
                found[one] = None
                continue
            op = one.owner.operation
            if op.name == "memref.load" and root_of(op.operands[0]) not in self.written:
                found |= dict.fromkeys(list(op.operands)[1:])
            elif op.name.startswith(("arith.", "math.")):
                new = [operand for operand in op.operands if operand not in seen]
                seen.update(new)
                todo += new
            else:
                return None
        return list(found)

    def _is_uniform(self, value: ir.Value) -> bool:
        owner = value.owner
        if isinstance(owner, ir.Block):
            op = owner.owner.operation
            if op == self.launch.operation or self.launch.operation not in ancestors(op):
                return True
            return op.name == "tir.for" and all(self(v) for v in op.operands)
        op = owner.operation
        if self.launch.operation not in ancestors(op):
            return True
        if op.name == "memref.load" and root_of(op.operands[0]) in self.written:
            return False
        return (op.name.startswith(PURE) or op.name == "memref.load") and all(self(v) for v in op.operands)
