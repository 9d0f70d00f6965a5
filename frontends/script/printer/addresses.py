"""Addresses of elements: the arithmetic of a script's ``T.address_of(A[i, j])``."""

from dataclasses import dataclass

from legato.core.ir_helpers import find
from legato.core.mlir import ir


@dataclass
class Address:
    """The address of an element of a buffer. ``parts``: the ops that compute it."""

    buffer: ir.Value
    indices: list[ir.Value]
    parts: list[ir.Operation]


def address_of(op: ir.Operation) -> Address | None:
    """The element that an ``llvm.inttoptr`` points to; None where it is not computed as by a script's T.address_of."""
    cast = made_by(op.operands[0], "arith.index_cast")
    total = cast and made_by(cast.operands[0], "arith.addi")
    base = total and made_by(total.operands[0], "memref.extract_aligned_pointer_as_index")
    scaled = total and made_by(total.operands[1], "arith.muli")
    place = scaled.operands[0] if scaled is not None else total.operands[1] if total is not None else None
    if cast is None or total is None or base is None or place is None:
        return None
    parts, indices = [cast, total, *([scaled] if scaled is not None else [])], []
    rank = base.operands[0].type.rank
    for axis in reversed(range(rank)):
        step = made_by(place, "arith.addi")
        product = step and made_by(step.operands[1], "arith.muli")
        if step is None or product is None or not is_stride(product.operands[0], axis, rank):
            return None
        parts += [step, product]
        indices.insert(0, product.operands[1])
        place = step.operands[0]
    return Address(base.operands[0], indices, parts) if made_by(place, "memref.extract_strided_metadata") is not None else None


def is_stride(value: ir.Value, axis: int, rank: int) -> bool:
    """Whether a value is the stride of a dimension, read from a memref's metadata."""
    return made_by(value, "memref.extract_strided_metadata") is not None and ir.OpResult(value).result_number == 2 + rank + axis


def made_by(value: ir.Value, name: str) -> ir.Operation | None:
    """The op that defines a value, if it has that name; else None."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) or owner.name != name else owner.operation


def parts_of_addresses(kernel: ir.Operation) -> list[ir.Operation]:
    """The ops of a kernel that compute addresses of elements."""
    found = [address_of(op) for op in find(kernel, "llvm.inttoptr")]
    return [part for address in found if address is not None for part in address.parts]
