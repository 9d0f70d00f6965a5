"""Bytes of a graph in 16 bits, as products of pairs take them."""
from __future__ import annotations

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.functions import behind, set_operand
from legato.passes.graph.integers.quantized import dtype_of

SHORT = np.dtype(np.int16)


class Shorts:
    """The values that are widened already, each once."""

    def __init__(self) -> None:
        self._made: dict[ir.Value, ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """A value of bytes in 16 bits."""
        if value not in self._made:
            with behind(value):
                self._made[value] = relax.astype(value, dtype=SHORT)
        return self._made[value]

    def share(self) -> None:
        """Makes other casts of the bytes read the 16 bits: what computes a value stores it once."""
        for value, short in self._made.items():
            for cast in [use.owner.operation for use in value.uses]:
                if cast.name == "relax.astype" and dtype_of(cast.results[0]).itemsize > SHORT.itemsize:
                    set_operand(cast, 0, short)
