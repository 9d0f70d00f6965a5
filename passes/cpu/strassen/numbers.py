"""The seven products of Strassen's algorithm, by their numbers: what each begins with and multiplies, and where its sums are kept."""
from __future__ import annotations

from legato.core.ir_helpers import index
from legato.core.mlir import arith, ir
from legato.passes.cpu.strassen.column_sums import T1, T2, T3, T4
from legato.passes.cpu.strassen.row_sums import A11, A12, A22, S1, S2, S3, S4

BITS = 4                # of a number in a table
# the places of tiles of sums: a pair of tiles of rows by one of columns, those of plain products behind it, and what waits
C11, C12, C21, C22, *_, FIRST, U, V, W, ZERO, END = range(12)


class ProductNumbers:
    """Small numbers, by the number of a product, which is known when the loops run."""

    def __init__(self, numbers: dict[int, int]):
        self.bits = sum(number << BITS * product for product, number in numbers.items())

    def of(self, product: ir.Value) -> ir.Value:
        """The number of a product."""
        shifted = arith.shrui(index(self.bits), arith.muli(product, index(BITS)))
        return arith.andi(shifted, index((1 << BITS) - 1))


# what the sums of a product begin with, and where they are kept
BEGINS = ProductNumbers({A11: ZERO, A12: FIRST, S1: ZERO, S2: FIRST, S4: V, S3: U, A22: W})
ENDS = ProductNumbers({A11: FIRST, A12: C11, S1: V, S2: U, S4: C12, S3: W, A22: C21})
# the other factor: a quarter of the weight or a sum, which is a quarter less another or less a sum. Quarters by their sides and halves
OF_WEIGHT, OF_QUARTERS, OF_SUM = range(3)
KIND = ProductNumbers({A11: OF_WEIGHT, A12: OF_WEIGHT, S1: OF_QUARTERS, S2: OF_SUM, S4: OF_WEIGHT, S3: OF_QUARTERS, A22: OF_SUM})
SIDE = ProductNumbers({A11: 0, A12: 0, S1: 1, S2: 1, S4: 1, S3: 1, A22: 0})
HALF = ProductNumbers({A11: 0, A12: 1, S1: 0, S2: 1, S4: 1, S3: 1, A22: 1})
LESS_SIDE = ProductNumbers({S1: 0, S3: 1})
LESS_SUM = ProductNumbers({S2: T1, A22: T2})
SUM = ProductNumbers({S1: T1, S2: T2, S3: T3, A22: T4})
