"""Bytes of a graph with or without signs, as products take them."""
from __future__ import annotations

import numpy as np

from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.functions import behind, is_used, replace_uses
from legato.passes.graph.integers.quantized import Reader, dtype_of

I32, U8, I8 = map(np.dtype, (np.int32, np.uint8, np.int8))
SHIFT = 128


class Raised:
    """Signed bytes as unsigned ones that are greater by 128, or, where ``signed``, unsigned bytes as signed ones that are less by 128."""

    def __init__(self, signed: bool = False) -> None:
        self.dtype, self.shift = (I8, -SHIFT) if signed else (U8, SHIFT)
        self._made: dict[ir.Value, ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """A value of bytes of the other signs."""
        if value not in self._made:
            with behind(value):
                wide = relax.add(relax.astype(value, dtype=I32), relax.constant(np.int32(self.shift)))
                self._made[value] = relax.astype(wide, dtype=self.dtype)
        return self._made[value]

    def zero(self, zero: ir.Value | int) -> ir.Value | int:
        """The zero point of such a value, by that of the one it is made of."""
        return zero + self.shift if isinstance(zero, int) else relax.add(zero, relax.constant(np.int32(self.shift)))

    def share(self, reader: Reader) -> None:
        """Makes other casts of the bytes read the raised ones: what computes a value stores it once."""
        for value, raised in self._made.items():
            casts = [use.owner.operation for use in value.uses]
            if defining_op(value) is None or any(cast.name != "relax.astype" for cast in casts):
                continue
            own = present(defining_op(present(defining_op(raised)).operands[0])).operands[0]
            for cast in casts:
                if cast.results[0] != own:
                    lower(cast, raised, self.shift, reader)


def lower(cast: ir.Operation, raised: ir.Value, shift: int, reader: Reader) -> None:
    """Replaces a cast of bytes by one of the raised ones, less their shift; a zero point that is subtracted next takes that up."""
    with ir.InsertionPoint(cast), cast.location:
        wide = relax.astype(raised, dtype=I32)
    if dtype_of(cast.results[0]) == I32:
        for user in [use.owner.operation for use in cast.results[0].uses]:
            is_zero_point = user.name == "relax.subtract" and user.operands[0] == cast.results[0]
            zero = reader.few(user.operands[1]) if is_zero_point else None
            if zero is not None and zero.size == 1:
                with ir.InsertionPoint(user), user.location:
                    less = int(zero.reshape(())) + shift
                    replace_uses(user.results[0], relax.subtract(wide, relax.constant(np.int32(less))) if less else wide)
    if is_used(cast.results[0]):
        with ir.InsertionPoint(cast), cast.location:
            lowered = relax.subtract(wide, relax.constant(np.int32(shift)))
            kind = dtype_of(cast.results[0])
            replace_uses(cast.results[0], lowered if kind == I32 else relax.astype(lowered, dtype=kind))
