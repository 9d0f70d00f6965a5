"""Stores to shared memory that copy vectors from global memory, as asynchronous copies can."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

from legato.core.ir_helpers import body, constant_number, everything, terminator
from legato.core.mlir import ir

STORES = ("memref.store", "vector.store")
LOADS = ("memref.load", "vector.load")
BYTES = (4, 8, 16)     # of one asynchronous copy


@dataclass(frozen=True)
class CopyToShared:
    """A store to shared memory. ``tests``: what has to hold for it to be of ``load``, a vector in global memory; it is 0 otherwise.
    ``guard``: the op in which it stands, by whose condition only some threads store; None for a store of all."""

    store: ir.Operation
    load: ir.Operation
    tests: list[ir.Value]
    guard: ir.Operation | None

    @property
    def whole(self) -> ir.Operation:
        """The store with its guard."""
        return self.guard or self.store


def guarded_store(op: ir.Operation) -> ir.Operation | None:
    """The only store in an op, by whose condition it is made; None for another op."""
    if op.name != "scf.if" or len(op.results) or any(len(body(block)) for block in list(op.regions[1].blocks)):
        return None
    inside = [one for one in everything(op) if one != op]
    stores = [one for one in inside if writes(one)]
    others = [one for one in inside if one not in stores and not (one.name in ("vector.load", "scf.if", "scf.yield") or is_arithmetic(one))]
    return stores[0] if len(stores) == 1 and stores[0].name == "vector.store" and stores[0].parent.operation == op and not others else None


def copy_of(store: ir.Operation, guard: ir.Operation | None) -> CopyToShared | None:
    """A store as a copy from global memory; None where it is none that can be made asynchronously. ``guard``: as of the copy."""
    wide, to = bytes_of(store.operands[0].type), store.operands[1]
    found = loaded(store.operands[0]) if wide in BYTES and isinstance(to.owner, ir.Block) and is_shared(to) else None
    if found is None or any(alignment(op) < wide for op in (store, found[0])) or is_shared(found[0].operands[0]):
        return None
    return CopyToShared(store, *found, guard)


def bytes_of(type_: ir.Type) -> int:
    """The bytes of a vector, or of an element; 0 for other values."""
    if isinstance(type_, ir.VectorType):
        return prod(type_.shape) * type_.element_type.width // 8 if type_.rank == 1 else 0
    return type_.width // 8 if isinstance(type_, (ir.FloatType, ir.IntegerType)) else 0


def loaded(value: ir.Value) -> tuple[ir.Operation, list[ir.Value]] | None:
    """The load that a vector or an element is, and the tests under which it is; else it is 0. None for another value."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is not None and op.name in LOADS:
        return op, []
    if op is None or op.name != "scf.if" or len(op.results) != 1:
        return None
    then, other = (terminator(region.blocks[0]).operands[0] for region in op.regions)
    if constant_number(other) != 0 or any(
            not (one.name in (*LOADS, "scf.if", "scf.yield") or is_arithmetic(one)) for one in everything(op) if one != op):
        return None
    found = loaded(then)
    return None if found is None else (found[0], [op.operands[0], *found[1]])


def is_arithmetic(op: ir.Operation) -> bool:
    """Whether an op may be computed where its result is not wanted."""
    return op.name.startswith("arith.") and (not op.name.startswith(("arith.div", "arith.rem", "arith.floordiv", "arith.ceildiv")) or (
        not isinstance(op.operands[1].owner, ir.Block) and op.operands[1].owner.operation.name == "arith.constant"))


def alignment(op: ir.Operation) -> int:
    """The bytes that an access is aligned to: an element's own, or what is said of a vector."""
    if op.name.startswith("memref."):
        return bytes_of((op.results[0] if op.name == "memref.load" else op.operands[0]).type)
    return op.attributes["alignment"].value if "alignment" in op.attributes else 1


def writes(op: ir.Operation) -> bool:
    """Whether an op may have an effect."""
    return op.name in (*STORES, "func.call", "memref.copy", "memref.atomic_rmw", "memref.generic_atomic_rmw")


def is_shared(buffer: ir.Value) -> bool:
    """Whether a buffer is in a block's shared memory."""
    return "workgroup" in str(buffer.type.memory_space)
