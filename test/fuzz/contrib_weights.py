"""Random products and gathers of the domain com.microsoft by weights of few bits in blocks."""
from typing import Any

import ml_dtypes
import numpy as np
from contrib_attention import present
from drawn_nodes import Draw, DrawnNode

Array = np.ndarray


def matmul_nbits(d: Draw) -> DrawnNode:
    bits, block = d.width(4, 4, 8), d.width(16, 32, 128)
    depth, columns = d.width(16, 33, 64, 100, 130), d.width(1, 8, 17, 33, 48)
    blocks, lead = -(-depth // block), [d.size(1, 2, 3) for _ in range(d.rng.choice((0, 0, 1)))]
    rows = d.size(1, 1, 2, 5, 9, 17)
    b = d.fixed.integers(0, 256, (columns, blocks, block * bits // 8), dtype=np.uint8)
    scales = d.positive(columns, blocks).astype(d.dtype)
    packed = d.fixed.integers(0, 256, (columns, -(-blocks * bits // 8)), dtype=np.uint8)
    floats = (d.fixed.random((columns, blocks)) * 7).astype(d.dtype)
    zero = d.rng.choice((None, packed, packed, floats if bits == 4 else packed))
    bias = d.weight(columns) if d.some(0.3) else None
    inputs: list[Array | None] = present([d.normal(*lead, rows, depth), b, scales, zero, None, bias])
    attributes = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    kept = [i for i in (1, 2, 3, 5) if i < len(inputs) and inputs[i] is not None]
    return DrawnNode("MatMulNBits", inputs, d.kept(*kept), tolerance=5 * d.tolerance, attributes=attributes)


def gather_blocks(d: Draw) -> DrawnNode:
    bits, block, rows, blocks = d.width(4, 4, 8), d.width(16, 32), d.width(5, 30), d.width(1, 2, 3)
    columns = block * blocks - d.rng.choice((0, 0, 8))
    data = d.fixed.integers(0, 256, (rows, columns * bits // 8), dtype=np.uint8)
    zero = d.fixed.integers(0, 256, (rows, -(-blocks * bits // 8)), dtype=np.uint8) if d.some() else None
    picked = d.data.integers(-rows, rows, [d.size(1, 2, 4) for _ in range(d.rng.choice((0, 1, 2)))])
    inputs = present([data, np.asarray(picked), d.positive(rows, blocks).astype(d.dtype), zero])
    attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": block, "bits": bits}
    return DrawnNode("GatherBlockQuantized", inputs, d.kept(0, 2, *([3] if zero is not None else [])), tolerance=d.tolerance,
                       attributes=attributes)


def gather_nibbles(d: Draw) -> DrawnNode:
    dtype = d.rng.choice((ml_dtypes.int4, ml_dtypes.uint4))
    low, high = (-8, 8) if dtype is ml_dtypes.int4 else (0, 16)
    block, shape = 16, [d.width(5, 20), d.width(3, 7), d.width(16, 32, 48)]
    shape = shape[d.rng.choice((0, 1)):]
    along = len(shape) - 1
    data = d.fixed.integers(low, high, shape).astype(dtype)
    scale_shape = [*shape[:-1], shape[-1] // block]
    zero = d.fixed.integers(low, high, scale_shape).astype(dtype) if d.some() else None
    gather = d.rng.randrange(along)
    picked = d.data.integers(0, shape[gather], [d.size(1, 2, 4) for _ in range(d.rng.choice((0, 1, 2)))])
    attributes: dict[str, Any] = {"gather_axis": gather, "quantize_axis": along, "block_size": block}
    inputs = present([data, np.asarray(picked), d.positive(*scale_shape).astype(d.dtype), zero])
    return DrawnNode("GatherBlockQuantized", inputs, [0, *([3] if zero is not None else []), *d.kept(2)], tolerance=d.tolerance,
                       attributes=attributes)


WEIGHTS = (matmul_nbits, gather_blocks, gather_nibbles)
