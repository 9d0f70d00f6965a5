"""llvm{matmul-precision=bf16x6} and bf16x3: products of f32 in parts of bf16, by AMX, against numpy in f64."""
import numpy as np
import pytest
from harness import Net

from legato.passes.cpu.matrices.depth_cut import DepthCut
from legato.passes.cpu.matrices.packing import PartsPacking
from legato.passes.cpu.matrices.product_cut import ProductCut
from legato.passes.cpu.split_products import is_splittable
from legato.targets.cpu.machine import Machine

RNG = np.random.default_rng(11)
TARGET = "llvm{{matmul-precision={} threads={}}}".format
ERRORS = {"bf16x6": 2.0**-22, "bf16x3": 2.0**-15}   # over the sum of the magnitudes of the products
SHAPES = ((64, 32, 16), (65, 34, 17), (100, 70, 50), (128, 768, 96), (200, 2050, 40), (97, 3501, 33), (112, 90, 40), (70, 33, 16),
          (1000, 64, 200), (70, 800, 500), (150, 2000, 130), (300, 3100, 70), (600, 2050, 200))    # the last ones are split when they run

pytestmark = pytest.mark.skipif(not Machine.host().has("amx-bf16"), reason="the CPU has no AMX")


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def products(target, shapes, change=None, bias=1):
    """Each product with a bias and a relu: what the model computes, its f64 counterpart, and the sum of the products' magnitudes."""
    net, arrays, wanted = Net(target, first=None), [], []
    for rows, depth, columns in shapes:
        x, w, added = numbers(rows, depth), numbers(depth, columns), bias * numbers(columns)
        if change:
            change(x)
        product = net.op("relax.matmul", [net.input(x.shape), net.weight(w)])
        net.output(net.op("relax.relu", [net.op("relax.add", [product, net.weight(added)])]))
        arrays.append(x)
        with np.errstate(invalid="ignore"):
            exact = x.astype(np.float64) @ w.astype(np.float64) + added
        wanted.append((np.where(exact < 0, 0, exact), np.abs(x).astype(np.float64) @ np.abs(w) + np.abs(added)))
    assert sum(".parts" in key for key in net.lowered("fused").weights) == len(shapes)
    return [(found, *one) for found, one in zip(net.run(*arrays), wanted, strict=True)]


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("precision", list(ERRORS))
def test_products(precision, threads):
    for found, exact, magnitudes in products(TARGET(precision, threads), SHAPES):
        assert (np.abs(found - exact) <= ERRORS[precision] * magnitudes).all()


@pytest.mark.parametrize(("rows", "depth", "columns"), [(784, 128, 512), (784, 512, 128), (3136, 64, 256)])
def test_rows_are_shared_where_the_weight_stays_in_the_cache(rows, depth, columns):
    """Threads write whole rows of the result, a tile at a time, for which each splits rows of its own only."""
    cut = ProductCut.best(rows, PartsPacking(depth, columns, 3), Machine("", "", 64, 32, threads=2, l2_bytes=2 << 20))
    assert (cut.by_rows, cut.by_panels, cut.chunk) == (2, 1, 1)


@pytest.mark.parametrize(("threads", "shape"), [(2, (128, 3072, 768)), (3, (90, 2300, 500)), (4, (130, 3072, 700)), (2, (64, 1024, 400))])
def test_the_depth_is_shared(threads, shape):
    """Threads multiply parts of the depth of deep products, and add their sums. A number that is no sum of parts is in one thread's part of
    the rows only."""
    def change(x):
        x[40, -20], x[10, 3] = np.inf, np.nan
        x[-1] *= np.float32(2.0**-100)

    for some in (None, change):
        (found, exact, magnitudes), = products(TARGET("bf16x6", threads), [shape], some)
        known = np.isfinite(exact)
        error = np.full((shape[0], 1), ERRORS["bf16x6"])
        if some is not None:
            error[:64] = 2.0**-20   # two tiles are multiplied in f32
        assert (np.abs(found[known] - exact[known]) <= (error * magnitudes)[known]).all() and known.mean() > 0.9
        np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
        assert (found[exact == np.inf] == np.inf).all()
    net = Net(TARGET("bf16x6", threads), first=None)
    net.output(net.op("relax.matmul", [net.input(shape[:2]), net.weight(numbers(*shape[1:]))]))
    assert str(net.lowered("scheduled")).count("{tir.threads}") == 2


def test_no_block_of_a_shared_depth_is_empty():
    """Of as many blocks as threads share equally: 28,672 deep, four threads would have 40 of 23 steps, and the last one none."""
    machine, found = Machine("", "", 64, 32, l2_bytes=2 << 20), 0
    for threads in range(2, 17):
        for depth in range(32, 30000, 32):
            cut = DepthCut.of(64, PartsPacking(depth, 1024, 3, at_run_time=True), threads, machine)
            if cut is not None:
                found += 1
                assert cut.packing.blocks % threads == 0 and (cut.packing.blocks - 1) * cut.packing.in_block < cut.packing.steps
    assert found > 1000


@pytest.mark.parametrize(("rows", "depth", "columns"), [(64, 1500, 128), ("n", 800, 200), ("n", 1500, 128)])
def test_threads_without_a_panel(rows, depth, columns):
    """Five threads have at least two panels each, if any: the last ones read nothing behind the weight."""
    net = Net("llvm{threads=5 matmul-precision=bf16x6 check-bounds=true}", first=None)
    w = numbers(depth, columns)
    net.output(net.op("relax.matmul", [net.input((rows, depth)), net.weight(w)]))
    x = numbers(64, depth)
    np.testing.assert_allclose(net.run(x)[0], x.astype(np.float64) @ w, rtol=0, atol=1e-3)


def test_many_runs_on_two_threads():
    """What a block of the depth adds starts from sums that each thread loads for itself."""
    x, w = numbers(256, 3072), numbers(3072, 96)
    net = Net(TARGET("bf16x6", 2), first=None)
    net.output(net.op("relax.matmul", [net.input(x.shape), net.weight(w)]))
    exact = x.astype(np.float64) @ w
    for _ in range(100):
        np.testing.assert_allclose(net.run(x)[0], exact, rtol=0, atol=1e-3)


def test_rows_with_numbers_that_are_no_sums_of_parts():
    def change(x):
        x[3, 5], x[7, 2], x[-1, 0], x[40, 30] = np.inf, np.nan, 3e38, 2.0**63

    for found, exact, _ in products(TARGET("bf16x6", 1), (*SHAPES[:4], SHAPES[-3]), change):
        finite = np.abs(exact) < np.finfo(np.float32).max
        np.testing.assert_allclose(np.where(finite, found, 0), np.where(finite, exact, 0), rtol=1e-5, atol=1e-3)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
        assert not np.isfinite(found[~finite]).any()


def test_small_numbers():
    """Rows whose parts, or whose products, would be denormal for the instructions, which take these for zeros."""
    def change(x):
        x *= np.float32(2.0**-120)
        x[:32] *= np.float32(2.0**80)
        x[32:40] = 0

    for found, exact, magnitudes in products(TARGET("bf16x6", 1), (*SHAPES[2:4], SHAPES[-3]), change, bias=0):
        assert (np.abs(found - exact) <= ERRORS["bf16x6"] * magnitudes).all() and exact.any()


@pytest.mark.parametrize("scales", [(62, 61), (85, 62), (99, 40), (40, 99)])
def test_products_that_are_infinite(scales):
    """They are infinities, not NaNs: products of parts have two signs."""
    net = Net(TARGET("bf16x6", 1), first=None)
    x, w = (np.exp2(scale + RNG.random(shape)).astype(np.float32) for scale, shape in zip(scales, ((96, 2048), (2048, 32))))
    w[:, ::2] *= np.float32(2.0**-20)
    net.output(net.op("relax.matmul", [net.input(x.shape), net.weight(w)]))
    with np.errstate(over="ignore"):
        exact = (x.astype(np.float64) @ w).astype(np.float32)
    assert np.isinf(exact).any()
    np.testing.assert_allclose(net.run(x)[0], exact, rtol=1e-5)


def test_a_weight_that_is_added_to_its_product():
    x, w = numbers(96, 96), numbers(96, 96)
    net = Net(TARGET("bf16x6", 1), first=None)
    weight = net.weight(w)
    net.output(net.op("relax.add", [net.op("relax.matmul", [net.input(x.shape), weight]), weight]))
    np.testing.assert_allclose(net.run(x)[0], x.astype(np.float64) @ w + w, rtol=0, atol=1e-4)


def test_what_is_surely_faster_is_split_by_default():
    """Products of enough rows, of fewer where the weight stays in a core's cache; and nothing where matmul-precision=f32."""
    split = (64, 256, 256), (64, 768, 768), (97, 384, 1536), (400, 1024, 100), (1024, 1024, 1024)
    whole = (65, 768, 768), (66, 384, 1536), (400, 40, 96), (400, 1024, 16)
    for target, found in (("llvm{threads=1}", len(split)), ("llvm{threads=1 matmul-precision=f32}", 0)):
        net = Net(target, first=None)
        for rows, depth, columns in (*split, *whole):
            net.output(net.op("relax.matmul", [net.input((rows, depth)), net.weight(numbers(depth, columns))]))
        parts = [key for key in net.lowered("fused").weights if ".parts" in key]
        assert len(parts) == found


def test_far_weights_are_split_when_the_kernel_runs():
    """Of a weight that stays in a core's cache the parts are packed, of another its numbers."""
    net = Net(TARGET("bf16x6", 1), first=None)
    for shape in ((128, 256, 256), (128, 768, 768)):
        net.output(net.op("relax.matmul", [net.input(shape[:2]), net.weight(numbers(*shape[1:]))]))
    weights = net.lowered("fused").weights
    packed = {weights[key].dtype.name: weights[key].size for key in weights if ".parts" in key}
    assert packed == {"bfloat16": 3 * 256 * 256, "float32": 768 * 768}


@pytest.mark.parametrize("threads", [1, 2])
def test_convolutions_of_single_positions(threads):
    net, arrays, wanted = Net(TARGET("bf16x6", threads), first=None), [], []
    shapes = (2, 10, 64, 70, 1), (3, 5, 1100, 32, 1), (4, 16, 64, 70, 1), (1, 19, 40, 50, 2), (3, 20, 300, 800, 3)
    for images, size, channels, features, stride in shapes:
        x, w, sides = numbers(images, channels, size, size), numbers(features, channels, 1, 1), -(-size // stride)
        other, layouts = numbers(images, features, sides, sides), {"data_layout": "NCHW", "kernel_layout": "OIHW"}
        convolved = net.op("relax.conv2d", [net.input(x.shape), net.weight(w)], strides=[stride] * 2, **layouts)
        net.output(net.op("relax.relu", [net.op("relax.add", [convolved, net.input(other.shape)])]))
        arrays += [x, other]
        exact = np.einsum("nchw,fc->nfhw", x[:, :, ::stride, ::stride].astype(np.float64), w[:, :, 0, 0])
        wanted.append(np.maximum(exact + other, 0))
    assert sum(".parts" in key for key in net.lowered("fused").weights) == len(wanted)
    for found, exact in zip(net.run(*arrays), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("threads", [1, 2])
def test_convolutions_of_images_of_unknown_sizes(threads):
    """Of one tap, whose positions are rows: few of them in f32, many in parts. An infinity stays in its own position."""
    net, weights, shapes = Net(TARGET("bf16x6", threads), first=None), [], ((64, 70), (256, 96), (96, 200))
    layouts = {"data_layout": "NCHW", "kernel_layout": "OIHW"}
    for number, (channels, features) in enumerate(shapes):
        weights.append(numbers(features, channels, 1, 1))
        sizes = (f"n{number}", f"h{number}", f"w{number}")
        convolved = net.op("relax.conv2d", [net.input((sizes[0], channels, *sizes[1:])), net.weight(weights[-1])], **layouts)
        other = net.input((sizes[0], features, *sizes[1:]))
        net.output(net.op("relax.relu", [net.op("relax.add", [convolved, other])]))
    assert str(net.lowered("fused").module).count("tir.form_of") == len(shapes)
    for images, high, wide in ((0, 4, 5), (1, 1, 1), (1, 7, 9), (2, 4, 8), (1, 31, 21), (3, 20, 13)):
        arrays = [numbers(images, count, high, wide) for shape in shapes for count in shape]
        if arrays[0].size:
            arrays[0][-1, 3, -1, 0] = np.inf
        for x, other, w, found in zip(arrays[::2], arrays[1::2], weights, net.run(*arrays), strict=True):
            exact = np.einsum("nchw,fc->nfhw", x.astype(np.float64), w[:, :, 0, 0]) + other
            wanted, finite = np.where(exact < 0, 0, exact), np.isfinite(exact)
            np.testing.assert_array_equal(found[~finite], wanted[~finite])
            assert (np.abs(found[finite] - wanted[finite]) <= 1e-5 * np.abs(wanted[finite]).max(initial=1)).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_unknown_rows(threads):
    """Few rows are multiplied in f32, many in parts: of a weight that both read. Of the last number the last tiles at hand, of 7 at a time,
    are one of 5 rows, which is a matrix."""
    shapes, rows = ((64, 200), (768, 96), (3104, 130)), (0, 1, 63, 64, 65, 300, 1100, 42 * 32 + 5)
    net, weights, added = Net(TARGET("bf16x6", threads), first=None), [], []
    for depth, columns in shapes:
        weights.append(numbers(depth, columns))
        added.append(numbers(columns))
        product = net.op("relax.matmul", [net.input((f"n{depth}", depth)), net.weight(weights[-1])])
        net.output(net.op("relax.relu", [net.op("relax.add", [product, net.weight(added[-1])])]))
    lowered = net.lowered("fused")
    assert str(lowered.module).count("tir.form_of") == len(shapes) and len(lowered.weights) == 2 * len(shapes)
    for count in rows:
        arrays = [numbers(count, depth) for depth, _ in shapes]
        if count > 1:
            arrays[0][-1, 5], arrays[1][0, 0] = np.inf, np.nan
        for x, w, b, found in zip(arrays, weights, added, net.run(*arrays), strict=True):
            in_parts = np.full((count, 1), count >= 64)
            for row in np.flatnonzero(~np.isfinite(x).all(1)):
                in_parts[max(row - 31, 0) : row + 32] = False    # a tile with such a row is multiplied in f32
            with np.errstate(invalid="ignore"):
                exact, magnitudes = x.astype(np.float64) @ w + b, np.abs(x).astype(np.float64) @ np.abs(w) + np.abs(b)
            wanted, finite = np.where(exact < 0, 0, exact), np.isfinite(exact)
            np.testing.assert_array_equal(found[~finite], wanted[~finite])
            allowed = magnitudes * np.where(in_parts, ERRORS["bf16x6"], 2.0**-20)
            assert (np.abs(found[finite] - wanted[finite]) <= allowed[finite]).all()


def test_what_is_multiplied_in_parts():
    """From the number of rows on that a form is for: two parts have 16 bits of a number."""
    net, x = Net(TARGET("bf16x3", 1), first=None), np.float32(1 + 2.0**-9 + 2.0**-20)
    net.output(net.op("relax.matmul", [net.input(("n", 64)), net.weight(np.eye(64, 128, dtype=np.float32))]))
    for rows, wanted in ((1, x), (63, x), (64, 1 + 2.0**-9), (200, 1 + 2.0**-9)):
        found = net.run(np.full((rows, 64), x))[0]
        np.testing.assert_array_equal(np.diag(found[:64, :64]), wanted)


@pytest.mark.parametrize("threads", [1, 2])
def test_convolutions_of_windows_inside(threads):
    """Windows whose rows are neighbours in memory, with strides and distances, in images and along one dimension."""
    net, arrays, wanted, signs = Net(TARGET("bf16x6", threads), first=None), [], [], []
    cases = (((2, 24, 24, 32), 50, (2, 2), (2, 2), (1, 1)), ((1, 1, 400, 40), 70, (1, 3), (1, 2), (1, 1)),
             ((2, 33, 20, 64), 40, (3, 2), (3, 2), (2, 1)), ((3, 1, 90, 33), 20, (1, 2), (1, 1), (1, 1)),
             ((1, 80, 64, 16), 800, (4, 8), (4, 8), (1, 1)), ((1, 16, 90, 96), 130, (1, 9), (2, 1), (1, 1)))
    for shape, features, window, strides, dilations in cases:
        x, filters = numbers(*shape), numbers(*window, shape[-1], features)
        made = net.op("relax.conv2d", [net.input(x.shape), net.weight(filters)], strides=list(strides), dilations=list(dilations),
                      data_layout="NHWC", kernel_layout="HWIO")
        net.output(net.op("relax.relu", [made]))
        taps = np.lib.stride_tricks.sliding_window_view(x, [(k - 1) * d + 1 for k, d in zip(window, dilations)], axis=(1, 2))
        taps = taps[:, ::strides[0], ::strides[1], :, ::dilations[0], ::dilations[1]].astype(np.float64)
        arrays.append(x)
        wanted.append(np.maximum(np.einsum("nhwcij,ijcf->nhwf", taps, filters), 0))
        signs.append(np.sign(filters[-1, -1, 5]))
    assert sum(".parts" in key for key in net.lowered("fused").weights) == len(wanted)
    for found, exact in zip(net.run(*arrays), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
    arrays[0][0, 3, 3, 5] = np.inf
    wanted[0][0, 1, 1] = np.where(signs[0] > 0, np.inf, 0)
    np.testing.assert_allclose(net.run(*arrays)[0], wanted[0], rtol=0, atol=1e-4)


def test_convolutions_of_unknown_images():
    """By default, where one image has enough positions."""
    net, w = Net("llvm{threads=2}", first=None), numbers(512, 128, 1, 1)
    x = net.input(("n", 128, 14, 14))
    net.output(net.op("relax.conv2d", [x, net.weight(w)], strides=[1, 1], data_layout="NCHW", kernel_layout="OIHW"))
    assert any(".parts" in key for key in net.lowered("fused").weights)
    for images in (0, 1, 5):
        given = numbers(images, 128, 14, 14)
        exact = np.einsum("nchw,fc->nfhw", given.astype(np.float64), w[:, :, 0, 0])
        np.testing.assert_allclose(net.run(given)[0], exact, rtol=0, atol=1e-4)


def test_few_columns_of_unknown_rows_have_one_form():
    """So do weights that are no sums of parts, and depths that are no whole steps."""
    net, large = Net(TARGET("bf16x6", 1), first=None), numbers(64, 200)
    large[3, 4] = 2.0**101
    for w in (numbers(64, 8), numbers(70, 200), large):
        net.output(net.op("relax.matmul", [net.input(("n", len(w))), net.weight(w)]))
    assert "tir.form_of" not in str(net.lowered("fused").module)


def test_weights_that_are_no_sums_of_parts_stay():
    w = numbers(64, 64)
    w[3, 4] = 2.0**101
    net = Net(TARGET("bf16x6", 1), first=None)
    net.output(net.op("relax.matmul", [net.input((64, 64)), net.weight(w)]))
    assert not any(".parts" in key for key in net.lowered("fused").weights)


def test_columns_of_small_numbers_stay():
    """A column needs a number of 2^-50 and more, wherever it is, unless all are zero."""
    w = numbers(64, 64)
    w[:, 5], w[:-1, 6], w[:, 7] = 0, 1e-30, 1e-30
    assert not is_splittable(w)
    w[:, 7] = 0
    assert is_splittable(w)
