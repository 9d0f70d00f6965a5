"""Contractions of groups of neighbouring elements by instructions on matrices: which ones fill the registers, 16 rows of 16 groups."""
SIDE = 16  # rows of a matrix register, and its groups of 32 bits in a row
ENOUGH_ROWS = 8  # from which on they are faster than vectors
ENOUGH_GROUPS = 4  # in a step of the reduction, likewise
WASTE = 1.5  # of the steps of the reduction, at most, where no divisor of its groups is near SIDE


def depth_of(groups: int | None) -> int | None:
    """The groups that a step of a reduction over so many of them sums: the greatest divisor that a register holds, so that all steps are
    alike. None where there is none large enough."""
    if not groups:
        return None
    depth = max(divisor for divisor in range(1, min(SIDE, groups) + 1) if groups % divisor == 0)
    return depth if depth >= ENOUGH_GROUPS and groups // depth <= WASTE * -(-groups // SIDE) else None


def fills_registers(rows: int | None, columns: int | None, groups: int | None) -> bool:
    """Whether instructions on matrices are faster for a product of this shape; None: a size known at run time."""
    return (rows is None or rows >= ENOUGH_ROWS) and columns is not None and columns >= SIDE and depth_of(groups) is not None
