"""Signed bytes of a graph as unsigned ones, greater by 128, as products take them."""
from __future__ import annotations

import numpy as np

from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.functions import behind, defining_op, is_used, replace_uses
from legato.passes.graph.integers.quantized import Reader, dtype_of

I32, U8 = np.dtype(np.int32), np.dtype(np.uint8)
SHIFT = 128


class Raised:
    """The values that are unsigned already, each once."""

    def __init__(self) -> None:
        self._made: dict[ir.Value, ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """A value of signed bytes as unsigned ones."""
        if value not in self._made:
            with behind(value):
                self._made[value] = relax.astype(relax.add(relax.astype(value, dtype=I32), relax.constant(np.int32(SHIFT))), dtype=U8)
        return self._made[value]

    def share(self, reader: Reader) -> None:
        """Makes other casts of the bytes read the unsigned ones: what computes a value stores it once."""
        for value, raised in self._made.items():
            casts = [use.owner.operation for use in value.uses]
            if defining_op(value) is None or any(cast.name != "relax.astype" for cast in casts):
                continue
            own = present(defining_op(present(defining_op(raised)).operands[0])).operands[0]
            for cast in casts:
                if cast.results[0] != own:
                    lower(cast, raised, reader)


def lower(cast: ir.Operation, raised: ir.Value, reader: Reader) -> None:
    """Replaces a cast of signed bytes by one of the unsigned ones, less 128; a zero point that is subtracted next takes that up."""
    with ir.InsertionPoint(cast), cast.location:
        wide = relax.astype(raised, dtype=I32)
    if dtype_of(cast.results[0]) == I32:
        for user in [use.owner.operation for use in cast.results[0].uses]:
            is_zero_point = user.name == "relax.subtract" and user.operands[0] == cast.results[0]
            zero = reader.few(user.operands[1]) if is_zero_point else None
            if zero is not None and zero.size == 1:
                with ir.InsertionPoint(user), user.location:
                    less = int(zero.reshape(())) + SHIFT
                    replace_uses(user.results[0], relax.subtract(wide, relax.constant(np.int32(less))) if less else wide)
    if is_used(cast.results[0]):
        with ir.InsertionPoint(cast), cast.location:
            lowered = relax.subtract(wide, relax.constant(np.int32(SHIFT)))
            kind = dtype_of(cast.results[0])
            replace_uses(cast.results[0], lowered if kind == I32 else relax.astype(lowered, dtype=kind))
