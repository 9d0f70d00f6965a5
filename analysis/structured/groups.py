"""Contractions of groups of neighbouring elements by instructions on matrices: which ones fill the registers, 16 rows of 16 groups."""
SIDE = 16  # rows of a matrix register, and its groups of 32 bits in a row
ENOUGH_ROWS_OF_PAIRS = 2  # of bf16, from which on they are faster than vectors, which widen the factors
ENOUGH_ROWS_OF_BYTES = 4  # likewise, than dot products in the lanes of vectors
ENOUGH_GROUPS = 4  # in a step of the reduction, likewise
WASTE = 1.5  # of the steps of the reduction, at most, where no divisor of its groups is near SIDE


def depth_of(groups: int | None) -> int | None:
    """The groups that a step of a reduction over so many of them sums: the greatest divisor that a register holds, so that all steps are
    alike. None where there is none large enough."""
    if not groups:
        return None
    depth = max(divisor for divisor in range(1, min(SIDE, groups) + 1) if groups % divisor == 0)
    return depth if depth >= ENOUGH_GROUPS and groups // depth <= WASTE * -(-groups // SIDE) else None


def fills_registers(rows: int | None, columns: int | None, groups: int | None, enough: int = ENOUGH_ROWS_OF_PAIRS) -> bool:
    """Whether instructions on matrices are faster for a product of this shape; None: a size known at run time. ``enough``: the rows from
    which on they are."""
    return (rows is None or rows >= enough) and columns is not None and columns >= SIDE and depth_of(groups) is not None
