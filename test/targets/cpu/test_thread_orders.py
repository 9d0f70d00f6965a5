"""The steps of parallel loops in other orders, each step alone: what one step writes, no other one writes or reads.

Threads take the steps in whatever order; two that overlap, such as a vector's tail that ends in another step's rows, are wrong in some
orders only, and by chance. Here the caller runs all steps, last first, of kernels whose sizes are no multiples of vectors and tiles: one
whose vectors end in the next step's rows is wrong then.
"""
import other_orders
import pytest
from harness import Net
from numpy.random import default_rng

import legato
from legato import relax as R
from legato import tir as T
from legato.codegen import units
from legato.codegen.entry import library
from legato.codegen.entry.library import EntryUnit

POOLS = [((2, 13, 11, 7), "f32", [3, 3], [1, 1], [1] * 4, "NHWC"), ((1, 20, 19, 33), "f32", [2, 3], [2, 2], [0, 1, 1, 0], "NHWC"),
         ((2, 9, 14, 13), "f32", [3, 2], [1, 2], [1, 0, 0, 1], "NCHW"), ((3, 40, 40, 8), "f16", [3, 3], [1, 1], [1] * 4, "NHWC")]


def kernels(threads: int) -> tuple[Net, list]:
    """Poolings, and one of each other kind of kernel."""
    net, arrays = Net(f"llvm{{threads={threads}}}"), []
    rng = default_rng(0)

    def given(shape, dtype="f32", named=None):
        arrays.append(rng.standard_normal(shape).astype("float16" if dtype == "f16" else "float32"))
        return net.input(named or shape, dtype)

    for shape, dtype, kernel, strides, padding, layout in POOLS:
        for op in ("relax.max_pool2d", "relax.avg_pool2d"):
            net.output(net.op(op, [given(shape, dtype)], kernel=kernel, strides=strides, padding=padding, layout=layout))
    rows, sized = given((301, 507)), given((777, 131), named=("n", "m"))
    net.output(net.op("relax.exp", [given((100_003,))]), net.op("relax.softmax", [rows], axis=1), net.op("relax.sum", [rows], axis=[0]),
               net.op("relax.sum", [rows], axis=[1]), net.op("relax.permute_dims", [rows], axes=[1, 0]), net.op("relax.tanh", [sized]),
               net.op("relax.softmax", [sized], axis=1), net.op("relax.matmul", [given((97, 255)), given((255, 131))]),
               net.op("relax.conv2d", [given((1, 13, 13, 33)), given((3, 3, 33, 65))], strides=[1, 1], padding=[1] * 4, dilations=[1, 1],
                      groups=1, data_layout="NHWC", kernel_layout="HWIO"))
    return net, arrays


@pytest.fixture
def last_first(monkeypatch):
    """Models that are compiled from here on run parallel loops from the last step to the first."""
    pool = EntryUnit((other_orders.parallel, other_orders.retain_pool, other_orders.release_pool))
    assert pool.symbols == library.POOL.symbols
    yield lambda: monkeypatch.setattr(units, "unit_of", lambda symbol: pool if symbol in pool.symbols else library.unit_of(symbol))


@T.prim_func
def put(X: T.Buffer((4,), "float32"), I: T.Buffer((4,), "int64"), Y: T.Buffer((4,), "float32")):
    for i in T.parallel(4):
        Y[I[i]] = X[i]


def test_steps_that_write_one_element_are_wrong_then(last_first):
    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int64")):
        return R.call_tir(put, [x, i], R.Tensor((4,), "float32"))

    last_first()
    exe = legato.compile(main, target="llvm{threads=2}", cache=False)
    x = default_rng(0).standard_normal(4, dtype="float32")
    assert list(exe(x, default_rng(0).permutation(4))) == [x[i] for i in default_rng(0).permutation(4).argsort()]
    assert exe(x, default_rng(0).permutation(4) * 0)[0] == x[0]      # the last step's, in their order


def test_the_last_step_first_gives_what_one_thread_gives(last_first):
    alone, arrays = kernels(1)
    right = alone.run(*arrays)
    last_first()
    net, _ = kernels(3)
    assert str(net.lowered("scheduled")).count("scf.forall") > len(POOLS)
    for number, (found, expected) in enumerate(zip(net.run(*arrays), right, strict=True)):
        assert found.tobytes() == expected.tobytes(), number
