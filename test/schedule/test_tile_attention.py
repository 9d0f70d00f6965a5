"""tile_attention against numpy, on kernels whose letters are several axes, and what it refuses."""
import numpy as np
import pytest
from thoroughly import sampled

import legato
from legato import Schedule, ScheduleError
from legato.script import tir as T


@T.prim_func
def attention(Q: T.Buffer((2, 3, 7, 5), "float32"), K: T.Buffer((2, 11, 5), "float32"), V: T.Buffer((2, 11, 6), "float32"),
              M: T.Buffer((7, 11), "float32"), O: T.Buffer((2, 7, 3, 6), "float32")):
    S = T.alloc_buffer((2, 3, 7, 11), "float32")
    X = T.alloc_buffer((2, 3, 7, 11), "float32")
    G = T.alloc_buffer((2, 3, 7), "float32")
    E = T.alloc_buffer((2, 3, 7, 11), "float32")
    L = T.alloc_buffer((2, 3, 7), "float32")
    for b, h, m, n, d in T.grid(2, 3, 7, 11, 5):
        with T.block("S"):
            vb, vh, vm, vn, vd = T.axis.remap("SSSSR", [b, h, m, n, d])
            with T.init():
                S[vb, vh, vm, vn] = 0.0
            S[vb, vh, vm, vn] = S[vb, vh, vm, vn] + Q[vb, vh, vm, vd] * K[vb, vn, vd]
    for b, h, m, n in T.grid(2, 3, 7, 11):
        with T.block("X"):
            vb, vh, vm, vn = T.axis.remap("SSSS", [b, h, m, n])
            X[vb, vh, vm, vn] = S[vb, vh, vm, vn] * 0.5 + M[vm, vn]
    for b, h, m, n in T.grid(2, 3, 7, 11):
        with T.block("G"):
            vb, vh, vm, vn = T.axis.remap("SSSR", [b, h, m, n])
            with T.init():
                G[vb, vh, vm] = T.float32("-inf")
            G[vb, vh, vm] = T.max(X[vb, vh, vm, vn], G[vb, vh, vm])
    for b, h, m, n in T.grid(2, 3, 7, 11):
        with T.block("E"):
            vb, vh, vm, vn = T.axis.remap("SSSS", [b, h, m, n])
            E[vb, vh, vm, vn] = T.exp(X[vb, vh, vm, vn] - G[vb, vh, vm])
    for b, h, m, n in T.grid(2, 3, 7, 11):
        with T.block("L"):
            vb, vh, vm, vn = T.axis.remap("SSSR", [b, h, m, n])
            with T.init():
                L[vb, vh, vm] = 0.0
            L[vb, vh, vm] = L[vb, vh, vm] + E[vb, vh, vm, vn]
    for b, m, h, e, n in T.grid(2, 7, 3, 6, 11):
        with T.block("O"):
            vb, vm, vh, ve, vn = T.axis.remap("SSSSR", [b, m, h, e, n])
            with T.init():
                O[vb, vm, vh, ve] = 0.0
            O[vb, vm, vh, ve] = O[vb, vm, vh, ve] + E[vb, vh, vm, vn] / L[vb, vh, vm] * V[vb, vn, ve]


def reference(q, k, v, m):
    x = np.einsum("bhmd,bnd->bhmn", q, k) * 0.5 + m
    p = np.exp(x - x.max(-1, keepdims=True))
    return np.einsum("bhmn,bne->bmhe", p / p.sum(-1, keepdims=True), v)


@pytest.mark.parametrize("unconverted", [False, True])
@pytest.mark.parametrize("tiles", sampled([[4, 4, 5, 6], [21, 11, 8, 8], [8, 16, 5, 6], [1, 1, 5, 6]], 2))
def test_any_tiles(tiles, unconverted):
    """Heads that share keys and values are rows of one product."""
    sch = Schedule(attention)
    blocks = sch.tile_attention(sch.get_block("O"), tiles, unconverted)
    assert len(blocks) == 16 and "X = T.alloc" not in str(sch)
    random = np.random.default_rng(0)
    q, k, v, m = (random.standard_normal(shape) for shape in ((2, 3, 7, 5), (2, 11, 5), (2, 11, 6), (7, 11)))
    m[2], m[3, 1:] = -np.inf, -np.inf
    given = [a.astype(np.float32) for a in (q, k, v, m)]
    with np.errstate(invalid="ignore"):
        expected = reference(q, k, v, m)
    np.testing.assert_allclose(legato.compile(sch.module, "llvm")(*given), expected, rtol=1e-5, atol=1e-6)
    again = Schedule(attention).replay(sch.trace)
    assert str(again) == str(sch) and again.trace == sch.trace


def test_what_is_refused():
    sch = Schedule(attention)
    for block, tiles, reason in (("S", [4, 4, 5, 6], "not the last product of an attention: block 'S' does not multiply by a quotient"),
                                 ("G", [4, 4, 5, 6], "block 'G' is no reduction by arith.addf"),
                                 ("O", [4, 4, 5], r"takes four sizes, of rows, keys, depth and columns; not \[4, 4, 5\]"),
                                 ("O", [4, 4, 4, 6], "a tile has 4 for the depth, and block 'S' has 5"),
                                 ("O", [4, 4, 5, 4], "a tile has 4 for the columns, and block 'O' has 6")):
        before = str(sch)
        with pytest.raises(ScheduleError, match=reason):
            sch.tile_attention(sch.get_block(block), tiles)
        assert str(sch) == before
    sch.split(sch.get_loops(sch.get_block("L"))[3], [None, 2])
    with pytest.raises(ScheduleError, match="each axis of block 'L' has to be one loop over all its values"):
        sch.tile_attention(sch.get_block("O"), [4, 4, 5, 6])
