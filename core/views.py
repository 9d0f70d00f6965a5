"""Ops that name the memory of a buffer, or a part of it, anew."""
from collections.abc import Collection

from legato.core.mlir import ir

VIEWS = ("memref.cast", "memref.subview", "memref.expand_shape", "memref.collapse_shape", "memref.reinterpret_cast", "memref.transpose",
         "memref.view", "memref.memory_space_cast", "memref.assume_alignment", "memref.reshape")
WHOLE_VIEWS = ("memref.cast", "memref.expand_shape", "memref.collapse_shape")      # those of all elements, in the same order


def root_of(buffer: ir.Value, views: Collection[str] = VIEWS) -> ir.Value:
    """The buffer in whose memory a view lies; a buffer that is no view is its own root. ``views``: the ops that make views."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.operation.name in views:
        buffer = buffer.owner.operation.operands[0]
    return buffer
