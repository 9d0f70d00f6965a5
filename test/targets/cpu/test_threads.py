"""Kernels cut among threads: the parts' loops run in parallel, and give what one thread gives."""
import numpy as np
import pytest
from harness import Net

from legato.core.cpu import missing_features
from legato.dialects import relax
from legato.passes.graph.functions import LATER


def values(shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def kernels(threads: int) -> Net:
    """Elementwise over one loop and over two, rows, columns, a transpose, a pooling; static, and of dynamic size."""
    net = Net(f"llvm{{threads={threads}}}")
    x, rows, image, y = net.input((100_003,)), net.input((301, 500)), net.input((1, 40, 40, 64)), net.input(("n", "m"))
    net.output(
        net.op("relax.exp", [x]),
        net.op("relax.softmax", [rows], axis=1),
        net.op("relax.sum", [rows], axis=[0]),
        net.op("relax.sum", [rows], axis=[1]),
        net.op("relax.permute_dims", [rows], axes=[1, 0]),
        net.op("relax.max_pool2d", [image], kernel=[3, 3], padding=[1] * 4, layout="NHWC"),
        net.op("relax.tanh", [y]),
        net.op("relax.softmax", [y], axis=1),
    )
    return net


def test_parts_give_what_the_whole_gives():
    arrays = [values((100_003,)), values((301, 500)), values((1, 40, 40, 64)), values((777, 130))]
    alone, together = kernels(1), kernels(2)
    right = alone.run(*arrays)
    for _ in range(20):
        for i, (found, expected) in enumerate(zip(together.run(*arrays), right, strict=True)):
            assert found.tobytes() == expected.tobytes(), i
    assert str(together.lowered("scheduled")).count("scf.forall") >= str(alone.lowered("scheduled")).count("scf.forall") + 8


def test_threads_share_what_they_wrote():
    """A transpose or a copy of 128 rows of 768, which several threads wrote, too: one alone would read another core's cache."""
    for rows, shared in ((128, True), (64, False)):
        net = Net("llvm{threads=2}", first=None)
        net.output(net.op("relax.permute_dims", [net.input((rows, 12, 64))], axes=[1, 0, 2]))
        assert ("scf.forall" in str(net.lowered("scheduled"))) == shared


def test_transposes_in_parts_copy_nothing():
    """Blocks of 16 x 16 stay whole, and what is left of them is written to its place: a kernel needs no memory of its own."""
    shapes = [(4900, 160), (160, 4900), (65536, 21), (21, 65536), (8, 3137, 19), (3, 1000, 100), (6, 129, 257)]
    for threads in (1, 2):
        net, arrays = Net(f"llvm{{threads={threads}}}"), [values(shape) for shape in shapes]
        for shape in shapes:
            axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            net.output(net.op("relax.permute_dims", [net.input(shape)], axes=axes))
        for shape, x, found in zip(shapes, arrays, net.run(*arrays), strict=True):
            assert np.array_equal(found, x.swapaxes(-1, -2)), (threads, shape)
        assert "memref.alloc(" not in str(net.lowered("bufferized")), threads


@pytest.mark.parametrize("cpu, parts", [
    ("x86-64-v3", ("(s0 * s1) ceildiv 56", "(d0 * 88)", "tensor<?x64x640xf32>")),     # blocks of 8 x 8, of which there are 8 parts or more
    ("x86-64-v4", ("(s0 * s1) ceildiv 64", "tensor<?x336x?xf32>", "tensor<?x256x640xf32>"))])
def test_transposes_of_unknown_batches_are_split_inside_of_an_image(cpu, parts):
    """The batch, which is often one image, is not what threads share: pixels in parts that pay, channels, or rows of a known number."""
    cases = [(("n", 672, "h", "w"), (0, 2, 3, 1)), (("n", "h", "w", 672), (0, 3, 1, 2)), (("n", 640, 512), (0, 2, 1))]
    for (shape, axes), part in zip(cases, parts, strict=True):
        net = Net(f"llvm{{cpu={cpu} threads=2}}", first=None)
        net.output(net.op("relax.permute_dims", [net.input(shape)], axes=axes))
        assert part in str(net.lowered("scheduled"))
        for sizes in () if missing_features(cpu, "") else ((1, 9, 13), (3, 30, 17), (2, 1, 1)):
            given = dict(zip("nhw", sizes))
            x = values([given[size] if isinstance(size, str) else size for size in shape])
            assert np.array_equal(net.run(x)[0], x.transpose(axes)), (shape, sizes)


def test_contractions_in_parts_give_the_bits_of_one_thread():
    """Products and convolutions whose loops divide into parts for each thread, and some that hardly do."""
    shapes = [(128, 256, 512), (7, 640, 384), (1, 1024, 1024), (96, 129, 160), (33, 300, 65)]
    images = [(1, 28, 28, 64, 96, 3), (1, 13, 13, 64, 64, 3), (1, 14, 14, 256, 40, 1)]

    def net(threads):
        made = Net(f"llvm{{threads={threads}}}")
        results = [made.op("relax.relu", [made.op("relax.matmul", [made.input((m, k)), made.input((k, n))])]) for m, k, n in shapes]
        results += [made.op("relax.conv2d", [made.input((b, h, w, c)), made.input((k, k, c, f))], strides=[1, 1], padding=[k // 2] * 4,
                            dilations=[1, 1], groups=1, data_layout="NHWC", kernel_layout="HWIO") for b, h, w, c, f, k in images]
        made.output(*results)
        return made

    arrays = [values(s) for m, k, n in shapes for s in ((m, k), (k, n))]
    arrays += [values(s) for b, h, w, c, f, k in images for s in ((b, h, w, c), (k, k, c, f))]
    right = net(1).run(*arrays)
    together = net(2)
    assert str(together.lowered("scheduled")).count("scf.forall") >= 6
    for _ in range(10):
        for i, (found, expected) in enumerate(zip(together.run(*arrays), right, strict=True)):
            assert found.tobytes() == expected.tobytes(), i
    for i in range(len(shapes)):
        np.testing.assert_allclose(right[i], np.maximum(arrays[2 * i].astype(np.float64) @ arrays[2 * i + 1], 0), rtol=1e-3, atol=1e-3)


def images(threads: int) -> Net:
    """Ops on images of which only the number of channels is known: windows, products of their elements, elementwise ones."""
    net = Net(f"llvm{{threads={threads}}}", first=None)
    x, image, rows = net.input(("n", 24, "h", "w")), net.input(("n", 3, "h", "w")), net.input(("m", 120))
    weights = [net.weight(values(shape)) for shape in ((60, 24, 3, 3), (60, 24, 1, 1), (24, 1, 5, 5), (32, 3, 3, 3), (120, 60))]
    net.output(
        net.op("relax.conv2d", [x, weights[0]], padding=[1] * 4),
        net.op("relax.relu", [net.op("relax.conv2d", [x, weights[1]])]),
        net.op("relax.conv2d", [x, weights[2]], padding=[2] * 4, groups=24),
        net.op("relax.conv2d", [image, weights[3]], padding=[1] * 4, strides=[2, 2]),
        net.op("relax.matmul", [rows, weights[4]]),
        net.op("relax.add", [x, net.op("relax.sigmoid", [x])]),
    )
    return net


def test_images_of_unknown_sizes_in_parts():
    """Also where the batch, which is the outermost loop, is of one image, and where there are fewer rows than threads. The first op is as
    near as two tilings of Winograd's algorithm are: which one is faster depends on the number of threads."""
    alone, together = images(1), images(2)
    for n, h, w, m in ((1, 37, 53, 200), (2, 3, 80, 1), (1, 1, 1, 33), (3, 9, 2, 0), (1, 2, 300, 64)):
        arrays = [values((n, 24, h, w)), values((n, 3, h, w)), values((m, 120))]
        for i, (found, right) in enumerate(zip(together.run(*arrays), alone.run(*arrays), strict=True)):
            if i == 0:
                np.testing.assert_allclose(found, right, rtol=0, atol=1e-5 * np.abs(right).max())
            else:
                assert found.tobytes() == right.tobytes(), (i, n, h, w)
    text = str(together.lowered())
    functions = {part.split("(")[0]: part for part in text.split("llvm.func ")[1:]}
    kernels = [name for name in functions if ("@kernel" in name or "@fused" in name) and "_part_" not in name]
    assert len(kernels) >= 6
    assert [name for name in kernels if "@legato.parallel(" not in functions[name]] == []


def test_small_kernels_stay_with_one_thread():
    net = Net("llvm{threads=2}")
    net.output(net.op("relax.add", [net.input((1000,)), net.input((1000,))]))
    assert "scf.forall" not in str(net.lowered("scheduled"))


@pytest.mark.parametrize(("cpu", "least"), [("znver4", 12), ("sapphirerapids", 24)])
def test_small_convolutions_in_pairs_stay_with_one_thread(cpu, least):
    """In the lanes of vectors threads share them from 2^20 multiply-adds on, by matrices, which take less time, from 2^22 on."""
    def is_shared(size: int) -> bool:
        net = Net(f"llvm{{cpu={cpu} threads=2 matmul-precision=bf16}}", first=None)
        with net.building():
            x = net.input((1, size, size, 48))
            net.output(relax.conv2d(x, net.weight(values((48, 48, 3, 3))), padding=[1] * 4, data_layout="NHWC"))
        return "legato.parallel" in str(net.lowered())

    assert [is_shared(size) for size in (least // 2, least)] == [False, True]


def test_large_weights_are_packed_like_small_ones():
    """Large weights are packed in threads; one of them is used twice, one has columns that fill no tile."""
    def net(weights):
        made = Net("llvm")
        x = made.input((8, 700))
        results = [made.op("relax.matmul", [x, made.weight(w)]) for w in weights]
        made.output(*results)
        return made

    rng = np.random.default_rng(2)
    weights = [rng.standard_normal((700, columns)).astype(np.float32) for columns in (512, 1003, 513, 640, 20)]
    assert sum(w.nbytes >= LATER for w in weights) == 4
    x = values((8, 700))
    for found, weight in zip(net(weights).run(x), weights, strict=True):
        np.testing.assert_allclose(found, x.astype(np.float64) @ weight, rtol=1e-4, atol=1e-4)
