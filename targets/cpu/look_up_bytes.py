"""take of bytes from a constant table of 256 of them, at indices that are bytes: vectors are looked up in registers (AVX512-VBMI).

``vpermi2b`` looks up 64 bytes in a table of 128, by the low seven bits of each index; a second one and a mask have one of 256.
"""
import numpy as np

from legato.core.errors import Refusal
from legato.core.mlir import arith, ir
from legato.dialects.tir.markers import WRITES_ALL
from legato.dialects.tir.plain import plain_type
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims, quotient
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import collapse, expand, is_empty, looped
from legato.targets.builders.vectors import read_vector, write_vector
from legato.targets.cpu.byte_tables import BYTES, SIZE, RegisterTable
from legato.targets.cpu.channels import shared
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.take_in_vectors import PIECES
from legato.targets.rule import rewrite

WORTH_IT = 1 << 18  # bytes from which on threads share them


@rewrite("relax.take", priority=2)
def look_up_bytes(op, table, indices):
    """Of unsigned indices."""
    numbers, index = op.array(table), element(indices.type)
    if numbers is None or numbers.shape != (SIZE,) or numbers.dtype.itemsize != 1 or op.output_types[0].rank == 0:
        return Refusal("it is not from a constant table of 256 bytes")
    if index.bits != 8 or not index.is_unsigned:
        return Refusal("its indices are no unsigned bytes")
    if not isinstance(op.machine, Machine) or not op.machine.has("avx512vbmi"):
        return Refusal("the CPU is not known to have avx512vbmi")

    def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        return [_looked_up(op.machine, RegisterTable(numbers.view(np.uint8)), ins[0], outs[0])]

    return op.call_built(body, [indices], [plain_type(op.output_types[0])], [op.sizes(op.output_types[0])])


def _looked_up(machine: Machine, table: RegisterTable, indices: ir.Value, out: ir.Value) -> ir.Value:
    """``out`` with the bytes."""
    if is_empty(out):
        return out
    ir.InsertionPoint.current.block.owner.attributes[WRITES_ALL] = ir.UnitAttr.get()
    groups = [list(range(out.type.rank))]
    given, flat = collapse(indices, groups), collapse(out, groups)
    count = dims(flat)[0]
    if machine.threads < 2 or not isinstance(count, int) or count < WORTH_IT:
        flat = _vectors(table, given, index_value(0), flat)
    else:
        part = -(-count // (PIECES * machine.threads * BYTES)) * BYTES
        flat = shared(flat, [part], lambda places, into: _vectors(table, given, places[0], into))
    return expand(flat, groups, dims(out))


def _vectors(table: RegisterTable, given: ir.Value, first: ir.Value, into: ir.Value) -> ir.Value:
    """``into`` with the bytes at the indices from ``first`` on."""
    count, zero = dims(into)[0], arith.ConstantOp(given.type.element_type, 0).result
    whole = quotient(count, BYTES)

    def one(number: ir.Value, into: ir.Value, inside: bool = True) -> ir.Value:
        at = arith.muli(index_value(number), index_value(BYTES))
        index = read_vector(given, [arith.addi(first, at)], BYTES, zero, inside)
        return write_vector(table.of(index), into, [at], inside)

    into = looped(whole, [into], lambda number, into: [one(number, into)])[0]
    return into if isinstance(count, int) and count % BYTES == 0 else one(index_value(whole), into, inside=False)


RULES = (look_up_bytes,)
