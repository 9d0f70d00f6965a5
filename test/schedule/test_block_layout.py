"""transform_block_layout: maps that are bijective, and a convolution that becomes a matrix product."""
from itertools import product
from random import Random

import numpy as np
import pytest
from scheduled_kernels import compiled, conv, of_symbols, ramp

from legato import Schedule, ScheduleError
from legato.core.mlir import ir
from legato.schedule.digits import NotBijectiveError, bijection, extent_of
from legato.schedule.index_map import affine_map
from legato.script import tir as T


def random_map(random):
    """A function of three indices that splits, joins and exchanges them, mostly a bijective one, and the extents."""
    extents = [random.choice([1, 2, 4, 6, 12]) for _ in range(3)]
    parts = []
    for n, extent in enumerate(extents):
        cut = random.choice([1, 2, 3, extent])
        parts += [(f"i{n} // {cut}", -(-extent // cut)), (f"i{n} % {cut}", min(cut, extent))] if cut > 1 else [(f"i{n}", extent)]
    random.shuffle(parts)
    results = []
    while parts:
        count = random.randint(1, len(parts))
        joined, parts = parts[:count], parts[count:]
        scale, terms = 1, []
        for text, extent in joined:
            terms.append(f"({text}) * {scale}")
            scale *= extent
        results.append(random.choice(["{}", "{}", "({}) // 1"]).format(" + ".join(terms)))
    if random.random() < 0.2:
        results.append(random.choice(["i0", "i1 % 2"]))
    return f"lambda i0, i1, i2: ({', '.join(results)},)", extents


def test_random_maps():
    """What is said to be bijective is, by all points, and the digits give the indices back; most maps of that kind are found."""
    found = refused = 0
    with ir.Context():
        for seed in range(400):
            text, extents = random_map(Random(seed))
            function = eval(text)
            points = list(product(*map(range, extents)))
            places = [function(*point) for point in points]
            sizes = [max(column) + 1 for column in zip(*places)]
            is_bijective = len(set(places)) == len(points) == np.prod(sizes)
            try:
                made = bijection(affine_map(function), extents)
            except NotBijectiveError:
                refused += 1
                continue
            found += 1
            assert is_bijective, (text, extents)
            assert [extent_of(digits) for digits in made.results] == sizes, (text, extents)
            for point, place in zip(points, places):
                back = [sum(place[at] // d.scale % d.extent * d.weight for at, d in digits) for digits in made.indices]
                assert back == list(point), (text, extents)
    assert found > 150 and refused > 50, (found, refused)


def test_a_convolution_as_a_matrix_product():
    """The script of TVM's dlight: windows and filters as matrices, then the block as a product of them, which is scheduled as one."""
    sch = Schedule(conv)
    block = sch.get_block("Y")
    for at in (("read", 0), ("read", 1), ("write", 0)):
        sch.reindex(block, at)
    sch.transform_layout(block, ("read", 0), lambda n, h, w, i, j, c: (n * 16 + h * 4 + w, i * 9 + j * 3 + c))
    sch.transform_layout(block, ("read", 1), lambda f, i, j, c: (i * 9 + j * 3 + c, f))
    sch.transform_layout(block, ("write", 0), lambda n, h, w, f: (n * 16 + h * 4 + w, f))
    sch.transform_block_layout(block, lambda n, h, w, f, i, j, c: (n * 16 + h * 4 + w, f, i * 9 + j * 3 + c))
    script = sch.script()
    assert "Y_reindex[v0, v1] = Y_reindex[v0, v1] + X_reindex[v0, v2] * W_reindex[v2, v1]" in script
    rows, columns, depth = sch.get_loops(block)
    assert [loop.extent for loop in (rows, columns, depth)] == [32, 16, 27]
    outer, inner = sch.split(rows, [None, 8])
    sch.reorder(outer, depth, inner, columns)
    init = sch.decompose_reduction(block, depth)
    sch.unroll(columns)
    sch.parallel(outer)
    assert init.name == "Y_init"
    compiled(conv, sch, ramp(2, 6, 6, 3), ramp(3, 3, 3, 16))


@pytest.mark.parametrize("function", [lambda i, j, k: (i * 8 + j * 2 + k,), lambda i, j, k: (k, i * 4 + j),
                                      lambda i, j, k: (j // 2, k, i, j % 2)])
@pytest.mark.parametrize("size", [0, 5])
def test_an_unknown_number_of_rows(function, size):
    """It may be the most significant part of a result."""
    sch = Schedule(of_symbols)
    sch.transform_block_layout(sch.get_block("B"), function)
    compiled(of_symbols, sch, ramp(size, 8))


@T.prim_func
def running_total(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vj > 0 and vi > 0, B[vi - 1, vj - 1], T.float32(0)) + A[vi, vj]


@pytest.mark.parametrize(("function", "message"), [
    (lambda i, j: (j, i), "block 'B' reads of 'B_out' what it has written for other values of vi, vj: their order would change"),
    (lambda i: (i,), "the map takes 1 indices, and block 'B' has 2 axes: vi, vj"),
    (lambda i, j: (i,), "no results say which value index 1 has"),
    (lambda i, j: (i + j, j), "it adds indices that overlap"),
    (lambda i, j: (i + 1, j), "it has the constant 1"),
    (lambda i, j: (i * 8 + j,), "leaves values out, or takes one twice"),
    (lambda i, j: (0 - i, j), "is not made by"),
])
def test_refused(function, message):
    sch = Schedule(running_total)
    before = str(sch)
    with pytest.raises(ScheduleError, match=message):
        sch.transform_block_layout(sch.get_block("B"), function)
    assert str(sch) == before
