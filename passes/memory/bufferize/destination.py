"""Where a value of a kernel lies once it is in a buffer: the question that tying results, dropping ties and dropping results ask."""
from legato.core.mlir import ir

RESHAPES = ("tensor.cast", "tensor.expand_shape", "tensor.collapse_shape", "memref.cast", "memref.expand_shape", "memref.collapse_shape")
INTO = {"tensor.insert_slice": 1, "vector.transfer_write": 1}  # which operand the result is written into


def destination(value: ir.Value) -> ir.Value | None:
    """The tensor in whose place ``value`` is computed, all of it: followed through loops, structured ops and reshapes."""
    while not isinstance(value.owner, ir.Block):
        owner = value.owner
        if owner.name in RESHAPES:
            value = owner.operands[0]
        elif owner.name == "scf.for":
            value = owner.operands[3 + value.result_number]
        elif owner.name in INTO or owner.name == "scf.forall" or owner.name.startswith("linalg."):
            value = owner.operands[INTO.get(owner.name, len(owner.operands) - len(owner.results) + value.result_number)]
        else:
            return None
    return value
