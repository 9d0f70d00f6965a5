"""Buffers of a kernel: allocations, loads, stores, addresses of elements."""

from typing import Any

import numpy as np

from legato.core.dtypes import array_of
from legato.core.mlir import ir
from legato.dialects.tir.loops import DYNAMIC, constant_of
from legato.frontends.script.kernel.own_ops import HANDLE
from legato.frontends.script.language.types import FLOAT8
from legato.frontends.script.printer.addresses import address_of
from legato.frontends.script.printer.text import PrintedText, dtype_of, number
from legato.frontends.script.printer.values import LOADED_TRUTH
from legato.frontends.script.printer.writer import KernelWriter

LONGEST = 64     # numbers of a table that is printed

def alloc_buffer(writer: KernelWriter, op: ir.Operation) -> None:
    """``A = T.alloc_buffer((16,), "float32", scope="shared")``. NotPrintable for a buffer of vectors."""
    made: Any = op.opview
    type_ = op.results[0].type
    if isinstance(type_.element_type, ir.VectorType):
        raise writer.refuse(f"its buffer {made.name} has elements of {type_.element_type}; those of a script are numbers")
    sizes = iter(op.operands)
    shape = ", ".join(writer.index(next(sizes)) if type_.is_dynamic_dim(d) else str(type_.shape[d]) for d in range(type_.rank))
    dtype = op.attributes["dtype"].value if "dtype" in op.attributes else dtype_of(type_.element_type)
    name = writer.buffers[op.results[0]] = writer.fresh(made.name)
    writer.dtypes[op.results[0]] = dtype
    scope = f', scope="{made.scope}"' if made.scope != "global" else ""
    writer.line(f'{name} = T.alloc_buffer(({shape}{"," if type_.rank == 1 else ""}), "{dtype}"{scope})')


def write_table(writer: KernelWriter, op: ir.Operation) -> None:
    """The buffer of a constant: allocated, and written element by element. NotPrintable for one of many."""
    made = op.operands[0].owner
    if isinstance(made, ir.Block) or made.name != "arith.constant":
        raise writer.refuse("it makes a buffer of what is neither an argument nor a constant")
    array = array_of(ir.DenseElementsAttr(made.attributes["value"]))
    if array.size > LONGEST:
        raise writer.refuse(f"it reads a table of {array.size} numbers; scripts have at most {LONGEST}")
    name, dtype = writer.fresh("table"), dtype_of(op.results[0].type.element_type)
    writer.buffers[op.results[0]], writer.dtypes[op.results[0]] = name, dtype
    writer.line(f'{name} = T.alloc_buffer({array.shape}, "{dtype}")')
    for place in np.ndindex(array.shape):
        value = array[place].item()
        text = str(value) if dtype == "bool" else number(value, dtype).source
        writer.line(f"{name}[{', '.join(map(str, place)) or '()'}] = {text}")


def element(writer: KernelWriter, buffer: ir.Value, indices: list[ir.Value]) -> str:
    """``A[i, j]``. NotPrintable for memory that is no buffer of the script."""
    if buffer not in writer.buffers:
        made_by = buffer.owner
        raise writer.refuse(f"it reads or writes memory by {'an argument' if isinstance(made_by, ir.Block) else made_by.name}")
    return f"{writer.buffers[buffer]}[{', '.join(writer.index(i) for i in indices) or '()'}]"


def load(writer: KernelWriter, op: ir.Operation) -> None:
    """``A[i]``; of a buffer of booleans the byte, whose comparison with 0 is not printed."""
    buffer, *indices = op.operands
    place = element(writer, buffer, indices)
    read = frozenset([writer.buffers[buffer]])
    is_truth = writer.dtypes[buffer] == "bool"
    writer.remember(op.results[0], PrintedText(f"{LOADED_TRUTH}{place})", "int8", reads=read) if is_truth else
                    PrintedText(place, writer.dtypes[buffer], reads=read))


def store(writer: KernelWriter, op: ir.Operation) -> None:
    """``A[i] = x``."""
    value, buffer, *indices = op.operands
    if writer.dtypes[buffer] in FLOAT8:     # the byte of a value, which the script converts
        value = value.owner.operands[0]
    text = writer.read(value)
    place = element(writer, buffer, indices)
    writer.disturb(writer.buffers[buffer])
    writer.line(f"{place} = {text.short().source}")


def strided_metadata(writer: KernelWriter, op: ir.Operation) -> None:
    """``A.shape[0]``, ``A.strides[0]``."""
    buffer = op.operands[0]
    rank = buffer.type.rank
    writer.texts[op.results[1]] = PrintedText("0", "index")
    for axis in range(rank):
        writer.texts[op.results[2 + axis]] = PrintedText(f"{writer.buffers[buffer]}.shape[{axis}]", "index")
        writer.texts[op.results[2 + rank + axis]] = PrintedText(f"{writer.buffers[buffer]}.strides[{axis}]", "index")


def aligned_pointer(writer: KernelWriter, op: ir.Operation) -> None:
    """A part of an address, which ``address`` prints."""


def address(writer: KernelWriter, op: ir.Operation) -> None:
    """``T.address_of(A[i])``; ``A.access_ptr("w", offset=i)`` of an output that only a C function writes."""
    found = address_of(op)
    if found is None:
        raise writer.refuse("it computes an address")
    text = f"T.address_of({element(writer, found.buffer, found.indices)})"
    if found.buffer in writer.masks:
        name, shape = writer.buffers[found.buffer], found.buffer.type.shape
        places = [f"({writer.index(i)})" + "".join(f" * {size}" for size in shape[axis + 1:]) for axis, i in enumerate(found.indices)]
        offset = "" if all(constant_of(i) == 0 for i in found.indices) else f", offset={' + '.join(places)}"
        if any(size == DYNAMIC for size in shape[1:]) and offset:
            raise writer.refuse(f"the address of an element of {name}, whose sizes are known at run time only, has no words")
        text = f'{name}.access_ptr("{writer.masks[found.buffer]}"{offset})'
    writer.texts[op.results[0]] = PrintedText(text, HANDLE)


def subview(writer: KernelWriter, op: ir.Operation) -> None:
    """A slice of a buffer, printed as an argument of a packed function. NotPrintable with any other use."""
    if any(use.owner.operation.name != "func.call" for use in op.results[0].uses):
        raise writer.refuse("it has memref.subview")


OPS = {
    "tir.alloc_buffer": alloc_buffer, "memref.load": load, "memref.store": store, "memref.subview": subview,
    "memref.extract_strided_metadata": strided_metadata, "memref.extract_aligned_pointer_as_index": aligned_pointer,
    "llvm.inttoptr": address,
}
