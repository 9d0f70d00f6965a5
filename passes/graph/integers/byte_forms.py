"""Bytes of a graph in the form that products take: in 16 bits, or with or without signs. What computes a value stores that once."""
from __future__ import annotations

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.functions import defining_op, replace_uses, set_operand
from legato.passes.graph.integers.quantized import WIDE, dtype_of

SHORT, I32, UNSIGNED, SIGNED = map(np.dtype, (np.int16, np.int32, np.uint8, np.int8))
SHIFT = 128     # between signed and unsigned bytes


class ByteForms:
    """The values that have another form already, each once."""

    def __init__(self) -> None:
        self._made: dict[ir.Value, ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """A value of bytes in the other form."""
        if value not in self._made:
            op = defining_op(value)
            place = ir.InsertionPoint.at_block_begin(value.owner) if op is None else ir.InsertionPoint.after(op)
            with place:
                self._made[value] = self.make(value)
        return self._made[value]

    def share(self) -> None:
        """Makes other casts of the bytes read the other form."""
        for value, copy in self._made.items():
            own = defining_op(copy)
            for cast in [use.owner.operation for use in value.uses]:
                if cast.name == "relax.astype" and self.is_wider(dtype_of(cast.results[0])) and not self.is_part(cast, own):
                    self.read(cast, copy)

    def make(self, value: ir.Value) -> ir.Value:
        """The other form, at the insertion point."""
        raise NotImplementedError

    def is_wider(self, dtype: np.dtype) -> bool:
        """Whether casts to a type can read the other form."""
        raise NotImplementedError

    def is_part(self, cast: ir.Operation, own: ir.Operation | None) -> bool:
        """Whether a cast is one that makes the other form, which is the result of ``own``."""
        return cast == own

    def read(self, cast: ir.Operation, copy: ir.Value) -> None:
        """Makes a cast of the bytes one of the other form."""
        set_operand(cast, 0, copy)


class Shorts(ByteForms):
    """Bytes in 16 bits, as products of pairs take them."""

    def make(self, value: ir.Value) -> ir.Value:
        """The value in 16 bits."""
        return relax.astype(value, dtype=SHORT)

    def is_wider(self, dtype: np.dtype) -> bool:
        """Whether a type has more than 16 bits."""
        return dtype.itemsize > SHORT.itemsize


class Shifted(ByteForms):
    """Signed bytes as unsigned ones that are greater by 128, or, where ``signed``, unsigned bytes as signed ones that are less by 128."""

    def __init__(self, signed: bool = False) -> None:
        super().__init__()
        self.dtype, self.shift = (SIGNED, -SHIFT) if signed else (UNSIGNED, SHIFT)

    def make(self, value: ir.Value) -> ir.Value:
        """The shifted value."""
        return relax.astype(relax.add(relax.astype(value, dtype=I32), relax.constant(np.int32(self.shift))), dtype=self.dtype)

    def is_wider(self, dtype: np.dtype) -> bool:
        """Whether a type holds shifted bytes, and what they were."""
        return dtype in WIDE

    def is_part(self, cast: ir.Operation, own: ir.Operation | None) -> bool:
        """Whether the shifted bytes are made of a cast."""
        added = None if own is None else defining_op(own.operands[0])
        return added is not None and cast == defining_op(added.operands[0])

    def read(self, cast: ir.Operation, copy: ir.Value) -> None:
        """Makes a cast of the bytes the difference of one of the shifted bytes."""
        with ir.InsertionPoint.after(cast), cast.location:
            wide = dtype_of(cast.results[0])
            replace_uses(cast.results[0], relax.subtract(relax.astype(copy, dtype=wide), relax.constant(np.array(self.shift, wide))))
