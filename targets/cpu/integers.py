"""Products of integers in batches on CPUs: of lanes of neighbours along the depth, as instructions take them, of both factors.

The second factor is split as it lies in memory: a step's rows are interleaved in registers, for all rows of a tile at once.
"""
from typing import Any

from legato.targets.generic.integers import lane_of, split, sum_products
from legato.targets.generic.matmul import operand_of
from legato.targets.rule import kernel


def is_batch_of_lanes(op: Any) -> bool | str:
    """Whether the second factor is matrices in batches, with a row for each step of a depth in whole lanes."""
    a, b = op.input_types
    if b.rank < 3 or op.attrs["kernel_layout"] != "IO":
        return "the second factor is no batch of matrices with a row for each step of the depth"
    depth, lane = a.shape[-1], lane_of(a, b)
    whole = depth == b.shape[-2] and depth > 0 and depth % lane == 0
    return whole or f"the depth is not known, or no multiple of {lane}"


@kernel("relax.matmul_integer", when=is_batch_of_lanes)
def matmul(k, a, b, out):
    """A nest over batches, rows, columns and the depth, by lanes and by the elements of a lane."""
    batch, lane = [f"b{i}" for i in range(out.type.rank - 2)], lane_of(*k.input_types)
    operands = [operand_of(split(a, a.type.rank - 1, lane), out, batch, ["m", "k", "q"]),
                operand_of(split(b, b.type.rank - 2, lane), out, batch, ["k", "q", "n"])]
    return sum_products(k, out, ", ".join([*batch, "m, n, +k, +q"]), operands)


RULES = (matmul,)
