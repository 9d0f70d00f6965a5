"""Numbers of f32 in parts of bf16, as the loops of ``tir-split-products`` compute them: the bits of each are what numpy's packing makes."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legato.core.mlir import arith, ir, vector
from legato.core.vector_loops import Vectors
from legato.passes.cpu.matrices.packing import HALF, PAIR, UPPER


def bits_of(vectors: Vectors, numbers: ir.Value) -> ir.Value:
    """The bits of a vector of f32, as integers."""
    return arith.bitcast(vectors.of(ir.IntegerType.get_signless(32)), numbers)


def pairs_of_parts(vectors: Vectors, numbers: list[ir.Value], parts: int) -> Iterator[ir.Value]:
    """The parts of two vectors of f32, each as one vector of pairs: a part is what the ones before leave, rounded."""
    bits = ir.IntegerType.get_signless(32)
    half, upper = (vectors.constant(int(mask.view(np.int32)), bits) for mask in (HALF, UPPER))
    halves = ir.VectorType.get([PAIR * vectors.lanes], ir.BF16Type.get())
    for part in range(parts):
        rounded = [arith.addi(bits_of(vectors, number), half) for number in numbers]
        uppers = [arith.andi(number, upper) for number in rounded]
        pairs = arith.ori(arith.shrui(rounded[0], vectors.constant(16, bits)), uppers[1])
        yield vector.BitCastOp(halves, pairs).result
        if part < parts - 1:
            numbers = [arith.subf(number, arith.bitcast(vectors.type, of)) for number, of in zip(numbers, uppers)]
