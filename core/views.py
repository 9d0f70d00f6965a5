"""Ops that name the memory of a buffer, or a part of it, anew."""
from legato.core.mlir import ir

VIEWS = ("memref.cast", "memref.subview", "memref.expand_shape", "memref.collapse_shape", "memref.reinterpret_cast", "memref.transpose",
         "memref.view", "memref.memory_space_cast", "memref.assume_alignment", "memref.reshape")


def root_of(buffer: ir.Value) -> ir.Value:
    """The buffer in whose memory a view lies; a buffer that is no view is its own root."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.operation.name in VIEWS:
        buffer = buffer.owner.operation.operands[0]
    return buffer
